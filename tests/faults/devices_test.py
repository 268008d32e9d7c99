"""One process with devices whose threads hang, and with very slow emulated devices."""
import json
import os
import pathlib
import signal
import subprocess
import tempfile
import time
import unittest

from cluster import COMMAND, LONG, PATIENCE, Process, can_trace, hang, hang_until_end

# The threads of devices sleep most of the time.
SLOW = ["--emulate", "0=x0.02,1=x0.02"]


class OneProcess(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = pathlib.Path(folder.name)
        self.run_folder = self.path / "run"
        self.environment = {"EVENER_CACHE_DIR": str(self.path / "cache")}
        subprocess.run([COMMAND, "dataset", "synthetic", "-o", str(self.path / "data"), "--rows", "3000", "--features", "300",
                        "--labels", "100", "--seed", "5"], check=True, capture_output=True, timeout=PATIENCE)

    def start(self, *arguments):
        # On one core, merges have no threads of their own: the busy ones are those of the devices.
        core = str(min(os.sched_getaffinity(0)))
        process = Process(["train", *arguments, "--json"], ["taskset", "-c", core], self.environment)
        self.addCleanup(process.end)
        return process

    def train(self, devices, strategy, *more, epochs=LONG):
        strategy = ["--strategy", strategy] if strategy else []
        return self.start(str(self.path / "data"), "-o", str(self.run_folder), "--devices", devices, *strategy, "--hidden", "32",
                          "--optimizer", "sgd", "--learning-rate", "0.5", "--global-batch-size", "48", "--epochs", str(epochs),
                          "--checkpoint-every", "1", *more)

    def checkpoints(self):
        return sorted(self.run_folder.glob("checkpoints/step-*/state.safetensors"))

    def wait_for_checkpoint(self, process):
        deadline = time.monotonic() + PATIENCE
        while not self.checkpoints():
            self.assertLess(time.monotonic(), deadline, process.said())
            time.sleep(0.02)

    def wait_for_steps(self, process):
        """Until the run has saved its checkpoint and trains again."""
        def steps():
            return (self.run_folder / "metrics.jsonl").read_text().count('"kind":"step"')
        before, deadline = steps(), time.monotonic() + PATIENCE
        while steps() < before + 3:
            self.assertLess(time.monotonic(), deadline, process.said())
            time.sleep(0.02)

    def check_resumes(self):
        again = self.start("--resume", str(self.run_folder), "--epochs", "1")
        self.assertEqual(again.finish(), 0, again.said())


def threads_of(process):
    """The threads that use the processor, the busiest first."""
    used = {}
    for thread in pathlib.Path(f"/proc/{process.process.pid}/task").iterdir():
        used[int(thread.name)] = int((thread / "schedstat").read_text().split()[0])
    return sorted(used, key=used.get, reverse=True)


@unittest.skipUnless(can_trace(), "this process may not trace others")
class Hung(OneProcess):
    def hang_a_device(self, process):
        """Stops the thread of a device; the main thread only waits for them."""
        self.wait_for_checkpoint(process)
        thread = next(thread for thread in threads_of(process) if thread != process.process.pid)
        hang_until_end(thread, waiting=True)

    def test_a_signal_leaves_a_checkpoint_although_a_device_hangs(self):
        for strategy in ("sync", "adaptive-sgd"):
            with self.subTest(strategy):
                self.run_folder = self.path / strategy
                process = self.train("cpu:1,cpu:1", strategy, *SLOW)
                self.hang_a_device(process)
                process.send(signal.SIGINT)
                self.assertEqual(process.finish(), 130, process.said())
                self.assertEqual(json.loads(process.out)["ended"], "signal")
                self.assertRegex(process.said(), "cpu:1 .*: it hangs: its step has not ended")
                again = self.start("--resume", str(self.run_folder), "--epochs",
                                   str(json.loads(process.out)["epochs"] + 2))
                self.assertEqual(again.finish(), 0, again.said())

    def test_the_other_devices_train_on(self):
        process = self.train("cpu:1,cpu:1", "adaptive-sgd", "--stall-timeout", "2", *SLOW)
        self.hang_a_device(process)
        process.wait_for(r"cpu:1 .*: it hangs: no progress for 2 s \(--stall-timeout\)")
        count = len(self.checkpoints())
        newest = self.checkpoints()[-1]
        deadline = time.monotonic() + PATIENCE
        while self.checkpoints()[-1] == newest:
            self.assertLess(time.monotonic(), deadline, f"{count} checkpoints: {process.said()}")
            time.sleep(0.02)
        process.send(signal.SIGINT)
        self.assertEqual(process.finish(), 130, process.said())

    def test_the_only_device(self):
        for name, options, code, says in (
                ("signal", [], 130, "interrupted: cpu:1: it hangs: .*; ended without a new checkpoint, earlier checkpoints are valid"),
                ("stall", ["--stall-timeout", "2"], 1, "error: cpu:1: it hangs: no progress for 2 s")):
            with self.subTest(name):
                self.run_folder = self.path / name
                # Slowed down, so that the thread is in a step almost always.
                process = self.train("cpu:1", "", "--emulate", "0=x0.01", *options)
                self.wait_for_checkpoint(process)
                self.wait_for_steps(process)
                hang(process.process.pid, waiting=True)
                if code == 130:
                    os.kill(process.process.pid, signal.SIGINT)
                self.assertEqual(process.finish(), code, process.said())
                self.assertRegex(process.said(), says)
                self.assertTrue(self.checkpoints())
                self.check_resumes()


class SlowEmulation(OneProcess):
    def test_a_signal_ends_the_emulated_time(self):
        for devices, strategy in (("cpu:1,cpu:1", "sync"), ("cpu:1", "")):
            with self.subTest(devices):
                self.run_folder = self.path / str(len(devices))
                process = self.train(devices, strategy, "--emulate", "0=x0.0000001")
                process.wait_for("training on")
                process.send(signal.SIGINT)
                self.assertEqual(process.finish(), 130, process.said())
                self.assertTrue(self.checkpoints())


if __name__ == "__main__":
    unittest.main()
