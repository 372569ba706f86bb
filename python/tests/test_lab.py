import os
from pathlib import Path

import pytest

from numalab import Lab, LabError, rows

COMMAND = os.environ.get("NUMALAB", str(Path(__file__).parents[2] / "target/release/numalab"))


def test_run_and_flatten(tmp_path: Path) -> None:
    out = tmp_path / "out"
    comparison = Lab(COMMAND).run("2x1x2x1", ["off", "6.1"], "numa02", out, params={"loops": 5})
    assert comparison["kernels"] == ["off", "6.1"]
    flat = rows(comparison)
    elapsed = [r for r in flat if r["metric"] == "elapsed"]
    assert [r["kernel"] for r in elapsed] == ["off", "6.1"]
    assert all(r["mean"] > 0 and r["n"] == 1 for r in elapsed)


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
    with pytest.raises(LabError) as missing:
        Lab("no-such-numalab").call("list", "kernels")
    assert missing.value.code == 3
