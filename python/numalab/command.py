"""The command ``numalab``, as pip installs it: the same program, inside the package's extension."""

from __future__ import annotations

import os
import signal
import sys


def main() -> int:
    """Carry out the command line and return the exit code."""
    from numalab import _native

    # The verbs that are written in Python run with this interpreter.
    os.environ["NUMALAB_PYTHON"] = sys.executable
    # Ctrl-C ends the program at once; while native code runs, Python would not see it.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    return _native.main(sys.argv[1:])


if __name__ == "__main__":
    sys.exit(main())
