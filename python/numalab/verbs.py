"""The verbs of the command that are written in Python: ``numalab sweep`` and ``numalab tune``.

The command reads its options and starts this module with them as JSON, so the options are declared once.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from typing import Any

from numalab.errors import LabError, MissingExtra, SpecError


def sweep(options: Mapping[str, Any]) -> str:
    """Carry out ``numalab sweep`` and return its text."""
    from numalab.sweeps import sweep

    result = sweep(
        options["file"],
        out=options["out"],
        client=options["dask"],
        workers=options["workers"],
        cache=options["cache"],
        progress=not options["quiet"],
    )
    counts = result.counts
    status = {
        s["values"]: s["counts"]
        for s in result.table(["point", "status"]).column("status").value_counts().to_pylist()
    }
    figures = {
        "directory": result.out,
        "plans": len(result.grid or ()),
        "ran": counts.ran,
        "reused": counts.reused,
        "status": status,
    }
    if options["json"]:
        return json.dumps(figures, indent=2)
    ended = ", ".join(f"{n:,} {word}" for word, n in status.items())
    lines = [
        f"{figures['plans']:,} plans: {ended}.",
        f"{counts.ran:,} were run now, {counts.reused:,} were known.",
        *(f"{n:,}: {reason}." for reason, n in list(result.reasons().items())[:5]),
        f"Results: {result.out} (Parquet, a row per plan; in Python: numalab.open_sweep({result.out!r}).frame())",
    ]
    return "\n".join(lines)


def _knob(text: str) -> tuple[str, Any]:
    name, _, values = text.partition("=")
    if not name or not values:
        raise SpecError(f"--knob {text}: expected NAME=LEAST..LARGEST or NAME=A,B,…", file="--knob")
    least, dots, largest = values.partition("..")
    if dots:
        try:
            return name, (int(least), int(largest))
        except ValueError as e:
            raise SpecError(f"--knob {text}: expected whole numbers around `..`", file="--knob") from e
    return name, [int(v) if v.lstrip("-").isdigit() else v for v in values.split(",")]


def tune(options: Mapping[str, Any]) -> str:
    """Carry out ``numalab tune`` and return its text: the script, and which knob matters."""
    from numalab.tuning import OBJECTIVES, tune

    found = tune(
        options["workload"],
        options["machine"],
        dict(map(_knob, options["knob"])) or None,
        options["objective"] or OBJECTIVES,
        options["budget"],
        kernel=options["kernel"],
        params=dict(p.split("=", 1) for p in options["param"]),
        seeds=range(1, options["seeds"] + 1),
        storage=options["storage"],
        out=options["out"],
        patience=options["patience"],
        progress=not options["quiet"],
    )
    lines = []
    for name in found.objectives:
        try:
            shares = found.importances(name).items()
        except (MissingExtra, ValueError, RuntimeError):
            continue  # Without scikit-learn, or with too few points to tell.
        lines.append(
            f"# What {name} depends on: " + ", ".join(f"{k} {100 * v:.0f} %" for k, v in shares) + "."
        )
    given_up = f", {found.given_up} of them given up early" if found.given_up else ""
    tried = len(found.trials) + found.given_up
    lines.append(f"# {tried} points tried{given_up}; {len(found.pareto)} on the Pareto front.")
    head, _, rest = found.snippet().partition("\n")
    return "\n".join([head, *lines, rest.rstrip()])


def main(arguments: list[str]) -> int:
    """Carry out ``[VERB, OPTIONS]``, print the text, and return the exit code."""
    verb, options = arguments[0], json.loads(arguments[1])
    try:
        text = {"sweep": sweep, "tune": tune}[verb](options)
    except LabError as e:
        print(f"numalab: {e.message}", file=sys.stderr)
        return e.code
    except MissingExtra as e:
        print(f"numalab: {verb}: {e}", file=sys.stderr)
        return 3
    except KeyboardInterrupt:
        print(
            "numalab: interrupted; what has finished is kept, and the same command goes on", file=sys.stderr
        )
        return 130
    print(text)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
