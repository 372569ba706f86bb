"""A published table in Python has the command's cells, and verdicts that add up to the command's score."""

import json
from pathlib import Path

import pytest

import numalab as nl
from numalab.reproduction import verdict

NAME = "shared-cow-2018"


@pytest.fixture(scope="module")
def records(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("records") / "out"


def test_the_frame_has_the_cells_of_the_command(records: Path) -> None:
    table = nl.reproduce(NAME, iterations=1, out=records)
    code, text, _ = nl._native.call(
        ["reproduce", NAME, "--json", "--quiet", "--iterations=1", f"--out={records}"]
    )
    assert dict(table) == json.loads(text) and table.code == code == 0
    frame = table.frame()
    assert len(frame) == len(table["cells"]) > 2
    for row, cell in zip(frame.to_dict("records"), table["cells"], strict=True):
        assert {k: row[k] for k in cell if k != "band"} == {k: v for k, v in cell.items() if k != "band"}
    counted = frame[frame["verdict"].isin(["near", "direction", "missed"])]
    assert len(counted) == table.score["predicted"]
    assert (counted["verdict"] == "near").sum() == table.score["within_1_25"]
    assert (counted["verdict"] != "missed").sum() == table.score["direction_right"]
    assert "near" in table._repr_html_()


def test_verdicts_follow_the_score() -> None:
    def of(published: float | None, simulated: float | None, **more: object) -> str:
        ratios = {"published_ratio": published, "simulated_ratio": simulated}
        return verdict({"baseline": False, "role": "predicted", **ratios, **more})

    assert [of(1.3, s) for s in (1.04, 1.05, 1.6, 0.9)] == ["near", "near", "near", "missed"]
    assert [of(1.3, s) for s in (1.7, 1.001)] == ["direction", "direction"]
    assert [of(1.0, s) for s in (1.01, 0.99, 1.011)] == ["near", "near", "missed"]
    assert [of(0.0, s) for s in (0.0, 0.2)] == ["near", "direction"]
    assert of(None, 1.0) == of(1.2, None) == "missed"
    assert [of(1.3, s, band=(1.2, 1.5)) for s in (1.1, 1.3)] == ["direction", "near"]
    assert of(1, 1, role="calibrated") == "calibrated" and of(1, 1, baseline=True) == "baseline"


def test_bad_requests_say_what_is_wrong() -> None:
    with pytest.raises(nl.LabError, match="shared-cow-2018") as e:
        nl.reproduce("shared-cow-2081")
    assert e.value.code == 2
    with pytest.raises(nl.LabError) as e:
        nl.reproduce(NAME, groups=["nothing"])
    assert e.value.code == 2
    with pytest.raises(TypeError, match="expected a list of names"):
        nl.reproduce(NAME, groups="cow-shared")
