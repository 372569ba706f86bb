"""The scores on docs/explanation/trust.md, from the catalog, docs/log/scores.toml and the fidelity page."""

import re
import tomllib
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs/explanation/trust.md"
HITS = ("direction_right", "within_1_25", "within_2")


def load(name: str) -> dict[str, Any]:
    return tomllib.loads((ROOT / name).read_text())


def linked(source: str) -> str:
    """Who posted a table and when, as a link to the message."""
    found = re.fullmatch(r"(.*), Linux kernel mailing list, (.*), (https://\S+)", source)
    return f"[{found[1]}, {found[2]}]({found[3]})" if found else source


def guests() -> tuple[int, int, str]:
    """Cells that hit, all cells, and the share, from the page that `make fidelity` writes."""
    text = (ROOT / "docs/reference/fidelity.md").read_text()
    found = re.search(r"\*\*(\d+) of (\d+) cells hit, ([\d.]+) %\.\*\*", text)
    assert found, "docs/reference/fidelity.md has no score"
    return int(found[1]), int(found[2]), found[3]


def in_readme() -> list[str]:
    """Numbers that the README tells of the scores, in its order."""
    text = " ".join((ROOT / "README.md").read_text().split())
    found = re.search(
        r"Of (\d+) predicted cells in \w+ published tables, (\d+) change .*? and (\d+) lie within a factor of 1.25\. "
        r"\* Of (\d+) counter figures .*?, (\d+) lie",
        text,
    )
    assert found, "README.md tells no scores"
    return list(found.groups())


def late_table(entries: list[dict[str, Any]], tables: dict[str, dict[str, Any]]) -> list[str]:
    """The table of first results with one row for each entry of scores.toml, and their sums."""
    columns = ("direction_right", "within_1_25", "within_2", "in_band")
    rows = [
        "| table (alias) | posted | predicted | direction right | within 1.25 | within 2 | in its band | measured |",
        "|---|---|--:|--:|--:|--:|--:|---|",
    ]
    for m in entries:
        table = tables[m["table"]]
        hits = " | ".join(str(m[key]) for key in columns[:3])
        rows.append(
            f"| `{table['name']}` ({table['alias']})<br>{m['what']} | {linked(table['source'])} | "
            f"{m['predicted']} | {hits} | {m['in_band']} of {m['banded']} | {m['date']}, {m['release']} |"
        )
    of = {key: sum(m[key] for m in entries) for key in (*columns, "predicted", "banded")}
    rows.append(
        f"| all | | {of['predicted']} | {of['direction_right']} | {of['within_1_25']} | {of['within_2']} | "
        f"{of['in_band']} of {of['banded']} | |"
    )
    return rows


def parts() -> dict[str, str]:
    """What stands between the marks of the page."""
    data = load("docs/log/scores.toml")
    tables = {str(m["table"]): load(f"catalog/published/{m['table']}.toml") for m in data["measured"]}
    later = {str(m["table"]): load(f"catalog/published/{m['table']}.toml") for m in data["later"]}
    assert sorted([*tables, *later]) == sorted(p.stem for p in (ROOT / "catalog/published").glob("*.toml"))
    cells = sum(m["predicted"] for m in data["measured"])
    sums = {key: sum(t["expect"][key] for t in tables.values()) for key in HITS}
    hit, all_, share = guests()
    short = [
        f"* **Direction**: of {cells} predicted cells in {len(tables)} published tables, "
        f"{sums['direction_right']} change in the published direction.",
        f"* **Size**: {sums['within_1_25']} of them lie within a factor of 1.25 of the published ratio, "
        f"and {sums['within_2']} within a factor of 2.",
        f"* **Counters, in sample**: of {all_} counter figures of real kernels, {hit} ({share} %) lie within 1.25 "
        "of the kernel's own range. Mechanisms were found with these very guests.",
        f"* **Counters, out of sample**: of the same figures, the release that had not seen these guests hit "
        f"{data['guests']['before']} ({100 * data['guests']['before'] / all_:.1f} %).",
    ]
    rows = [
        "| table (alias) | posted | predicted | direction right | within 1.25 | within 2 | measured |",
        "|---|---|--:|--:|--:|--:|---|",
    ]
    repeats = ["| table | measured again | posted |", "|---|---|---|"]
    for m in data["measured"]:
        table = tables[m["table"]]
        hits = " | ".join(str(table["expect"][key]) for key in HITS)
        rows.append(
            f"| `{table['name']}` ({table['alias']})<br>{m['what']} | {linked(table['source'])} | "
            f"{m['predicted']} | {hits} | {m['date']}, {m['release']} |"
        )
        for r in table.get("repeats", []):
            repeats.append(f"| `{table['name']}` | {r['name']} | {linked(r['source'])} |")
    later_rows = late_table(data["later"], later)
    second_rows = late_table(data["second"], later)
    dated = (
        f"Measured on {data['guests']['date']} with release {data['guests']['release']}: of {all_} figures "
        f"of the four counters of automatic balancing,\n{hit} ({share} %) lie within 1.25 "
        "of the kernel's own range."
    )
    return {
        "short": "\n".join(short),
        "tables": "\n".join(rows),
        "later": "\n".join(later_rows),
        "second": "\n".join(second_rows),
        "repeats": "\n".join(repeats),
        "guests": dated,
    }


def written(text: str) -> str:
    """The text of the page with its scores as they should be."""
    for name, part in parts().items():
        mark, end = f"<!-- scores: {name} -->\n", "<!-- end of scores -->"
        assert text.count(mark) == 1, f"trust.md has not one place for {name}"
        before, rest = text.split(mark)
        text = f"{before}{mark}\n{part}\n\n{end}{rest.split(end, 1)[1]}"
    return text
