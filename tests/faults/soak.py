"""Trains on small clusters for some minutes while a seed chooses faults, and checks each run afterwards.

python3 soak.py MINUTES [SEED]; scripts/soak sets EVENER_COMMAND. The last round may end later.
"""
import random
import secrets
import statistics
import sys
import time

from cluster import can_trace
from network_test import can_make_networks
from soak_checks import Broken, check
from soak_peers import QUALITY, Peers
from soak_rounds import Calm, Round, can_mount

KINDS = ("bsp", "asp", "ssp", "dasp", "peers")
NOISE = 0.03  # least tolerance of the quality


class Machine:
    """What this machine lets a test do."""

    def __init__(self):
        self.networks, self.traces, self.mounts = can_make_networks(), can_trace(), can_mount()

    def missing(self):
        kinds = {"partitions": self.networks, "hung threads": self.traces, "full disks": self.mounts}
        return [kind for kind, possible in kinds.items() if not possible]


class Soak:
    def __init__(self, minutes, seed):
        self.end = time.monotonic() + 60 * minutes
        self.seed, self.calm = seed, {}
        self.machine = Machine()

    def limit(self, kind):
        """The least quality that is within the noise of three runs without faults."""
        if kind not in self.calm:
            self.calm[kind] = [Peers(random.Random(0), seed=seed).run() if kind == "peers" else Calm(kind, seed).run()
                               for seed in (1, 2, 3)]
        values = self.calm[kind]
        return statistics.mean(values) - max(NOISE, 4 * statistics.stdev(values))

    def round(self, number):
        kind = KINDS[number % len(KINDS)]
        choose = random.Random(f"{self.seed} {number}")
        one = Peers(choose, self.machine) if kind == "peers" else Round(kind, choose, self.machine)
        limit = self.limit(kind)
        quality = one.run()
        places = {"network": "over a network", "small_disk": "small disk", "server_count": "servers"}
        where = "".join(f", {place}" for name, place in places.items() if getattr(one, name, None))
        print(f"round {number}: {kind}{where}: {', '.join(one.notes)}; {QUALITY} {quality:.3f}, at least {limit:.3f}", flush=True)
        check(quality >= limit, f"{QUALITY} is {quality:.3f}, without faults at least {limit:.3f}")

    def run(self):
        number, failed = 0, 0
        if missing := self.machine.missing():
            print(f"not possible here: {', '.join(missing)}")
        while number == 0 or time.monotonic() < self.end:
            try:
                self.round(number)
            except Broken as problem:
                failed += 1
                print(f"round {number} FAILED (repeat with: scripts/soak MINUTES {self.seed}): {problem}", flush=True)
            number += 1
        print(f"{number} rounds with seed {self.seed}, {failed} failed")
        return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(Soak(float(sys.argv[1]), sys.argv[2] if len(sys.argv) > 2 else str(secrets.randbelow(10**6))).run())
