"""The README's part on Python works when it is pasted into a fresh environment that has the wheel."""

import importlib.util
import os
import re
import subprocess
import sys
import sysconfig
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]


def bench() -> Any:
    spec = importlib.util.spec_from_file_location("bench_python", ROOT / "scripts/bench-python.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def blocks() -> list[str]:
    """What the README has to paste into an interpreter."""
    part = (ROOT / "README.md").read_text().split("## From Python\n")[1].split("\n## ")[0]
    return re.findall(r"^```python\n(.*?)^```$", part, re.MULTILINE | re.DOTALL)


def test_the_python_door_of_the_readme_opens(tmp_path: Path) -> None:
    python = tmp_path / "venv/bin/python"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", tmp_path / "venv"], check=True)
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("PYTHON", "NUMALAB"))}

    def say(code: str, check: bool = True) -> str:
        ended = subprocess.run(
            [python, "-c", code], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
        )
        assert (ended.returncode == 0) == check, ended.stderr
        return ended.stdout.strip()

    place = Path(say("import sysconfig; print(sysconfig.get_path('purelib'))"))
    assert place.is_relative_to(tmp_path), "an environment of its own"
    say("import numalab", check=False)
    # NUMALAB_WHEEL names one that `make dist` made. Without it, its files are laid where pip lays them.
    wheel = os.environ.get("NUMALAB_WHEEL")
    bench().unpack(Path(wheel) if wheel else None, place)
    assert "numalab" in say("import numalab; print(numalab.__file__)")
    # The libraries of `[all]` are those of this environment, so that nothing is fetched.
    (place / "libraries.pth").write_text(sysconfig.get_path("purelib") + "\n")
    (code,) = blocks()
    printed = say(code + "\nprint(nl.__file__)\nprint(pages.shape)")
    answer, file, shape = printed.splitlines()
    assert answer and Path(file).is_relative_to(place)
    rows, columns = map(int, re.findall(r"\d+", shape))
    assert rows > 1 and columns == 1 + 4, "the time, and four nodes"
