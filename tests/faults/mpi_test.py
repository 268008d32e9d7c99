"""The command as ranks of MPI, with faults. The library that EVENER_TEST_MPI names provides the launcher."""
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

from cluster import COMMAND, PATIENCE, Process, can_trace, hang_until_end

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "cluster/transport/conformance"))
from ranks import launcher  # noqa: E402

FAMILY = os.environ["EVENER_TEST_MPI"]
RANK = {"openmpi": "OMPI_COMM_WORLD_RANK", "mpich": "PMI_RANK"}[FAMILY]


class Ranks(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = pathlib.Path(folder.name)
        self.environment = {"EVENER_CACHE_DIR": str(self.path / "cache"), "OMP_NUM_THREADS": "1"}
        subprocess.run([COMMAND, "dataset", "synthetic", "-o", str(self.path / "data"), "--rows", "3000", "--features", "300",
                        "--labels", "100", "--seed", "5"], check=True, capture_output=True, timeout=PATIENCE)

    def start(self, ranks, *arguments, survive=False):
        before, environment = launcher(FAMILY, ranks, survive)
        process = Process(["train", "--transport", "mpi", "--json", *arguments], before, {**environment, **self.environment})
        self.addCleanup(process.end)
        return process

    def new(self, name, *more, hidden=32):
        return [str(self.path / "data"), "-o", str(self.path / name), "--hidden", str(hidden), "--optimizer", "sgd", "--learning-rate", "0.5",
                "--global-batch-size", "12", *more]

    def model(self, name):
        return (self.path / name / "last.safetensors").read_bytes()

    def process_of(self, rank, name):
        """The process id of a rank, found by its environment and arguments."""
        for entry in pathlib.Path("/proc").iterdir():
            try:
                words = (entry / "cmdline").read_bytes().split(b"\0")
                variables = (entry / "environ").read_bytes().split(b"\0")
            except (OSError, ValueError):
                continue
            if words[0] == COMMAND.encode() and f"{RANK}={rank}".encode() in variables and str(self.path / name).encode() in words:
                return int(entry.name)
        raise AssertionError(f"rank {rank} of {name} is not running")

    def wait_for_checkpoint(self, process, name, seconds=PATIENCE):
        deadline = time.monotonic() + seconds
        while not list((self.path / name).glob("checkpoints/step-*/state.safetensors")):
            self.assertLess(time.monotonic(), deadline, process.said())
            self.assertIsNone(process.process.poll(), process.said())
            time.sleep(0.02)

    def wait_until_ended(self, ranks, process, seconds=PATIENCE):
        """Ranks may live a little longer than their launcher."""
        def lives(rank):
            try:
                return pathlib.Path(f"/proc/{rank}/cmdline").read_bytes() != b""  # empty: only its parent has not noticed
            except OSError:
                return False

        deadline = time.monotonic() + seconds
        while alive := [rank for rank in ranks if lives(rank)]:
            self.assertLess(time.monotonic(), deadline, f"the processes {alive} are left:\n{process.said()}")
            time.sleep(0.05)

    def test_gossiping_ranks_end_with_the_same_model(self):
        process = self.start(3, *self.new("run{rank}", "--strategy", "gossip", "--epochs", "3"))
        self.assertEqual(process.finish(), 0, process.said())
        result = json.loads(process.out)  # the output of exactly one rank
        self.assertEqual(result["run"], str(self.path / "run0"))
        self.assertEqual(len(result["devices"]), 3)
        self.assertGreaterEqual(sum(peer["rows"] for peer in result["devices"]), 3 * 3000 - 12)
        self.assertIn("the mean of 3 models", process.said())
        self.assertEqual(self.model("run0"), self.model("run1"))
        self.assertEqual(self.model("run0"), self.model("run2"))

    def test_one_rank_writes_the_run_directory_and_the_output(self):
        process = self.start(2, *self.new("run", "--epochs", "2"))
        self.assertEqual(process.finish(), 0, process.said())
        self.assertEqual(json.loads(process.out)["strategy"], "adaptive-gossip")
        self.assertEqual(process.said().count("peer 0 of 2"), 1)
        self.assertNotIn("peer 1 of 2", process.said())
        self.assertEqual([run.name for run in self.path.glob("run*")], ["run"])

    def test_rank_0_holds_the_model_for_the_others(self):
        models = []
        for name in ("once", "twice"):
            process = self.start(3, *self.new(name, "--strategy", "bsp", "--epochs", "2"))
            self.assertEqual(process.finish(), 0, process.said())
            result = json.loads(process.out)
            self.assertEqual(sum(node["rows"] for node in result["devices"]), 2 * 3000)
            models.append(self.model(name))
        self.assertEqual(len(result["devices"]), 2)
        self.assertEqual(models[0], models[1], "bsp does not depend on which rank is first")

    def kill_one(self, name, strategy):
        """The output, and how the run ended."""
        process = self.start(3, *self.new(name, "--strategy", strategy, "--epochs", "100000", "--checkpoint-every", "1"))
        self.wait_for_checkpoint(process, name)
        os.kill(self.process_of(2, name), signal.SIGKILL)
        code = process.finish()
        self.assertNotEqual(code, 0, process.said())
        return process

    def test_a_killed_rank_ends_the_run_which_resumes_from_its_checkpoint(self):
        # A second, as without this, is too short for a checkpoint on a machine under heavy load.
        self.environment |= {"OMPI_MCA_odls_base_sigkill_timeout": "8"}
        for strategy in ("gossip", "dasp"):
            with self.subTest(strategy):
                process = self.kill_one(strategy, strategy)
                if FAMILY == "openmpi" and strategy == "gossip":  # its launcher sends the others a signal and waits
                    self.assertRegex(process.said(), "go on with: mpirun -n 3 evener train --transport mpi --resume")
                done = self.epoch_of(strategy)
                self.assertGreaterEqual(done, 1)
                again = self.start(2, "--resume", str(self.path / strategy), "--epochs", str(done + 2))
                self.assertEqual(again.finish(), 0, again.said())
                self.assertEqual(json.loads(again.out)["epochs"], done + 2)

    def epoch_of(self, name):
        """The epoch of the newest checkpoint."""
        newest = max((self.path / name).glob("checkpoints/step-*"))
        header = (newest / "state.safetensors").read_bytes()
        length = int.from_bytes(header[:8], "little")
        return json.loads(json.loads(header[8:8 + length])["__metadata__"]["evener.progress"])["epoch"]

    def test_a_silent_rank_is_detected(self):
        # It takes ten seconds: one strategy with each library.
        strategy, begun = {"openmpi": ("dasp", "epoch 1/"), "mpich": ("gossip", "peer 2 is there")}[FAMILY]
        process = self.start(3, *self.new(strategy, "--strategy", strategy, "--epochs", "100000"), survive=True)
        process.wait_for(begun)
        os.kill(self.process_of(2, strategy), signal.SIGKILL)
        process.finish()
        # A rank that dies while it writes to shared memory can block the other ranks in MPI.
        self.assertRegex(process.said(), r"error: rank [12] is lost: no heartbeat for 1\d s; go on with: mpirun -n 3")
        self.assertTrue(list((self.path / strategy).glob("checkpoints/step-*")))

    @unittest.skipUnless(can_trace(), "this process may not trace others")
    def test_a_rank_that_hangs_in_a_step_ends_the_run(self):
        name = "hung"
        process = self.start(3, *self.new(name, "--strategy", "gossip", "--epochs", "100000", "--checkpoint-every", "1",
                                          "--stall-timeout", "3", hidden=1024))
        self.wait_for_checkpoint(process, name)
        hang_until_end(self.process_of(2, name))
        self.assertNotEqual(process.finish(), 0, process.said())
        self.assertRegex(process.said(), "error: cpu:1: it hangs: no progress for 3 s")
        self.assertGreaterEqual(self.epoch_of(name), 1)

    @unittest.skipUnless(can_trace(), "this process may not trace others")
    def test_a_worker_rank_that_hangs_ends_the_run(self):
        process = self.start(3, *self.new("hung", "--strategy", "dasp", "--epochs", "100000", "--checkpoint-every", "1",
                                          "--stall-timeout", "3"), survive=True)
        self.wait_for_checkpoint(process, "hung")
        hung = self.process_of(2, "hung")
        hang_until_end(hung)
        process.finish()
        self.assertRegex(process.said(), "error: rank 2 is lost: it hangs: heartbeats, but no progress for [34] s; go on with: "
                                         "mpirun -n 3")
        self.assertGreaterEqual(self.epoch_of("hung"), 1)
        self.assertFalse(pathlib.Path(f"/proc/{hung}/cmdline").exists(), "no process is left")

    @unittest.skipUnless(can_trace(), "this process may not trace others")
    def test_a_signal_although_a_rank_hangs(self):
        # Large steps: a peer that hangs does so in one. --stall-timeout: only the signal ends the run in time.
        for strategy, hidden in (("gossip", 1024), ("dasp", 32)):
            for survive in (False, True):
                with self.subTest(strategy=strategy, survive=survive):
                    name = f"{strategy}-{survive}"
                    process = self.start(3, *self.new(name, "--strategy", strategy, "--epochs", "100000", "--checkpoint-every", "1",
                                                      "--stall-timeout", "3600", hidden=hidden), survive=survive)
                    self.wait_for_checkpoint(process, name)
                    ranks = [self.process_of(rank, name) for rank in range(3)]
                    hang_until_end(ranks[2])
                    process.send(signal.SIGTERM)
                    process.finish()  # its code depends on the launcher, which may kill ranks, too
                    self.assertGreaterEqual(self.epoch_of(name), 1)
                    self.wait_until_ended(ranks, process)

    def test_a_signal_is_reported_once(self):
        process = self.start(3, *self.new("run", "--strategy", "gossip", "--epochs", "100000"))
        process.wait_for("epoch 1/")
        process.send(signal.SIGTERM)
        code = process.finish()
        self.assertLessEqual(process.said().count("evener: stopping"), 1, process.said())
        if FAMILY == "openmpi":  # the other launcher kills all ranks at once, and may exit with 0
            self.assertEqual(process.said().count("evener: stopping"), 1, process.said())
            self.assertIn("evener: interrupted; go on with: mpirun -n 3 evener train --transport mpi --resume", process.said())
            self.assertNotEqual(code, 0, process.said())

    @unittest.skipUnless(FAMILY == "openmpi", "the library that is made to hang")
    def test_a_rank_that_is_stuck_in_mpi_ends_with_a_checkpoint(self):
        # Rank 0 has the run directory: messages of other ranks cannot reach it any more.
        signal_file = self.path / "stuck"
        library = shutil.copy(os.environ["EVENER_TEST_STUCK_MPI"], self.path)  # LD_PRELOAD ends at a space
        self.environment |= {"LD_PRELOAD": library, "EVENER_TEST_STUCK": str(signal_file)}
        process = self.start(3, *self.new("run", "--strategy", "gossip", "--epochs", "100000"), survive=True)
        process.wait_for("peer 2 is there")
        signal_file.write_text("0")
        process.finish()
        self.assertRegex(process.said(), "error: MPI's library has not come back from a call for 10 s.*; go on with: mpirun -n 3")
        self.assertTrue(list((self.path / "run").glob("checkpoints/step-*")))

    def test_an_error_is_reported_once(self):
        process = self.start(3, str(self.path / "nothing"))
        self.assertNotEqual(process.finish(), 0)
        self.assertEqual(process.said().count("evener: error: "), 1, process.said())
        self.assertIn("nothing: there is no such file", process.said())
        process = self.start(3, *self.new("run", "--strategy", "sync"))
        self.assertNotEqual(process.finish(), 0)
        self.assertIn("--strategy sync: is for the devices of one machine", process.said())

    def refusal(self, command, *arguments):
        outcome = subprocess.run([command, "train", *self.new("run"), *arguments], capture_output=True, text=True, timeout=PATIENCE,
                                 env={**launcher(FAMILY, 1)[1], **self.environment})
        self.assertEqual(outcome.returncode, 2, outcome.stderr)
        return outcome.stderr

    def test_alone_or_without_a_library_it_is_refused(self):
        self.assertIn("only rank", self.refusal(COMMAND, "--transport", f"mpi:{FAMILY}"))
        # All other uses of the command need neither plug-in nor library.
        alone = self.path / "bin/evener"
        alone.parent.mkdir()
        shutil.copy(COMMAND, alone)
        self.assertIn("no plug-in for it", self.refusal(alone, "--transport", f"mpi:{FAMILY}"))
        (alone.parent / f"libevener_mpi_{FAMILY}.so").write_bytes(b"")
        self.assertIn("cannot be used here", self.refusal(alone, "--transport", f"mpi:{FAMILY}"))
        linked = subprocess.run(["ldd", COMMAND], capture_output=True, text=True, check=True, timeout=PATIENCE).stdout
        self.assertNotRegex(linked, "libmpi|libmpich")


if __name__ == "__main__":
    unittest.main()
