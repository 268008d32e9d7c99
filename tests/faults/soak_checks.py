"""What the soak measures of processes, and how a check fails."""
import json
import os
import pathlib


class Broken(Exception):
    """A check failed."""


def check(holds, what):
    if not holds:
        raise Broken(what)


# What a process may have more of at the end of a round than when it began to train with all others.
GROWTH = {"MB": 40, "threads": 12, "files": 12}


def usage(process):
    """The memory, threads and open files of a process; nothing where it has ended."""
    folder = pathlib.Path(f"/proc/{process.process.pid}")
    try:
        status = (folder / "status").read_text()
        fields = dict(line.split(":", 1) for line in status.splitlines())
        return {"MB": int(fields["VmRSS"].split()[0]) / 1024, "threads": int(fields["Threads"]),
                "files": len(os.listdir(folder / "fd"))}
    except (OSError, KeyError):
        return None


class Usages:
    """The first and the last measurement of each process of a round. Measure when all are at work."""

    def __init__(self):
        self.first, self.last = {}, {}

    def measure(self, processes):
        for process in processes:
            if now := usage(process):
                self.first.setdefault(process, now)
                self.last[process] = now

    def check(self):
        for process, first in self.first.items():
            last = self.last[process]
            for what, most in GROWTH.items():
                check(last[what] <= first[what] + most,
                      f"{' '.join(process.arguments[:4])}: {what} grew from {first[what]:.0f} to {last[what]:.0f}")


def progress_of(checkpoints):
    """What the newest checkpoint of this folder says about its place in the run."""
    newest = max(checkpoints.glob("step-*/state.safetensors"))
    with open(newest, "rb") as file:
        length = int.from_bytes(file.read(8), "little")
        return json.loads(json.loads(file.read(length))["__metadata__"]["evener.progress"])
