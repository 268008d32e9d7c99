"""A group of gossiping peers as real processes, and a brake that keeps them running until a test is done."""
import contextlib
import json
import pathlib
import random
import signal
import socket
import subprocess
import tempfile
import threading
import time
import unittest

from cluster import COMMAND, PATIENCE, Process


def free_addresses(count):
    """Below the ports that the kernel gives out, so that no other process gets one of them before it is used."""
    addresses = []
    while len(addresses) < count:
        port = random.randrange(10000, 32000)
        with socket.socket() as one, contextlib.suppress(OSError):
            one.bind(("127.0.0.1", port))
            addresses.append(f"127.0.0.1:{port}")
    return addresses


@contextlib.contextmanager
def braked(processes, run=0.005, rest=0.245):
    """Runs and stops the processes in turns, so that a short run outlasts the test on machines of any speed."""
    over = threading.Event()

    def brake():
        while not over.wait(run):
            for process in processes:
                process.send(signal.SIGSTOP)
            over.wait(rest)
            for process in processes:
                process.send(signal.SIGCONT)

    thread = threading.Thread(target=brake)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


class PeerGroup(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = pathlib.Path(folder.name)
        subprocess.run([COMMAND, "dataset", "synthetic", "-o", str(self.path / "data"), "--rows", "3000", "--features", "300",
                        "--labels", "100", "--seed", "5"], check=True, capture_output=True, timeout=PATIENCE)
        self.addresses = free_addresses(3)

    def run_peer(self, words, rank, options=(), prefix=()):
        """The command of one peer of the group."""
        process = Process([*words, "--peers", ",".join(self.addresses), "--rank", str(rank), *options], prefix,
                          {"EVENER_CACHE_DIR": str(self.path / "cache"), "OMP_NUM_THREADS": "1"})
        self.addCleanup(process.end)
        return process

    def start(self, rank, name, epochs, strategy="gossip", hidden=32, batch=12, options=(), prefix=()):
        """Starts peers with many small steps, so that faults happen between them."""
        return self.run_peer(["train", str(self.path / "data/train.txt"), "--test", str(self.path / "data/test.txt"), "-o", str(self.path / name),
                              "--devices", "cpu:1", "--hidden", str(hidden), "--strategy", strategy, "--optimizer", "sgd", "--learning-rate", "0.5",
                              "--global-batch-size", str(batch), "--epochs", str(epochs), "--json"], rank, options, prefix)

    def start_all(self, epochs, name="run", prefixes=None, **how):
        """Waits until the peers are connected and have trained for an epoch or more; folder -> process."""
        peers = {f"{name}{rank}": self.start(rank, f"{name}{rank}", epochs, prefix=prefixes[rank] if prefixes else (), **how)
                 for rank in range(len(self.addresses))}
        for rank, peer in enumerate(peers.values()):
            for other in range(len(peers)):
                if other != rank:
                    peer.wait_for(f"peer {other} is there")
            peer.wait_for(r"epoch \d+/")  # the others may have done the first without it
        return peers

    def model(self, name):
        return (self.path / name / "last.safetensors").read_bytes()

    def check_same_end(self, peers, models):
        """Checks that the peers (folder -> process) ended with the mean of all models; returns their --json output."""
        for peer in peers.values():
            self.assertEqual(peer.finish(), 0, peer.said())
            self.assertIn(f"the mean of {models} models", peer.said())
        first, *others = peers
        for name in others:
            self.assertTrue(self.model(name) == self.model(first), f"the model of {name} is not that of {first}")
        return [json.loads(peer.out) for peer in peers.values() if "--json" in peer.arguments]

    def check_lost(self, result, lost):
        self.assertEqual([rank for rank, device in enumerate(result["devices"]) if device["lost"]], lost)
