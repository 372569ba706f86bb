#!/usr/bin/env python3
"""Recorded programs in the simulator, beside the programs themselves in guests.

For each program of the lists in scripts/record-programs that has a workload in catalog/workloads/recorded, and each
shape, `numalab run` carries out the program in guests of timing `modelled`, and the workload that was fitted to its
recording in the simulator: Debian's 6.12 with NUMA balancing and without. Then it writes a page of all figures. What
has a record is not run again, so a run that was stopped goes on where it was.

Both sides have one machine file (linux/sides/program-SHAPE.toml) and the same scanner. A guest's instruction takes 8 ns
(docs/explanation/guest-timing.md), which is all that a fit is told. `scripts/record-programs.sh` makes the workloads.

Figures of guests are kept in scripts/record-programs/guests.json, since guests take hours and their records are not
in the repository. --page-only writes that file and the page from the records that are there. It runs in the project's
folder. Exit codes: 0 done, 1 a program failed in a guest or in the simulator, 2 a wrong argument.
"""

import argparse
import json
import os
import shlex
import statistics
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

LISTS = [Path("scripts/record-programs/list"), Path("scripts/record-programs/guest-list")]
KEPT = Path("scripts/record-programs/guests.json")
WORKLOADS = Path("catalog/workloads/recorded")
SHAPES = ["2x1x2x1", "4x1x2x1"]
COLUMNS = ["6.12", "off"]
# The scanner begins sooner and comes more often, so that short programs see it.
SCANNER = ["--set", "scan.scan_delay_ms=250", "--set", "scan.scan_period_min_ms=250"]
INSTRUCTION = "8ns"
BALANCING = ["numa_pte_updates", "numa_hint_faults", "numa_hint_faults_local", "numa_pages_migrated"]
FIGURES = ["elapsed_s", *BALANCING]
SIGN = "sign of the time"
# Largest factor outside the guests' own range at which a figure counts as held (crates/report/src/held.rs).
CLOSE = 1.25
# Fewest guests of a column that say whether a difference is clear, and the smallest change that has a sign, in percent.
LEAST_GUESTS = 3
LEAST_CHANGE = 0.05
# Programs that nothing was found with: recorder, fit and simulator were fixed before a figure of theirs was seen.
PREDICTED = ["memcached", "stockfish", "weights", "jvm-maps"]
# Threads of libraries that ask how many there may be, as in scripts/record-programs.sh.
ENVIRONMENT = {"OPENBLAS_NUM_THREADS": "4", "OMP_NUM_THREADS": "4"}

INTRO = """# Recorded programs beside guests

This page is written by `scripts/programs-beside-guests.py`. Programs of Debian were recorded under emulation, and a
workload was fitted to each ([recorded programs](recorded.md)). Here the simulator runs that workload, and a guest of
timing `modelled` runs the very program, with Debian's kernel 6.12: with NUMA balancing, and without (`off`).

* A figure is *held* if the simulator's median lies in the range of the guests, widened by 1.25 at both ends.
  Else the page says by which factor it is off, or `off` where one of both is 0.
* The counters of `off` are 0 on both sides, and are left out.
* The sign is that of the elapsed time with balancing against `off`. It is asked where three guests of each or more have
  ranges that do not overlap. Less than 0.05 % in the simulator has no sign, and counts as wrong.
* Both sides have the scanner's delay and shortest period at 250 ms, since the programs are short.
* The simulator simulates a guest (`--as-guest program`), and a fit is told that an instruction takes 8 ns there
  ([timing in guests](../explanation/guest-timing.md)).
* Programs, sizes and fits were fixed before the first comparison. Of the first eleven that showed what was then mended:
  they are *in sample*, and so is PostgreSQL. Recorder, fit and simulator were fixed before figures of the other four
  were seen: they are *predicted*.
"""


# Figures of one side: by column and name, one for each run. Where only the ends of a range were kept, RUNS says of how
# many runs.
RUNS = "runs"
Figures = dict[str, dict[str, list[float]]]


class Program(NamedTuple):
    """A program of the list: its name, what a guest needs beside it, and its command."""

    name: str
    needs: list[str]
    command: list[str]


class Cell(NamedTuple):
    """A figure on both sides."""

    figure: str
    guests: list[float]
    simulated: list[float]

    @property
    def off_by(self) -> float:
        """Factor to the nearer end of the guests' range; 1 inside it, infinite from or to 0."""
        low, high, value = min(self.guests), max(self.guests), statistics.median(self.simulated)
        if low <= value <= high:
            return 1.0
        small, large = sorted((low if value < low else high, value))
        return large / small if small > 0 else float("inf")

    @property
    def held(self) -> bool:
        """Whether the simulator holds it."""
        return self.off_by <= CLOSE


def programs(text: str) -> Iterator[Program]:
    """Yield the programs of the list."""
    for line in text.splitlines():
        if line.startswith("#") or not line.strip():
            continue
        name, _, needs, command = (part.strip() for part in line.split("|", 3))
        yield Program(name, needs.split(), shlex.split(command))


def arguments() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--program", action="append", default=[], help="a program to run; may be repeated")
    parser.add_argument("--shape", action="append", default=[], help="a machine shape; may be repeated")
    parser.add_argument("--iterations", type=int, default=3, help="runs of each column on both sides")
    parser.add_argument("--out", default="out/programs", help="folder of the records")
    parser.add_argument("--page", default="docs/reference/programs-beside-guests.md", help="the page")
    parser.add_argument("--numalab", default="numalab", help="the command")
    parser.add_argument(
        "--page-only", action="store_true", help="write the page of the records that are there"
    )
    parser.add_argument("--dry-run", action="store_true", help="print the commands")
    return parser.parse_args()


def commands(args: argparse.Namespace, program: Program, shape: str) -> list[list[str]]:
    """Return the command that simulates, and the one that runs guests."""
    common = [args.numalab, "run", "--machine", f"linux/sides/program-{shape}.toml", *SCANNER]
    common += ["--iterations", str(args.iterations)]
    workload = str(WORKLOADS / f"{program.name}.toml")
    simulated = ["--as-guest", "program", "--whole", "--kernel", "6.12,off", "--workload", workload]
    simulated += [
        "--param",
        f"instruction_time={INSTRUCTION}",
        "--out",
        folder(args, program.name, shape) + "-sim",
    ]
    guests = ["--backend", "vm", "--timing", "modelled", "--jobs", "1", "--guest-memory", "2GiB"]
    guests += ["--kernel", "debian-6.12,off", "--out", folder(args, program.name, shape)]
    guests += [part for path in program.needs for part in ("--with", path)]
    guests += [part for name, value in ENVIRONMENT.items() for part in ("--env", f"{name}={value}")]
    return [common + simulated, common + guests + ["--", *program.command]]


def folder(args: argparse.Namespace, name: str, shape: str) -> str:
    """Return the folder of a program's guests on a shape; that of the simulator has `-sim` behind it."""
    return f"{args.out}/{name}-{shape}"


def figures(records: Path) -> Figures:
    """Return the figures of the completed runs of a folder's comparison. It may hold older records beside these."""
    found: Figures = {column: {} for column in COLUMNS}
    listed = records / "experiment.json"
    runs = json.loads(listed.read_text())["runs"] if listed.exists() else []
    for run in runs:
        manifest = records / run["record"] / "manifest.json"
        if not manifest.exists() or json.loads(manifest.read_text())["status"] != "completed":
            continue
        column = "off" if run["kernel"].startswith("off") else "6.12"
        scalars = json.loads((manifest.parent / "scalars.json").read_text())
        of_run = {s["name"]: s["value"] for s in scalars["scalars"]} | scalars["counters"]
        for figure in FIGURES:
            if figure in of_run:
                found[column].setdefault(figure, []).append(of_run[figure])
    return found


def runs_of(side: Figures, column: str) -> int:
    """Return how many runs a column has."""
    return int(side[column].get(RUNS, [len(side[column].get("elapsed_s", []))])[0])


def keep(args: argparse.Namespace, listed: list[Program]) -> dict[str, Figures]:
    """Return the figures of all guests, those of records that are there anew, and keep them."""
    kept: dict[str, Figures] = json.loads(KEPT.read_text()) if KEPT.exists() else {}
    for name in (f"{program.name}-{shape}" for program in listed for shape in SHAPES):
        found = figures(Path(args.out) / name)
        before = kept.get(name, {column: {} for column in COLUMNS})
        if all(runs_of(found, column) >= max(1, runs_of(before, column)) for column in COLUMNS):
            kept[name] = found
    KEPT.write_text(json.dumps(kept, indent=1, sort_keys=True) + "\n")
    return kept


def cells(guests: Figures, simulated: Figures, column: str) -> list[Cell]:
    """Return the figures of a column that both sides have. Without balancing it is the time alone."""
    both = FIGURES if column != "off" else ["elapsed_s"]
    there = [f for f in both if guests[column].get(f) and simulated[column].get(f)]
    return [Cell(f, guests[column][f], simulated[column][f]) for f in there]


def sign(guests: Figures, simulated: Figures) -> tuple[str, bool | None]:
    """Return what balancing does to the time on both sides, and whether the sign is right; None if it is not clear."""
    times = [side[column].get("elapsed_s", []) for side in (guests, simulated) for column in ("6.12", "off")]
    if not all(times):
        return "–", None
    medians = [statistics.median(t) for t in times]
    changes = [100 * (medians[i] / medians[i + 1] - 1) for i in (0, 2)]
    said = f"{changes[0]:+.1f} %; {changes[1]:+.1f} %"
    if min(runs_of(guests, column) for column in COLUMNS) < LEAST_GUESTS:
        return f"{said}: too few guests", None
    if min(times[0]) <= max(times[1]) and min(times[1]) <= max(times[0]):
        return f"{said}: not clear in guests", None
    right = changes[0] * changes[1] > 0 and abs(changes[1]) >= LEAST_CHANGE
    return f"{said}: {'right' if right else 'wrong'}", right


def shown(value: float) -> str:
    """Write a count in full and a time with three digits."""
    return f"{value:.0f}" if value == int(value) else f"{value:.3g}"


def cell_text(cell: Cell) -> str:
    """Write a cell: the range of the guests, the median of the simulator, and whether that is held."""
    low, high = shown(min(cell.guests)), shown(max(cell.guests))
    how = "held" if cell.held else "off" if cell.off_by == float("inf") else f"off by {cell.off_by:.2f}"
    return f"{low if low == high else f'{low} to {high}'}; {shown(statistics.median(cell.simulated))}: {how}"


class Score:
    """How many figures were held, by their names."""

    def __init__(self) -> None:
        """Count nothing so far."""
        self.counts: dict[str, list[int]] = {}

    def add(self, figure: str, held: bool) -> None:
        """Count a figure."""
        count = self.counts.setdefault(figure, [0, 0])
        count[0] += held
        count[1] += 1

    def share(self, figure: str) -> str:
        """Write how many of a figure were held, with their percentage."""
        held, of = self.counts.get(figure, [0, 0])
        return f"{held} of {of} ({100 * held / of:.0f} %)" if of else "–"

    def sum(self) -> str:
        """Write how many figures were held in all. The sign is no figure."""
        counts = [count for figure, count in self.counts.items() if figure != SIGN]
        held, of = (sum(count[i] for count in counts) for i in (0, 1))
        return f"{held} of {of} ({100 * held / of:.0f} %)" if of else "–"


def page(args: argparse.Namespace, listed: list[Program]) -> str:
    """Return the page of the records that are there."""
    tables, scores = [], {group: Score() for group in ("all", "predicted", "in sample")}
    kept = keep(args, listed)
    for shape in SHAPES:
        rows = []
        for program in listed:
            simulated = figures(Path(folder(args, program.name, shape) + "-sim"))
            guests = kept.get(f"{program.name}-{shape}", {column: {} for column in COLUMNS})
            mine = [scores["all"], scores["predicted" if program.name in PREDICTED else "in sample"]]
            for column in COLUMNS:
                found = {cell.figure: cell for cell in cells(guests, simulated, column)}
                for score in mine:
                    for cell in found.values():
                        score.add(cell.figure, cell.held)
                if found:
                    texts = [cell_text(found[f]) if f in found else "–" for f in FIGURES]
                    runs = runs_of(guests, column)
                    rows.append(f"| {program.name} | {column} | {runs} | {' | '.join(texts)} |")
            said, right = sign(guests, simulated)
            for score in mine if right is not None else []:
                score.add(SIGN, right is True)
            if said != "–":
                rows.append(f"| {program.name} | 6.12 against off | | {said} {'| ' * len(BALANCING)}|")
        if rows:
            head = f"| program | column | guests | {' | '.join(FIGURES)} |\n|---|---|--:|{'---|' * len(FIGURES)}\n"
            tables.append(f"\n## {shape}\n\n{head}" + "\n".join(rows) + "\n")
    figures_of = [*FIGURES, SIGN]
    sum_up = f"\n| | {' | '.join(['figures', *figures_of])} |\n|---|{'---|' * (len(figures_of) + 1)}\n"
    for group, score in scores.items():
        sum_up += f"| {group} | {score.sum()} | {' | '.join(score.share(f) for f in figures_of)} |\n"
    return INTRO + sum_up + "".join(tables) + notes()


def notes() -> str:
    """Return what the page says beside its tables: files beside the list."""
    heads = {"mended.md": "In sample", "not-compared.md": "Not compared"}
    files = {head: LISTS[0].with_name(name) for name, head in heads.items()}
    return "".join(f"\n## {head}\n\n{file.read_text()}" for head, file in files.items() if file.exists())


def main() -> int:
    """Run the commands, or print them, and write the page."""
    args = arguments()
    listed = [program for file in LISTS for program in programs(file.read_text())]
    names = [program.name for program in listed]
    for option, given, known in (("--program", args.program, names), ("--shape", args.shape, SHAPES)):
        for name in given:
            if name not in known:
                print(f"{option} {name}: expected one of {', '.join(known)}", file=sys.stderr)
                return 2
    failed = 0
    for shape in [] if args.page_only else [s for s in SHAPES if not args.shape or s in args.shape]:
        for program in listed:
            wanted = not args.program or program.name in args.program
            if not wanted or not (WORKLOADS / f"{program.name}.toml").exists():
                continue
            for line in commands(args, program, shape):
                if args.dry_run:
                    print(shlex.join(line))
                    continue
                code = subprocess.run(
                    line, check=False, stdout=subprocess.DEVNULL, preexec_fn=polite
                ).returncode
                if code in (130, 143):
                    return code
                failed |= int(code != 0)
    if not args.dry_run:
        Path(args.page).write_text(page(args, listed))
    return failed


def polite() -> None:
    """Leave the processors to others."""
    os.nice(19)


if __name__ == "__main__":
    sys.exit(main())
