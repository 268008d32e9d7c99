"""Runs of small clusters of processes in which faults happen, and the checks after each run."""
import contextlib
import json
import pathlib
import shutil
import signal
import subprocess
import tempfile
import time

from cluster import PATIENCE, Cluster, ROWS, hang
from network_test import HOSTS, Network
from soak_checks import Broken, Usages, check, progress_of
from soak_peers import EPOCHS, QUALITY

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
        self.network, self.small_disk, self.server_count = None, False, 0
        place = choose.random()
        if machine.networks and place < 0.4:
            self.network = Network()
        elif machine.mounts and place > 0.7:
            self.small_disk = True
        self.traces = machine.traces
        if not self.network and choose.random() < 0.4:
            self.server_count = 2

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
        if self.server_count > 0:
            options += ["--servers", str(self.server_count)]
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

    def start_servers(self):
        self.servers = [self.cluster.start_server(wait="60") for _ in range(self.server_count)]

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
        if not self.until_checkpoint():
            return
        self.cluster.coordinator.send(signal.SIGKILL)
        self.cluster.coordinator.finish()
        self.note_resume()
        host = HOSTS["coordinator"] if self.network else "127.0.0.1"
        self.cluster.listen = f"{host}:{self.cluster.port}"
        self.cluster.coordinator = self.cluster.start_coordinator(resume=True)

    def fill_disk(self, _rank):
        if not self.until_checkpoint():
            return
        self.cluster.fill()
        code = self.cluster.coordinator.finish(PATIENCE)
        (self.cluster.disk / "filler").unlink()
        # Where the last checkpoint had just been written, the run may end first.
        check(code == 0 or (code == 1 and "No space left on device" in self.cluster.coordinator.said()),
              f"without space on the disk the coordinator ended with {code}")
        if code == 0:
            return
        self.lost_records = True
        self.start_again(self.servers)

    def lose_server(self, _rank):
        """By a kill, or because it hangs: the run fails, and is resumed with new servers."""
        if not self.until_checkpoint():
            return
        lost, left = self.servers[0], self.servers[1:]
        if self.traces and self.choose.random() < 0.5:
            hang(lost.process.pid)
        else:
            lost.send(signal.SIGKILL)
        code = self.cluster.coordinator.finish(PATIENCE)
        said = self.cluster.coordinator.said()
        check(code == 0 or (code == 1 and "a shard of the model is lost: server " in said), f"without a server it ended with {code}")
        lost.end()
        self.servers = left
        if code == 1:
            self.start_again(left)

    def stop_server(self, _rank):
        """A pause that is too short to lose it."""
        self.servers[0].send(signal.SIGSTOP)
        time.sleep(1)
        self.servers[0].send(signal.SIGCONT)

    def start_again(self, servers):
        """Resumes a run that failed; `servers`: those that were told so."""
        for process in (*self.workers.values(), *servers):
            check(process.finish(PATIENCE) == 1, f"a member of a run that failed ended with {process.process.returncode}")
        self.note_resume()
        self.cluster.coordinator = self.cluster.start_coordinator(resume=True)
        self.start_servers()
        for rank in range(3):
            self.start_worker(rank)

    def note_resume(self):
        """The devices count from the checkpoint on."""
        progress = progress_of(self.cluster.run / "checkpoints")
        self.resumed = True
        self.rows_before = progress["epoch"] * ROWS + progress["next_row"]

    def until_checkpoint(self):
        return self.until(lambda: any((self.cluster.run / "checkpoints").glob("step-*/state.safetensors")))

    def faults(self):
        faults = [self.kill, self.stop, self.leave, self.kill_coordinator]
        if self.network:
            faults += [self.cut, self.slow_link]
        elif self.traces:
            faults.append(self.hang)
        if self.small_disk:
            faults.append(self.fill_disk)
        if self.server_count > 0:
            faults += [self.lose_server, self.stop_server]
        return faults

    def begin(self):
        self.resumed, self.lost_records, self.workers, self.rows_before = False, False, {}, 0
        self.start_servers()

    def disturb_and_check(self):
        self.begin()
        for rank in range(3):
            self.start_worker(rank)
        usages = Usages()
        for _ in range(self.choose.randint(2, 4)):
            self.measure(usages)
            fault, rank = self.choose.choice(self.faults()), self.choose.randrange(3)
            if self.over():
                break
            self.notes.append(f"{fault.__name__} {rank}")
            fault(rank)
        self.measure(usages)
        code = self.cluster.coordinator.finish(PATIENCE)
        check(code == 0, f"the coordinator ended with {code}")
        result = json.loads(self.cluster.coordinator.out)
        self.check_workers()
        self.check_rows(result)
        usages.check()
        return result["metrics"][QUALITY]

    def measure(self, usages):
        if all(self.until_pushes(rank) for rank in range(3)):
            usages.measure([self.cluster.coordinator, *self.workers.values(), *self.servers])

    def check_workers(self):
        for rank, worker in self.workers.items():
            code = worker.finish(PATIENCE)
            # A worker that was cut off, or had not joined yet, when the run ended finds no coordinator.
            alone = code == 1 and "trying again" in worker.said()
            check(code == 0 or alone, f"worker {rank} ended with {code}:\n{worker.said()}")
        for server in self.servers:
            check(server.finish(PATIENCE) == 0, f"a server ended with {server.process.returncode}:\n{server.said()}")

    def check_rows(self, result):
        check(result["ended"] == "epochs" and result["epochs"] == EPOCHS, f"it ended by {result['ended']}")
        records = [json.loads(line) for line in (self.cluster.run / "metrics.jsonl").read_text().splitlines()]
        epochs = [record["epoch"] for record in records if record["kind"] == "epoch"]
        if not self.lost_records:
            check(epochs == list(range(1, EPOCHS + 1)), f"metrics.jsonl has the epochs {epochs}")
        trained = sum(node["rows"] for node in result["devices"])
        expected = EPOCHS * ROWS - self.rows_before
        check(trained >= expected, f"{trained} rows were trained instead of {expected}")
        # asp and ssp apply each push when it arrives: nothing that was trained is lost with a worker. dasp refuses a
        # push that is too old, and its rows are trained again: that depends on the load of the machine.
        again = any("lost" in note for note in result["notes"]) or any(node["rejected"] for node in result["devices"])
        if self.kind in ("asp", "ssp") or not again:
            check(trained == expected, f"{trained} rows were trained instead of {expected}")


class Calm(Round):
    """The same run without faults."""

    def __init__(self, kind, seed):
        self.kind, self.notes, self.network, self.server_count = kind, [], None, 0
        self.seed = str(seed)

    def start(self):
        return Cluster(self.kind, workers="3", epochs=EPOCHS, options=["--seed", self.seed])

    def disturb_and_check(self):
        self.begin()
        for rank in range(3):
            self.workers[rank] = self.cluster.start_worker(rank, emulate="x1")
        result = self.cluster.result()
        self.check_workers()
        self.check_rows(result)
        return result["metrics"][QUALITY]
