"""Tables of the keys of files, for docs/reference.

The command says which keys there are: it refuses an unknown one with the list of those that it knows. It
also says what each takes: a date is a value that no key takes, and the refusal names what was expected. What
a key means stands in file_keys.toml. `NUMALAB_DOCS=write` writes the tables anew.
"""

import json
import os
import re
import subprocess
import tempfile
import tomllib
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
REFERENCE = ROOT / "docs/reference"
COMMAND = os.environ.get("NUMALAB", str(ROOT / "target/release/numalab"))
SECTIONS: dict[str, dict[str, Any]] = tomllib.loads((Path(__file__).parent / "file_keys.toml").read_text())
# No key takes a date.
WRONG = "1979-05-27"


def refusal(section: dict[str, Any], folder: Path, *lines: str, without: str = "") -> str:
    """What the command says of the section's file with `lines` in it and without the key `without`."""
    above, _, below = section["base"].strip().partition("{here}")
    # Only the table that the keys stand in: from the last heading on.
    start = above.rfind("\n[") + 1
    own = [line for line in above[start:].splitlines() if not (without and line.startswith(f"{without} = "))]
    text = above[:start] + "\n".join([*own, *lines]) + below
    (folder / "probe.toml").write_text(text)
    words = [COMMAND, "show", section["kind"], "probe.toml"]
    return subprocess.run(words, cwd=folder, capture_output=True, text=True, check=False).stderr.strip()


def beside(section: dict[str, Any], key: str) -> list[str]:
    """Lines without which a key of the section is not read."""
    line = section.get("beside", {}).get(key)
    return [line] if line else []


def known(section: dict[str, Any], folder: Path) -> set[str]:
    """The keys that the command knows in a section."""
    out = set(section.get("extra", {}))
    for key in ["", *section.get("beside", {})]:
        said = refusal(section, folder, *beside(section, key), "no_such_key = 1")
        listed = re.search(r"unknown key `[^`]*no_such_key`; expected one of (.*?)(;|$)", said)
        assert listed, said
        out |= set(listed[1].split(", "))
    return out


def takes(section: dict[str, Any], key: str, folder: Path) -> str:
    """What a key takes, in the words of the command."""
    if key in section.get("extra", {}):
        return str(section["extra"][key])
    if re.search(rf"^\[\[(\w+\.)*{key}\]\]$", section["base"].split("{here}")[1], re.MULTILINE):
        return "a list of tables"
    # Keys of the table at the top stand above other tables, and the only line of a key is the wrong one.
    said = refusal(section, folder, *beside(section, key), f"{key} = {WRONG}", without=key)
    found = re.search(r"is a date; expected (.*?)$", said)
    assert found, f"{key}: {said}"
    return found[1].split(" in each file")[0].replace(str(2**63 - 1), "2^63−1")


def required(section: dict[str, Any], key: str, folder: Path) -> bool:
    """Whether the file is refused without the key."""
    return f"{key}` is missing" in refusal(section, folder, without=key)


def meanings(section: dict[str, Any]) -> dict[str, str]:
    """What the keys mean."""
    if "comments" not in section:
        keys: dict[str, str] = section["keys"]
        return keys
    text = (ROOT / section["comments"]).read_text()
    found = re.findall(r"((?:^ *///.*\n)+) *pub (\w+): f64", text, re.MULTILINE)
    return {key: " ".join(re.findall(r"/// ?(.*)", doc)).rstrip(".") for doc, key in found}


def table(name: str, folder: Path) -> str:
    """The table of a section, as Markdown."""
    section = SECTIONS[name]
    told, keys = meanings(section), known(section, folder)
    assert keys == set(told), f"{name}: {sorted(keys ^ set(told))} (python/tests/file_keys.toml)"
    rows = ["| key | takes | meaning |", "|---|---|---|"]
    for key in told:
        kind = takes(section, key, folder)
        shown = {"a table": f"[{key}]", "a list of tables": f"[[{key}]]"}.get(kind, key)
        needed = "*Required.* " if required(section, key, folder) else ""
        meaning = told[key][:1].upper() + told[key][1:]
        rows.append(f"| `{shown}` | {kind.removeprefix('a ').removeprefix('an ')} | {needed}{meaning} |")
    return "\n".join(rows) + "\n"


def written(page: str, text: str) -> str:
    """The text of a page with its tables as they should be."""
    with tempfile.TemporaryDirectory() as folder:
        for name, section in SECTIONS.items():
            if section["page"] != page:
                continue
            marks = (f"<!-- keys: {name} -->\n", "<!-- end of keys -->")
            assert text.count(marks[0]) == 1, f"{page} has not one place for the keys of {name}"
            before, rest = text.split(marks[0])
            text = (
                before
                + marks[0]
                + "\n"
                + table(name, Path(folder))
                + "\n"
                + marks[1]
                + rest.split(marks[1], 1)[1]
            )
    return text


# Sections that are tables of another section's file: their place in it.
INSIDE = {
    "process": ("workload", "process"),
    "region": ("process", "region"),
    **{name: ("machine", name.split("-")[1]) for name in SECTIONS if name.startswith("machine-")},
}


def kind_schema(kind: str) -> dict[str, Any]:
    """The JSON Schema of what a key takes, from the words of the command."""
    whole = re.fullmatch(r"a whole number(?: from (\d+) to (\S+))?", kind)
    if whole:
        bounds = {} if whole[1] is None else {"minimum": int(whole[1])}
        most = whole[2] or ""
        return {"type": "integer", **bounds, **({"maximum": int(most)} if most.isdigit() else {})}
    known_kinds: dict[str, dict[str, Any]] = {
        "a string": {"type": "string"},
        "a finite number": {"type": "number"},
        "true or false": {"type": "boolean"},
        "a number or an expression": {"type": ["number", "string"]},
        "an expression or a list of expressions": {"type": ["number", "string", "array"]},
        "a table": {"type": "object"},
        "a list of tables": {"type": "array", "items": {"type": "object"}},
        "a list of strings": {"type": "array", "items": {"type": "string"}},
        "a list of finite numbers": {"type": "array", "items": {"type": "number"}},
        "a list of lists of finite numbers": {
            "type": "array",
            "items": {"type": "array", "items": {"type": "number"}},
        },
    }
    return known_kinds[kind]


def schema(name: str, folder: Path) -> dict[str, Any]:
    """The JSON Schema of a section's table, with the tables inside it."""
    section = SECTIONS[name]
    told = meanings(section)
    out: dict[str, Any] = {"type": "object", "additionalProperties": False, "properties": {}}
    for key, meaning in told.items():
        plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", meaning)
        out["properties"][key] = {"description": plain, **kind_schema(takes(section, key, folder))}
    for inner, (outer, key) in INSIDE.items():
        if outer != name:
            continue
        place = out["properties"][key]
        if place["type"] == "array":
            place["items"] = schema(inner, folder)
        else:
            out["properties"][key] = {"description": place["description"], **schema(inner, folder)}
    # A file that extends another one lacks what it takes from there.
    if "extends" not in told and not name.startswith("machine-"):
        out["required"] = [key for key in told if required(section, key, folder)]
    return out


def file_schema(name: str) -> str:
    """The text of the JSON Schema of a kind of file, for editors."""
    with tempfile.TemporaryDirectory() as folder:
        head = {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": f"numalab: {name} file"}
        return json.dumps({**head, **schema(name, Path(folder))}, indent=2, ensure_ascii=False) + "\n"
