"""The numalab command as a Python object."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sysconfig
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Union

from numalab.comparison import Comparison
from numalab.errors import LabError, LabWarning

# The name of a file or of a catalog entry: a string, or a path such as ``pathlib.Path``.
Name = Union[str, "os.PathLike[str]"]


@dataclass(frozen=True)
class Lab:
    """A numalab command.

    ``command`` is its path (default: ``numalab`` on the PATH, else the one that was
    installed with this package). ``options`` precede every verb, for example
    ``("--catalog", "mine")``; a string in place of this list raises ``TypeError``. A file or a directory may
    be given as a ``pathlib.Path``.
    """

    command: Name = "numalab"
    options: Sequence[Name] = field(default_factory=tuple)

    def __post_init__(self) -> None:
        """Refuse a string, which is a sequence of its letters."""
        if isinstance(self.options, str):
            given = repr(self.options)
            raise TypeError(f"options is the string {given}; expected a list such as [{given}]")

    def call(self, *arguments: Name) -> str:
        """Run the command and return its standard output.

        Raises ``LabError`` if it exits with a code other than 0, and with code 3 if the command does not
        exist. With the codes 1 and 4 to 12, the error's ``output`` is the result.
        """
        done = self._start(*arguments)
        if done.returncode != 0:
            raise LabError(done.returncode, done.stderr.strip(), done.stdout)
        return done.stdout

    def _start(self, *arguments: Name) -> subprocess.CompletedProcess[str]:
        """Run the command to its end, with any exit code; raise ``LabError`` if it does not exist."""
        command = os.fspath(self.command)
        # The wheel puts the command beside the interpreter, which need not be on the PATH.
        own = os.path.join(sysconfig.get_path("scripts"), command)
        path = shutil.which(command) or (shutil.which(own) if command == "numalab" else None)
        if path is None:
            raise LabError(
                3, f"{command}: not found; expected the path of the command, or `pip install numalab-*.whl`"
            )
        line = [path, *self.options, *arguments]
        # The command writes UTF-8 in every locale.
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
        whole: bool = False,
    ) -> Comparison:
        """Run a workload on a machine with several kernels; return the comparison of the records in ``out``.

        Runs that have settled are not simulated to their end unless ``whole``. If a run fails or reaches its limit
        of time, the other runs are still carried out; see ``compare``.
        Raises ``TypeError`` if ``kernels`` is a string or if a name is neither a string nor a path, and
        ``LabError`` if nothing was run.
        """
        if isinstance(kernels, str):  # A string is a sequence of its letters.
            raise TypeError(f"kernels is the string {kernels!r}; expected a list such as [{kernels!r}]")
        names = ",".join(_name("a kernel", kernel) for kernel in kernels)
        # Written as --option=value, a value may begin with a hyphen.
        arguments = ["run", f"--machine={_name('machine', machine)}", f"--kernel={names}"]
        arguments += [f"--workload={_name('workload', workload)}", f"--out={_name('out', out)}"]
        arguments += [f"--iterations={iterations}", f"--seed={seed}"]
        arguments += [f"--param={name}={_text(value)}" for name, value in (params or {}).items()]
        arguments += [f"--set={name}={_text(value)}" for name, value in (settings or {}).items()]
        done = self._start(*arguments, *(["--whole"] if whole else []))
        if not _has_result(done):
            raise self._no_result(done)
        return self._compare(out, None, _notices(done.stderr))

    def compare(self, out: Name, baseline: str | None = None) -> Comparison:
        """Return the comparison of the records in ``out``.

        If a run did not complete or has no record yet, or if kernels did different work, the comparison's
        ``message`` and a ``LabWarning`` say so. Raises ``LabError`` if there is nothing to compare.
        """
        return self._compare(out, baseline, [])

    def _compare(self, out: Name, baseline: str | None, said: list[str]) -> Comparison:
        """Return what ``compare`` returns. A warning names the line that called the public method.

        ``said`` are lines of the command before, which are added to the message.
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
        # `run` may have printed some of the same lines.
        message = "\n".join(dict.fromkeys([*said, *done.stderr.strip().splitlines()]))
        comparison = Comparison(value, done.returncode, message)
        if message or comparison.code != 0:
            warnings.warn(f"{directory}: {message}", LabWarning, stacklevel=3)
        return comparison

    def _no_result(self, done: subprocess.CompletedProcess[str]) -> LabError:
        """Return the error of a command that ended without a result."""
        command, code = os.fspath(self.command), done.returncode
        silent = f"{command}: no comparison came from it, and no message (exit code {code}); is it numalab?"
        return LabError(code, done.stderr.strip() or silent, done.stdout)


def _name(what: str, value: object) -> str:
    """Return a name or a path as text; raise ``TypeError`` for a number, since 6.10 would become 6.1."""
    text = os.fspath(value) if isinstance(value, os.PathLike) else value
    if not isinstance(text, str):
        raise TypeError(f"{what} is {value!r}, a {type(value).__name__}; expected a string such as '{value}'")
    return text


def _notices(stderr: str) -> list[str]:
    """Return the remarks of ``run``: the lines that begin with the command's name, as progress does not."""
    return [line for line in stderr.splitlines() if line.startswith("numalab: ")]


def _has_result(done: subprocess.CompletedProcess[str]) -> bool:
    """Whether the command printed a result: 2 and 3 are refusals; 130, 143 and negative codes are signals."""
    return done.returncode in (0, 1, *range(4, 13)) and done.stdout != ""


def _text(value: object) -> str:
    """Write a value as the command reads it."""
    text = str(value)
    # Truth values of numpy are no ``bool``, but look like one. Strings are passed on unchanged.
    truth = not isinstance(value, str) and text in ("True", "False")
    return text.lower() if truth else text
