"""What a program does with memory: recorded under emulation, as frames, as a picture, and as a workload."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Union

from numalab import _native
from numalab.errors import LabError
from numalab.table import Table

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Word = Union[str, "os.PathLike[str]"]


@dataclass(frozen=True)
class AccessRecord:
    """A record of accesses (``docs/reference/access-records.md``).

    * ``directory``: Where it is.
    """

    directory: Path
    _keep: object = field(default=None, repr=False, compare=False)

    @property
    def manifest(self) -> dict[str, Any]:
        """Command, QEMU, modelled caches, times, and how the program ended."""
        manifest: dict[str, Any] = json.loads((self.directory / "accesses.json").read_text(encoding="utf-8"))
        return manifest

    @property
    def name(self) -> str:
        """Name of the program in reports."""
        return str(self.manifest["name"])

    def accesses(self) -> Table:
        """Return a row for each thread, 2 MiB of a mapping, and slice of time.

        Columns: ``process``, ``pid``, ``thread``; ``begin`` and ``end`` of the slice in model instructions;
        ``mapping`` (file, variable, ``heap`` or ``memory``) and ``place`` (who asked for it, in the source);
        ``address`` and ``bytes`` of the pages visited; and lines of 64 bytes: ``lines`` visited, those
        ``written``, ``beyond_private`` and ``beyond_llc`` that modelled caches do not hold, and ``foreign`` ones
        that another thread wrote last. Raises ``ValueError`` if the record is damaged.
        """
        return Table(_native.accesses(self.directory))

    def fit(self, out: Word | None = None) -> Path:
        """Fit a workload, and return the path of its file, which ``run`` and ``sweep`` take as a workload.

        It is ``out``, or ``workload.toml`` in the directory of the record. Raises ``LabError`` if the program uses no
        memory to speak of.
        """
        path = self.directory / "workload.toml" if out is None else Path(out)
        _call("fit", f"--out={os.fspath(path)}", "--", self.directory)
        return path

    def report(self, out: Word | None = None) -> Path:
        """Write the page with the maps of all large processes, and return its path: ``out``, or ``report.html``."""
        path = self.directory / "report.html" if out is None else Path(out)
        _call("report", f"--out={os.fspath(path)}", "--", self.directory)
        return path

    def heat_map(
        self, pid: int | None = None, *, threads: int = 8, of: str = "lines", ax: Axes | None = None
    ) -> Figure:
        """Draw lines by thread, memory and time, for a process: by default the one with most lines.

        A strip is a thread, of at most ``threads`` with most lines. Its rows are 2 MiB of memory, by mapping; its
        columns are steps of time. ``of`` is a column of lines of ``accesses``, and ``ax`` as in ``Comparison.plot``.
        Needs matplotlib. Raises ``ValueError`` if there is no such process or column, or nothing to show.
        """
        from numalab.heat import heat_map

        return heat_map(self.accesses(), pid, threads, of, ax)


def record(
    command: Sequence[Word],
    out: Word | None = None,
    *,
    longest_s: float | None = None,
    most_bytes: int | None = None,
    name: str | None = None,
) -> AccessRecord:
    """Run a program under QEMU's user mode, and record what its threads do with memory.

    ``command`` is the program with its arguments. It ends after ``longest_s`` seconds; the record has at most
    ``most_bytes``. It goes to ``out``, or to a temporary directory that lives as long as the result. A program that
    fails is no error: ``manifest["ending"]`` says how it ended. What it prints is printed.

    Raises ``TypeError`` if ``command`` is a string, and ``LabError`` if it cannot be recorded.
    """
    if isinstance(command, (str, bytes)):  # A string is a sequence of its letters.
        raise TypeError(f"command is {command!r}; expected a list such as ['./program', 'argument']")
    keep = tempfile.TemporaryDirectory(prefix="numalab-accesses-") if out is None else None
    directory = Path(keep.name) if keep is not None else Path(os.fspath(out or ""))
    options = [f"--out={directory}"]
    options += [] if longest_s is None else [f"--for={round(longest_s * 1000)}ms"]
    options += [] if most_bytes is None else [f"--most={most_bytes}B"]
    options += [] if name is None else [f"--name={name}"]
    # A program that fails is a finding, and its record is kept.
    _call(
        "record", "--accesses", "--json", *options, "--", *(os.fspath(word) for word in command), codes=(0, 1)
    )
    return AccessRecord(directory, keep)


def open_record(directory: Word) -> AccessRecord:
    """Return the record of accesses in a directory. Raises ``ValueError`` if it is none."""
    path = Path(directory)
    _native.accesses(path)
    return AccessRecord(path)


def _call(*arguments: Word, codes: tuple[int, ...] = (0,)) -> str:
    """Carry out a command line in this process; raise ``LabError`` for other exit codes than these."""
    code, output, message = _native.call([os.fspath(word) for word in arguments])
    if code not in codes:
        raise LabError(code, message, output)
    return output
