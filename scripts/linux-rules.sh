#!/usr/bin/env bash
# The pure rules of the patches in linux/ against linux/vectors, in user space, and that the patches carry these vectors.
#
# Exit codes: 0 all agree, 1 a row fails or the patches carry other vectors, 3 this host lacks a compiler or python3.
set -euo pipefail
cd "$(dirname "$0")/.."
for tool in "${CC:-cc}" python3; do
  command -v "$tool" >/dev/null || { echo "linux-rules: $tool is missing" >&2; exit 3; }
done
python3 scripts/linux-vectors.py --check
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# Files that the patches make, without the kernel around them.
python3 - "$work" linux/patches/*.patch <<'END'
import sys
from pathlib import Path

work, *patches = sys.argv[1:]
for patch in patches:
    target = None
    before = ""
    for line in Path(patch).read_text().splitlines():
        if line.startswith("+++ b/"):
            name = line.removeprefix("+++ b/")
            wanted = before == "--- /dev/null" and (name.endswith("_rules.h") or name.startswith("mm/numalab/"))
            target = Path(work, name) if wanted else None
            if target:
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_text("")
        elif target and line.startswith("+"):
            with target.open("a") as file:
                file.write(line[1:] + "\n")
        before = line
END
# The kernel is built so too: signed numbers wrap.
"${CC:-cc}" -O1 -Wall -Wextra -Wno-sign-compare -fwrapv -I"$work/include" -I"$work/mm/numalab" -o "$work/rules" linux/tests/rules.c
"$work/rules"
