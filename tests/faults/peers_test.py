"""Gossiping peers as separate processes: killed, stopped, interrupted, restarted, and with certificates."""
import json
import signal
import subprocess
import unittest

from peer_group import PeerGroup, braked, free_addresses
from cluster import COMMAND, LONG, PATIENCE, can_trace, hang


class Lost(PeerGroup):
    def test_the_others_finish_without_a_killed_peer(self):
        for killed in range(3):
            with self.subTest(killed=killed):
                peers = self.start_all(15, f"without{killed}-")
                gone = peers.pop(f"without{killed}-{killed}")
                gone.send(signal.SIGKILL)
                gone.finish()
                for result in self.check_same_end(peers, 2):
                    self.check_lost(result, [killed])

    def test_peer_0_is_killed_and_rejoins(self):
        peers = self.start_all(20)
        first = peers.pop("run0")
        first.send(signal.SIGKILL)
        first.finish()
        with braked(list(peers.values())):
            peers["again"] = self.start(0, "again", 20)
            peers["again"].wait_for("joined late, with the model of peer")
        self.check_same_end(peers, 3)

    def test_a_stopped_peer_is_not_waited_for_and_another_rejoins(self):
        self.addresses = free_addresses(4)
        peers = self.start_all(20)
        others, back, stopped = [peers["run0"], peers["run1"]], peers["run2"], peers.pop("run3")
        for peer in (back, stopped):
            peer.send(signal.SIGSTOP)
        with braked(others):
            for peer in others:
                peer.wait_for("peer 2: no heartbeat")
                peer.wait_for("peer 3: no heartbeat")
            back.send(signal.SIGCONT)
            for peer in others:
                peer.wait_for("peer 2 is back")
        for rank, result in enumerate(self.check_same_end(peers, 3)):
            self.check_lost(result, [3])
            self.assertGreater(result["best"]["value"], 0)
            self.assertTrue((self.path / f"run{rank}/best.safetensors").exists())
            trace = json.loads((self.path / f"run{rank}/trace.json").read_text())
            self.assertTrue(any(event["name"] == "step" and event["tid"] == rank + 1 for event in trace["traceEvents"]))


@unittest.skipUnless(can_trace(), "this process may not trace others")
class Hung(PeerGroup):
    def test_the_others_go_on_and_a_signal_ends_it(self):
        # Large steps: the thread is in one, or handles messages, almost always.
        peers = self.start_all(LONG, hidden=1024, batch=48, options=["--evict", "2"])
        hung = peers.pop("run1")
        hang(hung.process.pid)
        for peer in peers.values():
            peer.wait_for("peer 1: no heartbeat")
        hung.send(signal.SIGINT)
        self.assertEqual(hung.finish(), 130, hung.said())
        self.assertRegex(hung.said(), "interrupted: cpu:1: it hangs: .*; ended without a new checkpoint")
        for peer in peers.values():
            peer.send(signal.SIGINT)
        for peer in peers.values():
            self.assertEqual(peer.finish(), 130, peer.said())

    def test_it_ends_by_itself(self):
        peers = self.start_all(LONG, hidden=1024, batch=48, options=["--evict", "2", "--stall-timeout", "3"])
        hung = peers.pop("run1")
        hang(hung.process.pid)
        self.assertEqual(hung.finish(), 1, hung.said())
        self.assertRegex(hung.said(), "error: cpu:1: it hangs: no progress for 3 s")
        for peer in peers.values():
            peer.send(signal.SIGINT)
        for peer in peers.values():
            self.assertEqual(peer.finish(), 130, peer.said())


class ComeAndGo(PeerGroup):
    def test_all_resume_from_their_checkpoints(self):
        for strategy in ("gossip", "adaptive-gossip"):
            with self.subTest(strategy=strategy):
                peers = self.start_all(1000, strategy, strategy=strategy)
                for peer in peers.values():
                    peer.send(signal.SIGINT)
                for name, peer in peers.items():
                    self.assertEqual(peer.finish(), 130, peer.said())
                    self.assertTrue(any((self.path / name / "checkpoints").iterdir()))
                epochs = 10 + max(json.loads(peer.out)["epochs"] for peer in peers.values())
                for rank, name in enumerate(peers):
                    peers[name] = self.run_peer(["train", "--resume", str(self.path / name), "--epochs", str(epochs), "--json"], rank)
                for result in self.check_same_end(peers, 3):
                    self.assertEqual(result["epochs"], epochs)
                    self.assertGreater(result["replica_distance"], 0)
                for peer in peers.values():  # they were stopped together and waited for each other
                    self.assertNotIn("joined late", peer.said())
                told = [json.loads(line) for line in (self.path / f"{strategy}0/metrics.jsonl").read_text().splitlines()]
                self.assertTrue(any(record.get("replica_distance", 0) > 0 for record in told if record["kind"] == "epoch"))

    def test_an_interrupted_peer_saves_its_own_model_and_the_others_continue(self):
        peers = self.start_all(15)
        interrupted = peers.pop("run1")
        interrupted.send(signal.SIGINT)
        self.assertEqual(interrupted.finish(), 130, interrupted.said())
        self.assertTrue((self.path / "run1/last.safetensors").exists())
        for peer, result in zip(peers.values(), self.check_same_end(peers, 2)):
            self.assertIn("peer 1 has left: it was stopped by a signal", peer.said())
            self.assertNotIn("no heartbeat", peer.said())
            self.check_lost(result, [1])

    def join(self, rank, name, *options):
        """Joins with `evener worker`, without training options."""
        return self.run_peer(["worker", "--devices", "cpu:1", "-o", str(self.path / name)], rank, options)

    def test_a_signal_during_the_join_request_is_reported(self):
        alone = self.join(0, "alone")
        alone.wait_for("asking all of --peers again")
        alone.send(signal.SIGINT)
        self.assertEqual(alone.finish(), -signal.SIGINT)
        self.assertIn("interrupted before a peer sent the options of the run", alone.said())
        self.assertFalse((self.path / "alone").exists())

    def test_a_peer_joins_by_a_short_command_and_ends_with_the_same_model(self):
        peers = self.start_all(20)
        with braked(list(peers.values())):
            refused = self.join(1, "refused")
            self.assertEqual(refused.finish(), 1, refused.said())
            self.assertRegex(refused.said(), "the slot of peer 1 is taken: give another --rank")
            killed = peers.pop("run2")
            killed.send(signal.SIGKILL)
            killed.finish()
            peers["joined"] = self.join(2, "joined")
            peers["joined"].wait_for("joined late, with the model of peer")
        self.check_same_end(peers, 3)

    def test_a_joining_peer_must_have_the_same_data(self):
        peers = [self.start(rank, f"run{rank}", 200) for rank in range(2)]
        peers[0].wait_for("peer 1 is there")
        other = self.join(2, "other", "--data", str(self.path / "data/test.txt"))
        self.assertEqual(other.finish(), 2, other.said())
        self.assertIn("this is not the data that the other peers have", other.said())
        self.assertFalse((self.path / "other").exists())


class Secured(PeerGroup):
    def certificates(self, name):
        """Makes certificates with a separate authority."""
        subprocess.run([COMMAND, "certs", str(self.path / name), "--hosts", "127.0.0.1"], check=True, capture_output=True, timeout=PATIENCE)
        return ["--tls", str(self.path / name)]

    def test_peers_of_one_authority_end_with_one_model(self):
        for result in self.check_same_end(self.start_all(5, options=self.certificates("ours")), 3):
            self.check_lost(result, [])

    def test_a_peer_of_another_authority_or_without_certificates_is_refused(self):
        self.addresses = free_addresses(4)
        ours, theirs = self.certificates("ours"), self.certificates("theirs")
        peers = [self.start(rank, f"run{rank}", 5, options=[*tls, "--wait-seconds", "3"]) for rank, tls in enumerate((ours, ours, theirs, ()))]
        for stranger in peers[2:]:
            self.assertEqual(stranger.finish(), 1, stranger.said())
            self.assertIn("no peer for 3 s", stranger.said())
        self.assertRegex(peers[2].said(), r"no peer for 3 s: .* \(are the certificates of --tls on both sides of one authority")
        self.assertNotIn("wait longer", peers[2].said())
        for result in self.check_same_end({"run0": peers[0], "run1": peers[1]}, 2):
            self.assertEqual([device["updates"] for device in result["devices"][2:]], [0, 0])
        for peer in peers[:2]:
            self.assertNotRegex(peer.said(), "peer [23] is there")


if __name__ == "__main__":
    unittest.main()
