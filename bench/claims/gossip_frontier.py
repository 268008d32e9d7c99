#!/usr/bin/env python3
"""Traffic and quality of adaptive gossip with several thresholds and of gossip with several fixed periods, in virtual time.

    python3 bench/claims/gossip_frontier.py [--data DIR] [--epochs 20] [--periods 1,8,...] [--eps 0.08,...] [--extra S,...]
        [--svg docs/images/gossip_frontier.svg] [options of bench/claims/gossip.py]

The learning rate of every entry is tuned as in bench/claims/gossip.py, with the same links and options. --extra: more
strategies, in a separate series. Prints a Markdown table by traffic, and draws it.
"""
import argparse
import concurrent.futures
import math
import statistics
from pathlib import Path

from gossip import Bench, add_options, median

COLOURS = ("#1f5fa8", "#b04a1a", "#3c7d3c")


def quality(entry):
    return [run["p@1"] for run in entry["runs"]]


def svg(series, title, path):
    width, height, left, top, bottom = 680, 360, 60, 50, 50
    entries = [entry for _, some in series for entry in some]
    logs = [math.log10(median(entry, "bytes")) for entry in entries]
    values = [value for entry in entries for value in quality(entry)]
    low, high = min(logs) - 0.05, max(logs) + 0.05
    least, most = math.floor(min(values)), math.ceil(max(values))

    def x(sent):
        return left + (width - left - 20) * (math.log10(sent) - low) / (high - low)

    def y(value):
        return top + (height - top - bottom) * (most - value) / (most - least)

    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" font-family="sans-serif" font-size="13">',
             f'<rect width="{width}" height="{height}" fill="white"/>', f'<text x="{left}" y="20">{title}</text>']
    for value in range(least, most + 1):
        parts.append(f'<line x1="{left}" x2="{width - 20}" y1="{y(value):.0f}" y2="{y(value):.0f}" stroke="#ddd"/>'
                     f'<text x="{left - 8}" y="{y(value) + 4:.0f}" text-anchor="end">{value}</text>')
    for power in range(math.floor(low), math.ceil(high) + 1):
        for digit in (1, 2, 5):
            sent = digit * 10.0**power
            if low <= math.log10(sent) <= high:
                parts.append(f'<text x="{x(sent):.0f}" y="{height - bottom + 18}" text-anchor="middle">{sent / 1e6:,.0f}</text>')
    for i, (name, some) in enumerate(series):
        colour = COLOURS[i]
        some = sorted(some, key=lambda entry: median(entry, "bytes"))
        points = [(x(median(entry, "bytes")) + 2 * i, entry) for entry in some]
        line = " ".join(f"{at:.0f},{y(median(entry, 'p@1')):.0f}" for at, entry in points)
        parts.append(f'<text x="{left + 190 * i}" y="40" fill="{colour}">{name}</text>'
                     f'<polyline fill="none" stroke="{colour}" stroke-width="2" points="{line}"/>')
        for at, entry in points:
            parts.append(f'<line x1="{at:.0f}" x2="{at:.0f}" y1="{y(min(quality(entry))):.0f}" y2="{y(max(quality(entry))):.0f}" stroke="{colour}"/>'
                         f'<circle cx="{at:.0f}" cy="{y(median(entry, "p@1")):.0f}" r="3.5" fill="{colour}"/>')
    parts.append(f'<text x="{width / 2:.0f}" y="{height - 8}" text-anchor="middle">MB sent by all nodes (logarithmic); P@1: median, least and most</text></svg>')
    Path(path).write_text("\n".join(parts) + "\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_options(parser)
    parser.add_argument("--periods", default="1,4,8,12,16,32")
    parser.add_argument("--eps", default="0.04,0.08,0.16,0.32")
    parser.add_argument("--rule", default="adaptive-gossip:warmup=10:overlap=0", help="that the thresholds are of")
    parser.add_argument("--extra", default="")
    parser.add_argument("--svg")
    args = parser.parse_args()
    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        bench = Bench(args)
        series = [("gossip, fixed period", [bench.tuned(f"gossip:overlap=0:period={p}", pool) for p in args.periods.split(",")]),
                  ("adaptive-gossip", [bench.tuned(f"{args.rule}:eps={eps}", pool) for eps in args.eps.split(",")])]
        if args.extra:
            series.append(("others", [bench.tuned(strategy, pool) for strategy in args.extra.split(",")]))
    title = f"{Path(args.data).name}, {args.nodes} {'unequal' if args.unequal else 'equal'} nodes, {args.epochs} epochs, {args.seeds} seeds"
    print(f"{title}\n\n| strategy | rate | traffic | final P@1 (least - most) |\n|---|---|---|---|")
    for entry in sorted((entry for _, some in series for entry in some), key=lambda entry: -median(entry, "bytes")):
        values = quality(entry)
        print(f"| `{entry['strategy']}` | {entry['rate']:g} | {median(entry, 'bytes') / 1e6:,.0f} MB "
              f"| {statistics.median(values):.2f} ({min(values):.2f} - {max(values):.2f}) |")
    if args.svg:
        svg(series, title, args.svg)


if __name__ == "__main__":
    main()
