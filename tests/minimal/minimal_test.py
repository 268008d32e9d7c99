"""A command without the optional parts: it trains, and says what is missing where it is asked for.

    minimal_test.py COMMAND
"""
import pathlib
import subprocess
import sys
import tempfile
import unittest

COMMAND = sys.argv.pop(1)
NO_CLUSTER = "built without cluster support (EVENER_CLUSTER)"
NO_OPENCL = "built without OpenCL (EVENER_OPENCL)"
NO_CUDA = "built without CUDA (EVENER_CUDA)"


def run(*words):
    return subprocess.run([COMMAND, *map(str, words)], text=True, capture_output=True, timeout=60, check=False)


class Minimal(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.data = pathlib.Path(cls.folder.name) / "data"
        made = run("dataset", "synthetic", "-o", cls.data, "--rows", 200)
        assert made.returncode == 0, made.stderr

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def refused(self, reason, *words):
        result = run(*words)
        message = " ".join(result.stderr.split())
        self.assertEqual(result.returncode, 2, message)
        self.assertIn(reason, message)

    def test_trains(self):
        result = run("train", self.data, "--epochs", 1, "--devices", "cpu", "-o", self.folder.name + "/run")
        self.assertEqual(result.returncode, 0, result.stderr)
        result = run("train", self.data, "--epochs", 1, "-o", self.folder.name + "/auto")
        self.assertEqual(result.returncode, 0, result.stderr)

    def test_cluster(self):
        here = "127.0.0.1:1"
        self.refused(NO_CLUSTER, "coordinator", self.data, "--listen", here, "--workers", 1,
                     "--insecure", "-o", self.folder.name + "/c")
        self.refused(NO_CLUSTER, "worker", "--coordinator", here)
        self.refused(NO_CLUSTER, "server", "--coordinator", here)
        self.refused(NO_CLUSTER, "worker", "--peers", here + ",127.0.0.1:2", "--rank", 0, "--insecure")
        self.refused(NO_CLUSTER, "status", here)
        self.refused(NO_CLUSTER, "certs", self.folder.name + "/certs")

    def test_devices(self):
        self.refused(NO_OPENCL, "train", self.data, "--devices", "opencl:0.0")
        self.refused(NO_CUDA, "train", self.data, "--devices", "cuda:0")
        listed = " ".join(run("devices").stdout.split())
        self.assertIn(NO_OPENCL, listed)
        self.assertIn(NO_CUDA, listed)


if __name__ == "__main__":
    unittest.main()
