"""The numalab command as a Python object."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any


class LabError(RuntimeError):
    """The command refused or failed; ``code`` is its exit code, the message its own."""

    def __init__(self, code: int, message: str) -> None:
        """Keep the exit code beside the message."""
        super().__init__(message)
        self.code = code


@dataclass(frozen=True)
class Lab:
    """A numalab command.

    ``command`` is its path (default: ``numalab`` on the PATH); ``options`` go before every verb,
    for example ``("--catalog", "mine")``.
    """

    command: str = "numalab"
    options: Sequence[str] = field(default_factory=tuple)

    def call(self, *arguments: str) -> str:
        """Run the command and return its standard output.

        Raises ``LabError`` if it exits with a code other than 0, and with code 3 if it is not there.
        """
        path = shutil.which(self.command)
        if path is None:
            raise LabError(3, f"{self.command}: not found; build it with `make build` and name its path")
        done = subprocess.run([path, *self.options, *arguments], capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise LabError(done.returncode, done.stderr.strip())
        return done.stdout

    def run(
        self,
        machine: str,
        kernels: Sequence[str],
        workload: str,
        out: str | Path,
        *,
        iterations: int = 1,
        seed: int = 1,
        params: Mapping[str, object] | None = None,
        settings: Mapping[str, object] | None = None,
    ) -> dict[str, Any]:
        """Run one machine and workload under some kernels into ``out``; return the comparison.

        Raises ``TypeError`` for a string in place of the list of kernels, else as ``call``.
        """
        if isinstance(kernels, str):  # A string is a sequence too: of its letters.
            raise TypeError(f"kernels is the string {kernels!r}; expected a list such as [{kernels!r}]")
        arguments = ["run", "--machine", machine, "--kernel", ",".join(kernels), "--workload", workload]
        arguments += ["--iterations", str(iterations), "--seed", str(seed), "--out", str(out)]
        for name, value in (params or {}).items():
            arguments += ["--param", f"{name}={_text(value)}"]
        for name, value in (settings or {}).items():
            arguments += ["--set", f"{name}={_text(value)}"]
        self.call(*arguments)
        return self.compare(out)

    def compare(self, out: str | Path, baseline: str | None = None) -> dict[str, Any]:
        """Return the comparison of the records in ``out`` as the command's JSON."""
        arguments = ["compare", str(out), "--json"]
        if baseline is not None:
            arguments += ["--baseline", baseline]
        value = json.loads(self.call(*arguments))
        assert isinstance(value, dict)
        return value


def _text(value: object) -> str:
    """Write a value as the command reads it."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def rows(comparison: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Flatten a comparison: one row per workload, metric and kernel, ready for ``pandas.DataFrame``.

    Columns: workload, metric, unit, better, kernel, n, mean, min, max, stddev, ratio.
    """
    out: list[dict[str, Any]] = []
    for workload in comparison["workloads"]:
        for metric in workload["metrics"]:
            for kernel, figures in metric["kernels"].items():
                row = {"workload": workload["name"], "metric": metric["name"], "unit": metric["unit"]}
                out.append({**row, "better": metric["better"], "kernel": kernel, **figures})
    return out
