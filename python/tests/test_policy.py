"""Policies in Python decide in place of the kernel's roles."""

import functools
import inspect
from pathlib import Path
from typing import Any

import pytest

import numalab as nl
from numalab.simulate import run_plans

MACHINE, WORKLOAD = "2x1x4x1", "numa01_THREAD_ALLOC"
PARAMS = {"loops": 4}


# The example of docs/how-to/policies-in-python.md.
class RfcV3(nl.VmaFilter):
    """RFC V3 of May 2023: a mapping has a budget of visits, by its size."""

    counts_visits = True

    def access(self, vma, scan):  # type: ignore[no-untyped-def]
        size_mb = (vma.end - vma.start) >> 20
        return vma.accessed_by(scan.tid) or vma.scan_counter < 1 + size_mb // scan.scan_size_mb // 2


def outcomes(kernel: str, policy: Any = None, **more: Any) -> list[Any]:
    settings = {"scan.scan_delay_ms": 50, "scan.scan_period_min_ms": 50, "scan.scan_size_mb": 16}
    request = nl.Catalog().request(MACHINE, kernel, WORKLOAD, params=PARAMS, settings=settings, **more)
    return run_plans(request.plans, policy=policy)


def test_the_filter_of_rfc_v3_in_python_is_the_one_in_rust() -> None:
    assert len(inspect.getsource(RfcV3).splitlines()) < 30
    python, rust = outcomes("6.4-rc2", RfcV3(), iterations=2), outcomes("6.4-rc2+rfc-v3", iterations=2)
    plain = outcomes("6.4-rc2", iterations=2)
    for mine, theirs, without in zip(python, rust, plain, strict=True):
        # Equal bits: figures, counters, reasons, series.
        assert mine.same_as(theirs)
        assert not mine.same_as(without), "the filter matters here"


def test_policies_are_compared_with_the_kernel_as_it_is(tmp_path: Path) -> None:
    run = functools.partial(nl.run, MACHINE, "6.4-rc2", WORKLOAD, params=PARAMS, progress=False)
    both = run(policy=[None, RfcV3()], out=tmp_path / "both", iterations=2)
    assert [r.kernel for r in both.runs] == ["6.4-rc2", "6.4-rc2", "6.4-rc2+RfcV3", "6.4-rc2+RfcV3"]
    assert both["baseline"] == "6.4-rc2" and both.answer
    assert set(both.frame()["kernel"]) == {"6.4-rc2", "6.4-rc2+RfcV3"}
    assert [row["kernel"] for row in both.metric()] == ["6.4-rc2", "6.4-rc2+RfcV3"]
    mine, plain = both.runs[2], both.runs[0]
    assert mine.plan.id != plain.plan.id
    assert '"policy","RfcV3@' in mine.plan.json()
    assert plain.plan.id == run().runs[0].plan.id
    # A policy by itself is that kernel alone.
    alone = run(policy=RfcV3())
    assert [r.plan.id for r in alone.runs] == [mine.plan.id]
    assert alone.runs[0].outcome.same_as(mine.outcome)
    # The command reads the records, and says that it cannot make such a run.
    assert nl._native.call(["compare", "--json", "--quiet", "--", str(tmp_path / "both")])[0] == 0
    assert mine.directory is not None
    code, _, said = nl._native.call(["repeat", str(mine.directory / mine.plan.id[:16])])
    assert code == 2 and "a run with a policy in Python, which only `numalab.run` can make" in said
    # A trace is of the run with the policy.
    assert mine.trace(tmp_path / "mine.pftrace").stat().st_size > 1000


def test_policies_need_names_of_their_own() -> None:
    class Budget(RfcV3):
        def __init__(self, factor: int) -> None:
            self.name = f"budget-{factor}"

    two = nl.run(
        MACHINE, "6.12", "numa02", params={"loops": 2}, policy=[Budget(1), Budget(2)], progress=False
    )
    assert two["kernels"] == ["6.12+budget-1", "6.12+budget-2"]
    wrong: list[tuple[list[Any], str]] = [
        ([RfcV3(), RfcV3()], "policy: two are called `RfcV3`; expected a `name` of its own for each"),
        ([None, None], "policy: two are called `None`"),
        ([], "policy: none is given; expected at least one, or None"),
    ]
    for policies, said in wrong:
        with pytest.raises(nl.SpecError, match=said):
            nl.run(MACHINE, "6.12", "numa02", policy=policies, progress=False)


def test_a_policy_is_asked_again_although_there_is_a_record(tmp_path: Path) -> None:
    allowed = [True]

    class Some(nl.VmaFilter):
        def access(self, vma, scan):  # type: ignore[no-untyped-def]
            return allowed[0]

    def marked() -> int:
        settings = {"scan.scan_delay_ms": 50, "scan.scan_period_min_ms": 50, "scan.scan_size_mb": 16}
        run = functools.partial(nl.run, MACHINE, "6.4-rc2", WORKLOAD, params=PARAMS, settings=settings)
        return run(policy=Some(), out=tmp_path, progress=False).runs[0].counters["numa_pte_updates"]

    first = marked()
    # Nothing that the plan knows of has changed.
    allowed[0] = False
    assert marked() < first


class NoPage(nl.PageFilter):
    def mark(self, page):  # type: ignore[no-untyped-def]
        return page.node > 100


def test_a_page_filter_that_marks_nothing_leaves_no_faults() -> None:
    assert outcomes("6.12")[0].counters["numa_hint_faults"] > 0
    assert outcomes("6.12", NoPage())[0].counters["numa_hint_faults"] == 0


class Stay(nl.Placement):
    def __init__(self) -> None:
        self.asked = 0

    def preferred_node(self, task, faults, node, role):  # type: ignore[no-untyped-def]
        assert len(faults) == 2 and role in (None, 0, 1)
        self.asked += 1
        return role


class Swap(Stay):
    swapped = 0

    def preferred_node(self, task, faults, node, role):  # type: ignore[no-untyped-def]
        self.swapped += role != 1 - node
        return 1 - node


def test_a_placement_that_repeats_the_kernel_changes_nothing() -> None:
    stay = Stay()
    assert outcomes("6.12", stay)[0].same_as(outcomes("6.12")[0])
    assert stay.asked > 0
    swap = Swap()
    outcomes("6.12", swap)
    assert swap.swapped > 0


class Together(nl.Imbalance):
    """A forked task stays on its node."""

    def __init__(self) -> None:
        self.asked = 0

    def fork_stays(self, sides):  # type: ignore[no-untyped-def]
        self.asked += 1
        return True


class Silent(Together):
    def fork_stays(self, sides):  # type: ignore[no-untyped-def]
        self.asked += 1


def test_an_imbalance_policy_answers_what_it_wants_to() -> None:
    def ran(policy: Any) -> Any:
        plans = nl.Catalog().request("2x1x4x1", "6.12", "numa02", params={"loops": 5}).plans
        return run_plans(plans, policy=policy)[0]

    silent, together = Silent(), Together()
    own = ran(None)
    assert ran(silent).same_as(own) and silent.asked > 0
    assert not ran(together).same_as(own)


class Watching(nl.ScanPeriod, nl.PageMigration, nl.TaskMigration):
    """Answers what the kernel would do, and keeps what it was asked."""

    def __init__(self) -> None:
        self.seen: dict[str, list[Any]] = {"periods": [], "pages": [], "moves": []}

    def conditions(self) -> list[tuple[str, str]]:
        return [("policy", "watching")]

    def scan_period(self, seen, role_ms):  # type: ignore[no-untyped-def]
        self.seen["periods"].append((seen, role_ms))
        return role_ms

    def migrate_page(self, page, role):  # type: ignore[no-untyped-def]
        self.seen["pages"].append((page, role))
        return role

    def move_task(self, found):  # type: ignore[no-untyped-def]
        self.seen["moves"].append(found)


def busy(policy: Any = None, kernel: str = "6.12") -> Any:
    """A short run in which pages and tasks move, and periods are adapted."""
    params = {"loops": 60, "memory": "256MiB"}
    settings = {"scan.scan_delay_ms": 100, "scan.scan_period_min_ms": 100, "scan.scan_size_mb": 64}
    request = nl.Catalog().request("4x1x2x1", kernel, "numa01", params=params, settings=settings)
    return run_plans(request.plans, policy=policy)[0]


def moved(run: Any) -> int:
    return int(run.reasons["placed.move"] + run.reasons["placed.swap"])


def test_policies_that_answer_as_the_kernel_change_nothing() -> None:
    plain, watching = busy(), Watching()
    assert busy(watching).same_as(plain)
    seen = watching.seen
    assert all(seen.values()), {name: len(asked) for name, asked in seen.items()}
    assert all(s.min_ms <= role <= max(s.max_ms, s.period_ms) for s, role in seen["periods"])
    assert sum(s.remote + s.local for s, _ in seen["periods"]) > 0
    pages = [p for p, _ in seen["pages"]]
    assert all(p.pages >= 1 and 0 <= p.to_node < 4 and 0 <= p.node < 4 for p in pages)
    assert any(p.last_node is None for p in pages) and any(p.last_was_own for p in pages)
    assert any(role and p.node != p.to_node for p, role in seen["pages"])
    assert all(len(p.faults) in (0, 4) for p in pages)
    assert all(m.cpu != m.to_cpu and m.to_node == m.to_cpu // 2 for m in seen["moves"])
    assert len(seen["moves"]) >= moved(plain) > 0


class NeverMoves(nl.PageMigration):
    def migrate_page(self, page, role):  # type: ignore[no-untyped-def]
        return False


class StaysPut(nl.TaskMigration):
    def move_task(self, found):  # type: ignore[no-untyped-def]
        return False


class Slow(nl.ScanPeriod):
    def scan_period(self, seen, role_ms):  # type: ignore[no-untyped-def]
        return 10**9


def test_each_new_policy_decides() -> None:
    plain = busy()
    assert plain.counters["numa_pages_migrated"] > 0
    assert busy(NeverMoves()).counters["numa_pages_migrated"] == 0
    assert moved(busy(StaysPut())) == 0 < moved(plain)
    slow, seen = busy(Slow()), Watching()
    busy(seen)
    assert slow.counters["numa_pte_updates"] < plain.counters["numa_pte_updates"]


def test_wrong_answers_end_the_run() -> None:
    class Word(nl.ScanPeriod):
        def scan_period(self, seen, role_ms):  # type: ignore[no-untyped-def]
            return "soon"

    class Negative(nl.ScanPeriod):
        def scan_period(self, seen, role_ms):  # type: ignore[no-untyped-def]
            return -1

    with pytest.raises(TypeError):
        busy(Word())
    with pytest.raises(OverflowError):
        busy(Negative())


class Broken(nl.VmaFilter):
    def access(self, vma, scan):  # type: ignore[no-untyped-def]
        return vma.nothing


class Wordy(nl.VmaFilter):
    def access(self, vma, scan):  # type: ignore[no-untyped-def]
        return "maybe"


def test_an_exception_of_a_policy_is_raised() -> None:
    with pytest.raises(AttributeError, match="nothing"):
        outcomes("6.12", Broken())
    with pytest.raises(TypeError, match='access returned "maybe"; expected True, False or "partial"'):
        outcomes("6.12", Wordy())
    with pytest.raises(TypeError, match="decides nothing; expected one of access, mark"):
        outcomes("6.12", nl.policy.Policy())
