"""Programs of a sweep on this machine talk to nobody else, and run no code of the current folder."""

import contextlib
import os
import socket
import ssl
import subprocess
import sys
from pathlib import Path
from typing import Any

import psutil
import pytest
from distributed import Client
from distributed.security import Security
from test_sweep import COMMAND, FILE, grid

import numalab as nl
from numalab.local_cluster import local_client


def listening(pids: list[int]) -> list[Any]:
    """Return the addresses at which programs accept connections."""
    connections = [c for pid in pids for c in psutil.Process(pid).net_connections("inet")]
    return [c.laddr for c in connections if c.status == psutil.CONN_LISTEN]


def test_nobody_else_talks_to_the_programs_of_this_machine() -> None:
    with local_client(1) as own:
        own.wait_for_workers(1)
        assert own.scheduler.address.startswith("tls://127.0.0.1:")
        programs = [p.pid for p in psutil.Process().children(recursive=True)]
        open_at = listening(programs)
        # Scheduler, nanny and worker: no page of any of them listens besides.
        assert len(open_at) == 3 and {a.ip for a in open_at} == {"127.0.0.1"}
        for at in open_at:
            address = f"{at.ip}:{at.port}"
            # Another certificate, whose holder trusts whatever this one shows.
            stranger = Security.temporary()
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
            context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
            for certificate in (None, stranger):
                if certificate is not None:
                    context = certificate.get_connection_args("client")["ssl_context"]
                    context.verify_mode = ssl.CERT_NONE
                with pytest.raises((ssl.SSLError, ConnectionError)):
                    with socket.create_connection((at.ip, at.port), timeout=20) as plain:
                        # The refusal of TLS 1.3 comes with the first bytes that are read.
                        with context.wrap_socket(plain) as secure:
                            if secure.recv(1) == b"":
                                raise ConnectionError("closed")
            with socket.create_connection((at.ip, at.port), timeout=20) as plain:
                plain.sendall(b"GET / HTTP/1.0\r\n\r\n")
                with contextlib.suppress(ConnectionError):
                    assert not plain.recv(100).startswith(b"HTTP"), address
        with pytest.raises(OSError):
            Client(own.scheduler.address.replace("tls", "tcp"), timeout="3s", set_as_default=False)
        # Users can read command lines of others, but not their environment.
        for pid in programs:
            assert not any("PRIVATE KEY" in word for word in psutil.Process(pid).cmdline())
        assert own.submit(sum, [1, 2]).result() == 3


def test_no_code_of_the_current_folder_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("dask", "distributed", "numalab", "json"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").write_text(
            f"open({str(tmp_path / 'ran')!r}, 'a').write({name!r})\n"
        )
    monkeypatch.chdir(tmp_path)
    done = nl.sweep(grid(seeds=1), out=tmp_path / "out", workers=1, progress=False)
    assert done.counts.ran == 4
    (tmp_path / "file.toml").write_text(FILE)
    environment = {
        **os.environ,
        "NUMALAB_PYTHON": sys.executable,
        "PYTHONPATH": str(Path(nl.__file__).parents[1]),
    }
    for line in (
        ["sweep", "file.toml", "--workers", "1"],
        ["tune", "--machine", "2x1x2x1", "--workload", "x"],
    ):
        ended = subprocess.run([COMMAND, *line], env=environment, capture_output=True, text=True, check=False)
        assert ended.returncode in (0, 2), ended.stderr
    assert not (tmp_path / "ran").exists(), (tmp_path / "ran").read_text()
