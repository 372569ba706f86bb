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


def run(folder: Path, *options: str) -> subprocess.CompletedProcess[str]:
    (folder / "series.toml").write_text(SERIES)
    line = [sys.executable, str(SCRIPT), "--series", str(folder), "--dry-run", *options]
    return subprocess.run(line, capture_output=True, text=True, check=False)


def test_every_word_but_the_default_is_a_column_on_every_shape(tmp_path: Path) -> None:
    done = run(tmp_path, "--out", "o", "--page", "p.md")
    lines = done.stdout.splitlines()
    assert done.returncode == 0 and len(lines) == 5
    for line, shape in zip(lines, ["2x1x2x1", "4x1x2x1", "2x2x2x1", "8x1x1x1"], strict=False):
        assert f"--machine {shape} " in line and "--iterations 10 " in line and "--sim" in line
        assert line.endswith("--knob vma_filter=off --knob vma_filter=rfc_v3")
    folders = " ".join(f"o/vma_filter-{shape}" for shape in ["2x1x2x1", "4x1x2x1", "2x2x2x1", "8x1x1x1"])
    assert lines[-1] == f"numalab kernel sides {folders} --markdown p.md"


def test_a_knob_that_cannot_be_run_is_refused(tmp_path: Path) -> None:
    for name in ["only_here", "number", "nope"]:
        done = run(tmp_path, "--knob", name)
        assert done.returncode == 2 and f"--knob {name}: expected one of vma_filter" in done.stderr
