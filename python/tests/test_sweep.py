"""Grids, batches and results of sweeps."""

import dataclasses
import itertools
import json
import os
import pickle
import subprocess
import sys
import tracemalloc
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from distributed import Client, LocalCluster
from hypothesis import given, settings
from hypothesis import strategies as st
from test_spec import SWEEP

import numalab as nl
from numalab._native import Figures
from numalab.grid import GridView, catalog_of, read_grid
from numalab.local_cluster import QUIET
from numalab.store import Dataset, PlanCache, gaps
from numalab.sweeps import _Batches, _check, _client, find, resolve

COMMAND = os.environ.get("NUMALAB", str(Path(__file__).parents[2] / "target/release/numalab"))
SIZES = [64, 256]


def grid(**more: Any) -> nl.Grid:
    axes: dict[str, Any] = {
        "machines": ["2x1x2x1"],
        "kernels": ["6.1", "6.12"],
        "workloads": ["numa02"],
        "params": {"loops": [2, 3]},
        "settings": {"scan.scan_delay_ms": [1000]},
        "seeds": 2,
    }
    return nl.Grid(**{**axes, **more})


@pytest.fixture(scope="module")
def client() -> Iterator[Client]:
    # Threads: the simulator holds no lock of the interpreter. Processes are in test_sweep_kill.py.
    with (
        LocalCluster(n_workers=1, threads_per_worker=2, processes=False, dashboard_address=None) as cluster,
        Client(cluster, set_as_default=False) as client,
    ):
        yield client


def test_points_of_a_grid_are_its_product_in_order() -> None:
    points = list(grid())
    assert len(points) == len(grid()) == 8
    assert [(p.kernel, p.params["loops"], p.seed) for p in points[:5]] == [
        ("6.1", 2, 1),
        ("6.1", 2, 2),
        ("6.1", 3, 1),
        ("6.1", 3, 2),
        ("6.12", 2, 1),
    ]
    assert len({str(p) for p in points}) == 8
    with pytest.raises(IndexError):
        grid()[8]


def test_a_million_plans_cost_the_client_what_their_axes_cost() -> None:
    tracemalloc.start()
    large = grid(params={"loops": list(range(1000))}, seeds=500)
    assert len(large) == 1_000_000
    batches = _Batches(large.view, [], 4)
    seen = 0
    while (batch := batches.next()) is not None:
        assert batch.first == seen
        seen = batch.stop
        batches.seen(batch, batch.stop, *[0.05 * (batch.stop - batch.first)] * 2)
    assert seen == 1_000_000
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 20e6


def ranges_of(batches: _Batches, wall_s: float, cpu_s: float) -> list[tuple[int, int]]:
    """Carry out what is left, with plans of so many seconds."""
    ranges = []
    while (batch := batches.next()) is not None:
        plans = batch.stop - batch.first
        ranges.append((batch.first, batch.stop))
        batches.seen(batch, batch.stop, wall_s * plans, cpu_s * plans)
    return ranges


def test_batches_follow_the_cost_of_plans_and_stay_in_a_workload() -> None:
    two = grid(workloads=["numa02", "numa01"], params={}, seeds=1000)
    batches = _Batches(two.view, [], 2)
    probes = [batches.next(), batches.next()]
    assert [(b.first, b.stop) for b in probes if b] == [(0, 1), (1, 2)], "two threads, two probes"
    assert batches.next() is None
    assert probes[0]
    batches.seen(probes[0], 1, 0.1, 0.02)
    batch = batches.next()
    assert batch and batch.stop - batch.first == 199, "a tenth of the CPU time of each thread"
    ranges = [(batch.first, batch.stop), *ranges_of(batches, 2.0, 2.0)]
    assert ranges[-1][1] == 4000
    assert not any(first < 2000 < stop for first, stop in ranges)
    assert min(stop - first for first, stop in ranges[5:-1]) < 40, "plans that cost more make smaller batches"


def test_a_busy_machine_makes_no_small_batches() -> None:
    def batches(wall_s: float, plans: int) -> int:
        alone = grid(kernels=["6.12"], params={}, seeds=plans)
        return len(ranges_of(_Batches(alone.view, [], 2), wall_s, 0.02))

    idle = batches(0.02, 10_000)
    # Each costs some 30 ms, and 85 % of 200 s of plans leaves 35 s.
    assert idle < 100
    # The bound by the clock matters a little at the begin.
    assert batches(0.1, 10_000) < 1.1 * idle
    # Plans that wait for a store are bounded by the clock.
    assert batches(10.0, 100) > 30


def test_a_batch_that_costs_more_than_expected_gives_plans_back(
    client: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("numalab.sweeps.OVER_AIM", 0.0)
    done = nl.sweep(grid(), out=tmp_path / "s", client=client, progress=False)
    assert (done.counts.ran, list(done.frame()["point"])) == (8, list(range(8)))
    assert len(done.dataset.files()) == 8, "every batch ends after a plan"
    some = _Batches(grid(seeds=100).view, [(0, 3)], 1)
    (probe,) = [b for b in [some.next()] if b]
    some.seen(probe, probe.stop, 0.01, 0.01)
    batch = some.next()
    assert batch and batch.first == 4
    some.seen(batch, 10, 30.0, 30.0)
    again = some.next()
    assert again and again.first == 10 and some.left == 400 - 10
    some.seen(again, again.stop, 1.0, 1.0)
    ranges = ranges_of(some, 1.0, 1.0)
    points = [i for first, stop in [(again.first, again.stop), *ranges] for i in range(first, stop)]
    assert sorted(points) == list(range(10, 400))


@settings(deadline=None)
@given(st.lists(st.tuples(st.integers(0, 60), st.integers(0, 9)), max_size=8))
def test_gaps_and_what_is_done_are_the_whole(found: list[tuple[int, int]]) -> None:
    done = sorted((a, a + n) for a, n in found)
    missing = {i for first, stop in gaps(done, 50) for i in range(first, stop)}
    there = {i for first, stop in done for i in range(first, stop)}
    assert missing == set(range(50)) - there


def test_a_sweep_has_a_row_per_plan_and_runs_none_twice(client: Client, tmp_path: Path) -> None:
    seen: list[tuple[int, int]] = []
    done = nl.sweep(
        grid(), out=tmp_path / "a", client=client, progress=lambda d, n, live: seen.append((d, n))
    )
    assert (done.counts.ran, done.counts.reused, done.done) == (8, 0, 8)
    assert seen[0][1] == 8 and [d for d, _ in seen] == sorted(d for d, _ in seen)
    frame = done.frame()
    assert list(frame["point"]) == list(range(8))
    assert set(frame["status"]) == {"completed"} and frame["plan"].nunique() == 8
    # The figures are those of the same plan by itself.
    plan = nl.Catalog().request(
        "2x1x2x1", "6.12", "numa02", params={"loops": 3}, settings={"scan.scan_delay_ms": 1000}
    )
    row = frame[(frame["kernel"] == "6.12") & (frame["param.loops"] == 3) & (frame["seed"] == 1)].iloc[0]
    outcome = plan.plans[0].run()
    assert row["plan"] == plan.plans[0].id and row["elapsed_s"] == outcome.scalars["elapsed_s"]
    assert row["numa_hit"] == outcome.counters["numa_hit"]
    again = nl.sweep(grid(), out=tmp_path / "a", client=client, progress=False)
    assert (again.counts.ran, again.counts.reused) == (0, 0)
    # Another grid with the same cache runs what is new.
    more = nl.sweep(
        grid(seeds=3), out=tmp_path / "b", client=client, cache=tmp_path / "a" / "_plans", progress=False
    )
    assert (more.counts.ran, more.counts.reused) == (4, 8)
    assert "completed" in more._repr_html_()
    assert nl.open_sweep(tmp_path / "a").frame().equals(frame)


def test_the_dataset_is_partitioned_and_readable_by_others(client: Client, tmp_path: Path) -> None:
    import polars

    two = grid(
        workloads=["numa02", "first-touch"], params={"numa02.loops": [2], "first-touch.duration": ["50ms"]}
    )
    done = nl.sweep(two, out=tmp_path / "s", client=client, progress=False)
    assert {p.parent.name for p in (tmp_path / "s").glob("*/*.parquet")} == {
        "workload=numa02",
        "workload=first-touch",
    }
    numa02 = polars.read_parquet(tmp_path / "s" / "workload=numa02" / "*.parquet")
    assert numa02.height == 4 and "param.first-touch.duration" not in numa02.columns
    assert done.polars().height == 8


def test_an_object_store_will_do(client: Client, tmp_path: Path) -> None:
    # Threads of this process share the file system in memory, which stands for an object store.
    done = nl.sweep(grid(), out="memory://sweeps/a", client=client, progress=False)
    assert done.done == 8 and len(done.frame()) == 8
    other = nl.sweep(
        grid(seeds=3),
        out="memory://sweeps/b",
        cache="memory://sweeps/a/_plans",
        client=client,
        progress=False,
    )
    assert other.counts.reused == 8


def test_a_single_value_is_a_list_of_one() -> None:
    one = grid(params={"loops": 2, "memory": "64MiB"}, settings={"scan.scan_delay_ms": 1000})
    assert one[0].params == {"loops": 2, "memory": "64MiB"}
    listed = grid(params={"loops": [2], "memory": ["64MiB"]}, settings={"scan.scan_delay_ms": [1000]})
    assert one.digest == listed.digest


def test_impossible_points_are_rows_and_a_wrong_grid_is_an_error(client: Client, tmp_path: Path) -> None:
    picky = dataclasses.replace(SWEEP, requires=[nl.Require("cpus >= 4", "four CPUs")])
    mixed = nl.Grid(["1x1x2x1", "2x1x2x1"], ["6.12"], [picky])
    done = nl.sweep(mixed, out=tmp_path / "m", client=client, progress=False)
    status = dict(zip(done.frame()["machine"], done.frame()["status"], strict=True))
    assert status == {"1x1x2x1": "refused", "2x1x2x1": "completed"}
    with pytest.raises(nl.SpecError, match="did you mean `loops`"):
        nl.sweep(grid(params={"lops": [1]}), out=tmp_path / "w", client=client, progress=False)
    assert not (tmp_path / "w").exists()
    with pytest.raises(nl.SpecError, match="it holds the sweep of another grid; expected another directory"):
        nl.sweep(grid(), out=tmp_path / "m", client=client, progress=False)
    with pytest.raises(nl.SpecError, match="workers: 0 processes; expected at least 1"):
        nl.sweep(grid(), out=tmp_path / "w", workers=0, progress=False)
    for seeds in (0, -1, True):
        with pytest.raises(nl.SpecError, match=f"seeds: {seeds} is no number of seeds"):
            len(grid(seeds=seeds))
    with pytest.raises(nl.SpecError, match="2 is there twice"):
        _check(grid(params={"loops": [2, 2]}))
    with pytest.raises(nl.LabError, match="no sweep is here"):
        nl.open_sweep(tmp_path)


def test_sweeps_of_one_cluster_do_not_mix(client: Client, tmp_path: Path) -> None:
    # Each one's grid is a task of the cluster with a key of its own, whichever begins first or ends first.
    grids = [grid(kernels=[kernel], params={"loops": [2]}) for kernel in ("6.1", "6.6", "6.12")]

    def carry_out(i: int) -> set[str]:
        done = nl.sweep(grids[i], out=tmp_path / str(i), client=client, progress=False)
        return set(done.frame()["kernel"])

    with ThreadPoolExecutor(3) as pool:
        assert list(pool.map(carry_out, range(3))) == [{"6.1"}, {"6.6"}, {"6.12"}]


def test_specs_and_files_go_with_the_grid(client: Client, tmp_path: Path) -> None:
    kernel = nl.Kernel("eager", "Scans sooner", extends="6.12", tunables={"scan.scan_delay_ms": 100})
    path = nl.Kernel("late", "Scans later", extends="6.12", tunables={"scan.scan_delay_ms": 3000}).save(
        tmp_path
    )
    own = grid(kernels=[kernel, str(path)], settings={}, params={"loops": [2]}, seeds=1)
    done = nl.sweep(own, out=tmp_path / "own", client=client, progress=False)
    assert list(done.frame()["kernel"]) == ["eager", "late"]
    before = own.digest
    path.write_text(path.read_text().replace("3000", "2000"))
    assert grid(kernels=[kernel, str(path)], settings={}, params={"loops": [2]}, seeds=1).digest != before


def test_settings_that_a_kernel_never_reads(client: Client, tmp_path: Path) -> None:
    both = grid(
        kernels=["off", "6.12"], params={"loops": [2]}, settings={"scan.scan_size_mb": SIZES}, seeds=1
    )
    done = nl.sweep(both, out=tmp_path / "refused", client=client, progress=False)
    assert list(done.frame()["status"]) == ["refused", "refused", "completed", "completed"]
    (reason, count), *more = done.reasons().items()
    assert (count, more) == (2, []) and reason in done._repr_html_().replace("&quot;", '"')
    assert reason.startswith(
        "kernel off never reads `scan.scan_size_mb`, which needs `system.numa_balancing` to be"
    )
    # On request, such points are run without the setting, so both are one plan.
    lenient = dataclasses.replace(both, ineffective="leave_out")
    assert lenient.digest != both.digest
    done = nl.sweep(lenient, out=tmp_path / "left-out", client=client, progress=False)
    assert (done.counts.ran + done.counts.reused, done.counts.refused) == (4, 0)
    frame = done.frame()
    assert frame["plan"].nunique() == 3 and list(frame["set.scan.scan_size_mb"]) == [*SIZES, *SIZES]
    assert list(frame["left_out"].fillna("")) == ["scan.scan_size_mb", "scan.scan_size_mb", "", ""]
    # A slip is one in either case.
    with pytest.raises(nl.SpecError, match="did you mean `scan.scan_size_mb`"):
        nl.sweep(
            grid(settings={"scan.scan_sise_mb": [1]}, ineffective="leave_out"),
            out=tmp_path / "w",
            client=client,
        )
    with pytest.raises(nl.SpecError, match="no `drop`; expected refuse or leave_out"):
        grid(ineffective="drop")


class Odd(Exception):
    """An exception that cannot be sent to another process."""

    def __reduce__(self) -> Any:
        raise TypeError("it cannot be pickled")


class Panic(BaseException):
    """What a panic of the extension is raised as: no ``Exception``."""


@pytest.mark.parametrize("what", [Odd("odd"), Panic("panic")])
def test_no_exception_of_a_worker_hangs_the_client(
    what: BaseException, client: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: Any) -> Any:
        raise what

    # The workers are threads of this process.
    monkeypatch.setattr("numalab.sweeps.row_of", fail)
    with pytest.raises(nl.LabError, match=f"plans [0-9]+ to [0-9]+: {type(what).__name__}: {what}") as caught:
        nl.sweep(grid(), out=tmp_path / "s", client=client, progress=False)
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)


@settings(deadline=None, max_examples=30)
@given(st.lists(st.integers(1, 12), min_size=1, max_size=8, unique=True), st.data())
def test_plans_that_are_resolved_together_are_those_of_each_point(
    seeds: list[int], data: st.DataObject
) -> None:
    some = grid(params={"loops": [2, 3]}, seeds=seeds)
    first = data.draw(st.integers(0, len(some) - 1))
    stop = data.draw(st.integers(first + 1, len(some)))
    catalog = nl.Catalog()
    found = list(find(catalog, some.view, first, stop))
    assert [f.point for f in found] == [some[i] for i in range(first, stop)]
    for f in found[:: max(1, len(found) // 3)]:
        alone, _ = resolve(catalog, f.point)
        assert f.plan is not None and [p.id for p in alone] == [f.plan.id] and f.plan.seed == f.point.seed


def test_a_seed_that_is_impossible_does_not_stop_the_others() -> None:
    picky = dataclasses.replace(SWEEP, requires=[nl.Require("seed != 3", "another seed")])
    some = nl.Grid("2x1x2x1", "6.12", picky, seeds=5)
    found = list(find(catalog_of(some.payload), some.view, 0, 5))
    assert [f.plan.seed if f.plan else 0 for f in found] == [1, 2, 0, 4, 5]
    assert "another seed" in found[2].refusal


AXIS = st.lists(st.integers(0, 99), min_size=1, max_size=4, unique=True)


@settings(deadline=None, max_examples=60)
@given(AXIS, AXIS, st.integers(1, 5), st.integers(1, 3), st.booleans())
def test_a_grid_is_the_product_of_its_axes(
    loops: list[int], sizes: list[int], seeds: int, machines: int, listed: bool
) -> None:
    names = [["numa02", "numa01"], [f"{n}x1x2x1" for n in range(1, machines + 1)], ["off", "6.12"]]
    some = nl.Grid(
        names[1],
        names[2],
        names[0],
        params={"loops": loops, "numa01.memory": ["1GiB"]},
        settings={"scan.scan_size_mb": sizes},
        seeds=list(range(1, seeds + 1)) if listed else seeds,
    )
    want = list(itertools.product(*names, sizes, loops, range(1, seeds + 1)))
    seen = [
        (p.workload, p.machine, p.kernel, p.settings["scan.scan_size_mb"], p.params["loops"], p.seed)
        for p in some
    ]
    assert seen == want and len(some) == len(want)
    assert all(("numa01.memory" in p.params) == (p.workload == "numa01") for p in some)
    # What goes to workers is plain, and gives the same points there.
    twin = GridView(json.loads(json.dumps(some.payload)))
    assert [twin.point(i) for i in range(twin.size)] == list(some)
    assert dataclasses.replace(some).digest == some.digest


@settings(deadline=None, max_examples=40)
@given(
    st.lists(
        st.tuples(st.sampled_from(["off", "6.1", "6.12"]), st.integers(1, 9), st.integers(1, 9)), min_size=2
    )
)
def test_plans_have_one_key_each_in_the_cache(points: list[tuple[str, int, int]]) -> None:
    catalog = nl.Catalog()

    def key(kernel: str, loops: int, seed: int) -> str:
        plan = catalog.request(
            "2x1x2x1", kernel, "numa02", params={"loops": loops}, seed=seed, files=False
        ).plans[0]
        return plan.id

    keys = {point: key(*point) for point in points}
    assert len(set(keys.values())) == len(keys)
    assert all(key(*point) == found for point, found in keys.items())


def test_processes_of_this_machine_look_around_rarely() -> None:
    names = list(QUIET)

    def configured() -> list[Any]:
        import dask.config

        return [dask.config.get(name) for name in names]

    before = dict(os.environ)
    with _client(None, 1) as own:
        assert dict(os.environ) == before
        own.wait_for_workers(1)
        for seen in (own.run_on_scheduler(configured), *own.run(configured).values()):
            assert seen == list(QUIET.values())
    assert configured() != list(QUIET.values()), "this process keeps its own"


FILE = """
name = "windows"
machines = ["2x1x2x1"]
kernels = ["6.12"]
workloads = ["numa02"]
seeds = 2

[params]
numa02.loops = [2, 3]

[set]
scan.scan_size_mb = [64, 256]
"""


def test_a_file_is_a_grid(tmp_path: Path) -> None:
    path = tmp_path / "windows.toml"
    path.write_text(FILE)
    read = read_grid(path)
    assert (len(read), read.name) == (8, "windows")
    assert read[0].settings == {"scan.scan_size_mb": 64} and read[0].params == {"numa02.loops": 2}
    for old, new, said in [
        ("seeds", "seedz", "unknown key `seedz`; expected .*; did you mean `seeds`?"),
        ('["6.12"]', '"6.12"', "`kernels` is no list of names"),
        ("= 2\n", "= 0\n", "`seeds` is neither a number nor a list"),
        (
            "seeds = 2",
            'seeds = 2\nineffective = "drop"',
            "`ineffective` is 'drop'; expected refuse or leave_out",
        ),
        ("[64, 256]", "[]", "settings.scan.scan_size_mb: no values"),
        ("name =", "name", "expected a TOML file of a sweep"),
    ]:
        path.write_text(FILE.replace(old, new))
        with pytest.raises(nl.SpecError, match=said):
            len(read_grid(path))


def test_the_command_sweeps(tmp_path: Path) -> None:
    (tmp_path / "windows.toml").write_text(FILE)
    environment = {
        **os.environ,
        "NUMALAB_PYTHON": sys.executable,
        "PYTHONPATH": str(Path(nl.__file__).parents[1]),
    }
    line = [COMMAND, "sweep", "windows.toml", "--workers", "1", "--json"]
    ended = subprocess.run(line, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
    counts = json.loads(ended.stdout)
    assert (counts["plans"], counts["ran"], counts["status"]) == (8, 8, {"completed": 8})
    assert nl.open_sweep(tmp_path / "out" / "windows").done == 8
    bad = subprocess.run(
        [*line[:2], "no.toml"], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )
    assert (bad.returncode, bad.stdout) == (2, "") and bad.stderr.startswith("numalab: no.toml: ")
    # Without Python, the command says what to install.
    environment["NUMALAB_PYTHON"] = "/nowhere/python"
    lost = subprocess.run(line, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert lost.returncode == 3 and "numalab-*.whl)[sweep]" in lost.stderr


def test_figures_are_the_same_as_rows_and_from_the_cache() -> None:
    import pyarrow

    params: dict[str, dict[str, Any]] = {
        "numa02": {"loops": 3},
        "random-shared": {"duration": "50ms", "memory": "16MiB"},
    }
    outcomes = [
        nl.Catalog().request("2x1x2x1", "6.12", name, params=own).plans[0].run()
        for name, own in params.items()
    ]
    ran, read = Figures(), Figures()
    texts = [ran.add(o) for o in outcomes]
    ran.refuse("no such machine")
    assert [read.read(t) for t in texts] == [True, True]
    read.refuse("no such machine")
    table = pyarrow.table(ran.table())
    rows = table.to_pylist()
    assert rows == pyarrow.table(read.table()).select(table.column_names).to_pylist(), "bit for bit"
    for row, outcome in zip(rows, outcomes, strict=False):
        figures = {**outcome.scalars, **outcome.counters, **outcome.reasons}
        assert {k: v for k, v in row.items() if k in figures} == figures
        assert (row["status"], row["reason"]) == ("completed", None)
    # What a workload has no figure for is null, and so is all of a plan that was refused.
    assert rows[0]["accesses"] is None and rows[1]["accesses"] > 0
    assert {k: v for k, v in rows[2].items() if v is not None} == {
        "status": "refused",
        "reason": "no such machine",
    }
    # A text of which any part is missing, or that has something else in it, is none.
    for end in (0, 1, 40, len(texts[0]) - 1):
        assert not read.read(texts[0][:end])
    for other in (
        b"[1]",
        b"{}",
        b'{"status":1}',
        b'{"status":"completed","a":"x"}',
        b'{"status":"completed","a":[1]}',
    ):
        assert not read.read(other)
    assert len(read) == 3
    # Figures that are whole in one row and not in another are numbers of one kind.
    mixed = Figures()
    assert mixed.read(b'{"status":"completed","a":1}') and mixed.read(b'{"status":"completed","b":2,"a":1.5}')
    assert mixed.read(b'{"status":"completed","a":2}')
    assert pyarrow.table(mixed.table()).select(["a", "b"]).to_pydict() == {
        "a": [1.0, 1.5, 2.0],
        "b": [None, 2, None],
    }


def test_a_plan_that_was_cut_off_in_the_cache_is_run_again(client: Client, tmp_path: Path) -> None:
    cache = tmp_path / "plans"
    first = nl.sweep(grid(), out=tmp_path / "a", cache=cache, client=client, progress=False)
    cut = sorted(cache.glob("*/*.json"))[0]
    whole = cut.read_bytes()
    cut.write_bytes(whole[: len(whole) // 2])
    again = nl.sweep(grid(), out=tmp_path / "b", cache=cache, client=client, progress=False)
    assert (again.counts.ran, again.counts.reused) == (1, 7)
    assert cut.read_bytes() == whole
    assert again.frame()[list(first.frame().columns)].equals(first.frame())


def test_the_cache_and_the_dataset_show_nothing_by_halves(tmp_path: Path) -> None:
    cache, dataset = PlanCache(tmp_path / "c"), Dataset(tmp_path / "d")
    assert cache.get("ab" * 32) is None and dataset.files() == []
    cache.put("ab" * 32, b'{"elapsed_s":1.5,"status":"completed"}')
    assert cache.get("ab" * 32) == b'{"elapsed_s":1.5,"status":"completed"}'
    dataset.put("w", 3, 5, [{"point": 3, "a": 1}, {"point": 4, "b": "x"}])
    assert dataset.intervals() == [(3, 5)]
    assert dataset.table().to_pylist()[1]["b"] == "x"
    # Two clients, one of which was killed while its batch was writing.
    dataset.put("w", 4, 7, [{"point": i} for i in (4, 5, 6)])
    dataset.put("w", 5, 6, [{"point": 5}])
    assert dataset.intervals() == [(3, 7)]
    assert dataset.table(["point"]).column("point").to_pylist() == [3, 4, 5, 6]
    # A batch of an earlier turn writes nothing.
    dataset.take_turn("second")
    assert not dataset.put("w", 9, 10, [{"point": 9}], "first") and dataset.intervals() == [(3, 7)]
    assert dataset.put("w", 9, 10, [{"point": 9}], "second") and dataset.intervals()[1] == (9, 10)
