"""Whatever is killed in mid-sweep, no finished plan is lost, and none runs twice but those in flight.

Scheduler, workers and client are programs of their own, on the loopback interface."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from distributed.security import Security

import numalab as nl

PACKAGE = Path(nl.__file__).parents[1]
HERE = Path(__file__).parent
COMMAND = os.environ.get("NUMALAB", str(Path(__file__).parents[2] / "target/release/numalab"))
PATIENCE_S = 240.0
# Plans of some 30 ms, so that a kill comes while most are still to do.
PLANS = 60


def grid() -> nl.Grid:
    return nl.Grid(["2x1x2x1"], ["6.12"], ["numa02"], params={"loops": [60]}, seeds=PLANS)


CLIENT = f"""
import sys
sys.path.insert(0, {str(HERE)!r})
import numalab as nl
from test_sweep_kill import grid
nl.sweep(grid(), out=sys.argv[1], client=sys.argv[2], progress=False)
"""

ALONE = f"""
import sys
sys.path.insert(0, {str(HERE)!r})
import numalab as nl
from numalab.local_cluster import QUIET
from test_sweep_kill import grid
QUIET["distributed.scheduler.idle-timeout"] = "2s"
nl.sweep(grid(), out=sys.argv[1], workers=2, progress=False)
"""


def programs_of(log: Path) -> list[int]:
    """Return the programs that have this log in their environment."""
    found, mark = list[int](), f"NUMALAB_TEST_LOG={log}".encode()
    for place in Path("/proc").glob("[0-9]*/environ"):
        with contextlib.suppress(OSError):
            if mark in place.read_bytes().split(b"\0"):
                found.append(int(place.parent.name))
    return found


class Cluster:
    """A scheduler and its workers, and what the workers wrote down."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.programs = folder, list[subprocess.Popen[bytes]]()
        self.log = folder / "log"
        self.environment = {
            **os.environ,
            "PYTHONPATH": f"{PACKAGE}:{HERE}",
            "NUMALAB_TEST_LOG": str(self.log),
        }
        self.starts = 0

    def start(self, *words: str) -> subprocess.Popen[bytes]:
        self.starts += 1
        with (self.folder / f"program-{self.starts}.txt").open("wb") as out:
            program = subprocess.Popen(
                [sys.executable, *words],
                cwd=self.folder,
                env=self.environment,
                stdout=out,
                stderr=out,
                start_new_session=True,
            )
        self.programs.append(program)
        return program

    def scheduler(self, *options: str) -> subprocess.Popen[bytes]:
        file = self.folder / "scheduler.json"
        file.unlink(missing_ok=True)
        program = self.start(
            *("-m", "dask", "scheduler", "--host", "127.0.0.1", "--port", "0"),
            *("--no-dashboard", "--no-show", "--scheduler-file", str(file), *options),
        )
        self.wait(lambda: file.exists() and file.read_text().strip().endswith("}"))
        self.address = str(json.loads(file.read_text())["address"])
        return program

    def worker(self) -> subprocess.Popen[bytes]:
        return self.start(
            *("-m", "dask", "worker", self.address, "--nthreads", "1", "--no-nanny", "--no-dashboard"),
            *("--host", "127.0.0.1", "--death-timeout", "20", "--preload", str(HERE / "count_runs.py")),
        )

    def client(self, out: Path) -> subprocess.Popen[bytes]:
        return self.start("-c", CLIENT, str(out), self.address)

    def wait(self, until) -> None:  # type: ignore[no-untyped-def]
        end = time.monotonic() + PATIENCE_S
        while not until():
            assert time.monotonic() < end, "\n".join(p.read_text() for p in self.folder.glob("program-*.txt"))
            time.sleep(0.02)

    def noted(self, what: str) -> Counter[str]:
        lines = self.log.read_text().splitlines() if self.log.exists() else []
        return Counter(line.split()[1] for line in lines if line.startswith(what))

    def kill(self, program: subprocess.Popen[bytes]) -> None:
        os.killpg(program.pid, signal.SIGKILL)
        program.wait()

    def end(self) -> None:
        for pid in programs_of(self.log):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        for program in self.programs:
            if program.poll() is None:
                with contextlib.suppress(ProcessLookupError):
                    self.kill(program)


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    cluster = Cluster(tmp_path)
    try:
        yield cluster
    finally:
        cluster.end()


def check(cluster: Cluster, out: Path, in_flight: int) -> None:
    """All plans have a result; at most ``in_flight`` plans were begun again, and none that was kept."""
    frame = nl.open_sweep(out).frame()
    assert list(frame["point"]) == list(range(PLANS)) and set(frame["status"]) == {"completed"}
    begun, kept = cluster.noted("begin"), cluster.noted("kept")
    assert set(begun) == set(frame["plan"])
    assert max(kept.values()) == 1, "a plan was run after it was kept"
    assert sum(begun.values()) <= PLANS + in_flight


def some_are_kept(cluster: Cluster) -> bool:
    return len(cluster.noted("kept")) >= 5


def test_a_worker_is_killed(cluster: Cluster, tmp_path: Path) -> None:
    cluster.scheduler()
    first, _ = cluster.worker(), cluster.worker()
    client = cluster.client(tmp_path / "out")
    cluster.wait(lambda: some_are_kept(cluster))
    assert client.poll() is None, "the kill comes in mid-sweep"
    cluster.kill(first)
    cluster.wait(lambda: client.poll() is not None)
    assert client.returncode == 0
    check(cluster, tmp_path / "out", 1)


def test_the_scheduler_is_killed(cluster: Cluster, tmp_path: Path) -> None:
    scheduler = cluster.scheduler()
    workers = [cluster.worker(), cluster.worker()]
    client = cluster.client(tmp_path / "out")
    cluster.wait(lambda: some_are_kept(cluster))
    cluster.kill(scheduler)
    # The client says so and ends; the workers end by themselves or are taken down.
    cluster.wait(lambda: client.poll() is not None)
    assert client.returncode != 0
    said = "".join(p.read_text() for p in tmp_path.glob("program-*.txt"))
    assert "finished plans are kept, and the same call goes on from there" in said
    for worker in workers:
        if worker.poll() is None:
            cluster.kill(worker)
    assert len(cluster.noted("kept")) < PLANS
    cluster.scheduler()
    cluster.worker()
    again = cluster.client(tmp_path / "out")
    cluster.wait(lambda: again.poll() is not None)
    assert again.returncode == 0
    check(cluster, tmp_path / "out", 2)


def test_the_client_is_killed(cluster: Cluster, tmp_path: Path) -> None:
    cluster.scheduler()
    cluster.worker()
    cluster.worker()
    client = cluster.client(tmp_path / "out")
    cluster.wait(lambda: some_are_kept(cluster))
    cluster.kill(client)
    assert len(cluster.noted("kept")) < PLANS
    again = cluster.client(tmp_path / "out")
    cluster.wait(lambda: again.poll() is not None)
    assert again.returncode == 0
    check(cluster, tmp_path / "out", 2)


def test_programs_of_this_machine_end_when_their_client_is_killed(cluster: Cluster, tmp_path: Path) -> None:
    client = cluster.start("-c", ALONE, str(tmp_path / "out"))
    cluster.wait(lambda: list(tmp_path.glob("out/workload=*/*.parquet")))
    assert client.poll() is None and len(programs_of(cluster.log)) >= 4, "a scheduler and two workers besides"
    # The client alone.
    client.kill()
    client.wait()
    cluster.wait(lambda: programs_of(cluster.log) == [])


def test_the_command_sweeps_on_a_cluster(cluster: Cluster, tmp_path: Path) -> None:
    cluster.scheduler()
    cluster.worker()
    (tmp_path / "far.toml").write_text(
        'machines = ["2x1x2x1"]\nkernels = ["off", "6.12"]\nworkloads = ["numa02"]\nseeds = 3\n[params]\nloops = [2]\n'
    )
    line = [COMMAND, "sweep", "far.toml", "--dask", cluster.address, "--out", str(tmp_path / "far"), "--json"]
    environment = {**cluster.environment, "NUMALAB_PYTHON": sys.executable}
    ended = subprocess.run(
        line, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False, timeout=PATIENCE_S
    )
    assert ended.returncode == 0, ended.stderr
    assert json.loads(ended.stdout)["status"] == {"completed": 6}
    # They ran on the worker of the cluster, which wrote them down, and nowhere else.
    assert set(cluster.noted("kept")) == set(nl.open_sweep(tmp_path / "far").frame()["plan"])


def certificates(folder: Path) -> dict[str, str]:
    """Make a certificate, and return the environment that `docs/how-to/sweep.md` gives to all programs."""
    made = Security.temporary()
    cert, key = folder / "sweep-cert.pem", folder / "sweep-key.pem"
    cert.write_text(made.tls_ca_file)
    key.write_text(made.tls_client_key)
    tls = "DASK_DISTRIBUTED__COMM__TLS__"
    environment = {
        "DASK_DISTRIBUTED__COMM__REQUIRE_ENCRYPTION": "true",
        f"{tls}CA_FILE": str(cert),
    }
    for role in ("SCHEDULER", "WORKER", "CLIENT"):
        environment |= {f"{tls}{role}__CERT": str(cert), f"{tls}{role}__KEY": str(key)}
    return environment


def test_a_cluster_with_certificates_takes_nobody_without(cluster: Cluster, tmp_path: Path) -> None:
    cluster.environment |= certificates(tmp_path)
    cluster.scheduler("--protocol", "tls")
    assert cluster.address.startswith("tls://")
    cluster.worker()
    client = cluster.client(tmp_path / "out")
    cluster.wait(lambda: client.poll() is not None)
    assert client.returncode == 0
    check(cluster, tmp_path / "out", 0)
    with pytest.raises(nl.LabError, match="no scheduler answers there"):
        nl.sweep(grid(), out=tmp_path / "other", client=cluster.address.replace("tls", "tcp"), progress=False)
