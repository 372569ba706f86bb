"""The numalab command as a Python object."""

from __future__ import annotations

import json
import shutil
import subprocess
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any


class LabError(RuntimeError):
    """The command gave no result that could be returned.

    ``code`` is its exit code (``docs/json.md``), the message its own, and ``output`` what it printed on
    standard output all the same: the result, if the code is 1 or 4 to 12.
    """

    def __init__(self, code: int, message: str, output: str = "") -> None:
        """Keep the exit code and the output beside the message."""
        super().__init__(message)
        self.code = code
        self.output = output


class LabWarning(UserWarning):
    """A comparison was returned, but something was found: a run did not complete or has no record yet.

    To have an exception in its place: ``warnings.simplefilter("error", LabWarning)``.
    """


class Comparison(dict[str, Any]):
    """A comparison as the command's JSON (``compare DIR --json`` in ``docs/json.md``), and how it ended.

    ``code`` is 0 if every run completed, else the command's exit code: 1 or 4 to 12, for example 5 if a run
    reached its limit of time. ``message`` then says which run; it is empty otherwise. The figures of a run
    that did not complete are among those compared: they end where the run ended.
    """

    def __init__(self, value: Mapping[str, Any], code: int = 0, message: str = "") -> None:
        """Keep the exit code and the message beside the value."""
        super().__init__(value)
        self.code = code
        self.message = message


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

        Raises ``LabError`` if it exits with a code other than 0, and with code 3 if it is not there. With the
        codes 1 and 4 to 12 the result is the error's ``output``.
        """
        done = self._start(*arguments)
        if done.returncode != 0:
            raise LabError(done.returncode, done.stderr.strip(), done.stdout)
        return done.stdout

    def _start(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run the command to its end, whatever its exit code; raise ``LabError`` if it is not there."""
        path = shutil.which(self.command)
        if path is None:
            raise LabError(3, f"{self.command}: not found; build it with `make build` and name its path")
        return subprocess.run([path, *self.options, *arguments], capture_output=True, text=True, check=False)

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
    ) -> Comparison:
        """Run one machine and workload under some kernels into ``out``; return the comparison.

        A run that fails or reaches its limit of time ends neither the others nor this call: see ``compare``.
        Raises ``TypeError`` for a string in place of the list of kernels, ``LabError`` if nothing was run.
        """
        if isinstance(kernels, str):  # A string is a sequence too: of its letters.
            raise TypeError(f"kernels is the string {kernels!r}; expected a list such as [{kernels!r}]")
        arguments = ["run", "--machine", machine, "--kernel", ",".join(kernels), "--workload", workload]
        arguments += ["--iterations", str(iterations), "--seed", str(seed), "--out", str(out)]
        for name, value in (params or {}).items():
            arguments += ["--param", f"{name}={_text(value)}"]
        for name, value in (settings or {}).items():
            arguments += ["--set", f"{name}={_text(value)}"]
        done = self._start(*arguments)
        if not _has_result(done):
            raise LabError(done.returncode, done.stderr.strip(), done.stdout)
        return self._compare(out, None)

    def compare(self, out: str | Path, baseline: str | None = None) -> Comparison:
        """Return the comparison of the records in ``out``.

        If a run did not complete or has no record yet, its ``code`` and ``message`` say so, and so does a
        ``LabWarning``. Raises ``LabError`` if there is nothing to compare.
        """
        return self._compare(out, baseline)

    def _compare(self, out: str | Path, baseline: str | None) -> Comparison:
        """``compare``, called by a public method: the warning names the line that called that one."""
        arguments = ["compare", str(out), "--json"]
        if baseline is not None:
            arguments += ["--baseline", baseline]
        done = self._start(*arguments)
        message = done.stderr.strip()
        if not _has_result(done):
            raise LabError(done.returncode, message, done.stdout)
        comparison = Comparison(json.loads(done.stdout), done.returncode, message)
        if comparison.code != 0:
            warnings.warn(message, LabWarning, stacklevel=3)
        return comparison


def _has_result(done: subprocess.CompletedProcess[str]) -> bool:
    """Whether the command printed its result: 2 and 3 are refusals, 130, 143 and negative codes signals."""
    return done.returncode in (0, 1, *range(4, 13)) and done.stdout != ""


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
