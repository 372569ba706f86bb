#!/usr/bin/env python3
"""Ten plans on the unpatched kernel and on one with the series of linux/ and default knobs, in timing `modelled`.

    scripts/linux-neutral.py PATCHED [--numalab COMMAND] [--out DIR] [--seeds N]

PATCHED is an image such as vmlinux:FILE. The unpatched kernel is source:6.12. Timing `modelled` repeats to the byte for
one binary; another binary shifts the clock a little, so that a scan falls elsewhere. So a figure is compared with its
range over seeds: it is equal, or the ranges of the two kernels overlap, or they lie apart, which is a finding.

Exit codes: 0 nothing lies apart, 1 something does, 2 wrong words, 3 a run failed.
"""

import argparse
import json
import subprocess
import sys
from pathlib import Path

# Plans of a few seconds of guest time on a machine of two nodes.
PLANS = [
    ("numa01", "2x1x2x1", {"memory": "48MiB", "loops": "60"}),
    ("numa01_THREAD_ALLOC", "2x1x2x1", {"memory": "64MiB", "loops": "60"}),
    ("numa02", "2x1x2x1", {"memory": "64MiB", "loops": "80"}),
    ("numa02", "2x2x2x1", {"memory": "64MiB", "loops": "80"}),
    ("cow-shared", "2x1x2x1", {"duration": "5s"}),
    ("first-touch", "2x1x2x1", {}),
    ("fragmented-node", "2x1x2x1", {"memory": "16MiB", "duration": "5s"}),
    ("tbench-pairs", "2x1x4x1", {"pairs": "2", "window": "4", "messages": "8000"}),
    ("hackbench", "2x1x2x1", {}),
    ("chat", "2x1x2x1", {}),
]
# What is compared: work of NUMA balancing, of the page allocator and of huge pages, and places.
COUNTERS = [
    "numa_pte_updates",
    "numa_huge_pte_updates",
    "numa_hint_faults",
    "numa_hint_faults_local",
    "numa_pages_migrated",
    "thp_fault_alloc",
    "thp_fault_fallback",
    "numa_hit",
    "numa_local",
    "numa_other",
    "pgfault",
]


def last_pages(record: Path) -> dict[str, int]:
    """Pages of each process on each node at the last sample."""
    rows = (record / "series/node_pages.csv").read_text().splitlines()
    if len(rows) < 2:
        return {}
    names, cells = rows[0].split(","), rows[-1].split(",")
    return {f"pages {n}": int(float(c)) for n, c in zip(names[1:], cells[1:], strict=True)}


def figures(record: Path) -> dict[str, int]:
    """Counters and places of a record."""
    counters = json.loads((record / "scalars.json").read_text())["counters"]
    return {name: counters.get(name, 0) for name in COUNTERS} | last_pages(record)


def run(args: argparse.Namespace, number: int) -> dict[str, list[dict[str, int]]]:
    """Figures of one plan by kernel, a list over seeds."""
    workload, machine, params = PLANS[number]
    out = args.out / f"{number:02}-{workload}-{machine}"
    command = [args.numalab, "run", "--out", str(out), "--backend", "vm", "--timing", "modelled", "--quiet"]
    command += ["--machine", machine, "--workload", workload, "--iterations", str(args.seeds), "--jobs", "1"]
    command += [word for name, value in params.items() for word in ("--param", f"{name}={value}")]
    command += ["--kernel", f"plain=source:6.12,series={args.patched}"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    found: dict[str, list[dict[str, int]]] = {"plain": [], "series": []}
    for row in json.loads((out / "experiment.json").read_text())["runs"] if done.returncode in (0, 1) else []:
        found[row["kernel"]].append(figures(out / row["record"]))
    if any(len(runs) != args.seeds for runs in found.values()):
        print(f"{workload} on {machine}: {done.stderr.strip() or done.stdout.strip()}", file=sys.stderr)
        sys.exit(3)
    return found


def main() -> None:
    """Runs the plans and prints a line each."""
    parser = argparse.ArgumentParser(description="Defaults of the series against the unpatched kernel.")
    parser.add_argument("patched")
    parser.add_argument("--numalab", default="numalab")
    parser.add_argument("--out", type=Path, default=Path("out/linux-neutral"))
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--plans", type=int, default=len(PLANS))
    args = parser.parse_args()
    bad = 0
    for number in range(args.plans):
        found = run(args, number)
        equal, overlap, apart = 0, [], []
        for name in sorted({n for runs in found.values() for r in runs for n in r}):
            plain, series = ([r.get(name, 0) for r in found[k]] for k in ("plain", "series"))
            if plain == series:
                equal += 1
            elif min(plain) <= max(series) and min(series) <= max(plain):
                overlap.append(name)
            else:
                apart.append(f"{name} {plain} {series}")
        bad += bool(apart)
        workload, machine, _ = PLANS[number]
        print(f"{workload} {machine}: {equal} equal, {len(overlap)} within the seeds", end="")
        print(f", apart: {'; '.join(apart)}" if apart else "", flush=True)
    sys.exit(1 if bad else 0)


if __name__ == "__main__":
    main()
