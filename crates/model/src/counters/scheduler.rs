//! What the scheduler did: wake-ups, balance passes and what they pulled, and waits for locks. The names are those of
//! `/proc/schedstat` where it has the figure; it counts by CPU, domain and idle type, and these are sums.

use super::doc::{CounterDoc, Kind, Since, Unit};

use Kind::Scheduler;

/// In print order.
pub(super) const COUNTERS: &[CounterDoc] = &[
    CounterDoc::new(
        "ttwu_count",
        Unit::Events,
        Scheduler,
        Since::Model,
        "Wake-ups that queued a task (schedstat, ttwu_count).",
        "wake-ups of tasks that were still queued or running.",
    )
    .neutral(),
    CounterDoc::new(
        "ttwu_local",
        Unit::Events,
        Scheduler,
        Since::Model,
        "Wake-ups that queued the task on the waker's own CPU (schedstat, ttwu_local).",
        "",
    )
    .neutral(),
    CounterDoc::new(
        "ttwu_queued",
        Unit::Events,
        Scheduler,
        Since::Model,
        "Wake-ups that left the queueing to the target CPU, since it is in another last-level cache \
         (ttwu_queue_wakelist).",
        "wake-ups that the waker queued itself, under the lock of the target.",
    )
    .neutral(),
    CounterDoc::new(
        "ttwu_on_cpu",
        Unit::Events,
        Scheduler,
        Since::Model,
        "Wake-ups before 5.8 that waited until the task's last CPU had switched away from it (on_cpu).",
        "such wake-ups since 5.8, which do not wait.",
    )
    .neutral(),
    CounterDoc::new(
        "rq_lock_waits",
        Unit::Events,
        Scheduler,
        Since::Model,
        "Times that a CPU waited for the lock of a run queue, in a wake-up or a pull, or for on_cpu.",
        "locks that were free, and ticks.",
    )
    .neutral(),
    CounterDoc::new(
        "rq_lock_wait_ns",
        Unit::Ns,
        Scheduler,
        Since::Model,
        "Time of these waits, which is system time of the CPU that waits.",
        "time under the lock.",
    )
    .neutral(),
    CounterDoc::new(
        "lb_count",
        Unit::Events,
        Scheduler,
        Since::Model,
        "Balance passes that looked at the groups of a domain: periodic, for tickless idle CPUs, and newly idle. In \
         schedstat the sum over idle types and domains, which counts undesignated passes too.",
        "passes of lb_not_designated and lb_serialized.",
    )
    .neutral(),
    CounterDoc::new(
        "lb_not_designated",
        Unit::Events,
        Scheduler,
        Since::Model,
        "Balance passes that ended at once because another CPU balances for the group (should_we_balance).",
        "",
    )
    .neutral(),
    CounterDoc::new(
        "lb_serialized",
        Unit::Events,
        Scheduler,
        Since::Model,
        "Balance passes between nodes that were not made because another CPU made one (sched_balance_running, \
         SD_SERIALIZE). Before 6.19 they stay due, since then they count as balanced.",
        "newly-idle passes before 6.19, which do not ask.",
    )
    .neutral(),
    CounterDoc::new(
        "lb_nobusyg",
        Unit::Events,
        Scheduler,
        Since::Model,
        "Balance passes that found no group to pull from (schedstat, lb_nobusyg).",
        "",
    )
    .neutral(),
    CounterDoc::new(
        "lb_nobusyq",
        Unit::Events,
        Scheduler,
        Since::Model,
        "Balance passes that found a group but no queue to pull from (schedstat, lb_nobusyq).",
        "",
    )
    .neutral(),
    CounterDoc::new(
        "lb_failed",
        Unit::Events,
        Scheduler,
        Since::Model,
        "Balance passes that found a queue to pull from and moved nothing (schedstat, lb_failed).",
        "passes that found nothing to pull from.",
    )
    .neutral(),
    CounterDoc::new(
        "lb_hot_refused",
        Unit::Events,
        Scheduler,
        Since::Model,
        "Times that a balance pass left a queued task, since it was cache-hot or near its memory.",
        "",
    )
    .neutral(),
    CounterDoc::new(
        "lb_gained",
        Unit::Events,
        Scheduler,
        Since::Model,
        "Tasks that balance passes pulled (schedstat, lb_gained).",
        "running tasks that were pushed (alb_pushed), and moves of NUMA balancing.",
    )
    .neutral(),
    CounterDoc::new(
        "alb_pushed",
        Unit::Events,
        Scheduler,
        Since::Model,
        "Running tasks that active balance pushed to an idle CPU (schedstat, alb_pushed).",
        "pushes that found nothing to push any more.",
    )
    .neutral(),
    CounterDoc::new(
        "nohz_balance",
        Unit::Events,
        Scheduler,
        Since::Model,
        "Balance runs of one idle CPU on behalf of all tickless ones.",
        "kicks that only update statistics.",
    )
    .neutral(),
    CounterDoc::new(
        "newidle_count",
        Unit::Events,
        Scheduler,
        Since::Model,
        "Passes over a domain by CPUs that had nothing left to run (schedstat, lb_count of newly idle).",
        "domains that the search left out.",
    )
    .neutral(),
    CounterDoc::new(
        "newidle_gained",
        Unit::Events,
        Scheduler,
        Since::Model,
        "Tasks that these passes pulled (schedstat, lb_gained of newly idle).",
        "",
    )
    .neutral(),
    CounterDoc::new(
        "newidle_skipped",
        Unit::Events,
        Scheduler,
        Since::Model,
        "Times that a CPU went idle without a search, since no CPU had two tasks or its idle periods were too short.",
        "",
    )
    .neutral(),
    CounterDoc::new(
        "newidle_too_short",
        Unit::Events,
        Scheduler,
        Since::Model,
        "Those of them whose average idle time (avg_idle) was shorter than a search of the lowest domain, or up to \
         5.15 than a migration.",
        "",
    )
    .neutral(),
    CounterDoc::new(
        "newidle_too_dear",
        Unit::Events,
        Scheduler,
        Since::Model,
        "Searches that ended before a domain whose pass costs more than is left of the average idle time \
         (max_newidle_lb_cost).",
        "",
    )
    .neutral(),
    CounterDoc::new(
        "newidle_dice",
        Unit::Events,
        Scheduler,
        Since::Model,
        "Domains that a search left out because they seldom have work to give (NI_RANDOM).",
        "",
    )
    .neutral(),
    CounterDoc::new(
        "lb_count_smt",
        Unit::Events,
        Scheduler,
        Since::Model,
        "Balance passes over domains inside a core: part of lb_count.",
        "",
    )
    .neutral(),
    CounterDoc::new(
        "lb_gained_smt",
        Unit::Events,
        Scheduler,
        Since::Model,
        "Tasks that passes over domains inside a core pulled: part of lb_gained.",
        "",
    )
    .neutral(),
    CounterDoc::new(
        "lb_count_mc",
        Unit::Events,
        Scheduler,
        Since::Model,
        "Balance passes over domains inside a last-level cache: part of lb_count.",
        "",
    )
    .neutral(),
    CounterDoc::new(
        "lb_gained_mc",
        Unit::Events,
        Scheduler,
        Since::Model,
        "Tasks that passes over domains inside a last-level cache pulled: part of lb_gained.",
        "",
    )
    .neutral(),
    CounterDoc::new(
        "lb_count_pkg",
        Unit::Events,
        Scheduler,
        Since::Model,
        "Balance passes over domains inside a node: part of lb_count.",
        "",
    )
    .neutral(),
    CounterDoc::new(
        "lb_gained_pkg",
        Unit::Events,
        Scheduler,
        Since::Model,
        "Tasks that passes over domains inside a node pulled: part of lb_gained.",
        "",
    )
    .neutral(),
    CounterDoc::new(
        "lb_count_numa",
        Unit::Events,
        Scheduler,
        Since::Model,
        "Balance passes over domains between nodes: part of lb_count.",
        "",
    )
    .neutral(),
    CounterDoc::new(
        "lb_gained_numa",
        Unit::Events,
        Scheduler,
        Since::Model,
        "Tasks that passes over domains between nodes pulled: part of lb_gained.",
        "",
    )
    .neutral(),
];
