"""The manual keeps its form, and it holds.

Sentences are short, all pages are in the navigation, options are known, tables of keys are fresh, and
commands run and print what is shown."""

import json
import os
import re
import subprocess
import tempfile
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import file_keys
import jsonschema
import pytest
import scores
import shown

ROOT = Path(__file__).parents[2]
MANUAL = ("tutorials", "how-to", "reference", "explanation")
# Written from the code.
GENERATED = {
    "commands.md",
    "counters.md",
    "exit-codes.md",
    "fidelity-concurrent.md",
    "fidelity.md",
    "python-api.md",
    "roles.md",
    "schemas.md",
    "tunables.md",
}
COMMAND = os.environ.get("NUMALAB", str(ROOT / "target/release/numalab"))
# Verbs that have verbs of their own.
FAMILIES = {"machine", "kernel"}
# Names of formats that begin with the same word.
FORMATS = {"record", "experiment"}
MOST_WORDS = 26


def paragraphs(text: str) -> Iterator[str]:
    """The prose of a page: paragraphs and items of lists, without code, tables and headings."""
    text = re.sub(r"^```.*?^```", "", text, flags=re.DOTALL | re.MULTILINE)
    text = re.sub(r"^[#|!].*$", "", text, flags=re.MULTILINE)
    text = re.sub(r"^\s*(\*|-|\d+\.) ", "\n", text, flags=re.MULTILINE)
    for part in re.split(r"\n\s*\n", text):
        yield " ".join(part.split())


def sentences(text: str) -> Iterator[str]:
    """The sentences of a page. Code counts as one word, and a link as its text."""
    for part in paragraphs(text):
        plain = re.sub(r"`[^`]*`", "x", re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", part))
        yield from re.split(r"(?<=[.:;!?])[\"*)]*\s+", plain)


def manual() -> list[Path]:
    """The pages that are written by hand and tell what holds now."""
    pages = [p for f in MANUAL for p in (ROOT / "docs" / f).glob("**/*.md") if p.name not in GENERATED]
    assert len(pages) > 20
    return [*pages, ROOT / "README.md", ROOT / "docs" / "index.md"]


def commands(text: str) -> Iterator[list[str]]:
    """The words of every numalab command in code, up to the next command of the shell or a comment."""
    code = re.findall(r"```.*?```|`[^`\n]+`", text.replace("\\\n", " "), re.DOTALL)
    for found in re.findall(r"(?<![\w/.-])(?<!from )(?<!import )numalab (?=[a-z])([^`\n]*)", "\n".join(code)):
        line = re.split(r" #|\\?[|>]| &&", re.sub(r"'[^']*'", "x", found))[0]
        yield line.split()


@cache
def options(*verbs: str) -> str:
    """The help of a verb, or nothing if there is no such verb."""
    ended = subprocess.run([COMMAND, *verbs, "--help"], capture_output=True, text=True, check=False)
    return ended.stdout if ended.returncode == 0 else ""


def test_the_home_page_has_every_how_to() -> None:
    links = re.findall(r"\]\(how-to/([\w-]+\.md)\)", (ROOT / "docs/index.md").read_text())
    assert sorted(links) == sorted(p.name for p in (ROOT / "docs/how-to").glob("*.md"))


def test_commands_of_the_manual_exist() -> None:
    seen, wrong = 0, []
    for page in manual():
        for words in commands(page.read_text()):
            verbs = words[: 2 if words[0] in FAMILIES or words[:2] == ["explain", "ladder"] else 1]
            known = set(re.findall(r"--[a-z][\w-]*", options(*verbs)))
            given = {o[0] for o in (re.match(r"--[a-z][\w-]*", w) for w in words) if o}
            seen += 1
            if verbs[0] not in FORMATS | {"help"} and (not known or not given <= known):
                wrong.append(f"{page.relative_to(ROOT)}: {' '.join(words)}")
    assert seen > 100
    assert wrong == []


def cells(text: str) -> Iterator[str]:
    """The sentences in the cells of tables."""
    text = re.sub(r"^```.*?^```", "", text, flags=re.DOTALL | re.MULTILINE).replace("\\|", "/")
    for row in re.findall(r"^\|.*$", text, re.MULTILINE):
        plain = re.sub(r"`[^`]*`", "x", re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", row))
        for cell in plain.split("|"):
            yield from re.split(r"(?<=[.:;!?])[\"*)]*\s+", cell)


def test_sentences_of_the_manual_are_short() -> None:
    generated = [ROOT / "docs/reference" / name for name in sorted(GENERATED)]
    long = [
        f"{page.relative_to(ROOT)}: {sentence}"
        for page in [*manual(), *generated]
        for sentence in [*sentences(page.read_text()), *cells(page.read_text())]
        if len(sentence.split()) > MOST_WORDS
    ]
    assert long == []


def test_readme_is_a_screen_and_a_half() -> None:
    assert len((ROOT / "README.md").read_text().split()) <= 900


def test_every_page_is_in_the_navigation() -> None:
    navigation = (ROOT / "mkdocs.yml").read_text().split("\nnav:")[1]
    named = re.findall(r"[\w./-]+\.md", navigation)
    docs = ROOT / "docs"
    # The site makes a page of each notebook (scripts/notebook_pages.py).
    pages = [*docs.glob("**/*.md"), *(p.with_suffix(".md") for p in docs.glob("notebooks/*.ipynb"))]
    assert sorted(named) == sorted(p.relative_to(docs).as_posix() for p in pages)


def pages_with_keys() -> list[str]:
    return sorted({str(section["page"]) for section in file_keys.SECTIONS.values()})


@pytest.mark.parametrize("name", pages_with_keys())
def test_tables_of_keys_are_fresh(name: str) -> None:
    page = file_keys.REFERENCE / name
    text = page.read_text()
    want = file_keys.written(name, text)
    if "write" in shown.MODES:
        page.write_text(want)
        text = want
    assert text == want, f"docs/reference/{name} is stale: `make reference` writes its tables anew"


def test_every_key_of_a_step_is_described() -> None:
    text = (file_keys.REFERENCE / "workloads.md").read_text()
    steps = text.split("## Steps")[1].split("## What is refused")[0]
    base = 'name = "probe"\ntitle = "t"\nabout = "a"\nsource = "s"\n[[process]]\nname = "main"\n'
    base += '[[process.region]]\nname = "b"\nsize = "1MiB"\n[[process.phase]]\n{here}\n'
    patterns = {
        "sequential": "",
        "strided": "stride",
        "random": "",
        "zipf": "theta",
        "reuse": "alpha",
        "blocks": "block",
    }
    seen = set()
    for pattern, key in patterns.items():
        # Values that are right, so that the only refusal is that of the unknown key.
        lines = ['access = "b"', f'pattern = "{pattern}"']
        lines += ["accesses = 1"] if pattern not in ("sequential", "strided") else []
        lines += (
            [{"stride": 'stride = "128B"', "block": 'block = "4KiB"'}.get(key, f"{key} = 0.5")] if key else []
        )
        section = {"base": base.replace("{here}", "\n".join([*lines, "{here}"])), "kind": "workloads"}
        with tempfile.TemporaryDirectory() as folder:
            seen |= file_keys.known(section, Path(folder))
    assert len(seen) > 25
    assert sorted(k for k in seen if not re.search(rf"`(\w+ = [^`]*, )*{k}\b", steps)) == []


def pages_with_commands() -> list[str]:
    """The pages that run commands, relative to the root."""
    return [
        p.relative_to(ROOT).as_posix()
        for p in manual()
        if list(shown.blocks(p.read_text(), slow=True)) and p.name != "README.md"
    ]


@pytest.mark.parametrize("name", pages_with_commands())
def test_commands_run_and_print_what_is_shown(name: str, tmp_path: Path) -> None:
    shown.check(ROOT / name, tmp_path)


def test_most_pages_have_commands() -> None:
    assert len(pages_with_commands()) > 15


def test_scores_are_fresh() -> None:
    text = scores.PAGE.read_text()
    want = scores.written(text)
    if "write" in shown.MODES:
        scores.PAGE.write_text(want)
        text = want
    assert text == want, "docs/explanation/trust.md is stale: `make reference` writes its scores anew"


def test_the_readme_has_the_scores_of_the_page() -> None:
    text = " ".join(scores.PAGE.read_text().split())
    found = re.search(
        r"of (\d+) predicted cells .*?, (\d+) change .*?: (\d+) of them lie within .*?: of (\d+) counter .*?, (\d+) \(",
        text,
    )
    assert found and list(found.groups()) == scores.in_readme()


def test_a_measured_advice_has_its_schema(tmp_path: Path) -> None:
    """The command measures on a tree of files with two nodes, as its sample cannot be made in the test of schemas."""
    files = {"root/proc/sys/kernel/numa_balancing": "1\n"}
    for node in range(2):
        at = f"root/sys/devices/system/node/node{node}"
        files[f"{at}/meminfo"] = f"Node {node} MemTotal: 1000000 kB\nNode {node} MemFree: 900000 kB\n"
        files[f"{at}/cpulist"] = "0\n"
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    words = [
        COMMAND,
        "advise",
        "--root",
        "root",
        "--out",
        "kept",
        "--json",
        "--metric-cmd",
        "cat",
        "--",
        "echo",
        "7",
    ]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=True)
    advice = json.loads(done.stdout)
    schema = json.loads((file_keys.REFERENCE / "schemas/advise-measurement.schema.json").read_text())
    wrong = [
        f"{e.json_path}: {e.message}" for e in jsonschema.Draft202012Validator(schema).iter_errors(advice)
    ]
    assert wrong == []
    assert advice.keys() == schema["properties"].keys()
    assert advice["ways"][0].keys() == schema["properties"]["ways"]["items"]["properties"].keys()


@pytest.mark.parametrize("kind", ["experiment", "kernel", "machine", "workload"])
def test_schemas_of_files_are_fresh_and_take_the_catalog(kind: str) -> None:
    page = file_keys.REFERENCE / f"schemas/{kind}-file.schema.json"
    want = file_keys.file_schema(kind)
    if "write" in shown.MODES:
        page.write_text(want)
    assert page.read_text() == want, f"{page.relative_to(ROOT)} is stale: `make reference` writes it anew"
    validator = jsonschema.Draft202012Validator(json.loads(want))
    files = sorted((ROOT / f"catalog/{kind}s").glob("*.toml"))
    assert len(files) > 10
    for file in files:
        wrong = [
            f"{file.name}: {e.json_path}: {e.message}"
            for e in validator.iter_errors(tomllib.loads(file.read_text()))
        ]
        assert wrong == []
    assert not validator.is_valid({"name": "a", "titel": "b"})
