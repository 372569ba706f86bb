import json
import os
from pathlib import Path

import pytest

from numalab import Lab, LabError, LabWarning, rows

COMMAND = os.environ.get("NUMALAB", str(Path(__file__).parents[2] / "target/release/numalab"))

# One thread fills the buffer, then each sweeps its half: 0.25 s if half of it is far, 0.21 s if all is near.
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
    assert comparison.message == str(w[0].message)
    elapsed = {r["kernel"]: r["mean"] for r in rows(comparison) if r["metric"] == "elapsed"}
    assert 0.1 < elapsed["oracle"] < 0.23
    assert elapsed["off"] is None, "what was cut off is no figure"
    with pytest.warns(LabWarning) as again:
        assert lab.compare(out, baseline="off")["baseline"] == "off"
    assert again[0].filename == __file__
    with pytest.raises(LabError) as e:
        lab.call("compare", str(out), "--json")
    assert e.value.code == 5
    assert json.loads(e.value.output) == comparison


def test_a_string_is_no_list_of_kernels(tmp_path: Path) -> None:
    with pytest.raises(TypeError, match=r"expected a list such as \['6.3'\]"):
        Lab(COMMAND).run("2x1x2x1", "6.3", "numa02", tmp_path / "out")


def test_truth_values_are_written_as_the_command_reads_them(tmp_path: Path) -> None:
    settings = {"numa.overhead_guard": False}
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
