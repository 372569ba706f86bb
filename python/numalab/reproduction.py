"""Published tables beside what the simulator predicts of them, as `numalab reproduce` computes it."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from numalab import _native
from numalab.errors import LabError, need
from numalab.table import table_html

if TYPE_CHECKING:
    import pandas as pd

# As in the score of the command (docs/reference/reports.md): a ratio within this factor is near, and one that differs
# from 1 by less than this part has not changed.
NEAR = 1.25
UNCHANGED = 0.01 + 1e-9


class Reproduction(dict[str, Any]):
    """A published table beside its simulation, as the command's JSON (``docs/reference/json.md``, reproduce).

    ``code`` is 1 if fewer cells came out well than when the table was last scored, else 0. ``message`` is what the
    command printed on standard error.
    """

    def __init__(self, value: Mapping[str, Any], code: int = 0, message: str = "") -> None:
        """Keep the exit code and the message beside the value."""
        super().__init__(value)
        self.code = code
        self.message = message

    @property
    def score(self) -> dict[str, int]:
        """How many cells are predicted, and how many of them came out how well."""
        return dict(self["score"])

    def frame(self) -> pd.DataFrame:
        """Return a row per cell: its names, the published and the simulated value, their ratios, band and verdict.

        ``published_ratio`` and ``simulated_ratio`` are over the baseline's column. ``least`` and ``largest`` are the
        band of ratios that the table counts as reproduced, if it has one. ``verdict`` is ``near`` for the published
        direction, within a factor of 1.25, and in the band if there is one. It is ``direction`` if the direction alone
        is right, and else ``missed``. Cells that are not counted have why: ``baseline``, ``calibrated`` or ``derived``.
        """
        rows = []
        for cell in self["cells"]:
            row = {key: value for key, value in cell.items() if key != "band"}
            row["least"], row["largest"] = cell.get("band") or (None, None)
            row["verdict"] = verdict(cell)
            rows.append(row)
        frame: pd.DataFrame = need("pandas", "frames").DataFrame(rows)
        return frame

    def _repr_html_(self) -> str:
        """Return the cells, for notebooks."""
        names = ("group", "kernel", "metric", "published", "simulated")
        body = [[*(cell[name] for name in names), verdict(cell)] for cell in self["cells"]]
        return table_html([*names, "verdict"], body[:60], f"{self['mail']}: {self.score}")


def is_direction_right(published: float | None, simulated: float | None) -> bool:
    """Return whether a simulated ratio changes in the direction of the published one, or stays as that one does."""
    if published is None or simulated is None:
        return False
    if published == 1:
        return abs(simulated - 1) <= UNCHANGED
    return (published > 1 and simulated > 1) or (published < 1 and simulated < 1)


def is_within(published: float | None, simulated: float | None, bound: float) -> bool:
    """Return whether two ratios are within a factor of each other; two zeros are."""
    if published is None or simulated is None:
        return False
    if published <= 0 or simulated <= 0:
        return published == simulated == 0
    return max(published / simulated, simulated / published) <= bound


def verdict(cell: Mapping[str, Any]) -> str:
    """Return how well a cell came out (``Reproduction.frame``)."""
    if cell["baseline"]:
        return "baseline"
    if cell["role"] != "predicted":
        return str(cell["role"])
    published, simulated = cell["published_ratio"], cell["simulated_ratio"]
    if not is_direction_right(published, simulated):
        return "missed"
    band = cell.get("band")
    in_band = band is None or (simulated is not None and band[0] <= simulated <= band[1])
    return "near" if in_band and is_within(published, simulated, NEAR) else "direction"


def reproduce(
    table: str | os.PathLike[str],
    *,
    groups: Iterable[str] = (),
    iterations: int | None = None,
    jobs: int | None = None,
    quiet_machine: bool = False,
    out: str | os.PathLike[str] | None = None,
) -> Reproduction:
    """Run the experiments of a published table, and return its cells beside what was simulated.

    ``table`` is a name such as ``"disjoint-vma-2023"`` (``numalab list published``) or the path of a TOML file
    (``docs/reference/published.md``). ``groups`` are those of its groups that are run, all by default. There are
    ``iterations`` runs per column (default: the table's), ``jobs`` at a time (default: one per CPU). On a
    ``quiet_machine`` nothing runs beside the workload. Records go to ``out``, and runs that have one are not
    repeated; by default they are not kept. A whole table takes from a minute to hours.

    Raises ``LabError``: code 2 for a table or a group that is unknown or wrong, 3 if something is missing.
    """
    if isinstance(groups, str):
        raise TypeError(f"groups is {groups!r}; expected a list of names")
    with TemporaryDirectory(prefix="numalab-") as folder:
        options = [f"--group={group}" for group in groups]
        options += [] if iterations is None else [f"--iterations={iterations}"]
        options += [] if jobs is None else [f"--jobs={jobs}"]
        options += ["--quiet-machine"] if quiet_machine else []
        options.append(f"--out={os.fspath(folder if out is None else out)}")
        code, text, message = _native.call(
            ["reproduce", "--json", "--quiet", *options, "--", os.fspath(table)]
        )
    if not text or code not in (0, 1):
        raise LabError(code, message, text)
    return Reproduction(json.loads(text), code, message)
