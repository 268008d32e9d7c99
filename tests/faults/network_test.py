"""A worker, or a gossiping peer, on another host (a network namespace) whose packets are dropped for a while."""
import json
import os
import pathlib
import signal
import subprocess
import tempfile
import time
import unittest

from cluster import COMMAND, Cluster, LONG, Process

HOSTS = {"coordinator": "10.77.0.1", "worker": "10.77.0.2"}


def sh(*words, check=True):
    return subprocess.run(words, check=check, capture_output=True, text=True, timeout=30)


class Network:
    """Two hosts and a wire between them."""

    def __enter__(self):
        self.names = {host: f"evener-{os.getpid()}-{host[0]}" for host in HOSTS}
        for name in self.names.values():
            sh("ip", "netns", "add", name)
        ends = {host: f"ev{os.getpid()}{host[0]}"[-15:] for host in HOSTS}
        first, second = ends.values()
        sh("ip", "link", "add", first, "type", "veth", "peer", "name", second)
        for host, address in HOSTS.items():
            sh("ip", "link", "set", ends[host], "netns", self.names[host])
            self.on(host, "ip", "addr", "add", f"{address}/24", "dev", ends[host])
            self.on(host, "ip", "link", "set", ends[host], "up")
            self.on(host, "ip", "link", "set", "lo", "up")
        return self

    def __exit__(self, *_):
        for name in self.names.values():
            sh("ip", "netns", "del", name, check=False)

    def prefix(self, host):
        return ["ip", "netns", "exec", self.names[host]]

    def on(self, host, *words):
        return sh(*self.prefix(host), *words)

    def cut(self, seconds):
        for chain in ("INPUT", "OUTPUT"):
            self.on("worker", "iptables", "-A", chain, "-j", "DROP")
        time.sleep(seconds)
        self.on("worker", "iptables", "-F")


def can_make_networks():
    name = f"evener-{os.getpid()}-try"
    if sh("ip", "netns", "add", name, check=False).returncode != 0:
        return False
    usable = sh("ip", "netns", "exec", name, "iptables", "-L", check=False).returncode == 0
    sh("ip", "netns", "del", name, check=False)
    return usable


@unittest.skipUnless(can_make_networks(), "this machine lets us make no network namespaces")
class CutOff(unittest.TestCase):
    def start(self, network, epochs):
        cluster = Cluster("asp", workers="2", epochs=epochs, prefix=network.prefix("coordinator"),
                          listen=f"{HOSTS['coordinator']}:0",
                          options=["--insecure", "--suspect", "2", "--evict", "6"])
        cluster.start_worker(0, address=HOSTS["coordinator"], prefix=network.prefix("coordinator"))
        cluster.start_worker(1, address=HOSTS["coordinator"], prefix=network.prefix("worker"), wait="40")
        cluster.wait_for_pushes(1, 5)
        return cluster

    def test_a_short_cut_costs_nothing(self):
        with Network() as network, self.start(network, 12) as cluster:
            network.cut(2.5)
            result = cluster.result()
            self.assertFalse(any("lost" in note for note in result["notes"]), result["notes"])
            rejected = sum(node["rejected"] for node in result["devices"])
            trained = sum(node["rows"] for node in result["devices"])
            self.assertEqual((trained, rejected), (12 * 3000, 0))

    def test_a_long_cut_evicts_and_the_worker_comes_back(self):
        with Network() as network, self.start(network, LONG) as cluster:
            network.cut(12)
            cluster.coordinator.wait_for("node 1: no sign of life")
            cluster.coordinator.wait_for("node 1 has joined")
            cluster.interrupt()
            self.assertEqual(cluster.workers[1].finish(), 0)


@unittest.skipUnless(can_make_networks(), "this machine lets us make no network namespaces")
class Partitioned(unittest.TestCase):
    def test_both_sides_train_on_and_find_each_other_again(self):
        places = ["coordinator", "coordinator", "worker"]
        addresses = [f"{HOSTS[host]}:{7070 + rank}" for rank, host in enumerate(places)]
        with Network() as network, tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder)
            subprocess.run([COMMAND, "dataset", "synthetic", "-o", str(path / "data"), "--rows", "3000", "--features", "300", "--labels",
                            "100", "--seed", "5"], check=True, capture_output=True, timeout=60)
            peers = []
            for rank, host in enumerate(places):
                peers.append(Process(["train", str(path / "data/train.txt"), "--peers", ",".join(addresses), "--rank", str(rank), "--insecure",
                                      "--devices", "cpu:1", "--hidden", "32", "--strategy", "gossip", "--optimizer", "sgd", "--learning-rate",
                                      "0.1", "--global-batch-size", "48", "--epochs", "100000", "--json", "-o", str(path / f"run{rank}")],
                                     network.prefix(host), {"EVENER_CACHE_DIR": str(path / "cache"), "OMP_NUM_THREADS": "1"}))
                self.addCleanup(peers[-1].end)
            for rank, peer in enumerate(peers):
                for other in {0, 1, 2} - {rank}:
                    peer.wait_for(f"peer {other} is there")
            network.cut(12)
            for other in (0, 1):
                peers[other].wait_for("peer 2: no sign of life for 10 s")
                peers[2].wait_for(f"peer {other}: no sign of life for 10 s")
                peers[other].wait_for("peer 2 is back")
                peers[2].wait_for(f"peer {other} is back")
            for peer in peers:
                peer.send(signal.SIGINT)
            for rank, peer in enumerate(peers):
                self.assertEqual(peer.finish(), 130, peer.said())
                steps = [device["updates"] for device in json.loads(peer.out)["devices"]]
                self.assertGreater(min(steps), 0, steps)


if __name__ == "__main__":
    unittest.main()
