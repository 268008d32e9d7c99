"""A round of the soak: a group of gossiping peers in which faults happen."""
import contextlib
import json
import pathlib
import signal
import subprocess
import tempfile
import time

from cluster import COMMAND, PATIENCE, ROWS, Process, hang
from network_test import HOSTS, Network
from peer_group import braked, free_addresses
from soak_checks import Broken, Usages, check

EPOCHS = 20
QUALITY = "p@3"


class Peers:
    """Peers are killed, leave, hang, are stopped or cut off; others take their places."""

    def __init__(self, choose, machine=None, seed=1):
        """Without `machine`: no faults."""
        self.choose, self.machine, self.seed, self.notes = choose, machine, seed, []
        self.network = Network() if machine and machine.networks and choose.random() < 0.4 else None
        self.hosts = ["coordinator", "coordinator", "worker"]

    def start(self, rank, name):
        data = self.path / "data"
        process = Process(["train", str(data / "train.txt"), "--test", str(data / "test.txt"), "-o", str(self.path / name),
                           "--devices", "cpu:1", "--hidden", "32", "--strategy", "gossip", "--optimizer", "sgd",
                           "--learning-rate", "0.5", "--global-batch-size", "12", "--reference-batch", "12", "--epochs", str(EPOCHS), "--seed",
                           str(self.seed), "--json", "--peers", ",".join(self.addresses), "--rank", str(rank), *self.options],
                          self.network.prefix(self.hosts[rank]) if self.network else (),
                          {"EVENER_CACHE_DIR": str(self.path / "cache"), "OMP_NUM_THREADS": "1"})
        self.processes.append(process)
        return process

    def run(self):
        # `late`: they were started when the others had ended. `apart`: one side ended while it could not reach the other.
        self.processes, self.late, self.apart = [], set(), False
        self.options = ["--evict", "3"] if self.machine else []
        with contextlib.ExitStack() as stack:
            self.path = pathlib.Path(stack.enter_context(tempfile.TemporaryDirectory()))
            subprocess.run([COMMAND, "dataset", "synthetic", "-o", str(self.path / "data"), "--rows", str(ROWS), "--features",
                            "300", "--labels", "100", "--seed", "5"], check=True, capture_output=True, timeout=60)
            self.addresses = free_addresses(3)
            if self.network:
                stack.enter_context(self.network)
                self.addresses = [f"{HOSTS[host]}:{7070 + rank}" for rank, host in enumerate(self.hosts)]
                self.options.append("--insecure")
            try:
                return self.train()
            except (Broken, AssertionError, OSError, subprocess.SubprocessError) as problem:
                said = "\n".join(f"{process.arguments}\n{process.said()}" for process in self.processes)
                raise Broken(f"{problem}\nfaults: {', '.join(self.notes)}\n{said}") from problem
            finally:
                for process in self.processes:
                    process.end()

    def train(self):
        self.peers = [self.start(rank, f"run{rank}") for rank in range(3)]
        for peer in self.peers:
            peer.wait_for(r"epoch \d+/", PATIENCE)
        if self.machine:
            self.disturb()
        return self.check_ends()

    def disturb(self):
        usages = Usages()
        for _ in range(self.choose.randint(1, 3)):
            fault, rank = self.choose.choice(self.faults()), self.choose.randrange(3)
            if self.any_ended():
                break
            usages.measure(self.peers)
            self.notes.append(f"{fault.__name__} {rank}")
            fault(rank)
        usages.measure(self.peers)
        usages.check()

    def check_ends(self):
        quality = []
        for rank, peer in enumerate(self.peers):
            code = peer.finish(PATIENCE)
            if code == 0:
                quality.append(json.loads(peer.out)["metrics"][QUALITY])
            else:
                check(rank in self.late and code == 1, f"peer {rank} ended with {code}:\n{peer.said()}")
        check(self.apart or len(set(quality)) == 1, f"the peers end with different models: {QUALITY} is {quality}")
        return max(quality)

    def any_ended(self, besides=None):
        return any(peer.process.poll() is not None for rank, peer in enumerate(self.peers) if rank != besides)

    # Faults. Each ends with all peers connected, or with the run.
    def kill(self, rank):
        self.replace(rank, signal.SIGKILL, -signal.SIGKILL)

    def leave(self, rank):
        self.replace(rank, signal.SIGINT, 130)

    def stop(self, rank):
        with braked(self.peers_besides(rank), 0.02, 0.18):
            self.peers[rank].send(signal.SIGSTOP)
            time.sleep(self.choose.choice((0.2, 1.5, 5)))
            self.peers[rank].send(signal.SIGCONT)
            self.until_connected()

    def cut(self, _rank):
        with braked(self.peers, 0.02, 0.18):
            with self.network.cut():
                time.sleep(self.choose.choice((1, 5)))
            self.until_connected()

    def hang(self, rank):
        others = self.peers_besides(rank)
        with braked(others, 0.02, 0.18):
            hang(self.peers[rank].process.pid)
            self.until(lambda: all(f"peer {rank}: no heartbeat" in peer.said() for peer in others), rank)
        self.replace(rank, signal.SIGKILL, -signal.SIGKILL)

    def faults(self):
        faults = [self.kill, self.leave, self.stop]
        if self.machine.traces:
            faults.append(self.hang)
        if self.network:
            faults += [self.cut, self.cut]
        return faults

    def peers_besides(self, rank):
        return [peer for other, peer in enumerate(self.peers) if other != rank]

    def until(self, condition, besides=None):
        """Whether the condition came true before a peer ended."""
        deadline = time.monotonic() + PATIENCE
        while not condition():
            if self.any_ended(besides):
                return False
            check(time.monotonic() < deadline, "a wait did not end")
            time.sleep(0.05)
        return True

    def until_connected(self):
        """Every peer that missed heartbeats of another has heard of it again."""
        def connected():
            for peer in self.peers:
                said = peer.said()
                for rank in range(3):
                    if said.count(f"peer {rank}: no heartbeat") > said.count(f"peer {rank} is back"):
                        return False
            return True

        if not self.until(connected):
            self.apart = True

    def replace(self, rank, number, code):
        """Ends one peer and starts another in its place, which joins if the others still train."""
        with braked(self.peers_besides(rank), 0.02, 0.18):
            self.peers[rank].send(number)
            ended = self.peers[rank].finish(PATIENCE)
            check(ended in (code, 0), f"peer {rank} ended with {ended} after {number.name}")
            self.peers[rank] = self.start(rank, f"again{len(self.processes)}")
            if not self.until(lambda: "joined late" in self.peers[rank].said()):
                self.late.add(rank)
