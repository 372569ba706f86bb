"""What the package costs where that does not depend on the machine; `make bench-python` measures the rest."""

import importlib.util
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

SCRIPT = Path(__file__).parents[2] / "scripts/bench-python.py"


@pytest.fixture(scope="module")
def bench() -> Any:
    spec = importlib.util.spec_from_file_location("bench_python", SCRIPT)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_client_of_a_million_plans_is_small(bench: Any) -> None:
    ended = subprocess.run([sys.executable, "-c", bench.MILLION], capture_output=True, text=True, check=True)
    assert int(ended.stdout) * 1024 <= bench.TARGETS["million_mb"] * 1e6


def test_the_wheel_is_small(bench: Any) -> None:
    assert 1e6 < bench.wheel_bytes(None) <= bench.TARGETS["wheel_mb"] * 1e6


def test_processes_of_a_sweep_are_all_counted(bench: Any) -> None:
    costs = bench.sweep_costs({"duration": "100ms", "memory": "16MiB"}, 8, 1)
    assert costs["plan"] * 8 == pytest.approx(costs["plans"])
    # The clock of processes counts in hundredths of a second.
    assert 0 < costs["plans"] < costs["cpu"] + 0.05
