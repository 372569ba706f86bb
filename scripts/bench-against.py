"""Measures this tree beside another one: CPU time and peak memory of the cases in bench/, interleaved.

    scripts/bench-against.py REF [--cases NAME,...] [--rounds N] [--parts PART,...]

REF is any commit; it is built in target/bench/REF. Every round runs each case with both programs, one after the
other. The ratio is that of the shortest CPU times. A target that is missed is marked. Parts, all by default:

    cases    CPU time beside REF, and of the cases that REF cannot run against limits. REF is stopped once it has
             taken a tenth more than the target asks for: the ratio is then at least that
    start    CPU time of `list` and of the smallest run
    jobs     two runs at a time beside one after the other, by wall time, and the same of two programs side by side,
             which is what this machine allows: needs two idle CPUs
    state    bytes of page state per resident page of 4 KiB
    limit    what scans and faults take beside a walk over the same state, and state per page and per huge page
    guest    one plan in the simulator and in a guest with timing `modelled`; says so where no guest runs
    growth   how CPU time grows with CPUs, threads, memory and model time: exponents fitted to three sizes
"""

import argparse
import json
import math
import os
import resource
import shutil
import signal
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
PARTS = ("cases", "start", "jobs", "state", "limit", "guest", "growth")
START_S = {"list": 0.020, "smallest run": 0.030}
JOBS_RATIO = 1.9
STATE_BYTES = 8.0
GUEST_RATIO = 1000
# Cases that must not be slower than the machine that they model.
REAL_TIME = ("buffer-pool-4g", "buffer-pool-64g")
# Page events per second of CPU.
EVENTS_PER_S = {"thread-local": 15e6}
EXPONENT = 1.1
# What grows: machine, workload, and the parameters of three sizes, each twice the one before.
GROWTH: dict[str, list[tuple[str, str, dict[str, str | int]]]] = {
    "CPUs": [(f"2x{8 * n}x4x1", "coremark", {"contexts": 64 * n, "iterations": 400_000}) for n in (1, 2, 4)],
    "threads": [("2x4x8x1", "coremark", {"contexts": 64 * n, "iterations": 1_000_000}) for n in (1, 2, 4)],
    "memory": [("2x4x8x1", "numa02", {"memory": f"{4 * n}GiB", "loops": 60}) for n in (1, 2, 4)],
    "model time": [("2x4x8x1", "random-shared", {"duration": f"{10 * n}s"}) for n in (1, 2, 4)],
}
# Cases too large for the other tree: measured alone, against limits of seconds and bytes.
ALONE = {"4096-cpus": (60, 4 << 30)}


@dataclass
class Case:
    """Times of one case, by program."""

    cpu_s: dict[str, list[float]] = field(default_factory=dict)
    wall_s: dict[str, list[float]] = field(default_factory=dict)
    stopped: bool = False
    failed: str = ""
    peak_bytes: int = 0
    model_s: float = 0.0
    page_events: float = 0.0


def build(ref: str) -> Path:
    """The program of commit `ref`, built in a worktree of its own."""
    commit = subprocess.check_output(["git", "rev-parse", ref], cwd=ROOT, text=True).strip()
    tree = ROOT / "target/bench" / commit[:12]
    if not tree.exists():
        subprocess.check_call(["git", "worktree", "add", "--force", "--detach", str(tree), commit], cwd=ROOT)
    subprocess.check_call(["cargo", "build", "--release", "--bin", "numalab"], cwd=tree)
    return tree / "target/release/numalab"


def outcome(out: Path) -> tuple[float, float]:
    """Model time of the records in a directory, seconds, and their page events."""
    seconds = events = 0.0
    for path in out.rglob("*.json"):
        text = json.loads(path.read_text())
        found = text.get("outcome", text) if isinstance(text, dict) else {}
        scalars = found.get("scalars", [])
        seconds += sum(s["value"] for s in scalars if isinstance(s, dict) and s.get("name") == "elapsed_s")
        counters = found.get("counters", [])
        pairs = counters.items() if isinstance(counters, dict) else [c for c in counters if isinstance(c, list)]
        events += sum(v for k, v in pairs if k in ("pgfault", "numa_pte_updates", "numa_pages_migrated"))
    return seconds, events


class RunFailed(Exception):
    """A run that ended with an error, with what it said."""


def run(program: Path, name: str, limit_s: float = math.inf) -> tuple[float, float, int, float, float]:
    """One run: CPU and wall seconds, peak bytes, model seconds, page events. Stopped after so much CPU time."""
    with tempfile.TemporaryDirectory() as out:
        command = [str(program), "run", f"bench/{name}.toml", "--jobs", "1", "--out", out + "/records"]

        def bound() -> None:
            if limit_s < math.inf:
                resource.setrlimit(resource.RLIMIT_CPU, (math.ceil(limit_s), math.ceil(limit_s)))

        start = time.monotonic()
        with tempfile.TemporaryFile("w+") as errors:
            child = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=errors, preexec_fn=bound)
            _, status, used = os.wait4(child.pid, 0)
            wall, cpu = time.monotonic() - start, used.ru_utime + used.ru_stime
            stopped = os.WIFSIGNALED(status) and os.WTERMSIG(status) in (signal.SIGXCPU, signal.SIGKILL)
            if status != 0 and not stopped:
                errors.seek(0)
                raise RunFailed(" ".join(errors.read().split()))
        return max(cpu, limit_s) if stopped else cpu, wall, used.ru_maxrss * 1024, *outcome(Path(out))


def measure(programs: dict[str, Path], names: list[str], rounds: int) -> dict[str, Case]:
    """All cases, `rounds` times, the programs in turn."""
    cases = {name: Case() for name in names}
    for _ in range(rounds):
        for name, case in cases.items():
            try:
                measure_once(programs, name, case)
            except RunFailed as why:
                case.failed = str(why)
    return cases


def measure_once(programs: dict[str, Path], name: str, case: Case) -> None:
    """One run of a case with each program; what each took goes to standard error at once."""

    def add(which: str, cpu: float, wall: float) -> None:
        case.cpu_s.setdefault(which, []).append(cpu)
        case.wall_s.setdefault(which, []).append(wall)
        print(f"{name} {which} {cpu:.2f} s", file=sys.stderr, flush=True)

    cpu, wall, peak, case.model_s, case.page_events = run(programs["head"], name)
    case.peak_bytes = max(case.peak_bytes, peak)
    add("head", cpu, wall)
    # A base that was stopped once tells no more the second time.
    if name in ALONE or case.stopped:
        return
    limit_s = 1.1 * TARGETS.get(name, 1) * cpu
    cpu, wall, *_ = run(programs["base"], name, limit_s)
    case.stopped = cpu >= limit_s
    add("base", cpu, wall)


def report(cases: dict[str, Case]) -> bool:
    """Prints the table; whether all targets hold."""
    print(f"{'case':<20} {'base s':>8} {'head s':>8} {'ratio':>7} {'target':>7} {'x real time':>11} {'peak MiB':>9}")
    holds = True
    for name, case in cases.items():
        if case.failed:
            print(f"{name:<20} failed: {case.failed}")
            holds = False
            continue
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
            shown = f"{'>' if case.stopped else ''}{ratio:.2f}"
            print(f"{name:<20} {base:8.2f} {head:8.2f} {shown:>7} {target:7} {speed:11.1f} {peak:9.0f}", end="")
        slow = name in REAL_TIME and speed < 1
        print("   missed" if not ok else "   slower than real time" if slow else "")
        holds &= ok and not slow
    for name in [n for n in EVENTS_PER_S if n in cases and not cases[n].failed]:
        rate, target = cases[name].page_events / min(cases[name].cpu_s["head"]), EVENTS_PER_S[name]
        ok = rate >= target
        print(f"{name}: {rate / 1e6:.1f} M page events/s, at least {target / 1e6:.0f} M" + ("" if ok else "   missed"))
        holds &= ok
    return holds


def cpu_of(command: list[str], rounds: int) -> float:
    """Shortest CPU time of a command, seconds."""
    best = math.inf
    for _ in range(rounds):
        child = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        _, status, used = os.wait4(child.pid, 0)
        if status != 0:
            sys.exit(f"{' '.join(command)} failed")
        best = min(best, used.ru_utime + used.ru_stime)
    return best


def plan(folder: Path, name: str, size: tuple[str, str, dict[str, str | int]]) -> Path:
    """An experiment file of one run."""
    machine, workload, params = size
    lines = [
        f'name = "{name}"',
        f'title = "{name}"',
        f'machines = ["{machine}"]',
        'kernels = ["6.12"]',
        f'workloads = ["{workload}"]',
    ]
    lines += ["", "[params]", *(f"{workload}.{key} = {json.dumps(value)}" for key, value in params.items())]
    path = folder / f"{name}.toml"
    path.write_text("\n".join(lines) + "\n")
    return path


def line(what: str, value: str, target: str, holds: bool) -> bool:
    """Prints a line of a figure with its target."""
    print(f"{what:<44} {value:>14} {target:>14}" + ("" if holds else "   missed"))
    return holds


def start_up(program: Path, rounds: int) -> bool:
    """CPU time of commands that do next to nothing."""
    with tempfile.TemporaryDirectory() as out:
        file = plan(Path(out), "smallest", ("2x1x1x1", "coremark", {"contexts": 1, "iterations": 1000}))
        # Every round makes its record anew.
        run_it = f"{program} run {file} --out {out}/r >/dev/null 2>&1 && rm -rf {out}/r"
        times = {
            "list": cpu_of([str(program), "list"], 5 * rounds),
            "smallest run": cpu_of(["sh", "-c", run_it], 5 * rounds),
        }
    lines = [line(k, f"{t * 1e3:.0f} ms", f"<= {START_S[k] * 1e3:.0f} ms", t <= START_S[k]) for k, t in times.items()]
    return all(lines)


def jobs(program: Path, rounds: int) -> bool:
    """How much sooner four runs end two at a time, and two programs side by side."""
    wall: dict[str, list[float]] = {"jobs 1": [], "jobs 2": [], "alone": [], "side by side": []}
    for _ in range(rounds):
        for n in ("1", "2"):
            with tempfile.TemporaryDirectory() as out:
                command = [str(program), "run", "bench/thread-local.toml", "--iterations", "4", "--jobs", n]
                start = time.monotonic()
                subprocess.run([*command, "--out", out + "/r"], cwd=ROOT, check=True, capture_output=True)
                wall[f"jobs {n}"].append(time.monotonic() - start)
        for which, count in {"alone": 1, "side by side": 2}.items():
            with tempfile.TemporaryDirectory() as out:
                command = [str(program), "run", "bench/thread-local.toml", "--jobs", "1", "--out"]
                start = time.monotonic()
                those = [
                    subprocess.Popen(
                        [*command, f"{out}/{i}"], cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
                    )
                    for i in range(count)
                ]
                if any(child.wait() != 0 for child in those):
                    sys.exit(f"{program} failed on thread-local")
                wall[which].append(time.monotonic() - start)
    least = {which: min(times) for which, times in wall.items()}
    ratio, bound = least["jobs 1"] / least["jobs 2"], 2 * least["alone"] / least["side by side"]
    load = os.getloadavg()[0]
    print(f"{'two programs side by side beside one':<44} {bound:12.2f} x {'':>14}")
    return line(
        f"--jobs 2 beside --jobs 1 (load {load:.1f})", f"{ratio:.2f} x", f">= {JOBS_RATIO} x", ratio >= JOBS_RATIO
    )


def state() -> bool:
    """Bytes of page state per resident page, as the example `bench` of the simulator counts them."""
    command = ["cargo", "run", "--release", "--quiet", "-p", "numalab-sim", "--example", "bench", "2"]
    said = subprocess.check_output(command, cwd=ROOT, text=True)
    bytes_per_page = next(float(row.split()[4]) for row in said.splitlines() if "bytes per simulated page" in row)
    return line(
        "state per page of 4 KiB", f"{bytes_per_page:.2f} B", f"<= {STATE_BYTES} B", bytes_per_page <= STATE_BYTES
    )


def limit() -> bool:
    """Ratios of scans and faults to a walk over the same state, as the example `limit` of the simulator prints them."""
    command = ["cargo", "run", "--release", "--quiet", "-p", "numalab-sim", "--example", "limit"]
    said = subprocess.check_output(command, cwd=ROOT, text=True)
    print(said, end="")
    return "missed" not in said


def guest(program: Path, rounds: int) -> bool:
    """Wall time of one plan in a guest with timing `modelled`, beside that in the simulator."""
    what = "simulator beside a guest (modelled)"
    if shutil.which("qemu-system-x86_64") is None:
        print(f"{what:<44} {'not measured here: no qemu-system-x86_64':>29}")
        return True
    plan = ["--machine", "2x1x2x1", "--workload", "numa02", "--param", "memory=128MiB", "--param", "loops=400"]
    wall: dict[str, float] = {}
    for which, more in {
        "sim": ["--kernel", "6.12"],
        "vm": ["--kernel", "debian-6.12", "--backend", "vm", "--timing", "modelled"],
    }.items():
        for _ in range(rounds if which == "sim" else 1):
            with tempfile.TemporaryDirectory() as out:
                command = [str(program), "run", *plan, *more, "--out", out + "/r"]
                start = time.monotonic()
                ended = subprocess.run(command, cwd=ROOT, check=False, capture_output=True, text=True)
                took = time.monotonic() - start
            if ended.returncode != 0:
                print(f"{what:<44} not measured here: {ended.stderr.strip().splitlines()[-1]}")
                return True
            wall[which] = min(took, wall.get(which, math.inf))
    ratio = wall["vm"] / wall["sim"]
    return line(f"{what} ({wall['vm']:.0f} s)", f"{ratio:.0f} x", f">= {GUEST_RATIO} x", ratio >= GUEST_RATIO)


def growth(program: Path, rounds: int) -> bool:
    """Exponents of CPU time against size."""
    holds = True
    with tempfile.TemporaryDirectory() as out:
        base = cpu_of([str(program), "--version"], rounds)
        for what, sizes in GROWTH.items():
            times = []
            for at, size in enumerate(sizes):
                file = plan(Path(out), f"{what.replace(' ', '-').lower()}-{at}", size)
                run_it = f"{program} run {file} --jobs 1 --out {out}/r >/dev/null 2>&1 && rm -rf {out}/r"
                times.append(max(cpu_of(["sh", "-c", run_it], rounds) - base, 1e-3))
            exponent = slope([math.log(2.0**at) for at in range(len(times))], [math.log(t) for t in times])
            shown = ", ".join(f"{t:.2f}" for t in times)
            holds &= line(f"growth with {what} ({shown} s)", f"{exponent:.2f}", f"<= {EXPONENT}", exponent <= EXPONENT)
    return holds


def slope(x: list[float], y: list[float]) -> float:
    """Slope of the line of least squares."""
    middle_x, middle_y = sum(x) / len(x), sum(y) / len(y)
    return sum((a - middle_x) * (b - middle_y) for a, b in zip(x, y, strict=True)) / sum((a - middle_x) ** 2 for a in x)


def main() -> int:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("ref")
    parser.add_argument("--cases", help="only these, separated by commas")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--parts", default=",".join(PARTS), help="only these, separated by commas")
    parser.add_argument("--base", type=Path, help="a program of REF that is built already")
    parser.add_argument("--head", type=Path, help="a program of this tree that is built already")
    args = parser.parse_args()
    known = [*TARGETS, *ALONE]
    names = args.cases.split(",") if args.cases else known
    unknown = [n for n in names if n not in known]
    if unknown:
        parser.error(f"no case {unknown[0]}; cases are {', '.join(known)}")
    parts = args.parts.split(",")
    if strange := [p for p in parts if p not in PARTS]:
        parser.error(f"no part {strange[0]}; parts are {', '.join(PARTS)}")
    head = args.head
    if head is None:
        subprocess.check_call(["cargo", "build", "--release", "--bin", "numalab"], cwd=ROOT)
        head = ROOT / "target/release/numalab"
    head = head.resolve()
    holds = True
    if "cases" in parts:
        base = args.base or build(args.ref)
        holds &= report(measure({"base": base.resolve(), "head": head}, names, args.rounds))
    if len(parts) > 1 or "cases" not in parts:
        print(f"\n{'figure':<44} {'measured':>14} {'target':>14}")
    if "start" in parts:
        holds &= start_up(head, args.rounds)
    if "jobs" in parts:
        holds &= jobs(head, args.rounds)
    if "state" in parts:
        holds &= state()
    if "limit" in parts:
        holds &= limit()
    if "guest" in parts:
        holds &= guest(head, args.rounds)
    if "growth" in parts:
        holds &= growth(head, args.rounds)
    return 0 if holds else 1


if __name__ == "__main__":
    sys.exit(main())
