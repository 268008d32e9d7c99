"""System calls on the files of a run that fail: the command ends with a message, and the last good state loads.

failing_files.cc makes one call fail. The numbers of these calls are drawn with a fixed seed, spread over the whole run.
"""
import errno
import os
from pathlib import Path
import random
import re
import shutil
import subprocess
import tempfile
import unittest

COMMAND = os.environ["EVENER_COMMAND"]
ERRORS = (errno.EIO, errno.ENOSPC, errno.EINTR, 0)  # 0: a write that writes only a part
SAMPLES = 16
SECONDS = 120  # a command that takes longer hangs


def rows(count, seed):
    draw = random.Random(seed)
    lines = []
    for _ in range(count):
        label = draw.randrange(4)
        features = sorted({label * 5, *(draw.randrange(20) for _ in range(3))})
        lines.append(f"{label} " + " ".join(f"{feature}:1" for feature in features))
    return f"{count} 20 4\n" + "\n".join(lines) + "\n"


def places(calls, seed):
    """The first call, and one out of each of SAMPLES equal parts of the run, with the error that it fails with."""
    draw = random.Random(seed)
    yield 1, errno.EIO
    for i in range(SAMPLES):
        begin, end = i * calls // SAMPLES + 1, (i + 1) * calls // SAMPLES
        yield draw.randint(begin, max(begin, end)), ERRORS[i % len(ERRORS)]


class Files(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = Path(folder.name)
        (self.path / "data.txt").write_text(rows(64, 1))
        self.library = shutil.copy(os.environ["EVENER_TEST_FAILING_FILES"], self.path)  # LD_PRELOAD ends at a space
        self.work = self.path / "work"

    def run_command(self, *arguments, fault=None):
        environment = {"PATH": os.environ["PATH"], "HOME": str(self.path), "OMP_NUM_THREADS": "1",
                       "EVENER_CACHE_DIR": str(self.work / "cache")}
        if fault is not None:
            environment |= {"LD_PRELOAD": self.library, "EVENER_TEST_FAULT": fault,
                            "EVENER_TEST_FAULT_FOLDER": str(self.work),
                            "EVENER_TEST_FAULT_COUNT": str(self.path / "count")}
        return subprocess.run([COMMAND, *map(str, arguments)], env=environment, capture_output=True, text=True, timeout=SECONDS)

    def train(self, *arguments, fault=None):
        return self.run_command("train", *arguments, "--devices", "cpu:1", "--checkpoint-every", "1", fault=fault)

    def new_run(self, epochs, fault=None):
        return self.train(self.path / "data.txt", "-o", self.work / "run", "--hidden", "4", "--epochs", epochs,
                          "--global-batch-size", "16", "--learning-rate", "0.02", "--decay", "constant",
                          "--validation-share", "0.2", fault=fault)

    def resume(self, fault=None):
        return self.train("--resume", self.work / "run", "--epochs", "4", fault=fault)

    def succeeds(self, outcome):
        self.assertEqual(outcome.returncode, 0, outcome.stderr)

    def model(self):
        return (self.work / "run" / "last.safetensors").read_bytes()

    def ends_properly(self, outcome):
        self.assertIn(outcome.returncode, (0, 1), outcome.stderr)
        if outcome.returncode == 1:
            self.assertRegex(outcome.stderr, re.compile("^evener: error: .", re.MULTILINE))

    def has_checkpoint(self):
        return any((self.work / "run" / "checkpoints").glob("step-*"))

    def test_every_sampled_call(self):
        if type(self) is Files:
            self.skipTest("has no run of its own")
        self.prepare()
        self.succeeds(self.faulty("0 0"))
        expected = self.model()
        calls = int((self.path / "count").read_text())
        self.assertGreater(calls, 60)
        for number, error in places(calls, self.SEED):
            with self.subTest(call=number, error=errno.errorcode.get(error, "part of a write")):
                self.prepare()
                outcome = self.faulty(f"{number} {error}")
                self.ends_properly(outcome)
                if outcome.returncode == 0:
                    self.assertEqual(self.model(), expected, outcome.stderr)
                self.goes_on(expected, outcome)


class NewRun(Files):
    """Cache, configuration, checkpoints and models are written."""
    SEED = 1

    def prepare(self):
        shutil.rmtree(self.work, ignore_errors=True)
        self.work.mkdir()

    def faulty(self, fault):
        return self.new_run(3, fault)

    def goes_on(self, expected, outcome):
        if self.has_checkpoint():
            self.succeeds(self.run_command("info", self.work / "run"))
            self.succeeds(self.train("--resume", self.work / "run"))
        else:  # the cache that is left must be whole or be made again
            shutil.rmtree(self.work / "run", ignore_errors=True)
            self.succeeds(self.new_run(3))
        self.assertEqual(self.model(), expected, outcome.stderr)


class ResumedRun(Files):
    """A checkpoint is loaded, and newer ones replace it."""
    SEED = 2

    def setUp(self):
        super().setUp()
        self.work.mkdir()
        self.succeeds(self.new_run(2))
        shutil.copytree(self.work, self.path / "base")

    def prepare(self):
        shutil.rmtree(self.work)
        shutil.copytree(self.path / "base", self.work)

    def faulty(self, fault):
        return self.resume(fault)

    def goes_on(self, expected, outcome):
        self.succeeds(self.run_command("info", self.work / "run"))
        self.succeeds(self.resume())
        self.assertEqual(self.model(), expected, outcome.stderr)


if __name__ == "__main__":
    unittest.main()
