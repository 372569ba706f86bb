#!/usr/bin/env python3
"""What the Python package costs beside its targets: `make bench-python`.

    scripts/bench-python.py [--plans N] [--wheel FILE]

Costs of a sweep are counted in CPU time, so that other programs matter little: that of all processes of the
sweep, beside that of the runs alone. What no engine can beat is measured too: such plans in plain processes without
Dask, one alone and two side by side. Two CPUs that are threads of one core give less than twice one.

A wheel that `make dist` built is measured as it is. Without one, the files of the package are packed as a wheel would
pack them.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numalab as nl

ROOT = Path(__file__).resolve().parents[1]
MACHINE, KERNEL, WORKLOAD = "4x1x2x1", "6.12", "random-shared"
# Parameters of a plan of some 20 ms, which are scaled to what this machine needs for a plan of a given time.
MEMORY, DURATION_MS = "32MiB", 500
TARGETS = {
    "import_ms": 150,
    "wheel_mb": 15,
    "million_mb": 200,
    "overhead_percent": 5,
    "efficiency_percent": 85,
}
# The client's part of a sweep of a million plans, without running them.
MILLION = """
import re
import numalab as nl
from numalab.sweeps import _Batches
import distributed, pyarrow.parquet
grid = nl.Grid("4x1x2x1", ["off", "6.12"], "numa02", params={"loops": list(range(1000))}, seeds=500)
batches = _Batches(grid.view, [], 4)
while (batch := batches.next()) is not None:
    seconds = 0.05 * (batch.stop - batch.first)
    batches.seen(batch, batch.stop, seconds, seconds)
assert len(grid) == 1_000_000 and batches.left == 0
# The peak of this program alone; that of getrusage begins with the memory of the process that started it.
print(re.search(r"VmHWM:\\s+(\\d+) kB", open("/proc/self/status").read())[1])
"""

# A plain process: it resolves plans, says so, waits for a line, runs them, and prints CPU and wall time of a plan, s.
PLAIN = """
import json, sys, time
import numalab as nl
machine, kernel, workload, params, count = json.loads(sys.argv[1])
plans = nl.Catalog().request(machine, kernel, workload, params=params, iterations=count, files=False).plans
plans[0].run()
print("ready", flush=True)
input()
cpu, wall = time.thread_time(), time.perf_counter()
for plan in plans:
    plan.run()
print((time.thread_time() - cpu) / count, (time.perf_counter() - wall) / count)
"""


def cpu_s(pid: int) -> float:
    """Return the CPU time that a process has taken so far, s."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def plan_of(cpu_ms: float) -> dict[str, Any]:
    """Return the parameters of a plan that takes so much CPU time on this machine now."""
    catalog, duration_ms = nl.Catalog(), float(DURATION_MS)
    for _ in range(3):
        params = {"memory": MEMORY, "duration": f"{round(1000 * duration_ms)}us"}
        plans = catalog.request(MACHINE, KERNEL, WORKLOAD, params=params, iterations=15, files=False).plans
        times = []
        for plan in plans:
            begin = time.thread_time()
            plan.run()
            times.append(time.thread_time() - begin)
        duration_ms *= cpu_ms / (1000 * statistics.median(times))
    return {"memory": MEMORY, "duration": f"{round(1000 * duration_ms)}us"}


def plain(params: dict[str, Any], count: int, processes: int) -> tuple[float, float]:
    """Return CPU and wall time of a plan, s, in so many plain processes side by side that run ``count`` each."""
    work = json.dumps([MACHINE, KERNEL, WORKLOAD, params, count])
    line = [sys.executable, "-c", PLAIN, work]
    with contextlib.ExitStack() as stack:
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
        those = [stack.enter_context(subprocess.Popen(line, **pipes)) for _ in range(processes)]
        for one in those:
            assert one.stdout is not None and one.stdout.readline() == "ready\n"
        texts = [one.stdin for one in those if one.stdin is not None]
        for text in texts:
            text.write("go\n")
            text.flush()
        times = [tuple(map(float, one.communicate()[0].split())) for one in those]
    cpu, wall = (statistics.fmean(column) for column in zip(*times, strict=True))
    return cpu, wall


def sweep_costs(params: dict[str, Any], count: int, workers: int) -> dict[str, float]:
    """Run a sweep of equal plans, and return CPU time of the runs alone, that of all processes, and wall time, s."""
    from numalab.sweeps import _client

    with tempfile.TemporaryDirectory() as folder, _client(None, workers) as client:
        axes: dict[str, Any] = {"params": {k: [v] for k, v in params.items()}}
        # What is imported and read once is not counted.
        warm = nl.Grid(MACHINE, KERNEL, WORKLOAD, seeds=4 * workers, **axes)
        nl.sweep(warm, out=f"{folder}/warm", client=client, progress=False)
        pids = {"client": [os.getpid()], "scheduler": [client.run_on_scheduler(os.getpid)]}
        # Each worker, and the program that watches it.
        pids["workers"] = list(client.run(os.getpid).values())
        pids["nannies"] = list(client.run(os.getppid).values())

        def spent() -> dict[str, float]:
            return {role: sum(map(cpu_s, those)) for role, those in pids.items()}

        before, wall = spent(), time.perf_counter()
        grid = nl.Grid(MACHINE, KERNEL, WORKLOAD, seeds=list(range(1000, 1000 + count)), **axes)
        done = nl.sweep(grid, out=f"{folder}/sweep", client=client, progress=False)
        after, wall = spent(), time.perf_counter() - wall
        parts = len(done.dataset.files())
    roles = {role: after[role] - before[role] for role in pids}
    plans = done.counts.cpu_seconds
    roles["workers"] -= plans
    costs = {"plan": plans / count, "plans": plans, "cpu": plans + sum(roles.values()), "wall": wall}
    return {**costs, "batches": parts, **roles}


def spent_by(costs: dict[str, float]) -> str:
    """Return a line that says which processes took the time beside the runs."""
    roles = ", ".join(f"{r} {costs[r]:.2f}" for r in ("workers", "scheduler", "client", "nannies"))
    return f"     {costs['plans']:.1f} s of runs in {costs['batches']:.0f} batches; beside them, s: {roles}"


def import_s() -> float:
    """Return the CPU time of `import numalab` beside a bare interpreter, s: the least of ten."""

    def one(code: str) -> float:
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([sys.executable, "-c", code], check=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime

    with_it = min(one("import numalab; numalab.Catalog; numalab.run") for _ in range(10))
    return with_it - min(one("pass") for _ in range(10))


def wheel_bytes(wheel: Path | None) -> int:
    """Return the size of a wheel, bytes."""
    if wheel is not None:
        return wheel.stat().st_size
    packed = io.BytesIO()
    with (
        tempfile.TemporaryDirectory() as folder,
        zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive,
    ):
        for path, name in packed_files(Path(folder)):
            archive.write(path, name)
    return len(packed.getvalue())


def packed_files(folder: Path) -> Iterator[tuple[Path, str]]:
    """Yield the files of the package and their names in a wheel; the extension is stripped, in ``folder``."""
    python = ROOT / "python"
    for path in sorted(p for p in (python / "numalab").rglob("*") if p.is_file()):
        if "__pycache__" in path.parts:
            continue
        name = str(path.relative_to(python))
        if path.suffix == ".so" and shutil.which("strip"):
            stripped = folder / path.name
            subprocess.run(["strip", "-o", stripped, path], check=True)
            path = stripped
        yield path, name


def unpack(wheel: Path | None, place: Path) -> None:
    """Lay the files of a wheel, or of the package, into a folder of packages as pip does."""
    if wheel is not None:
        zipfile.ZipFile(wheel).extractall(place)
        return
    with tempfile.TemporaryDirectory() as folder:
        for path, name in packed_files(Path(folder)):
            (place / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(path, place / name)


def main() -> int:
    """Print every figure beside its target; the exit code is 1 if one misses."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--plans", type=int, default=10_000, help="plans of 20 ms (10000); a fifth as many of 50 ms"
    )
    parser.add_argument("--wheel", type=Path, help="wheel to measure")
    args = parser.parse_args()
    wheel = args.wheel or max(
        ROOT.glob("target/dist/numalab-*.whl"), default=None, key=lambda p: p.stat().st_mtime
    )
    print(f"load of this machine: {', '.join(f'{x:.1f}' for x in os.getloadavg())} on {os.cpu_count()} CPUs")
    missed = 0

    def tell(name: str, value: float, unit: str, target: float, at_most: bool = True) -> None:
        nonlocal missed
        good = value <= target if at_most else value >= target
        missed += not good
        word = "at most" if at_most else "at least"
        print(
            f"{'ok  ' if good else 'MISS'} {name}: {value:.1f} {unit} (target: {word} {target:g})", flush=True
        )

    tell("import numalab, CPU time", 1000 * import_s(), "ms", TARGETS["import_ms"])
    tell("wheel", wheel_bytes(wheel) / 1e6, "MB", TARGETS["wheel_mb"])
    peak = subprocess.run([sys.executable, "-c", MILLION], check=True, capture_output=True, text=True).stdout
    tell(
        "client of a grid of a million plans, peak memory",
        int(peak) * 1024 / 1e6,
        "MB",
        TARGETS["million_mb"],
    )
    costs = sweep_costs(plan_of(50), max(20, args.plans // 5), 1)
    overhead = 100 * (costs["cpu"] / costs["plans"] - 1)
    tell(
        f"dispatch overhead at plans of {1000 * costs['plan']:.0f} ms, CPU time of all processes",
        overhead,
        "%",
        TARGETS["overhead_percent"],
    )
    print(spent_by(costs))
    params = plan_of(20)
    (alone, _), (beside, beside_wall) = (plain(params, max(10, args.plans // 40), n) for n in (1, 2))
    costs = sweep_costs(params, args.plans, 2)
    name = f"{args.plans} plans of {1000 * costs['plan']:.0f} ms on 2 workers"
    tell(
        f"{name}, efficiency by CPU time",
        100 * costs["plans"] / costs["cpu"],
        "%",
        TARGETS["efficiency_percent"],
        at_most=False,
    )
    print(spent_by(costs))
    print(
        f"     without Dask, CPU time of a plan: {1000 * alone:.1f} ms in a process alone, "
        f"{1000 * beside:.1f} ms in two side by side, which is {beside / alone:.2f} times as much"
    )
    reached = args.plans * alone / (2 * costs["wall"])
    print(
        f"     by wall time, of two CPUs at the speed of one alone: {100 * reached:.1f} %; two processes without Dask "
        f"reach {100 * alone / beside_wall:.1f} % (other programs count against both)"
    )
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
