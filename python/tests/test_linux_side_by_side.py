"""`scripts/linux-side-by-side.py` asks for every word of every knob that the simulator has, on every shape."""

import subprocess
import sys
from pathlib import Path

SCRIPT = Path(__file__).parents[2] / "scripts/linux-side-by-side.py"

SERIES = """
base = "6.12"
patches = []
[[knob]]
name = "vma_filter"
path = "/sys/kernel/debug/numalab/vma_filter"
values = ["off", "v612", "rfc_v3"]
default = "v612"
role = "vma_filter"
[[knob]]
name = "only_here"
path = "/sys/kernel/debug/numalab/only_here"
values = ["a", "b"]
default = "a"
[[knob]]
name = "number"
path = "/proc/sys/kernel/number"
min = 1
max = 8
default = 1
role = "scan.scan_size_mb"
"""


def run(folder: Path, *options: str, more: str = "", dry: bool = True) -> subprocess.CompletedProcess[str]:
    (folder / "series.toml").write_text(SERIES + more)
    line = [sys.executable, str(SCRIPT), "--series", str(folder), *(["--dry-run"] if dry else []), *options]
    return subprocess.run(line, capture_output=True, text=True, check=False)


SHAPES = ["2x1x2x1", "4x1x2x1", "2x2x2x1", "8x1x1x1"]


def test_every_word_but_the_default_is_a_column_on_every_shape_at_last(tmp_path: Path) -> None:
    done = run(tmp_path, "--out", "o", "--page", "p.md")
    lines = [line for line in done.stdout.splitlines() if " try " in line]
    assert done.returncode == 0
    last = lines[-4:]
    for line, shape in zip(last, SHAPES, strict=True):
        assert f"/guest-{shape}.toml " in line and "--iterations 10 " in line and "--sim" in line
        assert line.endswith("--knob vma_filter=off --knob vma_filter=rfc_v3")
    pages = [line for line in done.stdout.splitlines() if " sides " in line]
    folders = " ".join(f"o/vma_filter-{shape}" for shape in SHAPES)
    assert set(pages) == {f"numalab kernel sides {folders} --markdown p.md --notes linux/sides/notes.toml"}


def test_the_most_telling_columns_come_first_and_keep_their_folder(tmp_path: Path) -> None:
    done = run(tmp_path, "--out", "o", "--stages", "4")
    lines = [line for line in done.stdout.splitlines() if " try " in line]
    shapes, seeds = [*SHAPES[:1] * 2, *SHAPES[:2], *SHAPES], ["10"] * 4 + ["3"] * 4
    for line, shape, iterations in zip(lines, shapes, seeds, strict=True):
        assert f"--out o/vma_filter-{shape} " in line and f"--iterations {iterations} " in line


def test_a_knob_of_another_ones_word_stands_beside_that_word(tmp_path: Path) -> None:
    """`huge_strict` does nothing but under `mpol_huge`."""
    more = """[[knob]]
name = "huge_strict"
path = "/sys/kernel/debug/numalab/huge_strict"
values = ["false", "true"]
default = "false"
role = "thp.huge_strict"
"""
    done = run(tmp_path, "--knob", "huge_strict", "--shape", "8x1x1x1", more=more)
    lines = [line for line in done.stdout.splitlines() if " try " in line]
    assert len(lines) == 1 and "--workload linux/sides/huge-policy.toml " in lines[0]
    assert lines[0].endswith("--knob thp_locality=mpol_huge --knob thp_locality=mpol_huge,huge_strict=true")


def test_a_design_of_2012_is_run_in_guests_alone(tmp_path: Path) -> None:
    more = """[[knob]]
name = "task_migrate"
path = "/sys/kernel/debug/numalab/task_migrate"
values = ["none", "preferred", "exchange"]
default = "preferred"
"""
    done = run(tmp_path, "--knob", "task_migrate", "--shape", "2x1x2x1", "--stages", "2", more=more)
    lines = [line for line in done.stdout.splitlines() if " try " in line]
    assert len(lines) == 1 and "--workload numa01 " in lines[0] and "--sim" not in lines[0]
    assert lines[0].endswith("--knob task_migrate=none --knob task_migrate=exchange")


def test_what_cannot_be_run_is_refused(tmp_path: Path) -> None:
    for name in ["only_here", "number", "nope"]:
        done = run(tmp_path, "--knob", name)
        assert done.returncode == 2 and f"--knob {name}: expected one of vma_filter" in done.stderr
    done = run(tmp_path, "--shape", "9x9")
    assert done.returncode == 2 and "--shape 9x9: expected one of 2x1x2x1" in done.stderr


def test_a_page_without_records_is_not_written(tmp_path: Path) -> None:
    done = run(
        tmp_path, "--out", str(tmp_path / "none"), "--page", str(tmp_path / "p.md"), "--page-only", dry=False
    )
    assert done.returncode == 0 and not (tmp_path / "p.md").exists()
