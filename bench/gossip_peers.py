#!/usr/bin/env python3
"""Real gossip: four peers in network namespaces, each with its own link; traffic as counted by peers and by interfaces.

    sudo python3 bench/gossip_peers.py DATA [--mbit 100] [--strategies gossip,adaptive-gossip,bsp,...] [--seeds 3] [--epochs 5]
                                       [--rates 0.01,0.02] [--straggler 1] [--evener PATH] [-- OPTIONS]

Peers get 0.45 of a core each (cgroup v1), the last one --straggler of that. Strategies of a parameter server (bsp, and
bsp:local-steps=8, which is local SGD that averages every eight steps) get a coordinator on a fifth host and the peers for workers.
All get the same data, initial model, order, epochs and options, in turns. Each gets the learning rate of --rates that ends best
with the first seed. "on the wires" is the number of bytes sent by all interfaces (needs root, ip and tc).
"""
import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile

from hosts import Network, Quota, end_all, parse

PEERS = 4
SHARE = 0.45  # of a core, for each peer
STRATEGIES = "gossip,gossip:period=8,adaptive-gossip,adaptive-gossip:rows=changed"


def has_server(strategy):
    return strategy.startswith("bsp")


def commands(args, network, strategy, seed, rate, folder):
    """host -> arguments of its command; hosts that print a result come first."""
    peers = [f"p{i}" for i in range(PEERS)]
    training = ["--strategy", strategy, "--seed", seed, "--epochs", args.epochs, "--learning-rate", rate, "--json", *args.options]
    if has_server(strategy):
        coordinator = f"{network.address('c')}:7070"
        words = {"c": ["coordinator", args.data, "--workers", PEERS, "--listen", coordinator, "--insecure", "--devices", "cpu:1", "-o", folder,
                       *training]}
        for i, host in enumerate(peers):
            words[host] = ["worker", "--coordinator", coordinator, "--rank", i, "--devices", "cpu:1", "--quiet"]
        return words
    addresses = ",".join(f"{network.address(host)}:7070" for host in peers)
    return {host: ["train", args.data, "--peers", addresses, "--rank", i, "--insecure", "--devices", "cpu:1", "-o", f"{folder}-{i}", *training]
            for i, host in enumerate(peers)}


def run(args, strategy, seed, rate, folder):
    """The results of each peer, or of the coordinator, and the bytes that the interfaces have sent."""
    hosts = (["c"] if has_server(strategy) else []) + [f"p{i}" for i in range(PEERS)]
    quotas, processes = [], []
    environment = {**os.environ, "EVENER_TOKEN": "bench"}
    with Network(hosts, args.mbit) as network:
        try:
            for host, words in commands(args, network, strategy, seed, rate, folder).items():
                share = [] if host == "c" else [Quota(host, SHARE * (args.straggler if host == hosts[-1] else 1))]
                quotas += share
                before = [*share[0].words()] if share else []
                processes.append(subprocess.Popen([str(word) for word in (*before, *network.on(host), args.evener, *words)],
                                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment))
            results = []
            for process in processes:
                out, said = process.communicate(timeout=args.timeout)
                if process.returncode != 0:
                    sys.exit(f"{strategy}: {said}")
                results += [json.loads(out)] if out else []
            return results, sum(network.sent(host) for host in hosts)
        finally:
            end_all(processes)
            for quota in quotas:
                quota.end()


def figures(results, wires):
    """Seconds, P@1, bytes sent as counted by the peers, bytes on the links, exchanges or pushes."""
    if len(results) == 1:
        nodes = results[0]["devices"]
        return (results[0]["seconds"], results[0]["metrics"]["p@1"], sum(node["bytes"] for node in nodes), wires,
                sum(node["updates"] for node in nodes))
    own = [next(device for device in result["devices"] if device["bytes"] > 0) for result in results]
    # Every byte is sent by one peer and received by another; two peers count each exchange.
    return (max(result["seconds"] for result in results), results[0]["metrics"]["p@1"], sum(peer["bytes"] for peer in own) / 2, wires,
            sum(peer["exchanges"] for peer in own) / 2)


def spread(values, scale=1, digits=1):
    values = [value * scale for value in values]
    text = f"{statistics.median(values):,.{digits}f}"
    return text + (f" ({min(values):,.{digits}f}-{max(values):,.{digits}f})" if len(values) > 1 else "")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mbit", type=int, default=100)
    parser.add_argument("--strategies", default=STRATEGIES)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--epochs", type=int, default=5)
    parser.add_argument("--rates", default="0.02", help="learning rates to choose from")
    parser.add_argument("--straggler", type=float, default=1)
    args = parse(parser)
    found, rates = {}, {}
    with tempfile.TemporaryDirectory() as folder:
        for seed in range(1, args.seeds + 1):
            for number, strategy in enumerate(args.strategies.split(",")):
                tried = {}
                for rate in [rates[strategy]] if strategy in rates else args.rates.split(","):
                    tried[rate] = figures(*run(args, strategy, seed, rate, f"{folder}/{number}-{seed}-{rate}"))
                rates[strategy] = max(tried, key=lambda rate: tried[rate][1])
                found.setdefault(strategy, []).append(tried[rates[strategy]])
    first = None
    print("| strategy | seconds | against the first | P@1 | MB sent | against the first | on the wires | exchanges | lr |\n|---|---|---|---|---|---|---|---|---|")
    for strategy, runs in found.items():
        seconds, quality, sent, wires, exchanges = zip(*runs)
        middle = (statistics.median(seconds), statistics.median(sent))
        first = first or middle
        against = [f"{100 * (mine / theirs - 1):+.0f} %" if middle is not first else "" for mine, theirs in zip(middle, first)]
        over = 100 * (statistics.median(wires) / statistics.median(sent) - 1)
        print(f"| `{strategy}` | {spread(seconds, digits=2)} | {against[0]} | {spread(quality, 100)} | {spread(sent, 1e-6)} | {against[1]} | "
              f"{over:+.1f} % | {spread(exchanges, digits=0)} | {rates[strategy]} |", flush=True)


if __name__ == "__main__":
    main()
