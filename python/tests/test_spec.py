"""Specs built in Python are the files that the command reads."""

import tomllib
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

import numalab as nl
from numalab.toml import dumps

TEXT = st.text(st.characters(codec="utf-8"), max_size=12)
PLAIN = st.one_of(
    TEXT, st.booleans(), st.integers(-(2**60), 2**60), st.floats(allow_nan=False, allow_infinity=False)
)
VALUE = st.recursive(
    PLAIN,
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(TEXT, inner, max_size=3)),
    max_leaves=12,
)


@settings(deadline=None, max_examples=60)
@given(st.dictionaries(TEXT, VALUE, max_size=4))
def test_what_is_written_is_read_again(document: dict[str, Any]) -> None:
    assert tomllib.loads(dumps(document)) == document


def test_a_kernel_is_its_file() -> None:
    kernel = nl.Kernel(
        "eager",
        "6.12 that scans sooner",
        extends="6.12",
        roles={"vma_filter": "off"},
        tunables={"scan.scan_size_mb": 512},
    )
    assert tomllib.loads(kernel.toml()) == {
        "name": "eager",
        "title": "6.12 that scans sooner",
        "extends": "6.12",
        "roles": {"vma_filter": "off"},
        "tunables": {"scan.scan_size_mb": 512},
    }


SWEEP = nl.Workload(
    name="two-sweeps",
    title="Two threads sweep a buffer that one of them filled",
    about="For tests.",
    source="written for these tests",
    params={"passes": nl.Param(40, "Passes")},
    scores=[nl.Score("bandwidth", "MB/s", per_second=True)],
    processes=[
        nl.Process(
            "main",
            threads=2,
            regions=[nl.Region("buffer", "16MiB")],
            prologue=[nl.Step(access="buffer", write=1)],
            phases=[
                nl.Step(count="passes", timed="bandwidth", access="buffer", slice="thread", write=1),
                nl.Step(score="bandwidth", amount=1, name="count"),
            ],
        )
    ],
)
SMALL = nl.Machine(
    name="small",
    title="Two nodes of two cores",
    class_="modern",
    layout=nl.Layout(sockets=2, cores_per_node=2),
    memory={"per_node": "1 GiB", "peak_gbps": 30.0, "sustained_gbps": 25.0},
    distance={"by_hop": [10, 20]},
    latency={"by_hop_ns": [90.0, 150.0]},
    links=[nl.Link("sockets", 20.0, 15.0, 60.0, scope="all")],
    clock={"base_ghz": 2.0, "sustained_ghz": 2.5, "single_ghz": 3.0},
    cache={"l2": "1 MiB", "l2_cycles": 14.0, "llc": "8 MiB", "llc_ns": 12.0, "llc_stream_gbps": 30.0},
    stream={"lines_sequential": 32.0, "lines_random": 12.0, "cap_gbps": 12.0},
    tlb={"entries_4k": 1536, "entries_2m": 1024},
)


def test_everything_built_in_python_runs() -> None:
    kernel = nl.Kernel("eager", "Scans sooner", extends="6.12", tunables={"scan.scan_delay_ms": 100})
    comparison = nl.run(SMALL, ["off", kernel], SWEEP, progress=False)
    assert [(r.machine, r.kernel, r.status) for r in comparison.runs] == [
        ("small", "off", "completed"),
        ("small", "eager", "completed"),
    ]


def test_files_and_python_give_the_same_plans(tmp_path: Any) -> None:
    path = SWEEP.save(tmp_path)
    catalog = nl.Catalog()
    mine = catalog.request(SMALL, "6.12", SWEEP).plans[0]
    assert nl.Catalog().request(str(SMALL.save(tmp_path)), "6.12", path).plans[0].id == mine.id


def test_notebooks_show_what_the_command_shows() -> None:
    machine = nl.Machine("mine", "My <own> machine", extends="epyc-7713-two")
    near = next(name for name in nl.Catalog().machines if not name[0].isdigit())
    shown = nl.Machine("mine", "My <own> machine", extends=near)._repr_html_()
    assert shown.startswith("<pre>mine: My &lt;own&gt; machine\n") and "socket 0" in shown
    assert "vma_filter" in nl.Kernel("eager", "Eager", extends="6.12")._repr_html_()
    # What is refused is shown with the reason, and no exception spoils the cell.
    refused = machine._repr_html_()
    assert refused.startswith("<pre>mine.toml:") and "no machine `epyc-7713-two`" in refused
    assert "My &lt;own&gt; machine" in refused
