#!/usr/bin/env python3
"""Every knob of a series on a real kernel and in the simulator, side by side.

For each knob of words, or those of --knob, and each shape, `numalab kernel try --sim` runs the kernel with default
knobs and one column for every other word, in guests of timing `modelled` with little memory, and the same columns in
the simulator. Then `numalab kernel sides` writes one page of all of them. What has a record is not run again.
"""

import argparse
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path

SHAPES = ["2x1x2x1", "4x1x2x1", "2x2x2x1", "8x1x1x1"]

# A workload in which the knob's decision matters, so small that guests do not divide it: both sides run the same. Other
# knobs get the last one.
WORKLOADS = {
    "vma_filter": ("numa01_THREAD_ALLOC", ["memory=96MiB", "loops=60"]),
    "page_filter": ("cow-shared", ["duration=6s"]),
    "imbalance": ("mpi-neighbours", ["grid=4MiB", "steps=100"]),
    "thp_locality": ("first-touch", ["memory=64MiB", "duration=5s"]),
}
OTHERS = ("first-touch", ["memory=64MiB", "duration=5s"])


def arguments() -> argparse.Namespace:
    """Read the command line."""
    raw = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=raw)
    parser.add_argument("--series", default="linux", help="folder of the series")
    parser.add_argument("--knob", action="append", default=[], help="a knob to run; may be repeated")
    parser.add_argument("--shape", action="append", default=[], help="a machine shape; may be repeated")
    parser.add_argument("--iterations", type=int, default=10, help="seeds of each column")
    parser.add_argument("--out", default="out/linux", help="folder of the records")
    parser.add_argument("--page", default="docs/reference/linux-side-by-side.md", help="the page")
    parser.add_argument("--numalab", default="numalab", help="the command")
    parser.add_argument("--dry-run", action="store_true", help="print the commands")
    return parser.parse_args()


def commands(args: argparse.Namespace, knobs: list[dict]) -> tuple[list[list[str]], list[str]]:
    """Return the commands that run a knob on a shape, and the folders that they write."""
    runs, folders = [], []
    for knob in knobs:
        name = knob["name"]
        others = [word for word in knob["values"] if word != knob["default"]]
        workload, params = WORKLOADS.get(name, OTHERS)
        for shape in args.shape or SHAPES:
            folder = f"{args.out}/{name}-{shape}"
            line = [args.numalab, "kernel", "try", "--series", args.series, "--sim", "--machine", shape]
            line += ["--workload", workload, "--iterations", str(args.iterations), "--timing", "modelled"]
            line += ["--guest-memory", "2GiB", "--workload-memory", "256MiB", "--out", folder]
            line += [part for param in params for part in ("--param", param)]
            line += [part for word in others for part in ("--knob", f"{name}={word}")]
            runs.append(line)
            folders.append(folder)
    return runs, folders


def main() -> int:
    """Run the commands, or print them."""
    args = arguments()
    series = tomllib.loads((Path(args.series) / "series.toml").read_text())
    # The simulator has no such decision without a role, and a number has no list of values to run.
    knobs = [knob for knob in series.get("knob", []) if "values" in knob and "role" in knob]
    names = [knob["name"] for knob in knobs]
    for name in args.knob:
        if name not in names:
            print(f"--knob {name}: expected one of {', '.join(names)}", file=sys.stderr)
            return 2
    chosen = [knob for knob in knobs if not args.knob or knob["name"] in args.knob]
    runs, folders = commands(args, chosen)
    page = [args.numalab, "kernel", "sides", *folders, "--markdown", args.page]
    for line in [*runs, page]:
        if args.dry_run:
            print(shlex.join(line))
            continue
        code = subprocess.run(line, check=False).returncode
        # A guest that failed is a column without figures, and the others are compared.
        if code in (2, 3):
            return code
    return 0


if __name__ == "__main__":
    sys.exit(main())
