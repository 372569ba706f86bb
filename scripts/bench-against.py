"""Measures this tree beside another one: CPU time and peak memory of the cases in bench/, interleaved.

    scripts/bench-against.py REF [--cases NAME,...] [--rounds N]

REF is any commit; it is built in target/bench/REF. Every round runs each case with both programs, one after the other. The
ratio is that of the shortest CPU times. A target that is missed is marked.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TARGETS = {
    "everybody-computes": 5,
    "thread-local": 5,
    "sweep-everything": 8,
    "960-cpus": 8,
    "buffer-pool-4g": 30,
    "buffer-pool-64g": 30,
    "strided": 5,
    "random-shared": 5,
    "specjbb": 5,
}
# Cases too large for the other tree: measured alone, against limits of seconds and bytes.
ALONE = {"4096-cpus": (60, 4 << 30)}


@dataclass
class Case:
    """Times of one case, by program."""

    cpu_s: dict[str, list[float]] = field(default_factory=dict)
    wall_s: dict[str, list[float]] = field(default_factory=dict)
    peak_bytes: int = 0
    model_s: float = 0.0


def build(ref: str) -> Path:
    """The program of commit `ref`, built in a worktree of its own."""
    commit = subprocess.check_output(["git", "rev-parse", ref], cwd=ROOT, text=True).strip()
    tree = ROOT / "target/bench" / commit[:12]
    if not tree.exists():
        subprocess.check_call(["git", "worktree", "add", "--force", "--detach", str(tree), commit], cwd=ROOT)
    subprocess.check_call(["cargo", "build", "--release", "--bin", "numalab"], cwd=tree)
    return tree / "target/release/numalab"


def elapsed(out: Path) -> float:
    """Model time of the records in a directory, seconds."""
    total = 0.0
    for path in out.rglob("*.json"):
        text = json.loads(path.read_text())
        scalars = text.get("outcome", text).get("scalars", []) if isinstance(text, dict) else []
        total += sum(s["value"] for s in scalars if isinstance(s, dict) and s.get("name") == "elapsed_s")
    return total


def run(program: Path, name: str) -> tuple[float, float, int, float]:
    """One run: CPU seconds, wall seconds, peak bytes, and model seconds."""
    with tempfile.TemporaryDirectory() as out:
        command = [str(program), "run", f"bench/{name}.toml", "--jobs", "1", "--out", out + "/records"]
        start = time.monotonic()
        child = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        said = child.stderr.read().decode() if child.stderr else ""
        _, status, used = os.wait4(child.pid, 0)
        wall = time.monotonic() - start
        if status != 0:
            sys.exit(f"{program} failed on {name}: {said}")
        return used.ru_utime + used.ru_stime, wall, used.ru_maxrss * 1024, elapsed(Path(out))


def measure(programs: dict[str, Path], names: list[str], rounds: int) -> dict[str, Case]:
    """All cases, `rounds` times, the programs in turn."""
    cases = {name: Case() for name in names}
    for _ in range(rounds):
        for name, case in cases.items():
            for which, program in programs.items():
                if which == "base" and name in ALONE:
                    continue
                cpu, wall, peak, model = run(program, name)
                case.cpu_s.setdefault(which, []).append(cpu)
                case.wall_s.setdefault(which, []).append(wall)
                case.model_s = model
                if which == "head":
                    case.peak_bytes = max(case.peak_bytes, peak)
    return cases


def report(cases: dict[str, Case]) -> bool:
    """Prints the table; whether all targets hold."""
    print(f"{'case':<20} {'base s':>8} {'head s':>8} {'ratio':>7} {'target':>7} {'x real time':>11} {'peak MiB':>9}")
    holds = True
    for name, case in cases.items():
        head = min(case.cpu_s["head"])
        speed = case.model_s / head if head else 0.0
        peak = case.peak_bytes / (1 << 20)
        if name in ALONE:
            limit_s, limit_bytes = ALONE[name]
            ok = head <= limit_s and case.peak_bytes <= limit_bytes
            target = f"{limit_s} s"
            print(f"{name:<20} {'-':>8} {head:8.2f} {'-':>7} {target:>7} {speed:11.1f} {peak:9.0f}", end="")
        else:
            base = min(case.cpu_s["base"])
            ratio, target = base / head, TARGETS.get(name, 1)
            ok = ratio >= target
            print(f"{name:<20} {base:8.2f} {head:8.2f} {ratio:7.2f} {target:7} {speed:11.1f} {peak:9.0f}", end="")
        print("" if ok else "   missed")
        holds &= ok
    return holds


def main() -> int:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("ref")
    parser.add_argument("--cases", help="only these, separated by commas")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--base", type=Path, help="a program of REF that is built already")
    args = parser.parse_args()
    known = [*TARGETS, *ALONE]
    names = args.cases.split(",") if args.cases else known
    unknown = [n for n in names if n not in known]
    if unknown:
        parser.error(f"no case {unknown[0]}; cases are {', '.join(known)}")
    base = args.base or build(args.ref)
    subprocess.check_call(["cargo", "build", "--release", "--bin", "numalab"], cwd=ROOT)
    cases = measure({"base": base.resolve(), "head": ROOT / "target/release/numalab"}, names, args.rounds)
    return 0 if report(cases) else 1


if __name__ == "__main__":
    sys.exit(main())
