"""A worker, or a gossiping peer, on another host (a network namespace) whose packets are dropped for a while."""
import contextlib
import json
import os
import subprocess
import time
import unittest

from peer_group import PeerGroup, braked
from cluster import Cluster, LONG, PATIENCE

HOSTS = {"coordinator": "10.77.0.1", "worker": "10.77.0.2"}


def sh(*words, check=True):
    return subprocess.run(words, check=check, capture_output=True, text=True, timeout=PATIENCE)


class Network:
    """Two hosts and a wire between them."""

    def __enter__(self):
        self.names = {host: f"evener-{os.getpid()}-{host[0]}" for host in HOSTS}
        for name in self.names.values():
            sh("ip", "netns", "add", name)
        self.ends = {host: f"ev{os.getpid()}{host[0]}"[-15:] for host in HOSTS}
        first, second = self.ends.values()
        sh("ip", "link", "add", first, "type", "veth", "peer", "name", second)
        for host, address in HOSTS.items():
            sh("ip", "link", "set", self.ends[host], "netns", self.names[host])
            self.on(host, "ip", "addr", "add", f"{address}/24", "dev", self.ends[host])
            self.on(host, "ip", "link", "set", self.ends[host], "up")
            self.on(host, "ip", "link", "set", "lo", "up")
        return self

    def __exit__(self, *_):
        for name in self.names.values():
            sh("ip", "netns", "del", name, check=False)

    def prefix(self, host):
        return ["ip", "netns", "exec", self.names[host]]

    def on(self, host, *words):
        return sh(*self.prefix(host), *words)

    def bytes(self, host):
        """Bytes that the host's interface has sent and received."""
        return sum(int(self.on(host, "cat", f"/sys/class/net/{self.ends[host]}/statistics/{way}_bytes").stdout) for way in ("tx", "rx"))

    @contextlib.contextmanager
    def cut(self):
        """Drops packets at the receiver: a sender that is notified would retry sooner."""
        for host in HOSTS:
            self.on(host, "iptables", "-A", "INPUT", "-i", self.ends[host], "-j", "DROP")
        yield
        for host in HOSTS:
            self.on(host, "iptables", "-F")

    @contextlib.contextmanager
    def slowed(self, rate):
        """Limits what each side sends, as 1mbit."""
        for host in HOSTS:
            self.on(host, "tc", "qdisc", "add", "dev", self.ends[host], "root", "tbf", "rate", rate, "burst", "16kb", "latency", "400ms")
        yield
        for host in HOSTS:
            self.on(host, "tc", "qdisc", "del", "dev", self.ends[host], "root")


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

    def test_a_short_disconnect_has_no_effect(self):
        with Network() as network, self.start(network, 12) as cluster:
            with network.cut():
                time.sleep(2.5)
            result = cluster.result()
            self.assertFalse(any("lost" in note for note in result["notes"]), result["notes"])
            rejected = sum(node["rejected"] for node in result["devices"])
            trained = sum(node["rows"] for node in result["devices"])
            self.assertEqual((trained, rejected), (12 * 3000, 0))

    def test_a_long_disconnect_evicts_the_worker_which_rejoins(self):
        with Network() as network, self.start(network, LONG) as cluster:
            with network.cut():
                cluster.coordinator.wait_for("node 1: no heartbeat")
                cluster.workers[1].wait_for("no heartbeat for 6 s; trying again")
            cluster.coordinator.wait_for("node 1 has joined")
            cluster.interrupt()
            self.assertEqual(cluster.workers[1].finish(), 0)


class WiredCircle(PeerGroup):
    """Peers, each on its own host."""

    def setUp(self):
        super().setUp()
        self.network = Network()
        self.network.__enter__()
        self.addCleanup(self.network.__exit__)

    def start_on(self, places, epochs, **how):
        self.addresses = [f"{HOSTS[host]}:{7070 + rank}" for rank, host in enumerate(places)]
        return self.start_all(epochs, prefixes=[self.network.prefix(host) for host in places], options=["--insecure"], **how)


@unittest.skipUnless(can_make_networks(), "this machine lets us make no network namespaces")
class Partitioned(WiredCircle):
    def test_both_sides_continue_reconnect_and_end_with_one_model(self):
        runs = self.start_on(["coordinator", "coordinator", "worker"], 40)
        peers = list(runs.values())
        with braked(peers):
            with self.network.cut():
                time.sleep(30)  # three times the heartbeat timeout
            for other in (0, 1):
                peers[other].wait_for("peer 2: no heartbeat")
                peers[2].wait_for(f"peer {other}: no heartbeat")
                peers[other].wait_for("peer 2 is back")
                peers[2].wait_for(f"peer {other} is back")
        for result in self.check_same_end(runs, 3):
            self.check_lost(result, [])
            self.assertGreater(min(device["updates"] for device in result["devices"]), 0)


@unittest.skipUnless(can_make_networks(), "this machine lets us make no network namespaces")
class OnTheWire(WiredCircle):
    def test_packet_loss_does_not_lose_a_peer(self):
        drop = ["INPUT", "-m", "statistic", "--mode", "random", "--probability", "0.05", "-j", "DROP"]
        self.network.on("worker", "iptables", "-A", *drop)
        peers = self.start_on(["coordinator", "coordinator", "worker"], 8)
        for result in self.check_same_end(peers, 3):
            self.check_lost(result, [])
        counted = self.network.on("worker", "iptables", "-nvxL", "INPUT").stdout.splitlines()[2]
        self.assertGreater(int(counted.split()[0]), 0, counted)  # it did drop some

    def test_a_peer_that_is_disconnected_at_the_end_finishes_alone(self):
        peers = self.start_on(["coordinator", "coordinator", "worker"], 10)
        alone = peers.pop("run2")
        with self.network.cut():
            self.assertEqual(alone.finish(), 0, alone.said())
            self.assertIn("the mean of 1 model", alone.said())
            for result in self.check_same_end(peers, 2):
                self.check_lost(result, [2])

    def test_reported_bytes_are_the_bytes_on_the_wire(self):
        places = ["coordinator", "worker"]
        peers = self.start_on(places, 3, hidden=1024, batch=500)  # models of 1.6 MB: heartbeats do not matter
        results = self.check_same_end(peers, 2)
        for rank, (host, result) in enumerate(zip(places, results)):
            said = result["devices"][rank]["bytes"]
            self.assertEqual(json.loads((self.path / f"run{rank}/metrics.jsonl").read_text().splitlines()[-1])["bytes"], said)
            counted = self.network.bytes(host)
            self.assertGreater(said, 20e6)
            self.assertGreater(counted, said)
            self.assertLess(counted, 1.03 * said)


if __name__ == "__main__":
    unittest.main()
