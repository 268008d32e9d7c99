"""Gossiping peers as separate processes: killed, stopped and started again."""
import json
import pathlib
import signal
import socket
import subprocess
import tempfile
import time
import unittest

from cluster import COMMAND, Process


def free_addresses(count):
    sockets = [socket.socket() for _ in range(count)]
    for one in sockets:
        one.bind(("127.0.0.1", 0))
    addresses = [f"127.0.0.1:{one.getsockname()[1]}" for one in sockets]
    for one in sockets:
        one.close()
    return addresses


class Peers(unittest.TestCase):
    COUNT = 3

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = pathlib.Path(folder.name)
        subprocess.run([COMMAND, "dataset", "synthetic", "-o", str(self.path / "data"), "--rows", "3000", "--features", "300",
                        "--labels", "100", "--seed", "5"], check=True, capture_output=True, timeout=60)
        self.addresses = free_addresses(self.COUNT)

    def start(self, rank, name, epochs, strategy="gossip"):
        """Rows of steps so small that there is time to hurt it."""
        process = Process(["train", str(self.path / "data/train.txt"), "--test", str(self.path / "data/test.txt"), "--peers",
                           ",".join(self.addresses), "--rank", str(rank), "--devices", "cpu:1", "--hidden", "32", "--strategy", strategy,
                           "--optimizer", "sgd", "--learning-rate", "0.5", "--global-batch-size", "12", "--epochs", str(epochs),
                           "--json", "-o", str(self.path / name)], environment={"EVENER_CACHE_DIR": str(self.path / "cache")})
        self.addCleanup(process.end)
        return process

    def model(self, name):
        return (self.path / name / "last.safetensors").read_bytes()

    def test_the_first_is_killed_and_comes_back(self):
        peers = [self.start(rank, f"run{rank}", 200) for rank in range(self.COUNT)]
        for rank, peer in enumerate(peers):
            for other in range(self.COUNT):
                if other != rank:
                    peer.wait_for(f"peer {other} is there")
        time.sleep(0.5)
        peers[0].send(signal.SIGKILL)
        peers[0].finish()
        again = self.start(0, "again", 200)
        again.wait_for("joined late, with the model of peer")
        for peer in (again, *peers[1:]):
            self.assertEqual(peer.finish(), 0, peer.said())
            self.assertIn("the mean of 3 models", peer.said())
        self.assertEqual(self.model("run1"), self.model("run2"))
        self.assertEqual(self.model("run1"), self.model("again"))

    def test_one_that_is_stopped_is_not_waited_for(self):
        peers = [self.start(rank, f"run{rank}", 100) for rank in range(self.COUNT)]
        for peer in peers[:2]:
            peer.wait_for("peer 2 is there")
        time.sleep(0.5)
        peers[2].send(signal.SIGSTOP)
        for rank, peer in enumerate(peers[:2]):
            self.assertEqual(peer.finish(), 0, peer.said())
            result = json.loads(peer.out)
            self.assertEqual([device["lost"] for device in result["devices"]], [False, False, True])
            self.assertGreater(result["best"]["value"], 0)
            self.assertTrue((self.path / f"run{rank}/best.safetensors").exists())
            trace = json.loads((self.path / f"run{rank}/trace.json").read_text())
            self.assertTrue(any(event["name"] == "step" and event["tid"] == rank + 1 for event in trace["traceEvents"]))
        self.assertEqual(self.model("run0"), self.model("run1"))
        peers[2].send(signal.SIGKILL)

    def test_all_go_on_from_their_checkpoints(self):
        peers = [self.start(rank, f"run{rank}", 200) for rank in range(self.COUNT)]
        for peer in peers:
            peer.wait_for(r"epoch 2/200")
        for peer in peers:
            peer.send(signal.SIGINT)
        for rank, peer in enumerate(peers):
            self.assertEqual(peer.finish(), 130, peer.said())
            self.assertTrue(any((self.path / f"run{rank}/checkpoints").iterdir()))
        peers = []
        for rank in range(self.COUNT):
            peers.append(Process(["train", "--resume", str(self.path / f"run{rank}"), "--peers", ",".join(self.addresses), "--rank", str(rank),
                                  "--epochs", "30", "--json"], environment={"EVENER_CACHE_DIR": str(self.path / "cache")}))
            self.addCleanup(peers[-1].end)
        for peer in peers:
            self.assertEqual(peer.finish(), 0, peer.said())
            self.assertIn("the mean of 3 models", peer.said())
            result = json.loads(peer.out)
            self.assertEqual(result["epochs"], 30)
            self.assertGreater(result["replica_distance"], 0)
        told = [json.loads(line) for line in (self.path / "run0/metrics.jsonl").read_text().splitlines()]
        self.assertTrue(any(record.get("replica_distance", 0) > 0 for record in told if record["kind"] == "epoch"))
        self.assertEqual(self.model("run0"), self.model("run1"))
        self.assertEqual(self.model("run0"), self.model("run2"))

    def test_an_interrupted_one_saves_its_own_model_and_the_others_go_on(self):
        peers = [self.start(rank, f"run{rank}", 200) for rank in range(self.COUNT)]
        peers[0].wait_for("peer 2 is there")
        time.sleep(0.5)
        peers[1].send(signal.SIGINT)
        self.assertEqual(peers[1].finish(), 130, peers[1].said())
        self.assertTrue((self.path / "run1/last.safetensors").exists())
        for rank in (0, 2):
            self.assertEqual(peers[rank].finish(), 0, peers[rank].said())
            self.assertIn("peer 1 has left: it was told to go", peers[rank].said())
            self.assertNotIn("no sign of life", peers[rank].said())
            self.assertEqual([device["lost"] for device in json.loads(peers[rank].out)["devices"]], [False, True, False])

    def test_one_that_is_interrupted_while_it_asks_says_so(self):
        alone = self.join(0, "alone")
        alone.wait_for("asking all of --peers again and again")
        alone.send(signal.SIGINT)
        self.assertEqual(alone.finish(), -signal.SIGINT)
        self.assertIn("interrupted before a peer has said what is trained", alone.said())
        self.assertFalse((self.path / "alone").exists())

    def join(self, rank, name, *options):
        """By `evener worker`, without a word of what is trained."""
        process = Process(["worker", "--peers", ",".join(self.addresses), "--rank", str(rank), "--devices", "cpu:1", "-o", str(self.path / name),
                           *options], environment={"EVENER_CACHE_DIR": str(self.path / "cache")})
        self.addCleanup(process.end)
        return process

    def test_one_joins_by_a_short_command_and_ends_with_the_same_model(self):
        peers = [self.start(rank, f"run{rank}", 200) for rank in range(self.COUNT)]
        for peer in peers[:2]:
            peer.wait_for("peer 2 is there")
            peer.wait_for("epoch 2/200")
        refused = self.join(1, "refused")
        self.assertEqual(refused.finish(), 1, refused.said())
        self.assertRegex(refused.said(), "the place of peer 1 is taken: give another --rank")
        peers[2].send(signal.SIGKILL)
        peers[2].finish()
        peers[2] = self.join(2, "joined")
        peers[2].wait_for("joined late, with the model of peer")
        for peer in peers:
            self.assertEqual(peer.finish(), 0, peer.said())
            self.assertIn("the mean of 3 models", peer.said())
        self.assertEqual(self.model("run0"), self.model("run1"))
        self.assertEqual(self.model("run0"), self.model("joined"))

    def test_one_that_joins_must_have_the_same_data(self):
        peers = [self.start(rank, f"run{rank}", 200) for rank in range(2)]
        peers[0].wait_for("peer 1 is there")
        other = self.join(2, "other", "--data", str(self.path / "data/test.txt"))
        self.assertEqual(other.finish(), 2, other.said())
        self.assertIn("this is not the data that the other peers have", other.said())
        self.assertFalse((self.path / "other").exists())


if __name__ == "__main__":
    unittest.main()
