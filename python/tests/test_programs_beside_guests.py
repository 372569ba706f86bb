"""`scripts/programs-beside-guests.py` asks for every program on every shape, and judges as its page says."""

import importlib.util
import json
import subprocess
import sys
from argparse import Namespace
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[2]
SCRIPT = ROOT / "scripts/programs-beside-guests.py"


def script() -> ModuleType:
    """Return the script as a module."""
    spec = importlib.util.spec_from_file_location("programs_beside_guests", SCRIPT)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def run(*options: str) -> subprocess.CompletedProcess[str]:
    """Run the script in the project's folder."""
    line = [sys.executable, str(SCRIPT), *options]
    return subprocess.run(line, capture_output=True, text=True, check=False, cwd=ROOT)


def test_each_program_runs_on_both_sides_with_one_machine_and_one_scanner() -> None:
    done = run("--dry-run", "--program", "redis", "--iterations", "4")
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert len(lines) == 4, lines
    for shape, simulated, guests in (("2x1x2x1", *lines[:2]), ("4x1x2x1", *lines[2:])):
        for line in (simulated, guests):
            assert f"--machine linux/sides/program-{shape}.toml" in line and "--iterations 4" in line
            assert "--set scan.scan_delay_ms=250 --set scan.scan_period_min_ms=250" in line
        assert (
            "recorded/redis.toml --param instruction_time=8ns" in simulated and "--backend" not in simulated
        )
        assert "--timing modelled" in guests and "--with redis-server" in guests
        assert guests.endswith("-- sh scripts/record-programs/redis.sh")


def test_programs_without_a_workload_are_left_out_and_wrong_names_refused() -> None:
    assert run("--dry-run", "--program", "openssl").stdout == ""
    done = run("--program", "nothing")
    assert done.returncode == 2 and "expected one of triad, " in done.stderr


def test_a_figure_is_held_inside_the_widened_range() -> None:
    m = script()
    cases = [
        ([100, 120], [110], 1.0, True),
        ([100, 120], [150, 149, 10], 149 / 120, True),
        ([100, 120], [151], 151 / 120, False),
        ([100, 120], [80], 1.25, True),
        ([100, 120], [79], 100 / 79, False),
        ([0, 0], [0], 1.0, True),
        ([0, 0], [1], float("inf"), False),
        ([5, 7], [0], float("inf"), False),
    ]
    for guests, simulated, off_by, held in cases:
        cell = m.Cell("f", guests, simulated)
        assert (cell.off_by, cell.held) == (off_by, held), cell


def side(on: list[float], off: list[float]) -> dict[str, dict[str, list[float]]]:
    """Return figures of one side with these times."""
    return {"6.12": {"elapsed_s": on}, "off": {"elapsed_s": off}}


def test_the_sign_is_asked_where_guests_are_clear() -> None:
    m = script()
    guests = side([11, 12, 13], [8, 9, 10])
    assert m.sign(guests, side([2], [1])) == ("+33.3 %; +100.0 %: right", True)
    assert m.sign(guests, side([1], [2]))[1] is False
    assert m.sign(guests, side([1], [1]))[1] is False, "no difference is no sign"
    assert m.sign(side([9, 11, 12], [8, 9, 10]), side([2], [1]))[1] is None
    assert m.sign(guests, side([1.0004], [1]))[1] is False, "nor is next to none"
    assert m.sign(side([11, 12], [8, 9, 10]), side([2], [1]))[1] is None, "two guests have no range"
    assert m.sign(side([9], []), side([2], [1])) == ("–", None)


def record(
    folder: Path, kernel: str, seed: int, elapsed: float, moved: float, status: str = "completed"
) -> None:
    """Write a record as `numalab run` keeps it, as far as it is read. A seed of 0 is in no list of runs."""
    place = folder / f"{kernel}-{seed}"
    place.mkdir(parents=True)
    listed = folder / "experiment.json"
    runs = json.loads(listed.read_text())["runs"] if listed.exists() else []
    runs += [{"kernel": kernel, "record": place.name}] if seed else []
    listed.write_text(json.dumps({"runs": runs}))
    (place / "manifest.json").write_text(json.dumps({"status": status}))
    scalars = [{"name": "elapsed_s", "value": elapsed}]
    (place / "scalars.json").write_text(
        json.dumps({"scalars": scalars, "counters": {"numa_pages_migrated": moved}})
    )


def test_the_page_counts_what_is_held(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    m = script()
    monkeypatch.setattr(m, "KEPT", tmp_path / "guests.json")
    for seed in (1, 2, 3):
        record(tmp_path / "p-2x1x2x1", "debian-6.12[scan]", seed, 10 + seed, 100)
        record(tmp_path / "p-2x1x2x1", "off", seed, 5 + seed, 0)
    record(tmp_path / "p-2x1x2x1", "debian-6.12[scan]", 4, 900, 900, status="failed")
    record(tmp_path / "p-2x1x2x1-sim", "6.12[scan]", 0, 700, 700)
    record(tmp_path / "p-2x1x2x1-sim", "6.12[scan]", 1, 12, 300)
    record(tmp_path / "p-2x1x2x1-sim", "off", 1, 7, 0)
    text = m.page(Namespace(out=str(tmp_path)), [m.Program("p", [], ["p"])])
    one, none = "1 of 1 (100 %)", "0 of 1 (0 %)"
    assert f"| all | 2 of 3 (67 %) | 2 of 2 (100 %) | – | – | – | {none} | {one} |" in text
    assert f"| in sample | 2 of 3 (67 %) | 2 of 2 (100 %) | – | – | – | {none} | {one} |" in text
    assert "| predicted | – | – | – | – | – | – | – |" in text
    assert "| p | 6.12 | 3 | 11 to 13; 12: held | – | – | – | 100; 300: off by 3.00 |" in text
    assert "| p | off | 3 | 6 to 8; 7: held | – |" in text
    kept = json.loads((tmp_path / "guests.json").read_text())
    assert kept["p-2x1x2x1"]["off"]["elapsed_s"] == [6, 7, 8]
