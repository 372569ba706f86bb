"""Keeps Dask's schedulers and workers of this machine from listening for HTTP.

They do so even without a dashboard, and any user of the machine could read the pages. Each program imports this module
first, by Dask's option ``preload``, since no option turns the server off.
"""

from __future__ import annotations

from typing import Any

from distributed.node import ServerNode


def _listen_nowhere(self: Any, *args: Any, **options: Any) -> None:
    """Stand for ``ServerNode.start_http_server``."""


ServerNode.start_http_server = _listen_nowhere
