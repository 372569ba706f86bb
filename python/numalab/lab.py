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
        # All of them: an exception is copied, and sent between processes, by what its base class was given.
        super().__init__(code, message, output)
        self.code = code
        self.message = message
        self.output = output

    def __str__(self) -> str:
        """Return the message alone."""
        return self.message


class LabWarning(UserWarning):
    """A comparison was returned, but the command said something of it.

    A run did not complete or has no record yet, or kernels did different work and are not comparable.
    To have an exception in its place: ``warnings.simplefilter("error", LabWarning)``.
    """


class Comparison(dict[str, Any]):
    """A comparison as the command's JSON (``compare DIR --json`` in ``docs/json.md``), and how it ended.

    ``code`` is 0 if every run completed, else the command's exit code: 1 or 4 to 12, for example 5 if a run
    reached its limit of time. ``message`` is what the command said on standard error: which run that was, or
    which kernels did different work (then ``code`` can be 0); it is empty if there is nothing to say. Each
    workload has its own part of it as ``notes``. Figures are of completed runs: one that did not complete is
    left out, so ``n`` is smaller, and without completed runs it is 0 and the figures are ``None``.
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
    for example ``("--catalog", "mine")``. Raises ``TypeError`` for a string in place of their list.
    """

    command: str = "numalab"
    options: Sequence[str] = field(default_factory=tuple)

    def __post_init__(self) -> None:
        """Refuse a string: it is a sequence too, of its letters."""
        if isinstance(self.options, str):
            given = repr(self.options)
            raise TypeError(f"options is the string {given}; expected a list such as [{given}]")

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
        line = [path, *self.options, *arguments]
        # The command writes UTF-8 whatever the locale is.
        return subprocess.run(line, capture_output=True, encoding="utf-8", check=False)

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

        If a run did not complete or has no record yet, or kernels did different work, its ``message`` says
        so, and so does a ``LabWarning``. Raises ``LabError`` if there is nothing to compare.
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
        if message or comparison.code != 0:
            warnings.warn(message, LabWarning, stacklevel=3)
        return comparison


def _has_result(done: subprocess.CompletedProcess[str]) -> bool:
    """Whether the command printed its result: 2 and 3 are refusals, 130, 143 and negative codes signals."""
    return done.returncode in (0, 1, *range(4, 13)) and done.stdout != ""


def _text(value: object) -> str:
    """Write a value as the command reads it."""
    text = str(value)
    # Truth values of numpy are no bool; a string is left as it was given.
    truth = not isinstance(value, str) and text in ("True", "False")
    return text.lower() if truth else text


def rows(comparison: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Flatten a comparison: one row per workload, metric and kernel, ready for ``pandas.DataFrame``.

    Columns, as in the comma-separated form: workload (without its machine), machine, metric, unit, better,
    kernel, n, mean, hmean, min, max, stddev, ratio, completed, timeout, failed. The last three count the
    kernel's runs by how they ended; figures are of the completed ones.
    """
    out: list[dict[str, Any]] = []
    for workload in comparison["workloads"]:
        for metric in workload["metrics"]:
            for kernel, figures in metric["kernels"].items():
                row = {"workload": workload["program"], "machine": workload["machine"]}
                row.update(metric=metric["name"], unit=metric["unit"], better=metric["better"], kernel=kernel)
                out.append({**row, **figures, **workload["runs"][kernel]})
    return out
