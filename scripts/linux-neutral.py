#!/usr/bin/env python3
"""Ten plans on unpatched kernels and on ones with the series of linux/ and default knobs, in timing `modelled`.

    scripts/linux-neutral.py PATCHED[,PATCHED…] [--plain IMAGE,…] [--numalab COMMAND] [--out DIR] [--plans N,…]

Images are as `numalab run --kernel` takes them, such as vmlinux:FILE. Timing `modelled` repeats to the byte for one
binary, and another binary shifts the clock, so that a scan more or less fits into a run. So unpatched kernels are
compared with each other too: source:6.12, and two that only have some `nop` in the scanner
(linux/tests/placebo-1.patch and -2). A figure of the series is equal to theirs, or inside of their range, or outside
by so many percent.

Exit codes: 0 all figures are equal or inside, 1 some are outside, 2 wrong words, 3 a run failed.
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
    """Figures of one plan, of the unpatched kernels and of the patched ones."""
    workload, machine, params = PLANS[number]
    out = args.out / f"{number:02}-{workload}-{machine}"
    command = [args.numalab, "run", "--out", str(out), "--backend", "vm", "--timing", "modelled", "--quiet"]
    command += ["--machine", machine, "--workload", workload, "--jobs", "1"]
    command += [word for name, value in params.items() for word in ("--param", f"{name}={value}")]
    named = [f"plain{n}={image}" for n, image in enumerate(args.plain.split(","))]
    named += [f"series{n}={image}" for n, image in enumerate(args.patched.split(","))]
    done = subprocess.run([*command, "--kernel", ",".join(named)], capture_output=True, text=True, check=False)
    found: dict[str, list[dict[str, int]]] = {"plain": [], "series": []}
    for row in json.loads((out / "experiment.json").read_text())["runs"] if done.returncode in (0, 1) else []:
        found[row["kernel"].rstrip("0123456789")].append(figures(out / row["record"]))
    if sum(len(runs) for runs in found.values()) != len(named):
        print(f"{workload} on {machine}: {done.stderr.strip() or done.stdout.strip()}", file=sys.stderr)
        sys.exit(3)
    return found


def outside(plain: list[int], series: list[int]) -> float:
    """How far the series is outside of the range of the unpatched kernels, as a share of it."""
    beyond = max(max(series) - max(plain), min(plain) - min(series), 0)
    return beyond / max(*plain, 1)


def main() -> None:
    """Runs the plans and prints a line each."""
    placebo = ",".join(f"source:6.12+patch:linux/tests/placebo-{n}.patch" for n in (1, 2))
    parser = argparse.ArgumentParser(description="Defaults of the series against unpatched kernels.")
    parser.add_argument("patched")
    parser.add_argument("--plain", default=f"source:6.12,{placebo}")
    parser.add_argument("--numalab", default="numalab")
    parser.add_argument("--out", type=Path, default=Path("out/linux-neutral"))
    parser.add_argument("--plans", default=",".join(str(n) for n in range(len(PLANS))), help="numbers, from 0")
    args = parser.parse_args()
    bad = 0
    for number in (int(n) for n in args.plans.split(",")):
        found = run(args, number)
        equal, inside, out = 0, 0, []
        for name in sorted({n for runs in found.values() for r in runs for n in r}):
            plain, series = ([r.get(name, 0) for r in found[k]] for k in ("plain", "series"))
            share = outside(plain, series)
            equal += len(set(plain + series)) == 1
            inside += share == 0 and len(set(plain + series)) > 1
            if share > 0:
                out.append(f"{name} {plain} {series} ({100 * share:.2f} %)")
        bad += bool(out)
        workload, machine, _ = PLANS[number]
        print(f"{workload} {machine}: {equal} equal, {inside} inside, {len(out)} outside", flush=True)
        for line in out:
            print(f"    {line}", flush=True)
    sys.exit(1 if bad else 0)


if __name__ == "__main__":
    main()
