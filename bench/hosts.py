"""Emulated hosts on one machine, for benchmarks of nodes: network namespaces with links of a given rate, and CPU quotas.
Needs root, ip, tc and cgroup v1."""
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

EVENER = Path(__file__).resolve().parents[1] / "build/release/evener"

CPU = Path("/sys/fs/cgroup/cpu")
PERIOD = 20_000  # of a quota, microseconds


def parse(parser):
    """The arguments of a benchmark on such hosts; those after `--` are `options`, for the command."""
    parser.add_argument("data")
    parser.add_argument("--timeout", type=float, default=300, help="of one run")
    parser.add_argument("--evener", type=Path, default=EVENER)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that networks and quotas are removed
    own, _, given = " ".join(sys.argv[1:]).partition(" -- ")
    args = parser.parse_args(own.split())
    args.options = given.split()
    args.data = str(Path(args.data).resolve())
    return args


def sh(*words, check=True):
    return subprocess.run([str(word) for word in words], check=check, capture_output=True, text=True, timeout=60)


class Network:
    """Hosts connected to a switch, each with a link of the same rate; use as a context."""

    def __init__(self, hosts, mbit):
        self.hosts, self.mbit = hosts, mbit
        self.tag = f"ev{os.getpid() % 10000}"

    def __enter__(self):
        sh("ip", "netns", "add", f"{self.tag}-switch")
        on_switch = ["ip", "netns", "exec", f"{self.tag}-switch"]
        sh(*on_switch, "ip", "link", "add", "bridge", "type", "bridge")
        sh(*on_switch, "ip", "link", "set", "bridge", "up")
        for number, host in enumerate(self.hosts):
            sh("ip", "netns", "add", f"{self.tag}-{host}")
            near, far = f"{self.tag}{host}", f"{self.tag}{host}s"
            sh("ip", "link", "add", near, "type", "veth", "peer", "name", far)
            sh("ip", "link", "set", near, "netns", f"{self.tag}-{host}")
            sh("ip", "link", "set", far, "netns", f"{self.tag}-switch")
            sh(*on_switch, "ip", "link", "set", far, "master", "bridge")
            sh(*on_switch, "ip", "link", "set", far, "up")
            sh(*self.on(host), "ip", "addr", "add", f"10.78.0.{number + 1}/24", "dev", near)
            sh(*self.on(host), "ip", "link", "set", near, "up")
            sh(*self.on(host), "ip", "link", "set", "lo", "up")
            limit = ["root", "tbf", "rate", f"{self.mbit}mbit", "burst", "256kb", "latency", "50ms"]
            sh(*self.on(host), "tc", "qdisc", "add", "dev", near, *limit)
            sh(*on_switch, "tc", "qdisc", "add", "dev", far, *limit)
        return self

    def __exit__(self, *_):
        for host in ("switch", *self.hosts):
            sh("ip", "netns", "del", f"{self.tag}-{host}", check=False)

    def on(self, host):
        return ["ip", "netns", "exec", f"{self.tag}-{host}"]

    def address(self, host):
        return f"10.78.0.{self.hosts.index(host) + 1}"

    def sent(self, host):
        """Bytes that the host's interface has sent so far, by its own counter."""
        return int(sh(*self.on(host), "cat", f"/sys/class/net/{self.tag}{host}/statistics/tx_bytes").stdout)


class Quota:
    """A share of a core for a process and its children."""

    def __init__(self, name, share):
        self.folder = CPU / f"evener-{os.getpid()}-{name}"
        self.folder.mkdir()
        (self.folder / "cpu.cfs_period_us").write_text(str(PERIOD))
        (self.folder / "cpu.cfs_quota_us").write_text(str(int(PERIOD * share)))

    def words(self):
        return ["sh", "-c", f'echo $$ > {self.folder}/tasks && exec "$@"', "quota"]

    def end(self):
        for _ in range(50):
            try:
                return self.folder.rmdir()
            except OSError:
                time.sleep(0.1)


def end_all(processes):
    for process in processes:
        if process.poll() is None:
            process.send_signal(signal.SIGTERM)
    for process in processes:
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
