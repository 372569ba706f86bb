"""Runs in this process are the runs of the command, and errors have their parts as fields."""

import copy
import os
import pickle
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pandas
import polars
import pyarrow
import pytest

import numalab as nl
from numalab import _native
from numalab.simulate import run_plans

COMMAND = os.environ.get("NUMALAB", str(Path(__file__).parents[2] / "target/release/numalab"))
QUICK = {"loops": 5}


@pytest.fixture(scope="module")
def comparison(tmp_path_factory: pytest.TempPathFactory) -> nl.Comparison:
    out = tmp_path_factory.mktemp("records") / "mine"
    return nl.run("2x1x2x1", ["off", "6.12"], "numa02", out=out, params=QUICK, iterations=2, progress=False)


def test_records_are_those_of_the_command_byte_for_byte(comparison: nl.Comparison, tmp_path: Path) -> None:
    theirs, mine = tmp_path / "theirs", comparison.runs[0].directory
    assert mine is not None
    nl.Lab(COMMAND).run("2x1x2x1", ["off", "6.12"], "numa02", theirs, params=QUICK, iterations=2, whole=True)
    records = sorted(p.relative_to(theirs) for p in theirs.glob("????????????????/**/*") if p.is_file())
    assert len(records) > 8
    for name in records:
        if name.name != "sources" and "sources" not in name.parts:
            assert (mine / name).read_bytes() == (theirs / name).read_bytes(), name


def test_a_comparison_is_the_commands(comparison: nl.Comparison) -> None:
    directory = comparison.runs[0].directory
    assert directory is not None
    assert nl.Lab(COMMAND).compare(directory) == comparison
    assert [r.seed for r in comparison.runs] == [1, 2, 1, 2]
    assert comparison.answer
    frame = comparison.frame()
    assert set(frame["kernel"]) == {"off", "6.12"}
    assert "<table>" in comparison._repr_html_() and comparison.answer.split()[0] in comparison._repr_html_()


def test_records_are_not_made_twice(comparison: nl.Comparison) -> None:
    directory = comparison.runs[0].directory
    assert directory is not None
    seen: list[tuple[int, int]] = []
    before = {p: p.stat().st_mtime_ns for p in directory.glob("*/*.json")}
    again = nl.run(
        "2x1x2x1",
        ["off", "6.12"],
        "numa02",
        out=directory,
        params=QUICK,
        iterations=2,
        progress=lambda done, total, live: seen.append((done, total)),
    )
    assert [(r.scalars, r.counters) for r in again.runs] == [(r.scalars, r.counters) for r in comparison.runs]
    assert {p: p.stat().st_mtime_ns for p in directory.glob("*/*.json")} == before
    assert seen[-1] == (4, 4)


def test_figures_are_arrow_with_shapes_and_units(comparison: nl.Comparison) -> None:
    run = comparison.runs[-1]
    assert "page_node" in run.series_names
    series = run.series("page_node")
    arrow, frame, pandas_frame = series.to_arrow(), series.to_polars(), series.to_pandas()
    assert isinstance(arrow, pyarrow.Table) and isinstance(frame, polars.DataFrame)
    assert isinstance(pandas_frame, pandas.DataFrame)
    assert len(series) == arrow.num_rows == frame.height == len(pandas_frame) > 1
    assert series.units["time_ns"] == "ns"
    # No copy: all read the buffer of the extension.
    for i, name in enumerate(arrow.column_names):
        at = arrow.column(i).chunk(0).buffers()[1].address
        assert series.to_arrow().column(i).chunk(0).buffers()[1].address == at
        assert frame.to_arrow().column(i).chunk(0).buffers()[1].address == at
        assert pandas_frame[name].to_numpy().ctypes.data == at
    assert run.counters["numa_hit"] > 0 and run.scalars["elapsed_s"] == run.elapsed_s > 0


def test_a_name_that_no_result_has_is_an_error_with_the_nearest_one(comparison: nl.Comparison) -> None:
    run = comparison.runs[-1]
    names: list[tuple[Callable[[], object], str, str]] = [
        (lambda: run.series("page_nodes"), "no series `page_nodes`", "page_node"),
        (lambda: run.counters["numa_hits"], "no counter `numa_hits`", "numa_hit"),
        (lambda: run.scalars["elapsed"], "no figure `elapsed`", "elapsed_s"),
        (lambda: comparison.metric("elapsd"), "no metric `elapsd`", "elapsed"),
        (lambda: comparison.plot("elapsd"), "no metric `elapsd`", "elapsed"),
    ]
    for look, what, near in names:
        with pytest.raises(nl.UnknownName) as caught:
            look()
        e = caught.value
        assert isinstance(e, KeyError) and isinstance(e, nl.SpecError)
        assert (e.what, e.suggestion) == (what, near) and near in e.expected
        assert str(e) == f"{what}; expected {e.expected}; did you mean `{near}`?"
        assert type(pickle.loads(pickle.dumps(e))) is nl.UnknownName
        assert str(pickle.loads(pickle.dumps(e))) == str(e)
    counters = copy.deepcopy(pickle.loads(pickle.dumps(run.counters)))
    assert counters == run.counters and counters.get("nothing") is None


def test_a_call_without_runs_is_refused() -> None:
    with pytest.raises(nl.SpecError, match="iterations: 0 runs; expected at least 1"):
        nl.run("2x1x2x1", "6.12", "numa02", iterations=0)
    with pytest.raises(nl.SpecError, match="kernels: none is given; expected at least one"):
        nl.run("2x1x2x1", [], "numa02")


def test_progress_says_what_runs(comparison: nl.Comparison) -> None:
    seen: list[int] = []
    nl.run(
        "2x1x2x1", "off", "numa02", params=QUICK, progress=lambda done, total, live: seen.append(total - done)
    )
    assert seen[-1] == 0


def test_a_wrong_name_has_its_parts_as_fields() -> None:
    with pytest.raises(nl.SpecError) as caught:
        nl.run("2x1x2x1", "6.12", "numa03", progress=False)
    e = caught.value
    assert (e.code, e.suggestion) == (2, "numa01")
    assert "numa03" in e.what and "workload of the catalog" in e.expected
    line = [COMMAND, "run", "--machine=2x1x2x1", "--kernel=6.12", "--workload=numa03"]
    said = subprocess.run(line, capture_output=True, text=True, check=False).stderr.strip()
    assert said == f"numalab: {e.message}".replace(e.file, "--workload numa03")
    for again in (pickle.loads(pickle.dumps(e)), copy.copy(e)):
        assert vars(again) == vars(e)


def test_a_slip_in_a_file_has_its_place(tmp_path: Path) -> None:
    path = tmp_path / "k.toml"
    path.write_text('name = "k"\ntitle = "t"\nextends = "6.12"\n[roles]\nvma_filtre = "off"\n')
    with pytest.raises(nl.SpecError) as caught:
        nl.run("2x1x2x1", str(path), "numa02", progress=False)
    e = caught.value
    assert (Path(e.file).name, e.line, e.column, e.suggestion) == ("k.toml", 5, 1, "vma_filter")


def test_other_threads_go_on_while_a_plan_runs() -> None:
    # Seconds of CPU time, so that this thread gets a turn before it ends, whatever else the machine does.
    plan = nl.Catalog().request("4x1x4x1", "6.12", "numa02", params={"loops": 4000}).plans[0]
    clock, ended = _native.Clock(), []
    thread = threading.Thread(target=lambda: ended.append(plan.run(clock)))
    thread.start()
    while clock.ns == 0:
        pass
    assert ended == [], "a plan that held the interpreter's lock would have ended by now"
    thread.join()
    assert len(ended) == 1 and clock.ns > 0


def test_outcomes_are_in_the_order_of_plans() -> None:
    plans = nl.Catalog().request("2x1x2x1", ["6.12", "off"], "numa02", params=QUICK, iterations=3).plans
    one, two = run_plans(plans, jobs=1), run_plans(plans, jobs=2)
    assert all(a.same_as(b) for a, b in zip(one, two, strict=True))


def test_an_experiment_of_the_catalog_is_resolved() -> None:
    request = nl.Catalog().native.experiment("first-steps", None, 1)
    assert request.name == "first-steps" and len(request.plans) == 4
    with pytest.raises(TypeError, match="beside an experiment"):
        nl.run("first-steps", params=QUICK)


def test_a_trace_is_written(comparison: nl.Comparison, tmp_path: Path) -> None:
    path = comparison.runs[-1].trace(tmp_path / "run.pftrace")
    assert path.stat().st_size > 1000


def test_the_command_inside_the_package_is_the_command() -> None:
    code, text, message = _native.call(["list", "kernels"])
    assert (code, message) == (0, "")
    assert text == nl.Lab(COMMAND).call("list", "kernels")
    code, text, message = _native.call(["list", "nothing"])
    assert code == 2 and text == "" and "kernels" in message


def test_importing_the_package_imports_nothing_large() -> None:
    code = "import sys; import numalab; print(*sys.modules)"
    loaded = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout.split()
    large = {"pandas", "polars", "pyarrow", "numpy", "matplotlib", "optuna", "distributed", "numalab._native"}
    assert large & set(loaded) == set()


def test_every_name_is_there() -> None:
    for name in nl.__all__:
        assert getattr(nl, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        nl.nothing  # noqa: B018


def test_a_run_that_does_not_fit_into_memory_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NUMALAB_MEMORY_LIMIT", "128MiB")
    params = {"memory": "200GiB", "loops": 1}
    with pytest.raises(nl.LabError, match="would take about .* of memory") as e:
        nl.run("milan-2s-nps1", "6.12", "numa02", params=params, progress=False)
    assert e.value.code == 3


def test_a_settled_run_says_what_it_left_out() -> None:
    long = nl.run(
        machine="2x2x4x1",
        kernels="6.12",
        workload="first-touch",
        params={"memory": "128MiB", "duration": "60s"},
        until_settled=True,
        progress=False,
    )
    settled = long.runs[0].settled
    assert settled is not None
    assert settled.skipped_s > 20
    assert settled.simulated_s + settled.skipped_s == pytest.approx(long.runs[0].elapsed_s)
    assert settled.per_second["swept"] > settled.before_per_second["swept"]
