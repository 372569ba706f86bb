"""Tuning finds what a search by hand finds, goes on where it stopped, and gives a script that can be undone."""

import dataclasses
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import numalab as nl
from numalab.tuning import OBJECTIVES as OBJECTIVES_BY_DEFAULT
from numalab.tuning import Choice, ModelError, clearly_worse

COMMAND = os.environ.get("NUMALAB", str(Path(__file__).parents[2] / "target/release/numalab"))
# Two objectives; the third of the default is tested by itself.
OBJECTIVES = ("elapsed_s", "system_s")
KNOBS: dict[str, Any] = {"scan.scan_delay_ms": (50, 4000), "scan.scan_size_mb": [16, 256]}
WORKLOAD: dict[str, Any] = {"params": {"loops": 40}, "seeds": (1, 2), "progress": False}


def tuned(out: Path, budget: int, **more: Any) -> nl.Tuning:
    options = {"objectives": OBJECTIVES, "prune": False, **WORKLOAD, **more}
    return nl.tune("numa02", "2x1x2x1", KNOBS, budget=budget, out=out, **options)


@pytest.fixture(scope="module")
def twelve(tmp_path_factory: pytest.TempPathFactory) -> nl.Tuning:
    return tuned(tmp_path_factory.mktemp("tune"), 12)


def dominates(a: Choice, b: Choice) -> bool:
    pairs = list(zip(a.values.values(), b.values.values(), strict=True))
    return all(x <= y for x, y in pairs) and any(x < y for x, y in pairs)


def test_the_front_is_what_nothing_beats(twelve: nl.Tuning) -> None:
    assert len(twelve.trials) == 12
    front = twelve.pareto
    assert front and not any(dominates(t, f) for t in twelve.trials for f in front)
    assert all(any(dominates(f, t) or f.values == t.values for f in front) for t in twelve.trials)
    # The kernel's own settings are the first point.
    assert twelve.trials[0].settings == {"scan.scan_delay_ms": 1000, "scan.scan_size_mb": 256}
    assert twelve.trials[0].values == twelve.baseline.values
    assert twelve.best in [*front, twelve.baseline]


def test_the_same_seed_searches_the_same_way_and_goes_on(twelve: nl.Tuning, tmp_path: Path) -> None:
    assert len(tuned(tmp_path, 5).trials) == 5
    again = tuned(tmp_path, 12)
    assert [t.settings for t in again.trials] == [t.settings for t in twelve.trials]


def test_patience_ends_the_search(tmp_path: Path) -> None:
    one = nl.tune(
        "numa02", "2x1x2x1", {"scan.scan_size_mb": [256]}, budget=50, patience=3, out=tmp_path, **WORKLOAD
    )
    assert len(one.trials) == 4, "the first point, and three that improve nothing"


def test_the_worst_stall_is_an_objective(tmp_path: Path) -> None:
    assert OBJECTIVES_BY_DEFAULT[-1] == "task_stall_max_ns"
    knobs: dict[str, Any] = {"scan.scan_size_mb": [16, 256], "scan.scan_delay_ms": [50, 1000]}
    found = nl.tune(
        "numa02", "2x1x2x1", knobs, ["task_stall_max_ns"], budget=6, out=tmp_path, kernel="6.12", **WORKLOAD
    )
    # The means of the runs themselves.
    for settings, want in [({}, found.baseline), (found.pareto[0].settings, found.pareto[0])]:
        runs = nl.run(
            "2x1x2x1",
            "6.12",
            "numa02",
            params=WORKLOAD["params"],
            settings=settings,
            iterations=2,
            progress=False,
        ).runs
        stalls = [run.counters["task_stall_max_ns"] for run in runs]
        assert want.values == {"task_stall_max_ns": sum(stalls) / 2}
    # The table of published cells has one error for all counters.
    error = found.model_error()
    assert error is not None and error.figure == "counter" and 1 < error.half < error.four_fifths
    assert "predictions of counter figures" in found.snippet()


def test_points_that_are_clearly_worse_are_given_up(tmp_path: Path) -> None:
    assert clearly_worse([1.3, 1.0], [1.0, 1.0]) and clearly_worse([1.3], [1.0])
    assert not clearly_worse([1.3, 0.9], [1.0, 1.0]), "better in one"
    assert not clearly_worse([1.1, 1.1], [1.0, 1.0]), "worse, but not by far"
    # What is to be large has values below 0.
    assert clearly_worse([-10.0], [-13.0]) and not clearly_worse([-10.0], [-11.0])
    assert not clearly_worse([0.0], [0.0]) and clearly_worse([1.0], [0.0])
    # Sooner and larger scans cost system time. Where that is all that counts, such points are not run twice.
    options: dict[str, Any] = {**WORKLOAD, "objectives": ["system_s"], "budget": 10}
    knobs: dict[str, Any] = {"scan.scan_delay_ms": (50, 4000)}
    pruned = nl.tune("numa02", "2x1x2x1", knobs, out=tmp_path / "a", **options)
    whole = nl.tune("numa02", "2x1x2x1", knobs, out=tmp_path / "b", prune=False, **options)
    assert pruned.given_up > 0 and whole.given_up == 0
    assert len(pruned.trials) + pruned.given_up == len(whole.trials) == 10
    assert pruned.best.values == min((pruned.best, whole.best), key=lambda c: c.values["system_s"]).values


def test_how_far_the_model_is_off() -> None:
    error = ModelError("elapsed", 1.15, 1.25)
    assert error.hides(0.0) and error.hides(12.0) and error.hides(-14.0)
    assert not error.hides(14.0) and not error.hides(-16.0) and not error.hides(100.0)


def test_importances_are_shares(twelve: nl.Tuning) -> None:
    shares = twelve.importances("system_s")
    assert set(shares) == set(KNOBS) and sum(shares.values()) == pytest.approx(1)
    with pytest.raises(nl.UnknownName, match="no objective `system`; .*did you mean `system_s`?"):
        twelve.importances("system")
    with pytest.raises(nl.UnknownName, match="no objective `elapsed`"):
        twelve.gain("elapsed")


def test_an_objective_that_is_always_the_same_depends_on_nothing(tmp_path: Path) -> None:
    # It ends before the first scan.
    one = tuned(tmp_path, 1, params={"loops": 2}, seeds=(1,))
    with pytest.raises(nl.LabError, match="1 points cannot tell which knob matters"):
        one.importances()
    some = tuned(tmp_path, 3, params={"loops": 2}, seeds=(1,))
    assert some.importances() == dict.fromkeys(KNOBS, 0.0)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"knobs": {"scan.scan_size_mb": (256, 16)}}, "knob scan.scan_size_mb: .256, 16. is no range"),
        (
            {"knobs": {"scan.scan_size_mb": (0, 16)}},
            "expected .least, largest. of whole numbers from 1, or a list",
        ),
        ({"knobs": {"scan.scan_size_mb": []}}, "knob scan.scan_size_mb: no values"),
        ({"knobs": {}}, "knobs: none is given"),
        ({"objectives": []}, "objectives: none is given"),
        ({"budget": 0}, "budget: 0 points; expected at least 1"),
        ({"seeds": ()}, "seeds: none is given"),
    ],
)
def test_a_search_that_cannot_be_made_is_refused(options: dict[str, Any], said: str, tmp_path: Path) -> None:
    with pytest.raises(nl.SpecError, match=said):
        nl.tune("numa02", "2x1x2x1", out=tmp_path / "t", **{"progress": False, **options})
    assert not (tmp_path / "t").exists()


def test_the_script_sets_and_undoes(twelve: nl.Tuning, tmp_path: Path) -> None:
    choice = Choice(
        {"scan.scan_delay_ms": 70, "vma_filter": "off"},
        dict(twelve.baseline.values),
        {"elapsed_s": 0, "system_s": 0},
    )
    script = twelve.snippet(choice)
    assert "# Predicted: elapsed_s 0.0 % less (standard error 0.0 over seeds).\n" in script
    assert (
        "#   The model's error: half of its predictions of elapsed figures are off by less than a factor of 1."
        in script
    )
    assert "#   The predicted change is smaller than that: it may be none.\n" in script
    assert "vma_filter = off has no file in a running kernel" in script
    # As root on a machine with debugfs; here a folder stands for it.
    place = tmp_path / "sched/numa_balancing/scan_delay_ms"
    place.parent.mkdir(parents=True)
    place.write_text("1000\n")
    path = tmp_path / "script.sh"
    path.write_text(at(script, tmp_path))
    assert (sh(path), place.read_text()) == (0, "70\n")
    assert sh(path) == 1, "a second time would lose the old values"
    assert sh(path, "nonsense") == 1 and place.read_text() == "70\n"
    assert (sh(path, "undo"), place.read_text()) == (0, "1000\n")
    assert sh(path, "undo") == 1, "nothing is applied"
    assert sh(path) == 0


def at(script: str, folder: Path) -> str:
    """Return a script for which ``folder`` stands for debugfs and for ``/run``."""
    folder.chmod(0o700)
    assert "above=/run;" in script
    return script.replace("/sys/kernel/debug", str(folder)).replace("above=/run;", f"above={folder};")


def sh(path: Path, *words: str, **options: Any) -> int:
    environment = {**os.environ, "XDG_RUNTIME_DIR": str(path.parent)}
    return subprocess.run(
        ["sh", path, *words], env=environment, capture_output=True, check=False, **options
    ).returncode


def applied(twelve: nl.Tuning, folder: Path) -> tuple[Path, Path, Path]:
    """Apply a script under a folder; return it, the file that it sets, and what it keeps."""
    choice = Choice({"scan.scan_delay_ms": 70}, dict(twelve.baseline.values), {"elapsed_s": 0, "system_s": 0})
    place = folder / "sched/numa_balancing/scan_delay_ms"
    place.parent.mkdir(parents=True)
    place.write_text("1000\n")
    path = folder / "script.sh"
    path.write_text(at(twelve.snippet(choice), folder))
    assert (sh(path), place.read_text()) == (0, "70\n")
    kept = folder / "numalab/tune.undo"
    assert kept.read_text() == "scan.scan_delay_ms 1000\n"
    assert (kept.stat().st_mode & 0o777, kept.parent.stat().st_mode & 0o777) == (0o600, 0o700)
    return path, place, kept


@pytest.mark.parametrize(
    "text",
    [
        "scan.scan_delay_ms 1000\ntouch {ran}\n",
        "touch {ran}\n",
        "scan.scan_delay_ms $(touch${{IFS}}{ran})\n",
        "scan.scan_delay_ms `touch {ran}`\n",
        "scan.scan_delay_ms 1000; touch {ran}\n",
        "scan.scan_delay_ms 1000 > {ran}\n",
        "scan.scan_delay_ms ../../x\n",
        "scan.scan_delay_ms 4294967296\n",
        "scan.scan_delay_ms 99999999999999999999\n",
        "scan.scan_delay_ms -2\n",
        "scan.scan_delay_ms\n",
        "* 1000\n",
        "kernel.core_pattern |{ran}\n",
        "kernel.modprobe 1\n",
        "scan.scan_size_mb 16\n",
        "/proc/sys/kernel/core_pattern 1\n",
        "scan.scan_delay_ms 1000\nkernel.numa_balancing 0",
        "\n",
    ],
)
def test_what_is_undone_is_data(twelve: nl.Tuning, tmp_path: Path, text: str) -> None:
    path, place, kept = applied(twelve, tmp_path)
    ran = tmp_path / "ran"
    kept.write_text(text.format(ran=ran))
    assert sh(path, "undo") == 1
    assert place.read_text() == "70\n" and not ran.exists(), "nothing is changed"
    kept.write_text("scan.scan_delay_ms 1000")
    assert (sh(path, "undo"), place.read_text()) == (0, "1000\n"), "a last line without its end counts"


def test_state_of_others_is_refused(twelve: nl.Tuning, tmp_path: Path) -> None:
    path, place, kept = applied(twelve, tmp_path)
    own = kept.read_text()

    def refused() -> None:
        for words in ([], ["undo"]):
            assert sh(path, *words) == 1 and place.read_text() == "70\n"

    kept.chmod(0o666)
    refused()
    kept.unlink()
    (tmp_path / "victim").write_text(own)
    kept.symlink_to(tmp_path / "victim")
    refused()
    kept.unlink()
    kept.symlink_to(tmp_path / "absent")
    refused()
    assert not (tmp_path / "absent").exists()
    kept.unlink()
    kept.mkdir()
    refused()
    kept.rmdir()
    kept.write_text(own)
    kept.chmod(0o600)
    # The folder: open to others, a link, or one of others.
    kept.parent.chmod(0o777)
    refused()
    kept.parent.chmod(0o700)
    kept.parent.rename(tmp_path / "other")
    kept.parent.symlink_to(tmp_path / "other")
    refused()
    kept.parent.unlink()
    (tmp_path / "other").rename(kept.parent)
    tmp_path.chmod(0o777)
    refused()
    tmp_path.chmod(0o1777)
    refused()
    tmp_path.chmod(0o700)
    if os.geteuid() == 0:
        os.chown(kept, 12345, 12345)
        refused()
        os.chown(kept, 0, 0)
        os.chown(kept.parent, 12345, 12345)
        refused()
        os.chown(kept.parent, 0, 0)
    assert (sh(path, "undo"), place.read_text()) == (0, "1000\n")


def test_a_script_has_no_words_of_others(twelve: nl.Tuning) -> None:
    hostile = dataclasses.replace(
        twelve,
        workload="w\ntouch /ran",
        machine="m\rtouch /ran",
        tunables={
            **twelve.tunables,
            "a;touch /ran": ("1", "vm.x"),
            "b": ("1", "vm.x; touch /ran"),
            "c": ("1", "debugfs x\ntouch /ran"),
            "d": ("1", "vm.x"),
            "e": ("1", "debugfs sched/base_slice_ns (normalised)"),
        },
    )
    settings = {"a;touch /ran": 1, "b": 2, "c": 3, "d": "1\ntouch /ran", "e": 5, "scan.scan_delay_ms": 70}
    script = hostile.snippet(Choice(settings, dict(twelve.baseline.values), {"elapsed_s": 0, "system_s": 0}))
    assert [line for line in script.splitlines() if "/ran" in line and not line.startswith("# ")] == []
    assert [line for line in script.splitlines() if line.startswith("put ")] == ["put scan.scan_delay_ms 70"]
    none = hostile.snippet(Choice({"b": 2}, dict(twelve.baseline.values), {"elapsed_s": 0, "system_s": 0}))
    assert all(line.startswith("#") for line in none.splitlines())


def test_slips_are_refused_before_the_first_point(tmp_path: Path) -> None:
    with pytest.raises(nl.SpecError, match="scan.scan_size_mb"):
        nl.tune("numa02", "2x1x2x1", {"scan.scan_sise_mb": (16, 64)}, out=tmp_path, **WORKLOAD)
    with pytest.raises(nl.SpecError, match="no figure `elapsed`; expected one of elapsed_s"):
        nl.tune("numa02", "2x1x2x1", KNOBS, ["elapsed"], out=tmp_path, **WORKLOAD)


def test_the_command_tunes(tmp_path: Path) -> None:
    environment = {
        **os.environ,
        "NUMALAB_PYTHON": sys.executable,
        "PYTHONPATH": str(Path(nl.__file__).parents[1]),
    }
    line = [
        COMMAND,
        "tune",
        "--machine",
        "2x1x2x1",
        "--workload",
        "numa02",
        "--param",
        "loops=5",
        "--seeds",
        "1",
    ]
    line += ["--knob", "scan.scan_delay_ms=50..4000", "--budget", "4"]
    ended = subprocess.run(line, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout.startswith("#!/bin/sh\n") and "# 4 points tried" in ended.stdout
    bad = [*line[:-4], "--knob", "scan.scan_delay_ms", "--budget", "4"]
    refused = subprocess.run(bad, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert refused.returncode == 2 and "expected NAME=LEAST..LARGEST" in refused.stderr


def test_plots_are_drawn(twelve: nl.Tuning) -> None:
    assert len(twelve.plot().axes[0].collections) >= 2
    assert "Pareto front" in twelve._repr_html_()
