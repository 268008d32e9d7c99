"""Runs the conformance suite under a launcher of MPI: ranks.py FAMILY RANKS PROGRAM [WORD...]

Ranks are on this machine and talk over shared memory and the loopback interface only. Exit 0: every
rank that lives to the end says that it has passed."""
import os
import pathlib
import re
import subprocess
import sys
import tempfile

SECONDS = 100


def launcher(family, ranks, survive=False):
    """The words before a program's, and what is set for it. `survive`: a rank that dies does not end the others."""
    environment = dict(os.environ, HWLOC_COMPONENTS="-gl,-opencl")  # do not look for displays and graphics cards
    if family == "openmpi":
        words = ["mpirun.openmpi", "-n", str(ranks), "--oversubscribe", "--bind-to", "none", "--mca", "btl", "self,vader,tcp",
                 "--mca", "btl_tcp_if_include", "lo", "--mca", "oob_tcp_if_include", "lo"]
        if os.geteuid() == 0:
            words.append("--allow-run-as-root")
        if survive:
            words.append("--enable-recovery")
    else:
        environment["UCX_TLS"] = "self,posix"  # otherwise a rank that reads the memory of a dead one is aborted
        words = ["mpirun.mpich", "-n", str(ranks), "-iface", "lo", "-launcher", "fork"]
        if survive:  # it kills all ranks when one ends by a signal, so a shell runs each rank
            words += ["-disable-auto-cleanup", "sh", "-c", "trap '' USR1; \"$@\"; true", "sh"]
    return words, environment


def main(family, ranks, program, *words):
    ranks, kill = int(ranks), "kill" in words
    before, environment = launcher(family, ranks, survive=kill)
    with tempfile.TemporaryDirectory() as folder:
        rendezvous = pathlib.Path(folder) / "rendezvous"
        rendezvous.write_bytes(bytes(4096))
        with open(os.path.join(folder, "out"), "w+") as out:
            process = subprocess.Popen([*before, program, family, str(rendezvous), *words], stdout=out, stderr=subprocess.STDOUT,
                                       env=environment, start_new_session=True)
            try:
                code = process.wait(SECONDS)
            except subprocess.TimeoutExpired:
                process.terminate()  # also ends its ranks
                code = process.wait(10)
            out.seek(0)
            said = out.read()
    print(said, f"{before[0]} ended with {code}")
    passed = set(re.findall(r"rank (\d+) of \d+: \d+ checks passed", said))
    living = {str(rank) for rank in range(ranks - 1 if kill else ranks)}
    return 0 if passed == living and (kill or code == 0) else 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
