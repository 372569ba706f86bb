"""``python -m numalab`` is the command ``numalab``."""

import sys

from numalab.command import main

sys.exit(main())
