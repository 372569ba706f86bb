#!/usr/bin/env python3
"""Checks licences of what numalab is built from, and writes the notices and the parts list of archive and wheel.

Usage: scripts/notices.py --check
       scripts/notices.py PACKAGE DIR
PACKAGE is numalab-cli or numalab-py; DIR gets THIRD-PARTY.txt and sbom.cdx.json.

The parts are the crates that the package links on this machine, in the versions of Cargo.lock. A licence must be among
those of deny.toml, or one side of its OR. Two versions of a crate must be named there. THIRD-PARTY.txt has the texts
that the crates come with, as MIT, BSD and bzip2 ask for. sbom.cdx.json is CycloneDX 1.5. Exit codes: 0; 1 with what
deny.toml does not allow; 2 for wrong arguments.
"""

import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
#: What the files that hold a licence are called.
TEXTS = re.compile(r"(LICEN[CS]E|COPYING|NOTICE|UNLICENSE)", re.IGNORECASE)
PACKAGES = ("numalab-cli", "numalab-py")


def metadata() -> dict[str, Any]:
    """What cargo says of all packages and their dependencies."""
    command = ["cargo", "metadata", "--locked", "--format-version", "1", "--filter-platform", host()]
    done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, check=True)
    out: dict[str, Any] = json.loads(done.stdout)
    return out


def host() -> str:
    """The target of this machine."""
    text = subprocess.run(["rustc", "-vV"], stdout=subprocess.PIPE, text=True, check=True).stdout
    return next(line.split()[1] for line in text.splitlines() if line.startswith("host:"))


def parts(data: dict[str, Any], package: str) -> list[dict[str, Any]]:
    """The packages from elsewhere that `package` links, by name and version."""
    packages = {p["id"]: p for p in data["packages"]}
    nodes = {n["id"]: n for n in data["resolve"]["nodes"]}
    todo = [p["id"] for p in data["packages"] if p["name"] == package]
    seen: set[str] = set()
    while todo:
        at = todo.pop()
        if at in seen:
            continue
        # Macros run when numalab is built, and are in no program either.
        if any("proc-macro" in t["kind"] for t in packages[at]["targets"]):
            continue
        seen.add(at)
        # Dependencies of builds and tests are in no program.
        todo += [d["pkg"] for d in nodes[at]["deps"] if any(k["kind"] is None for k in d["dep_kinds"])]
    found = [packages[i] for i in seen if packages[i]["source"]]
    return sorted(found, key=lambda p: (p["name"], p["version"]))


def is_allowed(licence: str, allowed: set[str]) -> bool:
    """Whether an SPDX expression can be met with allowed licences; `/` is an old way to write OR."""
    words = re.findall(r"[()]|AND|OR|[^\s()/]+(?: WITH [^\s()/]+)?|/", licence)
    parts = [
        {"AND": " and ", "OR": " or ", "/": " or ", "(": "(", ")": ")"}.get(w, str(w in allowed))
        for w in words
    ]
    return bool(
        eval("".join(parts), {"__builtins__": {}})
    )  # words are True, False, and, or, and parentheses alone


def findings(data: dict[str, Any]) -> list[str]:
    """What deny.toml does not allow, a sentence each."""
    deny = tomllib.loads((ROOT / "deny.toml").read_text())
    allowed = set(deny["licenses"]["allow"])
    skipped = {s["crate"] for s in deny["bans"]["skip"]}
    out = []
    for package in PACKAGES:
        versions: dict[str, list[str]] = {}
        for part in parts(data, package):
            versions.setdefault(part["name"], []).append(part["version"])
            licence = part["license"] or ""
            if not is_allowed(licence or "none", allowed):
                out.append(
                    f"{part['name']} {part['version']} has licence {licence or 'none'}, which deny.toml does not allow"
                )
        for name, those in versions.items():
            if len(those) > 1 and not skipped.issuperset(f"{name}@{v}" for v in those[:-1]):
                out.append(
                    f"{name} is in {package} in versions {', '.join(those)}; expected one, or a `skip` in deny.toml"
                )
    return sorted(set(out))


def texts(part: dict[str, Any]) -> list[str]:
    """The licences and notices that a package comes with."""
    folder = Path(part["manifest_path"]).parent
    files = sorted(f for f in folder.iterdir() if f.is_file() and TEXTS.match(f.name))
    return [f.read_text(errors="replace").strip() for f in files]


def notices(those: list[dict[str, Any]]) -> str:
    """THIRD-PARTY.txt: a line for each part, and each text once with those that come with it."""
    lines = ["numalab contains these packages, under these licences.", ""]
    by_text: dict[str, list[str]] = {}
    for part in those:
        name = f"{part['name']} {part['version']}"
        own = texts(part)
        authors = ", ".join(part["authors"])
        lines.append(f"{name}: {part['license']}{f', by {authors}' if authors and not own else ''}")
        for text in own:
            by_text.setdefault(text, []).append(name)
    for text, names in by_text.items():
        lines += ["", "=" * 80, ", ".join(names), "=" * 80, "", text]
    return "\n".join(lines) + "\n"


def sbom(those: list[dict[str, Any]], package: str) -> dict[str, Any]:
    """The parts list in the form of CycloneDX 1.5."""
    lock = tomllib.loads((ROOT / "Cargo.lock").read_text())["package"]
    sums = {(p["name"], p["version"]): p.get("checksum") for p in lock}
    version = tomllib.loads((ROOT / "Cargo.toml").read_text())["workspace"]["package"]["version"]

    def component(part: dict[str, Any]) -> dict[str, Any]:
        name, number = part["name"], part["version"]
        purl = f"pkg:cargo/{name}@{number}"
        out = {"type": "library", "bom-ref": purl, "name": name, "version": number, "purl": purl}
        out["licenses"] = [{"expression": part["license"].replace("/", " OR ")}]
        if checksum := sums.get((name, number)):
            out["hashes"] = [{"alg": "SHA-256", "content": checksum}]
        return out

    whole = {"type": "application", "bom-ref": package, "name": package, "version": version}
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {"component": whole},
        "components": [component(p) for p in those],
    }


def main() -> int:
    """Checks, or writes both files."""
    match sys.argv[1:]:
        case ["--check"]:
            wrong = findings(metadata())
            print("\n".join(wrong) or "licences and versions are as deny.toml has them")
            return 1 if wrong else 0
        case [package, folder] if package in PACKAGES:
            those = parts(metadata(), package)
            (Path(folder) / "THIRD-PARTY.txt").write_text(notices(those))
            (Path(folder) / "sbom.cdx.json").write_text(json.dumps(sbom(those, package), indent=1) + "\n")
            return 0
    print(f"usage: notices.py --check, or notices.py {'|'.join(PACKAGES)} DIR", file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main())
