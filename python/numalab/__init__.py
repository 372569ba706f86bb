"""Run numalab plans from Python and read their comparisons.

This package starts the numalab command and turns its documented JSON (``docs/reference/json.md``) into
plain values. Units are those of the command: seconds, pages, counts.
"""

from numalab.lab import Comparison, Lab, LabError, LabWarning, rows

__version__ = "0.24.0"

__all__ = ["Comparison", "Lab", "LabError", "LabWarning", "__version__", "rows"]
