#!/usr/bin/env python3
"""What knobs of the series change under workloads, in guests with timing `modelled`.

    scripts/linux-effects.py IMAGE [--numalab COMMAND] [--out DIR] [--only KNOB]

IMAGE has the series, such as vmlinux:FILE. A row is a run: its counters, and what had to be seen of them.
Exit codes: 0 all was seen, 1 something was not, 2 wrong words, 3 a run failed.
"""

import argparse
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

Figures = dict[str, int]
# Slices of one buffer for each thread, which its process starts on one node.
SCAN = ["--machine", "2x1x2x1", "--workload", "numa01_THREAD_ALLOC", "--param", "memory=64MiB", "--param", "loops=150"]
# Four processes that read the same data.
SHARED = ["--machine", "2x1x2x1", "--workload", "cow-shared", "--param", "duration=6s"]
# Two busy pairs on two nodes of four CPUs.
PAIRS = ["--machine", "2x1x4x1", "--workload", "tbench-pairs", "--param", "pairs=2", "--param", "window=4"]
PAIRS += ["--param", "messages=8000"]

# Knob, word, plan, further boot options, what must hold.
ROWS: list[tuple[str, str, list[str], list[str], str, Callable[[Figures], bool]]] = [
    ("vma_filter", "v612", SCAN, [], "VMAs are completed and passed over", lambda f: f["skip.seq_completed"] > 0),
    ("vma_filter", "off", SCAN, [], "no VMA is passed over for its state", lambda f: f["skips by state"] == 0),
    ("vma_filter", "v64", SCAN, [], "no VMA is completed", lambda f: f["skip.seq_completed"] == 0),
    ("vma_filter", "rfc_v3", SCAN, [], "no VMA is completed", lambda f: f["skip.seq_completed"] == 0),
    ("page_filter", "cow_shared_or_pinned", SHARED, [], "shared pages are spared", lambda f: f["spared"] > 900),
    ("page_filter", "none", SHARED, [], "they are marked", lambda f: f["numa_pte_updates"] > 900),
    ("page_filter", "mapcount_threshold", SHARED, [], "four mappings are not above 5", lambda f: f["spared"] < 500),
    (
        "page_filter",
        "mapcount_threshold",
        SHARED,
        ["numalab.mapcount_limit=3"],
        "they are above 3",
        lambda f: f["spared"] > 900,
    ),
    ("imbalance", "quarter_5_11", PAIRS, [], "four tasks stay on one node", lambda f: f["remote_misses"] < 200),
    ("imbalance", "none", PAIRS, [], "they do not", lambda f: f["remote_misses"] > 200),
    ("imbalance", "imb_6_0", PAIRS, [], "they do not", lambda f: f["remote_misses"] > 200),
    ("page_migrate", "schednuma", SCAN, [], "pages move", lambda f: f["numa_pages_migrated"] > 0),
]
SHOWN: tuple[str, ...] = ("numa_pte_updates", "numa_hint_faults", "numa_pages_migrated", "spared", "remote_misses")
SHOWN += ("skip.pid_inactive", "skip.scan_delay", "skip.seq_completed")


def figures(record: Path) -> Figures:
    """Counters of a record with sums of theirs."""
    read = json.loads((record / "scalars.json").read_text())
    out: Figures = {name: int(value) for name, value in read["counters"].items()}
    reasons = read["reasons"]
    out |= {name: int(value) for name, value in reasons.get("reasons", reasons).items()}
    for name in ("skip.pid_inactive", "skip.scan_delay", "skip.seq_completed"):
        out.setdefault(name, 0)
    out["skips by state"] = out["skip.pid_inactive"] + out["skip.scan_delay"] + out["skip.seq_completed"]
    out["spared"] = sum(value for name, value in out.items() if name.startswith("numalab_skip_"))
    return out


def run(args: argparse.Namespace, number: int) -> Figures:
    """Figures of a row."""
    knob, word, plan, options, _, _ = ROWS[number]
    out = args.out / f"{number:02}-{knob}-{word}"
    command = [args.numalab, "run", "--out", str(out), "--backend", "vm", "--timing", "modelled", "--quiet", *plan]
    command += ["--kernel", f"series={args.image}", "--boot-option", f"numalab.{knob}={word}"]
    command += [word for option in options for word in ("--boot-option", option)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode not in (0, 1):
        print(f"{knob}={word}: {done.stderr.strip()}", file=sys.stderr)
        sys.exit(3)
    return figures(out / json.loads((out / "experiment.json").read_text())["runs"][0]["record"])


def main() -> None:
    """Runs the rows and prints a line each."""
    parser = argparse.ArgumentParser(description="What knobs of the series change under workloads.")
    parser.add_argument("image")
    parser.add_argument("--numalab", default="numalab")
    parser.add_argument("--out", type=Path, default=Path("out/linux-effects"))
    parser.add_argument("--only", default="")
    args = parser.parse_args()
    bad = 0
    for number, (knob, word, _, options, wanted, holds) in enumerate(ROWS):
        if args.only not in ("", knob):
            continue
        seen = run(args, number)
        good = holds(seen)
        bad += not good
        shown = ", ".join(f"{name} {seen.get(name, 0)}" for name in SHOWN if seen.get(name, 0))
        name = " ".join([f"{knob}={word}", *options])
        print(f"{'ok' if good else 'NOT'} {name}: {wanted}: {shown}", flush=True)
    sys.exit(1 if bad else 0)


if __name__ == "__main__":
    main()
