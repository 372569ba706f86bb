"""The numalab command as a Python object."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Union

# What names a file: a string, or a path such as ``pathlib.Path``.
Name = Union[str, "os.PathLike[str]"]


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

    A run did not complete or has no record yet, kernels did different work and are not comparable, or runs
    left the comparison for those of another call. The text begins with the directory: Python shows a text
    once for each line of a program, and so shows that of every comparison of a loop.
    To have an exception in its place: ``warnings.simplefilter("error", LabWarning)``.
    """


class Comparison(dict[str, Any]):
    """A comparison as the command's JSON (``compare DIR --json`` in ``docs/json.md``), and how it ended.

    ``code`` is 0 if every run completed, else the command's exit code: 1 or 4 to 12, for example 5 if a run
    reached its limit of time. ``message`` is what the command said on standard error: which run that was,
    which kernels did different work, or which runs left the comparison for those of this call (then ``code``
    can be 0); it is empty if there is nothing to say. Each
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
    Wherever the command reads a file or a directory, a ``pathlib.Path`` will do.
    """

    command: Name = "numalab"
    options: Sequence[Name] = field(default_factory=tuple)

    def __post_init__(self) -> None:
        """Refuse a string: it is a sequence too, of its letters."""
        if isinstance(self.options, str):
            given = repr(self.options)
            raise TypeError(f"options is the string {given}; expected a list such as [{given}]")

    def call(self, *arguments: Name) -> str:
        """Run the command and return its standard output.

        Raises ``LabError`` if it exits with a code other than 0, and with code 3 if it is not there. With the
        codes 1 and 4 to 12 the result is the error's ``output``.
        """
        done = self._start(*arguments)
        if done.returncode != 0:
            raise LabError(done.returncode, done.stderr.strip(), done.stdout)
        return done.stdout

    def _start(self, *arguments: Name) -> subprocess.CompletedProcess[str]:
        """Run the command to its end, whatever its exit code; raise ``LabError`` if it is not there."""
        command = os.fspath(self.command)
        path = shutil.which(command)
        if path is None:
            raise LabError(3, f"{command}: not found; build it with `make build` and name its path")
        line = [path, *self.options, *arguments]
        # The command writes UTF-8 whatever the locale is.
        return subprocess.run(line, capture_output=True, encoding="utf-8", check=False)

    def run(
        self,
        machine: Name,
        kernels: Sequence[Name],
        workload: Name,
        out: Name,
        *,
        iterations: int = 1,
        seed: int = 1,
        params: Mapping[str, object] | None = None,
        settings: Mapping[str, object] | None = None,
    ) -> Comparison:
        """Run one machine and workload under some kernels into ``out``; return the comparison.

        A run that fails or reaches its limit of time ends neither the others nor this call: see ``compare``.
        Raises ``TypeError`` for a string in place of the list of kernels and for what is no name of one,
        ``LabError`` if nothing was run.
        """
        if isinstance(kernels, str):  # A string is a sequence too: of its letters.
            raise TypeError(f"kernels is the string {kernels!r}; expected a list such as [{kernels!r}]")
        names = ",".join(_name("a kernel", kernel) for kernel in kernels)
        # With its option in one piece a value may begin with a hyphen.
        arguments = ["run", f"--machine={_name('machine', machine)}", f"--kernel={names}"]
        arguments += [f"--workload={_name('workload', workload)}", f"--out={_name('out', out)}"]
        arguments += [f"--iterations={iterations}", f"--seed={seed}"]
        arguments += [f"--param={name}={_text(value)}" for name, value in (params or {}).items()]
        arguments += [f"--set={name}={_text(value)}" for name, value in (settings or {}).items()]
        done = self._start(*arguments)
        if not _has_result(done):
            raise self._no_result(done)
        return self._compare(out, None, _notices(done.stderr))

    def compare(self, out: Name, baseline: str | None = None) -> Comparison:
        """Return the comparison of the records in ``out``.

        If a run did not complete or has no record yet, or kernels did different work, its ``message`` says
        so, and so does a ``LabWarning``. Raises ``LabError`` if there is nothing to compare.
        """
        return self._compare(out, baseline, [])

    def _compare(self, out: Name, baseline: str | None, said: list[str]) -> Comparison:
        """``compare``, called by a public method: the warning names the line that called that one.

        ``said`` are the lines that the command before has to add.
        """
        directory = _name("out", out)
        chosen = [] if baseline is None else [f"--baseline={baseline}"]
        done = self._start("compare", "--json", *chosen, "--", directory)
        if not _has_result(done):
            raise self._no_result(done)
        try:
            value = json.loads(done.stdout)
        except json.JSONDecodeError:
            raise self._no_result(done) from None
        # `run` has said some of the same.
        message = "\n".join(dict.fromkeys([*said, *done.stderr.strip().splitlines()]))
        comparison = Comparison(value, done.returncode, message)
        if message or comparison.code != 0:
            warnings.warn(f"{directory}: {message}", LabWarning, stacklevel=3)
        return comparison

    def _no_result(self, done: subprocess.CompletedProcess[str]) -> LabError:
        """Return the error of a command that ended without what it was asked for."""
        command, code = os.fspath(self.command), done.returncode
        silent = f"{command}: no comparison came from it, and no message (exit code {code}); is it numalab?"
        return LabError(code, done.stderr.strip() or silent, done.stdout)


def _name(what: str, value: object) -> str:
    """Return a name or a path as text; raise ``TypeError`` for a number, which loses digits (6.10 is 6.1)."""
    text = os.fspath(value) if isinstance(value, os.PathLike) else value
    if not isinstance(text, str):
        raise TypeError(f"{what} is {value!r}, a {type(value).__name__}; expected a string such as '{value}'")
    return text


def _notices(stderr: str) -> list[str]:
    """Return what ``run`` said of the whole: those lines name the command, lines of progress the run."""
    return [line for line in stderr.splitlines() if line.startswith("numalab: ")]


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
