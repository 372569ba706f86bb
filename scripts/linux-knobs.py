#!/usr/bin/env python3
"""The knobs of linux/series.toml, a line each: path, kind, values, default, with tabs between.

The guests of scripts/linux-guest.sh read it.
"""

import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def main() -> None:
    """Prints the lines."""
    series = tomllib.loads((ROOT / "linux/series.toml").read_text())
    for knob in series["knob"]:
        if "values" in knob:
            kind, values = "words", " ".join(knob["values"])
        else:
            kind, values = "number", f"{knob['min']} {knob['max']}"
        print("\t".join([knob["path"], kind, values, str(knob["default"])]))


if __name__ == "__main__":
    main()
