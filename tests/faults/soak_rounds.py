"""Runs of small clusters of processes in which faults happen, and the checks after each run."""
import contextlib
import json
import os
import pathlib
import shutil
import signal
import subprocess
import tempfile
import time

from cluster import COMMAND, PATIENCE, Cluster, ROWS, Process, hang
from network_test import HOSTS, Network
from peer_group import braked, free_addresses

EPOCHS = 20
QUALITY = "p@3"


class Broken(Exception):
    """A check failed."""


def check(holds, what):
    if not holds:
        raise Broken(what)


class Usage:
    """The memory, threads and open files of a process."""

    def __init__(self, process):
        self.folder = pathlib.Path(f"/proc/{process.process.pid}")

    def now(self):
        """Nothing where the process has ended."""
        try:
            status = (self.folder / "status").read_text()
            fields = dict(line.split(":", 1) for line in status.splitlines())
            return {"MB": int(fields["VmRSS"].split()[0]) / 1024, "threads": int(fields["Threads"]),
                    "files": len(os.listdir(self.folder / "fd"))}
        except (OSError, KeyError):
            return None


# What a coordinator may have more of at the end of a round than with all workers at its start.
GROWTH = {"MB": 40, "threads": 12, "files": 12}


class SmallDisk(Cluster):
    """A cluster whose run directory is on a file system of its own, which can be filled."""

    def start_coordinator(self, resume=False):
        if not resume:
            self.disk = self.path / "disk"
            self.disk.mkdir()
            subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", str(self.disk)], check=True, timeout=30)
            self.run = self.disk / "run"
        return super().start_coordinator(resume)

    def __exit__(self, *what):
        for process in self.processes:
            process.end()
        subprocess.run(["umount", str(self.disk)], check=True, timeout=30)
        super().__exit__(*what)

    def fill(self):
        with contextlib.suppress(OSError), open(self.disk / "filler", "wb", buffering=0) as filler:
            while filler.write(bytes(4096)):
                pass


def can_mount():
    with tempfile.TemporaryDirectory() as folder:
        if subprocess.run(["mount", "-t", "tmpfs", "tmpfs", folder], capture_output=True, check=False).returncode != 0:
            return False
        subprocess.run(["umount", folder], check=True, timeout=30)
        return True


class Round:
    """One run with faults. `notes` says what was done; `place` where it runs."""

    def __init__(self, kind, choose, machine):
        self.kind, self.choose, self.notes = kind, choose, []
        self.network, self.small_disk = None, False
        place = choose.random()
        if machine.networks and place < 0.4:
            self.network = Network()
        elif machine.mounts and place > 0.7:
            self.small_disk = True
        self.traces = machine.traces

    def run(self):
        with contextlib.ExitStack() as stack:
            if self.network:
                stack.enter_context(self.network)
            self.cluster = stack.enter_context(self.start())
            try:
                return self.disturb_and_check()
            except (Broken, AssertionError, OSError, subprocess.SubprocessError) as problem:
                raise Broken(f"{problem}\nfaults: {', '.join(self.notes)}\n{self.logs()}") from problem

    def logs(self):
        folder = pathlib.Path(tempfile.mkdtemp(prefix="evener-soak-"))
        for number, process in enumerate(self.cluster.processes):
            text = f"{process.arguments}\nexit {process.process.poll()}\n{process.said()}\n{process.out}\n"
            (folder / f"{number}-{process.arguments[0]}.log").write_text(text)
        if self.cluster.run.exists():
            shutil.copytree(self.cluster.run, folder / "run")
        return f"the logs and the run are in {folder}"

    def start(self):
        options = ["--stall-timeout", "5"]
        where = {}
        if self.network:
            options.append("--insecure")
            where = {"prefix": self.network.prefix("coordinator"), "listen": f"{HOSTS['coordinator']}:0"}
        form = SmallDisk if self.small_disk else Cluster
        return form(self.kind, workers="1:3", epochs=EPOCHS, options=options, **where)

    def start_worker(self, rank):
        how = {}
        if self.network:
            host = "worker" if rank == 2 else "coordinator"
            how = {"address": HOSTS["coordinator"], "prefix": self.network.prefix(host)}
        worker = self.cluster.start_worker(rank, emulate="x0.1", wait="60", **how)
        self.workers[rank] = worker
        return worker

    def over(self):
        return self.cluster.coordinator.process.poll() is not None

    def until(self, condition):
        """Whether the condition came true before the run was over."""
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline:
            if condition():
                return True
            if self.over():
                return False
            time.sleep(0.05)
        raise Broken("a wait did not end")

    def nodes(self):
        return self.cluster.status().get("nodes", [])

    def until_pushes(self, rank, count=2):
        """The worker in this slot pushes again."""
        before = [None]

        def more():
            nodes = self.nodes()
            if len(nodes) <= rank or nodes[rank]["state"] == "dead":
                return False
            if before[0] is None or nodes[rank]["pushes"] < before[0]:
                before[0] = nodes[rank]["pushes"]
            return nodes[rank]["pushes"] >= before[0] + count

        return self.until(more)

    def until_dead(self, rank):
        return self.until(lambda: any(i == rank and node["state"] == "dead" for i, node in enumerate(self.nodes())))

    # Faults. Each ends with all workers at work, or with the run.
    def kill(self, rank):
        self.workers[rank].send(signal.SIGKILL)
        self.workers[rank].finish()
        self.start_worker(rank)

    def stop(self, rank):
        self.workers[rank].send(signal.SIGSTOP)
        time.sleep(self.choose.choice((0.2, 1.5, 4)))
        self.workers[rank].send(signal.SIGCONT)

    def leave(self, rank):
        self.workers[rank].send(signal.SIGINT)
        code = self.workers[rank].finish(PATIENCE)
        check(code == 130 or self.over(), f"a worker that left ended with {code}")
        self.start_worker(rank)

    def hang(self, rank):
        hang(self.workers[rank].process.pid)
        self.until_dead(rank)
        self.workers[rank].send(signal.SIGKILL)
        self.workers[rank].finish()
        self.start_worker(rank)

    def cut(self, _rank):
        with self.network.cut():
            time.sleep(self.choose.choice((1, 4)))

    def slow_link(self, _rank):
        """A push then takes as long as a step, or longer."""
        with self.network.slowed(self.choose.choice(("500kbit", "2mbit"))):
            time.sleep(self.choose.choice((2, 6)))

    def kill_coordinator(self, _rank):
        if not self.until(lambda: any((self.cluster.run / "checkpoints").glob("step-*"))):
            return
        self.cluster.coordinator.send(signal.SIGKILL)
        self.cluster.coordinator.finish()
        self.resumed = True
        host = HOSTS["coordinator"] if self.network else "127.0.0.1"
        self.cluster.listen = f"{host}:{self.cluster.port}"
        self.cluster.coordinator = self.cluster.start_coordinator(resume=True)

    def fill_disk(self, _rank):
        if not self.until(lambda: any((self.cluster.run / "checkpoints").glob("step-*"))):
            return
        self.cluster.fill()
        code = self.cluster.coordinator.finish(PATIENCE)
        (self.cluster.disk / "filler").unlink()
        # Where the last checkpoint had just been written, the run may end first.
        check(code == 0 or (code == 1 and "No space left on device" in self.cluster.coordinator.said()),
              f"without space on the disk the coordinator ended with {code}")
        if code == 0:
            return
        self.resumed = self.lost_records = True
        for worker in self.workers.values():
            check(worker.finish(PATIENCE) == 1, f"a worker of a run that failed ended with {worker.process.returncode}")
        self.cluster.coordinator = self.cluster.start_coordinator(resume=True)
        for rank in range(3):
            self.start_worker(rank)

    def faults(self):
        faults = [self.kill, self.stop, self.leave, self.kill_coordinator]
        if self.network:
            faults += [self.cut, self.slow_link]
        elif self.traces:
            faults.append(self.hang)
        if self.small_disk:
            faults.append(self.fill_disk)
        return faults

    def disturb_and_check(self):
        self.resumed, self.lost_records, self.workers = False, False, {}
        for rank in range(3):
            self.start_worker(rank)
        for rank in range(3):
            self.until_pushes(rank)
        begin = Usage(self.cluster.coordinator).now()
        end = begin
        for _ in range(self.choose.randint(2, 4)):
            fault, rank = self.choose.choice(self.faults()), self.choose.randrange(3)
            if self.over():
                break
            self.notes.append(f"{fault.__name__} {rank}")
            fault(rank)
            if fault in (self.kill_coordinator, self.fill_disk):
                for other in range(3):
                    self.until_pushes(other)
                begin = Usage(self.cluster.coordinator).now()
            if all(self.until_pushes(rank) for rank in range(3)):
                end = Usage(self.cluster.coordinator).now() or end
        code = self.cluster.coordinator.finish(PATIENCE)
        check(code == 0, f"the coordinator ended with {code}")
        result = json.loads(self.cluster.coordinator.out)
        self.check_workers()
        self.check_rows(result)
        for what, most in GROWTH.items():
            check(not begin or not end or end[what] <= begin[what] + most,
                  f"the coordinator's {what} grew from {begin and begin[what]} to {end and end[what]}")
        return result["metrics"][QUALITY]

    def check_workers(self):
        for rank, worker in self.workers.items():
            code = worker.finish(PATIENCE)
            # A worker that was cut off, or had not joined yet, when the run ended finds no coordinator.
            alone = code == 1 and "trying again" in worker.said()
            check(code == 0 or alone, f"worker {rank} ended with {code}:\n{worker.said()}")

    def check_rows(self, result):
        check(result["ended"] == "epochs" and result["epochs"] == EPOCHS, f"it ended by {result['ended']}")
        records = [json.loads(line) for line in (self.cluster.run / "metrics.jsonl").read_text().splitlines()]
        epochs = [record["epoch"] for record in records if record["kind"] == "epoch"]
        if not self.lost_records:
            check(epochs == list(range(1, EPOCHS + 1)), f"metrics.jsonl has the epochs {epochs}")
        if self.resumed:  # the devices count from the last checkpoint
            return
        trained = sum(node["rows"] for node in result["devices"])
        check(trained >= EPOCHS * ROWS, f"{trained} rows were trained instead of {EPOCHS * ROWS}")
        # asp and ssp apply each push when it arrives: nothing that was trained is lost with a worker.
        if self.kind in ("asp", "ssp"):
            check(trained == EPOCHS * ROWS, f"{trained} rows were trained instead of {EPOCHS * ROWS}")


class Calm(Round):
    """The same run without faults."""

    def __init__(self, kind, seed):
        self.kind, self.notes, self.network = kind, [], None
        self.seed = str(seed)

    def start(self):
        return Cluster(self.kind, workers="3", epochs=EPOCHS, options=["--seed", self.seed])

    def disturb_and_check(self):
        self.resumed, self.lost_records, self.workers = False, False, {}
        for rank in range(3):
            self.workers[rank] = self.cluster.start_worker(rank, emulate="x1")
        result = self.cluster.result()
        self.check_workers()
        self.check_rows(result)
        return result["metrics"][QUALITY]


class Peers:
    """A group of gossiping peers: some are killed or leave, and others take their place."""

    def __init__(self, choose, seed=1, calm=False):
        self.choose, self.seed, self.calm, self.notes = choose, seed, calm, []

    def start(self, rank, name):
        data = self.path / "data"
        process = Process(["train", str(data / "train.txt"), "--test", str(data / "test.txt"), "-o", str(self.path / name),
                           "--devices", "cpu:1", "--hidden", "32", "--strategy", "gossip", "--optimizer", "sgd",
                           "--learning-rate", "0.5", "--global-batch-size", "12", "--reference-batch", "12", "--epochs", str(EPOCHS), "--seed",
                           str(self.seed), "--json",
                           "--peers", ",".join(self.addresses), "--rank", str(rank)], (),
                          {"EVENER_CACHE_DIR": str(self.path / "cache"), "OMP_NUM_THREADS": "1"})
        self.processes.append(process)
        return process

    def run(self):
        self.processes, self.late = [], set()
        with tempfile.TemporaryDirectory() as folder:
            self.path = pathlib.Path(folder)
            subprocess.run([COMMAND, "dataset", "synthetic", "-o", str(self.path / "data"), "--rows", str(ROWS), "--features",
                            "300", "--labels", "100", "--seed", "5"], check=True, capture_output=True, timeout=60)
            self.addresses = free_addresses(3)
            try:
                return self.train()
            except (Broken, AssertionError) as problem:
                said = "\n".join(process.said() for process in self.processes)
                raise Broken(f"{problem}\nfaults: {', '.join(self.notes)}\n{said}") from problem
            finally:
                for process in self.processes:
                    process.end()

    def train(self):
        peers = [self.start(rank, f"run{rank}") for rank in range(3)]
        for peer in peers:
            peer.wait_for(r"epoch \d+/", PATIENCE)
        if not self.calm:
            with braked(peers, 0.02, 0.18):
                for _ in range(self.choose.randint(1, 3)):
                    self.replace(peers)
        quality = []
        for rank, peer in enumerate(peers):
            code = peer.finish(PATIENCE)
            if code == 0:
                quality.append(json.loads(peer.out)["metrics"][QUALITY])
            else:  # it was started when the others had ended
                check(rank in self.late and code == 1, f"peer {rank} ended with {code}:\n{peer.said()}")
        check(len(set(quality)) == 1, f"the peers end with different models: {QUALITY} is {quality}")
        return quality[0]

    def replace(self, peers):
        """Ends one peer and starts another in its place, which joins if the others still train."""
        rank = self.choose.randrange(3)
        number, code = self.choose.choice(((signal.SIGKILL, -signal.SIGKILL), (signal.SIGINT, 130)))
        if any(peer.process.poll() is not None for peer in peers):
            return
        self.notes.append(f"{number.name} {rank}")
        peers[rank].send(number)
        ended = peers[rank].finish(PATIENCE)
        check(ended in (code, 0), f"peer {rank} ended with {ended} after {number.name}")
        peers[rank] = self.start(rank, f"again{len(self.processes)}")
        deadline = time.monotonic() + PATIENCE
        while "joined late" not in peers[rank].said():
            others = [peer for other, peer in enumerate(peers) if other != rank]
            if peers[rank].process.poll() is not None or any(peer.process.poll() is not None for peer in others):
                self.late.add(rank)
                return
            check(time.monotonic() < deadline, f"peer {rank} does not join")
            time.sleep(0.05)
