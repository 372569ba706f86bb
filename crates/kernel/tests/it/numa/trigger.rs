//! §19.3: trigger, fork, exec.

use super::mock::{config, direct, mib_pages, system, MockHost, MockSpace, MockVma, MIB};
use numalab_kernel::numa::init_numa_balancing::CloneKind;
use numalab_kernel::numa::scan::ScanEnd;
use numalab_kernel::numa::{FaultSite, MigrateResult, NumaBalancing, PageFacts, ScanArgs};

const MS: u64 = 1_000_000;

fn args(now: u64) -> ScanArgs {
    ScanArgs { now, this_node: 1, rss_pages: mib_pages(1024) }
}

/// A new process that a single-threaded parent forked at time 0.
fn forked(hz: u32) -> NumaBalancing {
    let mut n = system("6.12", hz);
    n.fork(0, 1, CloneKind::Process(1), 1001, 0, mib_pages(1024));
    n
}

#[test]
fn t1_first_trigger_is_strict_and_switches_to_scan_start() {
    let mut n = forked(250);
    assert!(!n.task_tick_numa(1, 1000 * MS, 250, mib_pages(1024)), "T1: not at exactly 1000 ms");
    assert_eq!(n.tasks[1].numa_scan_period, 1000);
    assert!(n.task_tick_numa(1, 1004 * MS, 251, mib_pages(1024)), "T1: at the first tick above");
    assert_eq!(n.tasks[1].node_stamp, 1000 * MS, "T1: advanced by the old period");
    assert_eq!(n.tasks[1].numa_scan_period, 250, "T1: scan_start of 1 GiB");
}

#[test]
fn t2_next_trigger_after_a_won_scan() {
    let mut n = forked(250);
    assert!(n.task_tick_numa(1, 1004 * MS, 251, mib_pages(1024)));
    let report = n.task_numa_work(1, args(251), &mut MockSpace::of(vec![MockVma::anon(0x4000_0000, 16 * MIB)]));
    assert_eq!(report.end, ScanEnd::Walked);
    n.scan_done(1, &report, 0);
    assert_eq!(n.tasks[1].node_stamp, 1008 * MS, "T2: two ticks of 4 ms");
    assert!(!n.task_tick_numa(1, 1258 * MS, 400, mib_pages(1024)), "T2: not at exactly 1258 ms");
    assert!(n.task_tick_numa(1, 1258 * MS + 1, 400, mib_pages(1024)), "T2");
}

/// "Fix math underflow in task_tick_numa()", 4.4.
#[test]
fn before_4_4_a_stamp_ahead_of_the_runtime_triggers_at_every_tick() {
    for (release, again) in [("4.1", true), ("4.4", false)] {
        let mut n = system(release, 1000);
        n.mms[0].numa_next_scan = 1;
        assert!(n.task_tick_numa(0, 1001 * MS, 1001, mib_pages(1024)));
        n.task_numa_work(0, args(1001), &mut MockSpace::of(vec![MockVma::anon(0x4000_0000, 16 * MIB)]));
        assert_eq!(n.tasks[0].node_stamp, 1002 * MS, "a period and two ticks");
        // The gate is closed until 1251 ms; the stamp shows whether the trigger passed.
        assert_eq!(n.trigger_due(0, 1001 * MS + 1), again, "{release}");
        assert!(!n.task_tick_numa(0, 1001 * MS + 1, 1002, mib_pages(1024)));
        assert_eq!(n.tasks[0].node_stamp == 1252 * MS, again, "{release}");
    }
}

#[test]
fn t3_scan_overhead_postpones_the_next_trigger() {
    let mut n = forked(250);
    assert!(n.task_tick_numa(1, 1004 * MS, 251, mib_pages(1024)));
    let report = n.task_numa_work(1, args(251), &mut MockSpace::of(vec![MockVma::anon(0x4000_0000, 16 * MIB)]));
    n.scan_done(1, &report, MS);
    assert_eq!(n.tasks[1].node_stamp, 1040 * MS, "T3: 1008 + 32");
}

#[test]
fn t4_a_new_thread_is_spread_by_nanoseconds() {
    for (hz, stamp) in [(250, 8_060_000), (1000, 2_060_000)] {
        let mut n = system("6.12", hz);
        n.fork(0, 1, CloneKind::Thread, 1001, 5, 0);
        assert_eq!(n.tasks[1].node_stamp, stamp, "T4 at HZ {hz}");
        assert_eq!(n.tasks[1].numa_scan_period, 1000, "period stays at the delay: no first-trigger switch");
        assert_eq!(n.mms[0].users, 2);
    }
}

#[test]
fn threads_were_not_spread_before_4_18() {
    let mut n = system("4.15", 250);
    n.fork(0, 1, CloneKind::Thread, 1001, 5, 0);
    assert_eq!(n.tasks[1].node_stamp, 0);
}

/// Time until the next placement try, after one fault that places the task.
fn retry_interval(release: &str, hz: u32, period: u32) -> u64 {
    let mut n = NumaBalancing::new(config(release, hz), direct(2, 2));
    n.start(0, Some(0), 1000);
    let mut host = MockHost::new(4, 1);
    n.tasks[0].faults = vec![0; 16];
    n.tasks[0].numa_preferred_nid = Some(0);
    n.tasks[0].numa_scan_period = period;
    let at = FaultSite { task: 0, cpu: 0, now: 10_000 };
    let mut page = PageFacts::private_anon(0);
    let decision = n.hint_fault_begin(at, &mut page, None, &super::faults::DEFAULT, &super::mock::MockMemory::plenty());
    n.hint_fault_end(at, &mut page, &decision, MigrateResult::NotTried, &mut host);
    n.tasks[0].numa_migrate_retry - 10_000
}

#[test]
fn t5_t6_retry_interval() {
    for (id, hz, period, jiffies) in [
        ("T5", 1000, 1000, 62),
        ("T5", 250, 1000, 15),
        ("T5", 100, 1000, 6),
        ("T6", 1000, 60_000, 1000),
        ("T6", 250, 60_000, 250),
        ("T6", 100, 100, 0),
    ] {
        assert_eq!(retry_interval("6.12", hz, period), jiffies, "{id} HZ {hz} period {period}");
    }
    assert_eq!(retry_interval("3.13", 250, 1000), 250, "3.13 retries every second");
}

#[test]
fn t7_the_stamp_advances_even_if_the_gate_is_closed() {
    let mut n = forked(250);
    n.mms[1].numa_next_scan = 10_000;
    assert!(!n.task_tick_numa(1, 1004 * MS, 251, mib_pages(1024)), "T7");
    assert_eq!(n.tasks[1].node_stamp, 1000 * MS, "T7");
    assert!(!n.tasks[1].work_queued);
}

#[test]
fn t8_the_first_work_after_exec_only_arms_the_gate() {
    let mut n = forked(1000);
    n.exec(1, 2);
    assert!(n.task_tick_numa(1, 1001 * MS, 1001, mib_pages(1024)), "T8: next_scan 0 lets every trigger pass");
    let stamp = n.tasks[1].node_stamp;
    let mut space = MockSpace::of(vec![MockVma::anon(0x4000_0000, 16 * MIB)]);
    let report = n.task_numa_work(1, args(1001), &mut space);
    assert_eq!(report.end, ScanEnd::NotDue, "T8");
    assert_eq!(n.mms[2].numa_next_scan, 2001, "T8");
    assert_eq!(n.tasks[1].node_stamp, stamp, "T8: without the two extra ticks");
    assert!(space.calls.is_empty(), "T8: nothing scanned");
}

#[test]
fn fork_of_a_single_threaded_parent_resets_its_own_pass_counter() {
    let mut n = system("6.12", 250);
    n.mms[0].numa_scan_seq = 7;
    n.mms[0].numa_scan_offset = 0x5000;
    n.tasks[0].numa_preferred_nid = Some(1);
    n.fork(0, 1, CloneKind::Process(1), 1001, 100, 0);
    assert_eq!(n.mms[0].numa_scan_seq, 0);
    assert_eq!(n.mms[0].numa_next_scan, 350);
    assert_eq!(n.mms[0].numa_scan_offset, 0x5000, "the offset is not reset");
    assert_eq!(n.mms[1].numa_scan_offset, 0x5000, "and inherited");
    assert_eq!((n.mms[1].numa_next_scan, n.mms[1].numa_scan_seq, n.mms[1].users), (350, 0, 1));
    assert_eq!(n.tasks[1].numa_preferred_nid, None, "a process starts without a preferred node");
}

/// 70ce3ea9aa4e, 6.0. Before, dup_task_struct() leaves the parent's value in every clone.
#[test]
fn clones_inherited_the_retry_time_before_6_0() {
    for (release, retry) in [("5.18", 4711), ("6.0", 0)] {
        let mut n = system(release, 250);
        n.tasks[0].numa_migrate_retry = 4711;
        n.fork(0, 1, CloneKind::Thread, 1001, 5, 0);
        n.fork(0, 2, CloneKind::Process(1), 1002, 5, 0);
        assert_eq!((n.tasks[1].numa_migrate_retry, n.tasks[2].numa_migrate_retry), (retry, retry), "{release}");
    }
}

#[test]
fn fork_of_a_multi_threaded_parent_resets_nothing() {
    let mut n = system("6.12", 250);
    n.fork(0, 1, CloneKind::Thread, 1001, 10, 0);
    n.mms[0].numa_scan_seq = 7;
    n.mms[0].numa_next_scan = 42;
    n.tasks[0].numa_preferred_nid = Some(1);
    n.fork(0, 2, CloneKind::Process(1), 1002, 100, 0);
    assert_eq!((n.mms[0].numa_scan_seq, n.mms[0].numa_next_scan), (7, 42));
    assert_eq!((n.mms[1].numa_scan_seq, n.mms[1].numa_next_scan, n.mms[1].users), (7, 42, 1));
    assert_eq!(n.tasks[2].numa_scan_seq, 7, "the child copies the parent's pass");
    n.fork(0, 3, CloneKind::Thread, 1003, 100, 0);
    assert_eq!(n.tasks[3].numa_preferred_nid, Some(1), "a thread inherits the preferred node");
    assert_eq!(n.mms[0].users, 3);
}

#[test]
fn exec_keeps_buffers_and_pace_but_not_averages() {
    let mut n = system("6.12", 250);
    let t = &mut n.tasks[0];
    t.faults = (1..=16).collect();
    t.total_numa_faults = 10;
    t.numa_faults_locality = [1, 2, 3];
    t.numa_preferred_nid = Some(1);
    t.numa_scan_period = 777;
    t.node_stamp = 88;
    t.numa_scan_seq = 5;
    n.exec(0, 1);
    let t = &n.tasks[0];
    assert_eq!(t.faults[..8], [0; 8], "MEM and CPU averages are gone");
    assert_eq!(t.faults[8..], [9, 10, 11, 12, 13, 14, 15, 16], "MEMBUF and CPUBUF are kept");
    assert_eq!(t.total_numa_faults, 0);
    assert_eq!((t.numa_faults_locality, t.numa_preferred_nid), ([1, 2, 3], Some(1)));
    assert_eq!((t.numa_scan_period, t.node_stamp, t.numa_scan_seq), (777, 88, 5));
    assert_eq!((n.mms[0].users, n.mms[1].users), (0, 1));
    assert_eq!((n.mms[1].numa_next_scan, n.mms[1].numa_scan_seq, n.mms[1].numa_scan_offset), (0, 0, 0));
}

#[test]
fn kernel_threads_exiting_tasks_and_queued_works_do_not_trigger() {
    let mut n = system("6.12", 250);
    n.start(1, None, 2);
    assert!(!n.task_tick_numa(1, 5000 * MS, 2000, 0), "no mm");
    assert!(n.task_tick_numa(0, 5000 * MS, 2000, 0));
    assert!(!n.task_tick_numa(0, 9000 * MS, 2001, 0), "already queued");
    n.exit(0);
    assert!(!n.task_tick_numa(0, 20_000 * MS, 3000, 0), "exiting");
    let mut off = system("6.12", 250);
    off.set_mode(0);
    assert!(!off.task_tick_numa(0, 5000 * MS, 2000, 0), "the key is off");
}

#[test]
fn the_3_8_gate_is_open_from_the_start() {
    let mut space = MockSpace::of(vec![MockVma::anon(0x4000_0000, 16 * MIB)]);
    for (release, next_scan, end, stamp) in [("3.8", 100, ScanEnd::Walked, 0), ("3.13", 1100, ScanEnd::NotDue, 2 * MS)]
    {
        let mut n = system(release, 1000);
        n.cfg.switches.first_nid_gate = false;
        assert_eq!(n.task_numa_work(0, args(50), &mut space).end, end, "{release}: a gate of 0 is armed since 3.13");
        n.mms[0].numa_next_scan = 60;
        assert_eq!(n.task_numa_work(0, args(60), &mut space).end, ScanEnd::Walked);
        assert_eq!(n.tasks[0].node_stamp, stamp, "{release}: the winner's two ticks");
        n.fork(0, 1, CloneKind::Process(1), 1001, 100, 0);
        assert_eq!((n.mms[0].numa_next_scan, n.mms[1].numa_next_scan), (next_scan, next_scan), "{release}: a fork");
    }
}

#[test]
fn the_3_8_trigger_restarts_from_the_runtime() {
    let mut n = system("3.8", 1000);
    assert!(n.task_tick_numa(0, 1001 * MS, 1001, 0));
    assert_eq!(n.tasks[0].node_stamp, 1001 * MS, "node_stamp := R");
    assert_eq!(n.tasks[0].numa_scan_period, 100);
}
