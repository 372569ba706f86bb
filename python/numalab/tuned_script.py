"""The script that ``tune`` writes: it sets files of a running kernel as root, and can set back what they had.

What it needs for that is data in a folder of its user alone. The script reads it as names that it knows and values that
such files can have, and executes none of it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

# Words that files of the kernel have beside whole numbers.
WORDS = ("N", "Y", "linear", "log", "none")
# Largest number that such a file takes.
LARGEST = 2**32 - 1

# Before the settings: where the state is, and what may be in it.
_HEAD = f"""set -eu
export LC_ALL=C PATH=/usr/sbin:/usr/bin:/sbin:/bin:/run/current-system/sw/bin
umask 077
fail() {{ echo "$1" >&2; exit 1; }}
# Whether a value is one that such files have.
is_value() {{
  case $1 in
    -1|{"|".join(WORDS)}) return 0;;
    ''|*[!0-9]*|???????????*) return 1;;
  esac
  [ "$1" -le {LARGEST} ]
}}
# Whether $1 is a $2 of this user, no link, with the mode $3.
is_own() {{ [ "$(stat -c '%F %u %a' -- "$1" 2>/dev/null)" = "$2 $(id -u) $3" ]; }}
# The file of a setting. Only these are ever written.
file_of() {{
  case $1 in
"""

# After them: applying and undoing.
_TAIL = """    *) return 1;;
  esac
}
put() { printf '%s\\n' "$2" >"$(file_of "$1")" || fail "$1 cannot be set; 'undo' sets back what was changed"; }
if [ "$(id -u)" = 0 ]; then above=/run; else above=${XDG_RUNTIME_DIR:-}; fi
case $above in
  /*) ;;
  *) fail "expected root, or a user with XDG_RUNTIME_DIR";;
esac
# Who may write to the folder above could put another one in its place.
case $(stat -Lc '%u %a' -- "$above") in
  '0 755'|'0 700'|"$(id -u) 700") ;;
  *) fail "$above may be written by others; expected a folder of root (755) or of this user (700)";;
esac
mkdir -m 700 "$above/numalab" 2>/dev/null || :
is_own "$above/numalab" directory 700 || fail "$above/numalab: expected a folder of this user alone (mode 700)"
old=$above/numalab/tune.undo
if [ "${1:-}" = undo ]; then
  [ -e "$old" ] || [ -L "$old" ] || fail "nothing was applied"
  is_own "$old" 'regular file' 600 || fail "$old: expected a file of this user alone (mode 600); nothing is changed"
  # All of it is checked before anything is set. The last line may lack its end.
  while read -r name value rest || [ -n "$name" ]; do
    file_of "$name" >/dev/null && is_value "$value" && [ -z "$rest" ] ||
      fail "$old: expected lines of a setting of this script and its value; nothing is changed"
  done <"$old"
  while read -r name value rest || [ -n "$name" ]; do put "$name" "$value"; done <"$old"
  rm "$old"
  exit
fi
[ $# = 0 ] || fail "expected no argument, or 'undo'"
[ ! -e "$old" ] && [ ! -L "$old" ] || fail "applied before; expected 'undo' first"
: >"$old.new"
"""

# All old values are kept before the first new one is set.
_KEEP = """  file=$(file_of "$name")
  value=$(cat "$file")
  is_value "$value" || fail "$file: expected a number; nothing is changed"
  echo "$name $value" >>"$old.new"
done
mv "$old.new" "$old"
"""


def shell_value(value: object) -> str | None:
    """Return what a file of the kernel is given for ``value``, or ``None`` if no such file has it."""
    if isinstance(value, bool):
        return "Y" if value else "N"
    text = str(value)
    is_number = re.fullmatch("[0-9]{1,10}", text, re.ASCII) and int(text) <= LARGEST
    return text if is_number or text == "-1" or text in WORDS else None


def is_plain(text: str) -> bool:
    """Whether a name has only letters, digits and ``_ . /``, so that the shell sees one word."""
    return re.fullmatch(r"[A-Za-z0-9_./]+", text, re.ASCII) is not None


def comment(text: str) -> str:
    """Return a line of comment. Names come from files of others, and must not end it."""
    return "# " + "".join(c if c.isprintable() else "?" for c in text)


def script(about: Iterable[str], files: Mapping[str, tuple[str, str]], remarks: Iterable[str]) -> str:
    """Return a script that gives files their values, by ``sh SCRIPT``, and sets them back, by ``sh SCRIPT undo``.

    ``files`` maps names of settings to paths, all of which are ``is_plain``, and values from ``shell_value``.
    ``about`` and ``remarks`` are comments before and after.
    """
    lines = ["#!/bin/sh", *map(comment, about)]
    if files:
        known = "".join(f"    {name}) echo {path};;\n" for name, (path, _) in files.items())
        body = _HEAD + known + _TAIL + f"for name in {' '.join(files)}; do\n" + _KEEP
        lines += [body.rstrip(), *(f"put {name} {value}" for name, (_, value) in files.items())]
    return "\n".join([*lines, *map(comment, remarks)]) + "\n"
