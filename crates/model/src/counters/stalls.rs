//! How long threads could not go on with their program.

use super::doc::{CounterDoc, Kind, Since, Unit};

const WAITS: &str = "sleeps that the program asks for, and time on the run queue.";

/// Counters of stalls. Guests and hosts have those that tracepoints and kernel probes tell.
pub(super) const COUNTERS: &[CounterDoc] = &[
    CounterDoc::new(
        "task_numa_work_calls",
        Unit::Events,
        Kind::Stalls,
        Since::Model,
        "Calls of task_numa_work that threads carried out on their way back to user mode: scans, and calls that found nothing to do.",
        "ticks that found that no scan was due.",
    ),
    CounterDoc::new(
        "task_numa_work_ns",
        Unit::Ns,
        Kind::Stalls,
        Since::Model,
        "Time of all calls of task_numa_work together, with the TLB flushes that they wait for.",
        "interrupts on other CPUs that these flushes cause.",
    ),
    CounterDoc::new(
        "task_numa_work_p50_ns",
        Unit::Ns,
        Kind::Stalls,
        Since::Model,
        "Half of the calls of task_numa_work took at most this long.",
        "",
    ),
    CounterDoc::new(
        "task_numa_work_p99_ns",
        Unit::Ns,
        Kind::Stalls,
        Since::Model,
        "99 of 100 calls of task_numa_work took at most this long.",
        "",
    ),
    CounterDoc::new(
        "task_numa_work_max_ns",
        Unit::Ns,
        Kind::Stalls,
        Since::Model,
        "The longest call of task_numa_work.",
        "",
    ),
    CounterDoc::new(
        "task_waits",
        Unit::Events,
        Kind::Stalls,
        Since::Model,
        "Sleeps of threads behind a lock or a page under migration. A real kernel tells those behind pages (iowait_count).",
        WAITS,
    ),
    CounterDoc::new(
        "task_wait_ns",
        Unit::Ns,
        Kind::Stalls,
        Since::Model,
        "Time of all sleeps behind locks and pages under migration.",
        WAITS,
    ),
    CounterDoc::new(
        "task_wait_max_ns",
        Unit::Ns,
        Kind::Stalls,
        Since::Model,
        "The longest sleep behind a lock or a page under migration.",
        WAITS,
    ),
    CounterDoc::new(
        "task_stall_max_ns",
        Unit::Ns,
        Kind::Stalls,
        Since::Model,
        "The longest time in which a thread could not go on: one call of task_numa_work, one sleep behind a lock or a page, or one hint fault with its migration.",
        "several stalls in a row, and time on the run queue.",
    ),
];
