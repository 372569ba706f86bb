"""A Dask cluster of this machine alone, which nobody else can talk to."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Mapping
from typing import Any

from numalab.errors import need

# Settings of Dask's processes on this machine. What they look at many times a second, idle ones too, costs 6 % of a CPU
# by default, and 1 % like this.
QUIET = {
    "distributed.admin.system-monitor.interval": "5s",
    "distributed.admin.tick.interval": "1s",
    "distributed.client.scheduler-info-interval": "10s",
    "distributed.worker.memory.monitor-interval": "1s",
    "distributed.worker.profile.enabled": False,
    # Programs whose client was killed end by themselves.
    "distributed.scheduler.idle-timeout": "60s",
}

# Settings of Dask's processes on this machine that close what other users of it could reach.
ALONE = {
    "distributed.scheduler.preload": ["numalab._no_http"],
    "distributed.worker.preload": ["numalab._no_http"],
}


@contextlib.contextmanager
def local_client(workers: int) -> Iterator[Any]:
    """Yield a client of a scheduler and so many workers on this machine, which end with it."""
    distributed = need("distributed", "sweep")
    # Programs of their own: a script that sweeps needs no guard around its main part, and no plan waits for this
    # interpreter.
    cluster_class = need("distributed.deploy.subprocess", "sweep").SubprocessCluster
    need("cryptography", "sweep")
    # Whoever reaches a scheduler runs code as its user, and every user of this machine reaches its loopback interface.
    # So all talk with a certificate of this sweep alone. Dask has no other way that keeps programs of their own.
    security = distributed.security.Security.temporary()
    options = {
        "n_workers": workers,
        "threads_per_worker": 1,
        "dashboard_address": None,
    }
    with contextlib.ExitStack() as stack:
        with _inherited({**QUIET, **ALONE, **_certificates(security)}):
            cluster = stack.enter_context(
                cluster_class(**options, security=security, worker_kwargs={"dashboard": False})
            )
            own = stack.enter_context(distributed.Client(cluster, set_as_default=False))
        yield own


def _certificates(security: Any) -> dict[str, Any]:
    """Return the settings of Dask that hold the keys of ``security``.

    They reach its programs in the environment, which only their user can read; all users can read a command line.
    """
    settings = {
        "distributed.comm.default-scheme": "tls",
        "distributed.comm.require-encryption": True,
        "distributed.comm.tls.ca-file": security.tls_ca_file,
    }
    for role in ("scheduler", "worker", "client"):
        for part in ("cert", "key"):
            settings[f"distributed.comm.tls.{role}.{part}"] = getattr(security, f"tls_{role}_{part}")
    return settings


@contextlib.contextmanager
def _inherited(settings: Mapping[str, Any]) -> Iterator[None]:
    """Give Dask's configuration with ``settings`` to programs that are started meanwhile.

    They import nothing from the current folder, which may be anybody's.
    """
    config = need("dask.config", "sweep")
    with config.set(settings):
        new = {
            "DASK_INTERNAL_INHERIT_CONFIG": config.serialize(config.global_config),
            "PYTHONSAFEPATH": "1",
        }
    before = {name: os.environ.get(name) for name in new}
    os.environ.update(new)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
