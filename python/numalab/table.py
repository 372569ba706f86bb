"""Tables of figures, as Arrow."""

from __future__ import annotations

import html
from typing import TYPE_CHECKING, Any

from numalab.errors import need

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pandas as pd
    import polars as pl
    import pyarrow as pa

    from numalab import _native


class Table:
    """Columns of equal length, with a unit each.

    It offers the Arrow PyCapsule interface, so ``polars.DataFrame(table)``, ``pyarrow.table(table)`` and DuckDB
    read its buffers without a copy. Shape: ``len(table)`` rows, ``len(table.column_names)`` columns.
    """

    def __init__(self, native: _native.Table) -> None:
        """Wrap a table of the extension."""
        self._native = native

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self._native)

    @property
    def column_names(self) -> list[str]:
        """Names of the columns, in order."""
        return self._native.column_names

    @property
    def units(self) -> dict[str, str]:
        """Unit of every column that has one."""
        return {n: u for n, u in zip(self.column_names, self._native.units, strict=True) if u}

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """Return the Arrow C stream of the table."""
        return self._native.__arrow_c_stream__(requested_schema)

    def to_arrow(self) -> pa.Table:
        """Return a ``pyarrow.Table`` over the same buffers."""
        table: pa.Table = need("pyarrow", "frames").table(self)
        return table

    def to_polars(self) -> pl.DataFrame:
        """Return a ``polars.DataFrame`` over the same buffers."""
        frame: pl.DataFrame = need("polars", "frames").DataFrame(self)
        return frame

    def to_pandas(self) -> pd.DataFrame:
        """Return a ``pandas.DataFrame`` with Arrow columns over the same buffers."""
        pandas = need("pandas", "frames")
        frame: pd.DataFrame = self.to_arrow().to_pandas(types_mapper=pandas.ArrowDtype)
        return frame

    def __repr__(self) -> str:
        """Return the shape and the columns."""
        return f"<Table of {len(self)} rows: {', '.join(self.column_names)}>"

    def _repr_html_(self) -> str:
        """Return the first and the last rows, for notebooks."""
        return table_html(self.column_names, _some(self))


def _some(table: Table, most: int = 8) -> Iterator[list[Any]]:
    """Yield the rows of a table; of a long one, the first and the last."""
    arrow = table.to_arrow()
    size = arrow.num_rows
    for i in range(size):
        if size <= most or i < most // 2 or i >= size - most // 2:
            yield [column[i].as_py() for column in arrow.columns]


def table_html(head: list[str], body: Any, caption: str = "") -> str:
    """Return a table as HTML that inherits the colours of the page, so it is readable in light and dark."""
    cell = "padding:0.2em 0.8em;text-align:right"
    text = (
        f"<caption style='text-align:left;caption-side:top'>{html.escape(caption)}</caption>"
        if caption
        else ""
    )
    top = "".join(f"<th style='{cell}'>{html.escape(str(h))}</th>" for h in head)
    lines = ("".join(f"<td style='{cell}'>{html.escape(show(v))}</td>" for v in row) for row in body)
    rows = "".join(f"<tr>{line}</tr>" for line in lines)
    return f"<table>{text}<thead><tr>{top}</tr></thead><tbody>{rows}</tbody></table>"


def show(value: object) -> str:
    """Write a value for people: numbers with four digits, nothing for ``None``."""
    if value is None:
        return ""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return str(value)
    return f"{value:,}" if isinstance(value, int) else f"{value:.4g}"
