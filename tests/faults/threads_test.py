"""Each thread of a command that cannot be started, as at a limit of the system: the command ends with a message.

failing_threads.cc makes one thread fail to start.
"""
import os
from pathlib import Path
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(Path(__file__).parent.parent / "cluster/transport/conformance"))
from ranks import launcher  # noqa: E402

COMMAND = os.environ["EVENER_COMMAND"]
SECONDS = 120  # a command that takes longer hangs
MOST = 20  # threads


class Threads(unittest.TestCase):
    """`evener train` with the words of a subclass."""
    BEFORE, WORDS, MESSAGE = [], [], ""

    def setUp(self):
        if not self.WORDS:
            self.skipTest("has no command of its own")
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = Path(folder.name)
        (self.path / "data.txt").write_text("16 2 2\n" + 8 * "0 0:1\n1 1:1\n")
        self.environment = dict(os.environ, EVENER_CACHE_DIR=str(self.path / "cache"), OMP_NUM_THREADS="1")

    def run_with_fault(self, number):
        count = self.path / "count"
        count.unlink(missing_ok=True)
        preloaded = {"LD_PRELOAD": os.environ["EVENER_TEST_FAILING_THREADS"], "EVENER_TEST_FAULT": str(number),
                     "EVENER_TEST_FAULT_COUNT": str(count)}
        variables = [f"{name}={value}" for name, value in preloaded.items()]  # not for a launcher
        words = [*self.BEFORE, "env", *variables, COMMAND, "train", str(self.path / "data.txt"),
                 "-o", str(self.path / f"run{number}"), "--hidden", "2", "--epochs", "1", *self.WORDS]
        outcome = subprocess.run(words, env=self.environment, capture_output=True, text=True, timeout=SECONDS)
        return outcome, int(count.read_text()) if count.exists() else None

    def test_every_thread(self):
        outcome, threads = self.run_with_fault(0)
        self.assertEqual(outcome.returncode, 0, outcome.stderr)
        self.assertGreaterEqual(threads, 2)
        self.assertLess(threads, MOST)
        messages = ""
        for number in range(1, threads + 1):
            with self.subTest(thread=number):
                outcome, counted = self.run_with_fault(number)
                self.assertIn(outcome.returncode, (0, 1), outcome.stderr)  # 0: it does without that thread
                self.assertIsNotNone(counted, "the command did not end by itself")
                if outcome.returncode == 1:
                    self.assertRegex(outcome.stderr, "(?m)^evener: error: .*threads? .*Resource temporarily unavailable")
                messages += outcome.stderr
        self.assertRegex(messages, self.MESSAGE)


class Devices(Threads):
    WORDS = ["--devices", "cpu:2,cpu:1,cpu:1", "--strategy", "sync"]
    MESSAGE = "only 1 of 3 device threads could be started"


class Ranks(Threads):
    """Two ranks of the library that EVENER_TEST_MPI names. The thread fails on both: if one rank ends before MPI begins,
    mpirun.mpich does not end the other, which waits for it inside the library."""
    WORDS = ["--transport", "mpi"]
    MESSAGE = "threads for MPI could not be started"

    def setUp(self):
        super().setUp()
        self.BEFORE, environment = launcher(os.environ["EVENER_TEST_MPI"], 2)
        self.environment = {**environment, **self.environment}


if __name__ == "__main__":
    unittest.main()
