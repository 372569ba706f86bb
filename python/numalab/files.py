"""Files of the user: what is read is a regular file of a stated size, and what is written replaces its name."""

from __future__ import annotations

import errno
import os
import stat
import uuid
from pathlib import Path

# Largest file of a sweep, a workload or a kernel, and of a machine, bytes; the command has the same limits.
TEXT_BYTES_MAX = 1 << 20
MACHINE_BYTES_MAX = 16 << 20


def read_text(path: str | os.PathLike[str], most_bytes: int = TEXT_BYTES_MAX) -> str:
    """Return the text of a regular file. Raises ``OSError`` for another kind, a larger file, and what is no UTF-8."""
    # Without O_NONBLOCK, a pipe would keep the caller waiting for its writer.
    with open(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise OSError(errno.EINVAL, "not a regular file", os.fspath(path))
        data = file.read(most_bytes + 1)
    if len(data) > most_bytes:
        raise OSError(errno.EFBIG, f"more than {most_bytes >> 20} MiB", os.fspath(path))
    try:
        return data.decode()
    except UnicodeDecodeError as e:
        raise OSError(errno.EINVAL, "not UTF-8 text", os.fspath(path)) from e


def create(path: str | os.PathLike[str], data: bytes) -> None:
    """Write a new file. Raises ``FileExistsError`` if the name is taken, also by a link that points nowhere."""
    with open(path, "xb") as file:
        file.write(data)


def replace(path: str | os.PathLike[str], data: bytes) -> None:
    """Write a file in place of whatever has its name. A link of that name is replaced, and never followed."""
    place = Path(path)
    partial = place.with_name(f"{place.name}.{uuid.uuid4().hex}.partial")
    try:
        create(partial, data)
        os.replace(partial, place)
    except BaseException:
        partial.unlink(missing_ok=True)
        raise
