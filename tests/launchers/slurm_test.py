"""`srun evener worker` and `srun evener train --transport mpi` under a real Slurm on this machine. Opt-in, because it needs root and starts daemons:

    sudo apt-get install slurm-wlm munge
    sudo EVENER_COMMAND=build/release/evener python3 tests/launchers/slurm_test.py

Everything is in a temporary folder, listens on loopback only, and is ended with the test.
"""
import json
import os
import pathlib
import shutil
import socket
import subprocess
import tempfile
import time
import unittest

COMMAND = str(pathlib.Path(os.environ.get("EVENER_COMMAND", "build/release/evener")).resolve())

CONFIG = """ClusterName=evener
SlurmctldHost={host}(127.0.0.1)
SlurmUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
CredType=cred/munge
SlurmctldPort={controller}
SlurmdPort={daemon}
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/linear
MpiDefault=none
ReturnToService=2
NodeName={host} NodeAddr=127.0.0.1 CPUs={cpus} State=UNKNOWN
PartitionName=all Nodes={host} Default=YES MaxTime=INFINITE State=UP
"""


def free_ports(count):
    sockets = [socket.socket() for _ in range(count)]
    for one in sockets:
        one.bind(("127.0.0.1", 0))
    ports = [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    return ports


class Slurm:
    """A controller and one node; use as a context."""

    def __enter__(self):
        self.folder = tempfile.TemporaryDirectory()
        path = pathlib.Path(self.folder.name)
        path.chmod(0o755)
        for name in ("state", "spool"):
            (path / name).mkdir()
        key = path / "munge.key"
        key.write_bytes(os.urandom(128))
        key.chmod(0o600)
        controller, daemon = free_ports(2)
        self.config = path / "slurm.conf"
        self.config.write_text(CONFIG.format(host=socket.gethostname(), folder=path, controller=controller, daemon=daemon,
                                             cpus=os.cpu_count()))
        (path / "cgroup.conf").write_text("CgroupPlugin=cgroup/v1\n")
        self.environment = {**os.environ, "SLURM_CONF": str(self.config)}
        self.processes = []
        self.start("munged", "-F", "-f", f"--key-file={key}", f"--socket={path}/munge.socket", f"--pid-file={path}/munged.pid",
                   f"--log-file={path}/munged.log", f"--seed-file={path}/munged.seed")
        self.start("slurmctld", "-D", "-i", "-f", self.config)
        self.start("slurmd", "-D", "-f", self.config)
        deadline = time.monotonic() + 30
        while "idle" not in self.ask("sinfo", "-h", "-o", "%T"):
            if time.monotonic() > deadline:
                logs = "\n".join(log.read_text()[-2000:] for log in path.glob("*.log"))
                self.__exit__()
                raise AssertionError(f"Slurm does not come up:\n{logs}")
            time.sleep(0.2)
        return self

    def __exit__(self, *_):
        for process in reversed(self.processes):
            process.terminate()
        for process in reversed(self.processes):
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        self.folder.cleanup()

    def start(self, *words):
        self.processes.append(subprocess.Popen([str(word) for word in words], env=self.environment, stdout=subprocess.DEVNULL,
                                               stderr=subprocess.DEVNULL))

    def ask(self, *words):
        return subprocess.run(words, env=self.environment, capture_output=True, text=True, timeout=20).stdout


@unittest.skipUnless(os.geteuid() == 0 and all(shutil.which(name) for name in ("munged", "slurmctld", "slurmd", "srun")),
                     "needs root, slurm-wlm and munge")
class Srun(unittest.TestCase):
    def test_workers_are_placed_by_slurm(self):
        with Slurm() as slurm, tempfile.TemporaryDirectory() as folder:
            made = subprocess.run([COMMAND, "dataset", "synthetic", "-o", f"{folder}/data", "--rows", "400", "--features", "50",
                                   "--labels", "10"], capture_output=True, timeout=60)
            self.assertEqual(made.returncode, 0, made.stderr)
            (port,) = free_ports(1)
            coordinator = subprocess.Popen(
                [COMMAND, "coordinator", f"{folder}/data", "--workers", "2", "--listen", f"127.0.0.1:{port}", "--epochs", "2",
                 "--hidden", "8", "--json", "-o", f"{folder}/run"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            try:
                workers = subprocess.run(
                    ["srun", "-n", "2", "--overcommit", COMMAND, "worker", "--coordinator", f"127.0.0.1:{port}", "--devices",
                     "cpu:1"], env=slurm.environment, capture_output=True, text=True, timeout=60)
                out, said = coordinator.communicate(timeout=60)
            finally:
                if coordinator.poll() is None:
                    coordinator.kill()
                    coordinator.wait()
            self.assertEqual(workers.returncode, 0, workers.stderr)
            self.assertEqual(coordinator.returncode, 0, said)
            # SLURM_PROCID gave each its place.
            self.assertEqual({line for line in workers.stderr.splitlines() if "joined" in line},
                             {"worker: joined as node 0", "worker: joined as node 1"})
            self.assertEqual(len(json.loads(out)["devices"]), 2)

    def test_ranks_of_mpi_are_started_by_slurm(self):
        with Slurm() as slurm, tempfile.TemporaryDirectory() as folder:
            made = subprocess.run([COMMAND, "dataset", "synthetic", "-o", f"{folder}/data", "--rows", "400", "--features", "50",
                                   "--labels", "10"], capture_output=True, timeout=60)
            self.assertEqual(made.returncode, 0, made.stderr)
            for way in ("pmix", "pmi2"):  # of Open MPI, and of MPICH
                with self.subTest(way):
                    ranks = subprocess.run(
                        ["srun", f"--mpi={way}", "-n", "3", "--overcommit", COMMAND, "train", f"{folder}/data", "--transport", "mpi",
                         "--strategy", "gossip", "--epochs", "2", "--hidden", "8", "--json", "-o", f"{folder}/{way}-{{rank}}"],
                        env={**slurm.environment, "EVENER_CACHE_DIR": f"{folder}/cache"}, capture_output=True, text=True, timeout=60)
                    self.assertEqual(ranks.returncode, 0, ranks.stderr)
                    self.assertEqual(len(json.loads(ranks.stdout)["devices"]), 3)
                    models = {pathlib.Path(f"{folder}/{way}-{rank}/last.safetensors").read_bytes() for rank in range(3)}
                    self.assertEqual(len(models), 1)


if __name__ == "__main__":
    unittest.main()
