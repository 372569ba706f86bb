#!/usr/bin/env python3
"""Every knob of a series on a real kernel and in the simulator, side by side.

For each knob of words, or those of --knob, and each shape, `numalab kernel try --sim` runs the kernel with default
knobs and one column for each further word, in guests of timing `modelled`, and the same columns in the simulator. What
the simulator has not, the designs of 2012 as knobs, is run in guests alone. Then `numalab kernel sides` writes one page
of all of them. What has a record is not run again, so a run that was stopped goes on where it was.

The most telling runs come first, in stages: a few words of the main knobs on two nodes, then all words there, then a
few words on the other shapes, then all words on all shapes. --stages ends earlier. The page is written after every
stage, and by --page-only.

A guest of the machines and workloads below takes some eight seconds of one CPU on two nodes, half of it for booting:
memory is small, the scanner's periods are a quarter, and so is the time of the workloads. Both sides get the same. It
runs in the project's folder.
"""

import argparse
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import NamedTuple

# Machine files name each other from the project's folder, in which this runs.
SIDES = Path("linux/sides")
# Why the sides are apart, below the tables.
NOTES = SIDES / "notes.toml"
SHAPES = ["2x1x2x1", "4x1x2x1", "2x2x2x1", "8x1x1x1"]

# 32 MiB in all, for the reason below.
HUGE = (str(SIDES / "huge-policy.toml"), ["duration=1s", "far=8MiB", "near=24MiB"])
# The benchmark that the designs of 2012 were shown by, with twice as many threads as CPUs, so that there is something
# to pull and somebody to exchange with.
NUMA01 = ("numa01", ["memory=4MiB", "threads_per_process=cpus", "loops=100"])
# A workload in which the knob's decision matters. A knob that the simulator has not is run in guests alone.
WORKLOADS = {
    "vma_filter": (str(SIDES / "own-mappings.toml"), ["duration=2s"]),
    "page_filter": ("cow-shared", ["duration=2s"]),
    "imbalance": ("mpi-neighbours", ["grid=2MiB", "edge=64KiB", "steps=200"]),
    # A guest's kernel and programs have some 35 MiB of node 0, so 49 MiB of it are free there after the discards, and
    # 63 in the simulator. A program of 48 MiB fills the node on one side and not on the other; this one on neither.
    "thp_locality": (
        "fragmented-node",
        ["memory=32MiB", "fragmented=192MiB", "used=0.2", "free_pages=204", "duration=1s"],
    ),
    # The same for ranges whose huge pages have a policy of their own.
    "huge_strict": HUGE,
    "huge_noretry": HUGE,
    "page_migrate": NUMA01,
    "task_migrate": NUMA01,
    "process_weights": NUMA01,
}
# Where a node is filled, guests have the memory of the machine: their first node has 512 MiB or more.
FILLED = ["fragmented-node", HUGE[0]]
# Knobs that only matter under a word of another one.
UNDER = {
    "mapcount_limit_cow_only": "page_filter=mapcount_threshold",
    "mapcount_limit_refuses_migration": "page_filter=mapcount_threshold",
    "thp_span": "thp_locality=prctl_span",
    "huge_strict": "thp_locality=mpol_huge",
    "huge_noretry": "thp_locality=mpol_huge,huge_strict=true",
    "process_weights": "task_migrate=exchange",
}
# The oldest word, and the one of the mailing-list thread that a knob stands for.
FIRST = {
    "vma_filter": ["off", "rfc_v3"],
    "page_filter": ["none", "cow_mapcount1"],
    "imbalance": ["none", "imb_v4"],
    "thp_locality": ["thp_zonelist", "ladder_sorted"],
}


class Stage(NamedTuple):
    """A part of the work: whether only the first words, on which shapes, and how many seeds."""

    first: bool
    shapes: list[str]
    iterations: int


STAGES = [
    Stage(True, SHAPES[:1], 10),
    Stage(False, SHAPES[:1], 10),
    Stage(True, SHAPES[:2], 10),
    Stage(True, SHAPES, 3),
    Stage(True, SHAPES, 10),
    Stage(False, SHAPES, 10),
]


def arguments() -> argparse.Namespace:
    """Read the command line."""
    raw = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=raw)
    parser.add_argument("--series", default="linux", help="folder of the series")
    parser.add_argument("--knob", action="append", default=[], help="a knob to run; may be repeated")
    parser.add_argument("--shape", action="append", default=[], help="a machine shape; may be repeated")
    parser.add_argument("--stages", type=int, default=len(STAGES), help="how many stages to run")
    parser.add_argument("--out", default="out/linux", help="folder of the records")
    parser.add_argument("--page", default="docs/reference/linux-side-by-side.md", help="the page")
    parser.add_argument("--numalab", default="numalab", help="the command")
    parser.add_argument("--sides", help="the command that writes the page [default: that of --numalab]")
    parser.add_argument("--page-only", action="store_true", help="write the page of the records that are there")
    parser.add_argument("--dry-run", action="store_true", help="print the commands")
    return parser.parse_args()


def columns(knob: dict, first: bool) -> list[str]:
    """Return the settings of a knob's columns; none if it has no word for this stage."""
    name = knob["name"]
    words = FIRST.get(name, []) if first else [word for word in knob["values"] if word != knob["default"]]
    if name not in UNDER:
        return [f"{name}={word}" for word in words if word in knob["values"]]
    # Beside the word under which it matters, as it is by default.
    return [UNDER[name], *(f"{UNDER[name]},{name}={word}" for word in words)] if words else []


def command(args: argparse.Namespace, knob: dict, shape: str, stage: Stage) -> list[str]:
    """Return the command that runs a knob on a shape; empty if the stage has nothing of it."""
    name = knob["name"]
    asked = columns(knob, stage.first)
    if not asked:
        return []
    workload, params = WORKLOADS.get(name) or WORKLOADS[UNDER[name].split("=")[0]]
    line = [args.numalab, "kernel", "try", "--series", args.series, *(["--sim"] if "role" in knob else [])]
    line += ["--jobs", "1"]
    filled = workload in FILLED
    machine = SIDES / f"{'filled' if filled else 'guest'}-{shape}.toml"
    # On eight nodes the fillers take 1.3 GiB.
    memory = ["4GiB", "2GiB"] if filled else ["2GiB", "512MiB"]
    line += ["--machine", str(machine), "--workload", workload]
    line += ["--iterations", str(stage.iterations), "--timing", "modelled"]
    line += ["--guest-memory", memory[0], "--workload-memory", memory[1], "--out", folder(args, name, shape)]
    line += ["--set", "scan.scan_delay_ms=250", "--set", "scan.scan_period_min_ms=250"]
    line += [part for param in params for part in ("--param", param)]
    return line + [part for column in asked for part in ("--knob", column)]


def folder(args: argparse.Namespace, name: str, shape: str) -> str:
    """Return the folder of the records of a knob on a shape."""
    return f"{args.out}/{name}-{shape}"


def write_page(args: argparse.Namespace, knobs: list[dict]) -> int:
    """Write the page of what has records of guests, or print the command that does."""
    all_of = [(folder(args, knob["name"], shape), "role" in knob) for knob in knobs for shape in SHAPES]
    there = [out for out, both in all_of if args.dry_run or has_records(out, both)]
    line = [args.sides or args.numalab, "kernel", "sides", *there, "--markdown", args.page, "--notes", str(NOTES)]
    if args.dry_run:
        print(shlex.join(line))
        return 0
    return subprocess.run(line, check=False, stdout=subprocess.DEVNULL).returncode if there else 0


def has_records(out: str, both: bool) -> bool:
    """Whether a folder has a record of a guest, and one of the simulator if both are wanted."""
    return all(any(Path(side).glob("*/scalars.json")) for side in ([out, f"{out}-sim"] if both else [out]))


def main() -> int:
    """Run the commands, or print them."""
    args = arguments()
    series = tomllib.loads((Path(args.series) / "series.toml").read_text())
    # A number has no list of values to run, and a knob without a role needs a workload of its own here.
    listed = [knob for knob in series.get("knob", []) if "values" in knob]
    knobs = [knob for knob in listed if "role" in knob or knob["name"] in WORKLOADS]
    names = [knob["name"] for knob in knobs]
    for name in args.knob:
        if name not in names:
            print(f"--knob {name}: expected one of {', '.join(names)}", file=sys.stderr)
            return 2
    for shape in args.shape:
        if shape not in SHAPES:
            print(f"--shape {shape}: expected one of {', '.join(SHAPES)}", file=sys.stderr)
            return 2
    for stage in [] if args.page_only else STAGES[: args.stages]:
        for shape in stage.shapes:
            for knob in knobs:
                wanted = (not args.knob or knob["name"] in args.knob) and (not args.shape or shape in args.shape)
                line = command(args, knob, shape, stage) if wanted else []
                if not line:
                    continue
                if args.dry_run:
                    print(shlex.join(line))
                    continue
                code = subprocess.run(line, check=False, stdout=subprocess.DEVNULL).returncode
                # A guest that failed is a column without figures, and the others are compared.
                if code not in (0, 1):
                    print(f"code {code}: {shlex.join(line)}", file=sys.stderr)
                if code in (2, 3, 130, 143):
                    return code
        write_page(args, knobs)
    return write_page(args, knobs) if args.page_only else 0


if __name__ == "__main__":
    sys.exit(main())
