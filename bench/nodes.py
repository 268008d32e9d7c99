#!/usr/bin/env python3
"""Real node strategies: workers with CPU quotas in network namespaces, compared with the prediction of the simulation.

    sudo python3 bench/nodes.py DATA [--mbit 1000] [--strategies bsp,asp,...] [--profiles equal,1/2,1/4,1/8]
                                [--seeds 1] [--epochs 6] [--rates 1,3] [--servers 0] [--evener PATH] [-- OPTIONS]

Four workers get 0.4 of a core each (cgroup v1), one of them 1/2, 1/4 or 1/8 of that. The coordinator gets the rest of two
cores. Each worker, the coordinator and each server has its own network namespace with a link of --mbit to a switch (needs
root, ip and tc). All strategies get the same data, initial model and order. Each gets the learning rate of --rates with
which the simulation of the same run ends best. The time to the target is where the mean of the seeds' curves crosses it,
interpolated linearly between evaluations; brackets show the same for single seeds. "predicted" is `evener simulate` with the
measurements of `evener profile` and `bench/transport`: step times divided by the quota, and links slowed down by the
processor time that messages need on a node, and on the coordinator, with its share of a core.
"""
import argparse
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from hosts import Network, Quota, end_all, parse, sh

WORKERS = 4
SHARE = 0.4  # of a core, for a worker that is not a straggler and for the coordinator
PROFILES = {"equal": 1, "1/2": 0.5, "1/4": 0.25, "1/8": 0.125}


def curve_of(folder):
    """Seconds without evaluations and quality of each evaluation, and the totals of the nodes."""
    curve, evaluating, nodes = [], 0, {}
    for line in Path(folder, "metrics.jsonl").read_text().splitlines():
        record = json.loads(line)
        if record["kind"] == "eval":
            evaluating += record["eval_seconds"]
            curve.append((record["seconds"] - evaluating, record["p@1"]))
        if record["kind"] == "worker":
            nodes[record["of"]] = record
    return curve, nodes


def options_of(args, strategy, seed, rate):
    return [args.data, "--strategy", strategy, "--seed", seed, "--epochs", args.epochs, "--learning-rate", rate, "--checkpoint-minutes", 0,
            *args.options]


def run(args, strategy, straggler, seed, rate, folder):
    hosts = ["c"] + [f"w{i}" for i in range(WORKERS)] + [f"s{i}" for i in range(args.servers)]
    quotas, processes = [], []
    environment = {**os.environ, "EVENER_TOKEN": "bench"}

    def start(words):
        process = subprocess.Popen([str(word) for word in words], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                                   env=environment)
        processes.append(process)
        return process

    with Network(hosts, args.mbit) as network:
        try:
            coordinator = start([*network.on("c"), args.evener, "coordinator", *options_of(args, strategy, seed, rate), "--workers", WORKERS,
                                 "--servers", args.servers, "--devices", "cpu:1", "--listen", f"{network.address('c')}:7070",
                                 "--insecure", "-o", folder])
            for host in hosts[1 + WORKERS:]:
                start([*network.on(host), args.evener, "server", "--coordinator", f"{network.address('c')}:7070", "--listen",
                       f"{network.address(host)}:7071", "--insecure", "--threads", 1, "--quiet"])
            for i in range(WORKERS):
                quotas.append(Quota(f"w{i}", SHARE * (straggler if i == WORKERS - 1 else 1)))
                start([*quotas[-1].words(), *network.on(f"w{i}"), args.evener, "worker", "--coordinator",
                       f"{network.address('c')}:7070", "--rank", i, "--devices", "cpu:1", "--quiet"])
            said = coordinator.communicate(timeout=args.timeout)[1]
            if coordinator.returncode != 0:
                sys.exit(f"{strategy}: {said}")
        finally:
            end_all(processes)
            for quota in quotas:
                quota.end()
    return curve_of(folder)


def messages_a_core(args):
    """GB per second that a core sends or receives."""
    said = sh(args.evener.parent / "bench/transport").stdout
    return float(re.search(r"ours\s+(\d+)", said).group(1)) / 1e3


def cluster_file(args, profile, straggler, path):
    """The input of the simulation: the measured device, slowed by its quota, on its link."""

    def link(share):
        wire = args.mbit * 1e6 / 8 * 0.96 / 1e9  # the share that TCP gets
        return 1 / (1 / wire + 1 / (args.messages * share))

    text = f"servers = {max(1, args.servers)}\nserver-bandwidth-gb-s = {link(SHARE / max(1, args.servers))}\n"
    for i in range(WORKERS):
        share = SHARE * (straggler if i == WORKERS - 1 else 1)
        text += f'[[device]]\nname = "node {i}"\nlatency-us = 200\nbandwidth-gb-s = {link(share)}\n'
        for key in ("fixed-ms", "per-row-us", "per-nonzero-ns"):
            text += f"{key} = {profile.get(key, 0) / share}\n"
    Path(path).write_text(text)


def simulate(args, strategy, profile, straggler, seed, rate, folder):
    path = f"{folder}.toml"
    cluster_file(args, profile, straggler, path)
    done = sh(args.evener, "simulate", path, *options_of(args, strategy, seed, rate), "--quiet", "-o", folder, check=False)
    if done.returncode != 0:
        sys.exit(done.stderr)
    return curve_of(folder)


def best_rate(args, strategy, profile, straggler, folder):
    """The best rate by simulation; a single rate is not simulated."""
    rates = args.rates.split(",")

    def quality(rate):
        return simulate(args, strategy, profile, straggler, 1, rate, f"{folder}-{rate}")[0][-1][1]

    return rates[0] if len(rates) == 1 else max(rates, key=quality)


def time_to(curves, target):
    """Where the mean of these curves crosses the target."""
    before = (0, 0)
    for points in zip(*curves):
        seconds, quality = (statistics.mean(values) for values in zip(*points))
        if quality >= target:
            return seconds - (seconds - before[0]) * (quality - target) / (quality - before[1])
        before = (seconds, quality)
    return float("inf")


def text_of(middle, values):
    text = ["never" if value == float("inf") else f"{value:.2f}" for value in (middle, min(values), max(values))]
    return text[0] + (f" ({text[1]}-{text[2]})" if len(values) > 1 else "")


def of_the_network(options):
    """Without those that have no effect on the speed of a device, and which `evener profile` refuses."""
    kept, dropped = [], False
    for word in options:
        if word.startswith("--"):
            dropped = bool(re.match(r"--(strategy|seed|epochs|global-batch-size|batch-size-per-device|decay|warmup)", word))
        if not dropped:
            kept.append(word)
    return kept


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mbit", type=int, default=1000)
    parser.add_argument("--strategies", default="bsp,asp,ssp,dssp,dasp")
    parser.add_argument("--profiles", default=",".join(PROFILES))
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--epochs", type=int, default=6)
    parser.add_argument("--rates", default="3", help="learning rates to choose from")
    parser.add_argument("--servers", type=int, default=0)
    parser.add_argument("--share", type=float, default=0.97, help="of the best P@1 of the slowest to get there: the target")
    args = parse(parser)
    network = of_the_network(args.options)
    args.messages = messages_a_core(args)
    profile = json.loads(sh(args.evener, "profile", "cpu:1", args.data, "--json", *network).stdout)["device"]
    print(f"| wires | straggler | strategy | s an epoch | predicted | off by | s to the target | final P@1 | waiting | staleness | MB | lr |\n"
          f"|---|---|---|---|---|---|---|---|---|---|---|---|", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        for name in args.profiles.split(","):
            real, virtual, rates = {}, {}, {}
            for number, strategy in enumerate(args.strategies.split(",")):
                rates[strategy] = best_rate(args, strategy, profile, PROFILES[name], f"{folder}/{name.replace('/', '-')}-{number}-rate")
            for seed in range(1, args.seeds + 1):
                for number, strategy in enumerate(args.strategies.split(",")):
                    where = f"{folder}/{name.replace('/', '-')}-{number}-{seed}"
                    real.setdefault(strategy, []).append(run(args, strategy, PROFILES[name], seed, rates[strategy], where))
                    virtual.setdefault(strategy, []).append(
                        simulate(args, strategy, profile, PROFILES[name], seed, rates[strategy], where + "-virtual"))
            target = args.share * min(max(q for curve, _ in runs for _, q in curve) for runs in real.values())
            for strategy, runs in real.items():
                epochs = [curve[-1][0] / args.epochs for curve, _ in runs]
                predicted = [curve[-1][0] / args.epochs for curve, _ in virtual[strategy]]
                off = statistics.median(predicted) / statistics.median(epochs) - 1
                nodes = runs[0][1].values()
                curves = [curve for curve, _ in runs]
                print(f"| {args.mbit} Mbit | {name} | `{strategy}` | {text_of(statistics.median(epochs), epochs)} | "
                      f"{text_of(statistics.median(predicted), predicted)} | {100 * off:+.0f} % | "
                      f"{text_of(time_to(curves, target), [time_to([curve], target) for curve in curves])} | "
                      f"{100 * statistics.median(curve[-1][1] for curve, _ in runs):.1f} | "
                      f"{100 * statistics.mean(node['waiting_share'] for node in nodes):.0f} % | "
                      f"{max(node['mean_staleness'] for node in nodes):.1f} | "
                      f"{sum(node['bytes'] for node in nodes) / 1e6:.0f} | {rates[strategy]} |", flush=True)


if __name__ == "__main__":
    main()
