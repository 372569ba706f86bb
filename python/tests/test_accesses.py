"""Records of accesses in Python: frames, a picture, a page and a workload."""

import shutil
import subprocess
from pathlib import Path

import pytest

import numalab as nl

PROGRAM = """
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
static long n = 4 << 20, *a;
static void *reads(void *x) { long i = (long)x, s = 0; for (int p = 0; p < 3; p++)
    for (long k = i * n / 4; k < (i + 1) * n / 4; k++) s += a[k]; return (void *)s; }
int main(void) { pthread_t t[4]; a = malloc(n * 8); memset(a, 1, n * 8);
    for (long i = 0; i < 4; i++) pthread_create(&t[i], 0, reads, (void *)i);
    for (int i = 0; i < 4; i++) pthread_join(t[i], 0); return 0; }
"""


@pytest.fixture(scope="module")
def record(tmp_path_factory: pytest.TempPathFactory) -> nl.AccessRecord:
    for program in ("cc", "qemu-x86_64"):
        if shutil.which(program) is None:
            pytest.skip(f"no {program} here (crates/lab/setup.sh test installs it)")
    directory = tmp_path_factory.mktemp("accesses")
    (directory / "sweep.c").write_text(PROGRAM)
    line: list[str | Path] = ["cc", "-g", "-O1", "-pthread", "-o", directory / "sweep", directory / "sweep.c"]
    subprocess.run(line, check=True)
    return nl.record([directory / "sweep"], directory / "rec")


def test_frames_have_every_line_with_its_mapping_and_source(record: nl.AccessRecord) -> None:
    assert (record.name, record.manifest["ending"]) == ("sweep", {"exit": 0})
    frame = record.accesses().to_pandas()
    assert set(frame["process"]) == {"sweep"} and len(set(frame["thread"])) == 5
    block = frame[frame["place"].str.startswith("main (sweep.c:")]
    lines = block.groupby("thread")["lines"].sum()
    passes = 3 * (32 << 20) // 4 // 64
    assert all(passes <= lines[t] < passes * 1.01 for t in (1, 2, 3, 4))
    assert (frame["end"] >= frame["begin"]).all() and (frame["written"] <= frame["lines"]).all()


def test_a_picture_and_a_page_name_the_mapping(record: nl.AccessRecord, tmp_path: Path) -> None:
    figure = record.heat_map(threads=4)
    ax = figure.axes[0]
    assert any("main (sweep.c:" in label.get_text() for label in ax.get_yticklabels())
    data = ax.images[0].get_array()
    assert data is not None and float(data.sum()) > 1e5
    assert sum("thread" in t.get_text() for t in ax.texts) == 4
    page = record.report(tmp_path / "page.html").read_text()
    assert "main (sweep.c:" in page and "<svg" in page and ">thread 4<" in page
    with pytest.raises(ValueError, match="no process 1; expected one of"):
        record.heat_map(1)
    with pytest.raises(ValueError, match="of is 'colour'"):
        record.heat_map(of="colour")


def test_a_fit_is_a_workload(record: nl.AccessRecord, tmp_path: Path) -> None:
    path = record.fit(tmp_path / "mine.toml")
    done = nl.run("2x1x2x1", ["6.12"], path, progress=False)
    assert done.runs[0].status == "completed"


def test_bad_requests_are_refused(tmp_path: Path) -> None:
    with pytest.raises(TypeError, match="expected a list"):
        nl.record("./program")
    with pytest.raises(nl.LabError, match="no such program"):
        nl.record(["/no/such/program"], tmp_path / "rec")
    with pytest.raises(ValueError, match="accesses.json"):
        nl.open_record(tmp_path)
