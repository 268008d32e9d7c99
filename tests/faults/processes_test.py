"""Workers and coordinators as separate processes that are killed, stopped and disconnected."""
import contextlib
import json
import pathlib
import signal
import subprocess
import tempfile
import time
import unittest

from peer_group import free_addresses
from cluster import COMMAND, Cluster, LONG, PATIENCE, ROWS, Process, can_trace, has_terminals, hang, hang_until_end


ONLY_A_SIGNAL = ["--stall-timeout", "3600"]  # nothing else ends the run within the patience of a test


def trained(result):
    return sum(node["rows"] for node in result["devices"])


def new_data(folder):
    """A data set in this folder."""
    subprocess.run([COMMAND, "dataset", "synthetic", "-o", f"{folder}/data", "--rows", str(ROWS), "--features", "300",
                    "--labels", "100", "--seed", "5"], check=True, capture_output=True, timeout=PATIENCE)
    return [f"{folder}/data"]


def children_of(process):
    children = []
    for status in pathlib.Path("/proc").glob("[0-9]*/status"):
        with contextlib.suppress(OSError):  # it has ended
            if f"PPid:\t{process}\n" in status.read_text():
                children.append(int(status.parent.name))
    return children


class Killed(unittest.TestCase):
    def test_a_worker_in_every_strategy(self):
        for strategy in ("bsp", "asp", "ssp", "dssp", "dasp"):
            with self.subTest(strategy), Cluster(strategy, epochs=12) as cluster:
                cluster.start_workers(3)
                cluster.wait_for_pushes(1, 5)
                cluster.workers[1].send(signal.SIGKILL)
                result = cluster.result()
                self.assertTrue(any("node 1" in note for note in result["notes"]), result["notes"])
                self.assertEqual(result["epochs"], 12)
                self.assertGreaterEqual(trained(result), 12 * ROWS)
                if strategy == "asp":  # applies each push at once: no work is lost
                    self.assertEqual(trained(result), 12 * ROWS)
                for rank in (0, 2):
                    self.assertEqual(cluster.workers[rank].finish(), 0)

    def test_all_workers_wait_and_exit_code(self):
        with Cluster("dasp", workers="2", options=["--wait-seconds", "3"]) as cluster:
            cluster.start_workers(2)
            cluster.wait_for_pushes(0, 3)
            for worker in cluster.workers:
                worker.send(signal.SIGKILL)
            cluster.result(code=1)
            self.assertIn("no worker is there; waiting for one for 3 s", cluster.coordinator.said())
            self.assertRegex(cluster.coordinator.said(), "no worker of 2 for 3 s: .* --resume|no checkpoint yet")

    def test_a_worker_that_is_replaced(self):
        with Cluster("bsp", workers="2:3", epochs=LONG) as cluster:
            cluster.start_workers(2)
            cluster.wait_for_pushes(1, 5)
            cluster.workers[1].send(signal.SIGKILL)
            cluster.start_worker(1, emulate="x0.2")
            cluster.coordinator.wait_for("node 1 has joined")
            self.assertIn("2 of 3 slots taken: each has 1/3 of a batch", cluster.coordinator.said())
            cluster.interrupt()
            self.assertEqual(cluster.workers[2].finish(), 0)

    @unittest.skipUnless(has_terminals(), "no pseudo-terminals here")
    def test_status_fits_the_terminal(self):
        with Cluster("bsp", workers="2", epochs=LONG) as cluster:
            cluster.start_workers(2)
            cluster.wait_for_pushes(1, 5)
            self.assertIn("staleness        MB", "\n".join(cluster.shown_status(80)))
            narrow = cluster.shown_status(50)
            self.assertLessEqual(max(len(line) for line in narrow), 50, narrow)
            self.assertRegex(" ".join(narrow), r"node 0\s+\w+, \d+\s+pushes, \d+\s+rows, busy")
            cluster.interrupt()

    def test_a_lost_server_ends_the_run_and_resume_is_bit_exact(self):
        models = []
        for hurt in (False, True):
            with Cluster("bsp", workers="2", epochs=4, options=["--servers", "2"]) as cluster:
                servers = [cluster.start_server() for _ in range(2)]
                cluster.start_workers(2, emulate="x0.05" if hurt else "x0.2")
                if hurt:
                    cluster.coordinator.wait_for(r"epoch 2/4")
                    cluster.wait_for_pushes(0, 1)
                    servers[1].send(signal.SIGKILL)
                    cluster.result(code=1)
                    self.assertIn("a shard of the model is lost: server ", cluster.coordinator.said())
                    # A worker that lost nothing is told how the run ended, and exits.
                    for process in (*cluster.workers, servers[0]):
                        self.assertEqual(process.finish(), 1, process.said())
                        self.assertIn("the run has failed: a shard of the model is lost", process.said())
                    cluster.workers.clear()
                    cluster.coordinator = cluster.start_coordinator(resume=True)
                    servers = [cluster.start_server() for _ in range(2)]
                    cluster.start_workers(2, emulate="x0.2")
                cluster.result()
                for process in (*cluster.workers, *servers):
                    self.assertEqual(process.finish(), 0, process.said())
                models.append((cluster.run / "last.safetensors").read_bytes())
        self.assertEqual(models[0], models[1])

    def test_the_coordinator_resumes_bsp_bit_exact(self):
        for strategy, optimizer in (("bsp", "adam"), ("bsp:server-momentum=0.5", "sgd")):
            with self.subTest(strategy):
                self.kill_the_coordinator(strategy, optimizer)

    def kill_the_coordinator(self, strategy, optimizer):
        models = []
        for hurt in (False, True):
            with Cluster(strategy, workers="2", epochs=4, optimizer=optimizer) as cluster:
                cluster.start_workers(2, emulate="x0.05" if hurt else "x0.2")
                if hurt:
                    cluster.coordinator.wait_for(r"epoch 2/4")
                    cluster.wait_for_pushes(0, 1)
                    cluster.coordinator.send(signal.SIGKILL)
                    cluster.coordinator.finish()
                    cluster.listen = f"127.0.0.1:{cluster.port}"  # where the workers look for it
                    cluster.coordinator = cluster.start_coordinator(resume=True)
                cluster.result()
                for worker in cluster.workers:
                    self.assertEqual(worker.finish(), 0, worker.said())
                models.append((cluster.run / "last.safetensors").read_bytes())
        self.assertEqual(models[0], models[1])


class Stopped(unittest.TestCase):
    def test_a_stopped_worker_is_evicted_and_rejoins(self):
        for strategy in ("bsp", "dasp"):
            with self.subTest(strategy), Cluster(strategy, workers="2", epochs=LONG) as cluster:
                cluster.start_workers(2)
                cluster.wait_for_pushes(1, 5)
                cluster.workers[1].send(signal.SIGSTOP)
                cluster.wait_for(1, lambda node: node["state"] == "dead")
                before = cluster.status()["nodes"][0]["pushes"]
                cluster.wait_for_pushes(0, before + 5)  # the others do not wait for it
                cluster.workers[1].send(signal.SIGCONT)
                cluster.coordinator.wait_for("node 1 has joined")
                result = cluster.interrupt()
                self.assertTrue(any("no heartbeat" in note for note in result["notes"]), result["notes"])
                self.assertIn("node 1 has joined", result["notes"])
                self.assertEqual(cluster.workers[1].finish(), 0)

    def test_a_short_pause_does_not_cost_a_slot(self):
        with Cluster("dasp", workers="2", epochs=4) as cluster:
            cluster.start_workers(2)
            cluster.wait_for_pushes(1, 5)
            cluster.workers[1].send(signal.SIGSTOP)
            time.sleep(1.2)
            cluster.workers[1].send(signal.SIGCONT)
            result = cluster.result()
            self.assertFalse(any("lost" in note for note in result["notes"]), result["notes"])


@unittest.skipUnless(can_trace(), "this process may not trace others")
class Hung(unittest.TestCase):
    """The thread that trains is stopped; the heartbeats go on."""

    def test_a_hung_worker_is_lost_and_the_others_train_on(self):
        for strategy in ("bsp", "dasp"):
            with self.subTest(strategy), \
                    Cluster(strategy, workers="2", epochs=LONG, options=["--stall-timeout", "3"]) as cluster:
                cluster.start_workers(2)
                cluster.wait_for_pushes(1, 5)
                hang(cluster.workers[1].process.pid)
                cluster.wait_for(1, lambda node: node["state"] == "dead")
                before = cluster.status()["nodes"][0]["pushes"]
                cluster.wait_for_pushes(0, before + 5)
                result = cluster.interrupt()
                # Where the thread was stopped while it held a lock, the heartbeats stopped too.
                self.assertRegex("\n".join(result["notes"]), "node 1: (it hangs|no heartbeat)")

    def test_one_signal_ends_the_run_with_a_checkpoint(self):
        for strategy, workers in (("bsp", 2), ("dasp", 2), ("bsp", 1)):
            with self.subTest(f"{strategy} {workers}"), \
                    Cluster(strategy, workers=str(workers), epochs=LONG, options=ONLY_A_SIGNAL) as cluster:
                cluster.start_workers(workers)
                cluster.wait_for_pushes(workers - 1, 5)
                hang(cluster.workers[-1].process.pid)
                result = cluster.interrupt()
                self.assertEqual(result["ended"], "signal")
                self.assertTrue(any((cluster.run / "checkpoints").iterdir()))

    def test_workers_of_this_machine(self):
        for stall, code in ((["--stall-timeout", "3"], 0), (ONLY_A_SIGNAL, 130)):
            recovers = code == 0
            with self.subTest(code), tempfile.TemporaryDirectory() as folder:
                process = Process(["train", *new_data(folder), "--nodes", "2", "--strategy", "asp", "--epochs", "12" if recovers else str(LONG),
                                   "-o", f"{folder}/run", "--checkpoint-every", "1", "--hidden", "32", "--emulate",
                                   "node0=x0.05,node1=x0.05", *stall])
                self.addCleanup(process.end)
                process.wait_for(r"epoch 1/")
                workers = children_of(process.process.pid)
                self.assertEqual(len(workers), 2)
                hang_until_end(workers[1])
                if not recovers:
                    process.send(signal.SIGINT)
                self.assertEqual(process.finish(), code, process.said())
                if recovers:
                    self.assertRegex(process.said(), "node [01]: (it hangs|no heartbeat)")
                self.assertTrue(any(pathlib.Path(folder, "run/checkpoints").iterdir()))

    def test_a_hung_server_ends_the_run(self):
        with Cluster("bsp", workers="1", epochs=LONG, options=["--servers", "1", "--stall-timeout", "3"]) as cluster:
            server = cluster.start_server()
            cluster.start_workers(1)
            cluster.wait_for_pushes(0, 5)
            hang(server.process.pid)
            cluster.result(code=1)
            self.assertRegex(cluster.coordinator.said(), "a shard of the model is lost: server 0 .*it hangs")

    def test_a_signal_although_a_server_hangs(self):
        with Cluster("bsp", workers="1", epochs=LONG, options=["--servers", "1", *ONLY_A_SIGNAL]) as cluster:
            server = cluster.start_server()
            cluster.start_workers(1)
            cluster.wait_for_checkpoint()
            hang(server.process.pid)
            cluster.coordinator.send(signal.SIGINT)
            self.assertEqual(cluster.coordinator.finish(), 130, cluster.coordinator.said())
            self.assertRegex(cluster.coordinator.said(), "interrupted without a new checkpoint: a shard of the model is lost: "
                             "server 0 .*: it did not answer when the run was interrupted; go on from the last checkpoint")
            self.assertTrue(cluster.newest_checkpoint())

    def test_a_signal_to_a_server_that_hangs(self):
        with Cluster("bsp", workers="1", epochs=LONG, options=["--servers", "1", *ONLY_A_SIGNAL]) as cluster:
            server = cluster.start_server()
            cluster.start_workers(1)
            cluster.wait_for_pushes(0, 5)
            hang(server.process.pid)
            server.send(signal.SIGINT)
            self.assertEqual(server.finish(), 130, server.said())
            self.assertIn("ended without waiting for the current step", server.said())


class Interrupted(unittest.TestCase):
    def test_a_worker_ends_in_the_middle_of_a_long_step(self):
        with Cluster("bsp", workers="1", epochs=LONG) as cluster:
            cluster.start_worker(0, emulate="x0.00001")
            cluster.workers[0].wait_for("joined as node 0")
            cluster.workers[0].send(signal.SIGINT)
            self.assertEqual(cluster.workers[0].finish(), 130)

    def test_a_worker_that_leaves_reports_it(self):
        with Cluster("asp", workers="2", epochs=3) as cluster:
            cluster.start_workers(2)
            cluster.wait_for_pushes(1, 3)
            cluster.workers[1].send(signal.SIGINT)
            self.assertEqual(cluster.workers[1].finish(), 130)
            result = cluster.result()
            self.assertTrue(any("it was stopped by a signal" in note for note in result["notes"]), result["notes"])

    def test_the_coordinator_leaves_a_checkpoint_and_ends_its_workers(self):
        with Cluster("dasp", workers="2", epochs=LONG) as cluster:
            cluster.start_workers(2)
            cluster.wait_for_pushes(1, 3)
            cluster.coordinator.send(signal.SIGINT)
            self.assertEqual(cluster.coordinator.finish(), 130)
            for worker in cluster.workers:
                self.assertEqual(worker.finish(), 0)
            self.assertTrue(any((cluster.run / "checkpoints").iterdir()))

    def test_a_server_that_waits_for_its_coordinator(self):
        server = Process(["server", "--coordinator", free_addresses(1)[0], "--threads", "1", "--wait-seconds", "3600"])
        self.addCleanup(server.end)
        server.wait_for("trying again")
        server.send(signal.SIGINT)
        self.assertEqual(server.finish(), 130, server.said())
        self.assertNotIn("without waiting for the current step", server.said())

    def test_a_coordinator_whose_workers_were_all_killed(self):
        for strategy in ("bsp", "dasp"):
            with self.subTest(strategy), \
                    Cluster(strategy, workers="2", epochs=LONG, options=["--wait-seconds", "3600"]) as cluster:
                cluster.start_workers(2)
                cluster.wait_for_checkpoint()
                before = cluster.newest_checkpoint()
                for worker in cluster.workers:
                    worker.send(signal.SIGKILL)
                cluster.coordinator.wait_for("no worker is there; waiting for one for 3600 s")
                cluster.coordinator.send(signal.SIGINT)
                self.assertEqual(cluster.coordinator.finish(), 130, cluster.coordinator.said())
                self.assertGreaterEqual(cluster.newest_checkpoint(), before)
                # With dasp, rows after those of a worker that is lost may be trained already: then nothing can be saved.
                if strategy == "bsp" or cluster.coordinator.out:
                    self.assertEqual(json.loads(cluster.coordinator.out)["ended"], "signal")
                else:
                    self.assertIn("interrupted without a new checkpoint: interrupted while no worker was left for",
                                  cluster.coordinator.said())

    def test_a_run_that_cannot_be_saved_is_an_error_in_spite_of_the_signal(self):
        with Cluster("bsp", workers="1", epochs=LONG) as cluster:
            cluster.start_workers(1)
            cluster.wait_for_checkpoint()
            cluster.coordinator.send(signal.SIGSTOP)
            (cluster.run / "checkpoints").rename(cluster.path / "moved")
            (cluster.run / "checkpoints").write_text("in the way")
            cluster.coordinator.send(signal.SIGINT)
            cluster.coordinator.send(signal.SIGCONT)
            cluster.result(code=1)
            self.assertRegex(cluster.coordinator.said(), "error: cannot save the run: .*checkpoints")


if __name__ == "__main__":
    unittest.main()
