"""A cluster of real processes for tests: starts, watches, disturbs and ends them, with timeouts."""
import ctypes
import fcntl
import json
import os
import pathlib
import platform
import pty
import re
import signal
import struct
import subprocess
import tempfile
import termios
import threading
import time

COMMAND = os.environ["EVENER_COMMAND"]
FAST = ["--heartbeat", "0.3", "--suspect", "1", "--evict", "2.5"]
ROWS = 3000
LONG = 5000  # epochs: the test interrupts such a run
PATIENCE = 240  # seconds: a wait that takes longer has failed, also on a busy machine


def has_terminals():
    try:
        for end in pty.openpty():
            os.close(end)
    except OSError:
        return False
    return True


PTRACE_SEIZE, PTRACE_INTERRUPT, PTRACE_DETACH, WAIT_ALL = 0x4206, 0x4207, 17, 0x40000000
# Where a thread waits: clock_nanosleep and futex, by their numbers on this machine.
WAITING_CALLS = {"x86_64": ("230", "202"), "aarch64": ("115", "98")}[platform.machine()]


def hang(thread, waiting=False):
    """Stops one thread, by its number; the main thread has that of its process. SIGKILL still ends it. `waiting`: at a
    moment when it waits or sleeps, because a thread that is stopped inside malloc, say, also stops all others."""
    trace = ctypes.CDLL(None, use_errno=True).ptrace
    trace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]

    def request(what):
        if trace(what, thread, None, None) != 0:
            raise OSError(ctypes.get_errno(), "ptrace")

    deadline = time.monotonic() + PATIENCE
    while True:
        request(PTRACE_SEIZE)
        request(PTRACE_INTERRUPT)
        os.waitpid(thread, WAIT_ALL)
        call = pathlib.Path(f"/proc/{thread}/syscall").read_text().split()[0]
        if not waiting or call in WAITING_CALLS:
            return
        assert time.monotonic() < deadline, f"thread {thread} never waits"
        request(PTRACE_DETACH)
        time.sleep(0.002)


def hang_until_end(thread, waiting=False):
    """As `hang`, for a thread that is not the first one of a child: its process does not count as ended before its
    tracer has waited for the thread."""
    hang(thread, waiting)
    threading.Thread(target=os.waitpid, args=(thread, WAIT_ALL), daemon=True).start()


def can_trace():
    sleeper = subprocess.Popen(["sleep", "60"])
    try:
        hang(sleeper.pid)
    except OSError:
        return False
    finally:
        sleeper.kill()
        sleeper.wait()
    return True


def on_terminal(columns, arguments, prefix=()):
    """The lines that a command shows on a terminal of so many columns."""
    ours, its = pty.openpty()
    fcntl.ioctl(its, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    process = subprocess.Popen([*prefix, COMMAND, *arguments], stdin=its, stdout=its, stderr=its)
    os.close(its)
    shown = b""
    try:
        while part := os.read(ours, 65536):
            shown += part
    except OSError:  # it has ended
        pass
    os.close(ours)
    process.wait(PATIENCE)
    return shown.decode().splitlines()


class Process:
    """A command whose standard error is read as it arrives."""

    def __init__(self, arguments, prefix=(), environment=None):
        self.arguments = arguments
        self.lines = []
        self.process = subprocess.Popen(
            [*prefix, COMMAND, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            env={**os.environ, **(environment or {})})
        self.out = ""
        self.readers = [threading.Thread(target=self._read_err), threading.Thread(target=self._read_out)]
        for reader in self.readers:
            reader.start()

    def _read_err(self):
        with self.process.stderr as lines:
            for line in lines:
                self.lines.append(line.rstrip())

    def _read_out(self):
        with self.process.stdout as out:
            self.out = out.read()

    def said(self):
        return "\n".join(self.lines)

    def wait_for(self, pattern, seconds=PATIENCE):
        """The match of a line of standard error."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            found = re.search(pattern, self.said())
            if found:
                return found
            if self.process.poll() is not None and not self.readers[0].is_alive():
                break
            time.sleep(0.02)
        raise AssertionError(f"{self.arguments[0]} never said {pattern!r}, but:\n{self.said()}")

    def send(self, number):
        self.process.send_signal(number)

    def finish(self, seconds=PATIENCE):
        """Its exit code."""
        try:
            code = self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"{self.arguments[0]} has not ended in {seconds} s:\n{self.said()}") from None
        for reader in self.readers:
            reader.join(seconds)
        return code

    def end(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        for reader in self.readers:
            reader.join()


class Cluster:
    """One coordinator and its workers; use as a context."""

    def __init__(self, strategy="dasp", workers="3", epochs=6, options=(), prefix=(), listen="127.0.0.1:0",
                 optimizer="sgd"):
        self.folder = tempfile.TemporaryDirectory()
        self.path = pathlib.Path(self.folder.name)
        self.environment = {"EVENER_CACHE_DIR": str(self.path / "cache"), "OMP_NUM_THREADS": "1"}
        self.data = self.path / "data"
        made = subprocess.run([COMMAND, "dataset", "synthetic", "-o", str(self.data), "--rows", str(ROWS),
                               "--features", "300", "--labels", "100", "--seed", "5"],
                              env={**os.environ, **self.environment}, capture_output=True, text=True, timeout=PATIENCE)
        assert made.returncode == 0, made.stderr
        self.run = self.path / "run"
        self.strategy, self.counts, self.epochs, self.listen, self.optimizer = strategy, workers, epochs, listen, optimizer
        self.options = [*FAST, *options]
        self.processes = []
        self.prefix = list(prefix)  # of commands where the coordinator is
        self.coordinator = self.start_coordinator()
        self.workers = []

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for process in self.processes:
            process.end()
        self.folder.cleanup()

    def start_coordinator(self, resume=False):
        what = (["--resume", str(self.run)] if resume else
                [str(self.data / "train.txt"), "--test", str(self.data / "test.txt"), "-o", str(self.run),
                 "--strategy", self.strategy, "--epochs", str(self.epochs), "--hidden", "32",
                 "--optimizer", self.optimizer, "--learning-rate", "0.01" if self.optimizer == "adam" else "0.5",
                 "--global-batch-size", "48", "--reference-batch", "48",
                 "--checkpoint-every", "1"])
        coordinator = Process(["coordinator", *what, "--workers", self.counts, "--listen", self.listen, "--json",
                               *self.options], self.prefix, self.environment)
        self.processes.append(coordinator)
        if self.listen.endswith(":0"):
            self.port = int(coordinator.wait_for(r"at \S+:(\d+)").group(1))
        return coordinator

    def start_server(self, address="127.0.0.1", prefix=(), wait="20"):
        server = Process(["server", "--coordinator", f"{address}:{self.port}", "--threads", "1", "--wait-seconds", wait],
                         prefix, self.environment)
        self.processes.append(server)
        return server

    def start_worker(self, rank, emulate="x0.05", address="127.0.0.1", prefix=(), wait="20"):
        """Slowed down, so that there is time to disturb it."""
        worker = Process(["worker", "--coordinator", f"{address}:{self.port}", "--rank", str(rank), "--emulate",
                          emulate, "--devices", "cpu:1", "--wait-seconds", wait], prefix, self.environment)
        self.processes.append(worker)
        self.workers.append(worker)
        return worker

    def start_workers(self, count, **how):
        for rank in range(count):
            self.start_worker(rank, **how)

    def status(self):
        host = self.listen.rpartition(":")[0]
        asked = subprocess.run([*self.prefix, COMMAND, "status", f"{host}:{self.port}", "--json"],
                               capture_output=True, text=True, timeout=PATIENCE)
        return json.loads(asked.stdout) if asked.returncode == 0 else {}

    def shown_status(self, columns):
        return on_terminal(columns, ["status", f"127.0.0.1:{self.port}"])

    def wait_for(self, node, condition, seconds=PATIENCE):
        """Waits until the coordinator reports this status of the node."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            nodes = self.status().get("nodes", [])
            if len(nodes) > node and condition(nodes[node]):
                return
            time.sleep(0.05)
        raise AssertionError(f"node {node} is not as it should be: {nodes}\n{self.coordinator.said()}")

    def wait_for_pushes(self, node, pushes):
        self.wait_for(node, lambda status: status["pushes"] >= pushes)

    def newest_checkpoint(self):
        """The name of its folder, which grows with the step; empty: none."""
        return max((state.parent.name for state in self.run.glob("checkpoints/step-*/state.safetensors")), default="")

    def wait_for_checkpoint(self):
        deadline = time.monotonic() + PATIENCE
        while not self.newest_checkpoint():
            assert time.monotonic() < deadline, f"no checkpoint:\n{self.coordinator.said()}"
            assert self.coordinator.process.poll() is None, self.coordinator.said()
            time.sleep(0.02)

    def result(self, code=0):
        """The output of the coordinator when it ended."""
        ended = self.coordinator.finish()
        assert ended == code, f"exit {ended}:\n{self.coordinator.said()}"
        return json.loads(self.coordinator.out) if code == 0 else {}

    def interrupt(self):
        """Ends a long run; returns its output."""
        self.coordinator.send(signal.SIGINT)
        ended = self.coordinator.finish()
        assert ended == 130, f"exit {ended}:\n{self.coordinator.said()}"
        return json.loads(self.coordinator.out)
