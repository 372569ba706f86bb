import copy
import json
import os
import pickle
import re
import subprocess
import sys
import warnings
from pathlib import Path

import pytest

from numalab import Lab, LabError, LabWarning, __version__, rows

COMMAND = os.environ.get("NUMALAB", str(Path(__file__).parents[2] / "target/release/numalab"))

# One thread fills the buffer, then each thread sweeps its half. That takes 0.25 s if half of the buffer is on
# a remote node, and 0.21 s if all of it is local.
SWEEP = """
name = "sweep"
title = "Two threads sweep a buffer that one of them filled"
about = "For tests."
source = "written for these tests"
limit = "230ms"
[[process]]
name = "main"
threads = 2
initial = "joins"
[[process.region]]
name = "buffer"
size = "64MiB"
[[process.prologue]]
name = "fill"
access = "buffer"
write = 1
cost = "1ns"
[[process.phase]]
name = "sweep"
count = 100
access = "buffer"
slice = "thread"
write = 1
cost = "1ns"
"""


def test_run_and_flatten(tmp_path: Path) -> None:
    out = tmp_path / "out"
    comparison = Lab(COMMAND).run("2x1x2x1", ["off", "6.1"], "numa02", out, params={"loops": 5})
    assert comparison["kernels"] == ["off", "6.1"]
    assert (comparison.code, comparison.message) == (0, "")
    flat = rows(comparison)
    elapsed = [r for r in flat if r["metric"] == "elapsed"]
    assert [r["kernel"] for r in elapsed] == ["off", "6.1"]
    assert all(r["mean"] > 0 and r["n"] == 1 for r in elapsed)


def test_a_run_that_timed_out_is_compared_and_said(tmp_path: Path) -> None:
    workload = tmp_path / "sweep.toml"
    workload.write_text(SWEEP)
    lab, out = Lab(COMMAND), tmp_path / "out"
    with pytest.warns(LabWarning, match="1 of 2 runs did not complete: 2x1x2x1 sweep off seed 1") as w:
        comparison = lab.run("2x1x2x1", ["oracle", "off"], str(workload), out)
    assert w[0].filename == __file__, "the warning names the caller's line"
    assert comparison.code == 5
    assert f"{out}: {comparison.message}" == str(w[0].message)
    elapsed = {r["kernel"]: r["mean"] for r in rows(comparison) if r["metric"] == "elapsed"}
    assert 0.1 < elapsed["oracle"] < 0.23
    assert elapsed["off"] is None, "what was cut off is no figure"
    ended = {r["kernel"]: (r["n"], r["completed"], r["timeout"], r["failed"]) for r in rows(comparison)}
    assert ended == {"oracle": (1, 1, 0, 0), "off": (0, 0, 1, 0)}, "a row says why it has no figure"
    assert comparison["workloads"][0]["notes"] == ["2x1x2x1 sweep off seed 1: it reached its limit of time"]
    with pytest.warns(LabWarning) as again:
        assert lab.compare(out, baseline="off")["baseline"] == "off"
    assert again[0].filename == __file__
    with pytest.raises(LabError) as e:
        lab.call("compare", str(out), "--json")
    assert e.value.code == 5
    assert json.loads(e.value.output) == comparison


def test_kernels_that_did_different_work_are_warned_of(tmp_path: Path) -> None:
    lab, out = Lab(COMMAND), tmp_path / "out"
    lab.run("2x1x2x1", ["off"], "numa02", out, params={"loops": 3})
    with pytest.warns(LabWarning, match="6.1 is not comparable with off: loops is 6, not 3") as w:
        comparison = lab.run("2x1x2x1", ["6.1"], "numa02", out, params={"loops": 6})
    assert w[0].filename == __file__
    assert comparison.code == 0, "both completed"
    assert f"{out}: {comparison.message}" == str(w[0].message)
    assert comparison.message.count("not comparable") == 1, "run and compare say the same"
    (note,) = comparison["workloads"][0]["notes"]
    assert note.startswith("6.1 is not comparable with off: loops is 6, not 3")
    assert note in comparison.message


def test_runs_that_leave_the_comparison_are_warned_of(tmp_path: Path) -> None:
    lab, out = Lab(COMMAND), tmp_path / "out"
    lab.run("2x1x2x1", ["off", "6.1"], "numa02", out, params={"loops": 3}, iterations=3)
    with pytest.warns(LabWarning, match="4 of 6 runs leave the comparison of") as w:
        comparison = lab.run("2x1x2x1", ["off", "6.1"], "numa02", out, params={"loops": 3})
    assert len(w) == 1
    assert (comparison.code, comparison.message.count("\n")) == (0, 0), "no line of progress"
    assert comparison.message.startswith("numalab: 4 of 6 runs leave")


def test_a_warning_of_every_directory_is_shown(tmp_path: Path) -> None:
    lab = Lab(COMMAND)
    outs = [tmp_path / name for name in ("a", "b", "c")]
    for out in outs:
        lab.run("2x1x2x1", ["off"], "numa02", out, params={"loops": 3})
    with warnings.catch_warnings(record=True) as shown:
        warnings.simplefilter("default")
        for out in outs:
            lab.run("2x1x2x1", ["6.1"], "numa02", out, params={"loops": 6})
    assert [str(w.message).split(": ")[0] for w in shown] == [str(out) for out in outs]


def test_names_may_begin_with_a_hyphen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    lab = Lab(COMMAND)
    assert lab.run("2x1x2x1", ["off"], "numa02", "-odd", params={"loops": 3})["kernels"] == ["off"]
    assert lab.compare("-odd", baseline="off")["baseline"] == "off"
    with pytest.raises(LabError, match="--help: no such directory") as e:
        lab.compare("--help")
    assert e.value.code == 2


@pytest.mark.parametrize("command", ["/bin/true", "/bin/echo"])
def test_another_program_gives_no_comparison(command: str, tmp_path: Path) -> None:
    with pytest.raises(LabError, match=f"{command}: no comparison came from it, .*is it numalab") as e:
        Lab(command).compare(tmp_path)
    assert e.value.code == 0


def test_paths_name_files(tmp_path: Path) -> None:
    workload = tmp_path / "sweep.toml"
    workload.write_text(SWEEP)
    lab = Lab(Path(COMMAND), ("--catalog", tmp_path / "catalog"))
    (tmp_path / "catalog" / "kernels").mkdir(parents=True)
    comparison = lab.run("2x1x2x1", ["oracle"], workload, tmp_path / "out")
    assert comparison["workloads"][0]["program"] == "sweep"
    assert lab.call("compare", tmp_path / "out") != ""


def test_a_number_is_no_kernel(tmp_path: Path) -> None:
    with pytest.raises(TypeError, match=r"a kernel is 6.12, a float; expected a string such as '6.12'"):
        Lab(COMMAND).run("2x1x2x1", [6.12], "numa02", tmp_path / "out")  # type: ignore[list-item]


def test_the_version_is_that_of_the_command() -> None:
    said = Lab(COMMAND).call("--version").strip()
    assert re.fullmatch(rf"numalab {re.escape(__version__)}(\+.*)?", said), said


def test_rows_name_workload_and_machine_as_the_comma_separated_form(tmp_path: Path) -> None:
    lab, out = Lab(COMMAND), str(tmp_path / "out")
    machines = ["--machine", "2x1x2x1,4x1x2x1"]
    lab.call("run", *machines, "--kernel", "off", "--workload", "numa02", "--param", "loops=3", "--out", out)
    flat = rows(lab.compare(out))
    assert {(r["workload"], r["machine"]) for r in flat} == {("numa02", "2x1x2x1"), ("numa02", "4x1x2x1")}
    heading = lab.call("compare", out, "--style", "csv").splitlines()[0].split(",")
    assert all(sorted(r) == sorted(heading) for r in flat)


def test_an_error_survives_copying_and_pickling() -> None:
    error = LabError(3, "m", "some output")
    for twin in (copy.copy(error), pickle.loads(pickle.dumps(error))):
        assert (twin.code, str(twin), twin.message, twin.output) == (3, "m", "m", "some output")


def test_the_locale_does_not_matter(tmp_path: Path) -> None:
    out = str(tmp_path / "out")
    Lab(COMMAND).run("2x1x2x1", ["off", "6.1"], "numa02", out, params={"loops": 3})
    script = "import sys, numalab; print(ascii(numalab.Lab(sys.argv[1]).call('compare', sys.argv[2])))"
    env = {**os.environ, "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    env["PYTHONPATH"] = str(Path(__file__).parents[1])
    line = [sys.executable, "-c", script, COMMAND, out]
    done = subprocess.run(line, env=env, capture_output=True, encoding="utf-8", check=True)
    assert "\\u2192" in done.stdout, "the arrow between two means"


def test_a_string_is_no_list_of_options() -> None:
    with pytest.raises(TypeError, match=r"expected a list such as \['--catalog'\]"):
        Lab(COMMAND, "--catalog")


def test_a_string_is_no_list_of_kernels(tmp_path: Path) -> None:
    with pytest.raises(TypeError, match=r"expected a list such as \['6.3'\]"):
        Lab(COMMAND).run("2x1x2x1", "6.3", "numa02", tmp_path / "out")


class NumpyBool:
    """A truth value that is no bool, like numpy.bool_, and is printed like one."""

    def __str__(self) -> str:
        return "False"


@pytest.mark.parametrize("no", [False, NumpyBool()])
def test_truth_values_are_written_as_the_command_reads_them(tmp_path: Path, no: object) -> None:
    settings = {"numa.overhead_guard": no}
    comparison = Lab(COMMAND).run(
        "2x1x2x1", ["6.1"], "numa02", tmp_path / "out", params={"loops": 5}, settings=settings
    )
    assert comparison["kernels"] == ["6.1[numa.overhead_guard=false]"]


def test_errors_keep_code_and_message(tmp_path: Path) -> None:
    with pytest.raises(LabError) as e:
        Lab(COMMAND).run("2x1x2x1", ["6.11x"], "numa02", tmp_path / "out")
    assert e.value.code == 2
    assert "6.11x" in str(e.value)
    assert e.value.output == ""
    with pytest.raises(LabError) as nothing:
        Lab(COMMAND).compare(tmp_path / "out")
    assert nothing.value.code == 2
    with pytest.raises(LabError) as missing:
        Lab("no-such-numalab").call("list", "kernels")
    assert missing.value.code == 3
