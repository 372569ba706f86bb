//! How long the workload's threads could not go on, as far as the kernel tells: its probes time `task_numa_work`, its
//! scheduler's statistics have sleeps, and `/proc/interrupts` has TLB shoot-downs.

use crate::control::{Control, ThreadCell};
use crate::job::Job;
use crate::sample::probes::Calls;
use crate::sampler::thread_columns;
use numalab_nouns::record::stalls::{self, TaskStalls};
use numalab_nouns::record::Series;
use std::sync::atomic::Ordering;

/// Counters and series of stalls at the end of a run of `elapsed_ns`. `calls` are those of all threads of the machine;
/// without probes there are none. `received` are the shoot-downs of all CPUs during the run.
pub fn collect(
    job: &Job,
    control: &Control,
    calls: Option<&Calls>,
    received: Option<u64>,
    elapsed_ns: u64,
) -> (Vec<(String, u64)>, Vec<Series>) {
    let cell = |t: usize, cell: ThreadCell| control.thread(t, cell).load(Ordering::Relaxed);
    let threads = 0..job.thread_count();
    let mut tasks = vec![TaskStalls::default(); job.thread_count()];
    let mut counters: Vec<(String, u64)> = Vec::new();
    if let Some(calls) = calls {
        for (t, task) in tasks.iter_mut().enumerate() {
            let own = calls.ended.get(&(cell(t, ThreadCell::Tid) as u32));
            task.numa_work = own.cloned().unwrap_or_default();
        }
        let of_work = stalls::counters(&tasks).into_iter().filter(|c| c.0.starts_with("task_numa_work"));
        counters.extend(of_work.map(|(name, n)| (name.to_string(), n)));
    }
    let work_max = tasks.iter().map(TaskStalls::longest_ns).max().unwrap_or(0);
    let wait_ns: u64 = threads.clone().map(|t| cell(t, ThreadCell::BlockNs)).sum();
    let wait_max = threads.clone().map(|t| cell(t, ThreadCell::BlockMaxNs)).max().unwrap_or(0);
    if wait_ns > 0 {
        let waits = threads.map(|t| cell(t, ThreadCell::PageWaits)).sum();
        let of_waits = [("task_waits", waits), ("task_wait_ns", wait_ns), ("task_wait_max_ns", wait_max)];
        counters.extend(of_waits.map(|(n, x)| (n.to_string(), x)));
    }
    if calls.is_some() || wait_ns > 0 {
        counters.push(("task_stall_max_ns".into(), work_max.max(wait_max)));
    }
    counters.extend(received.map(|n| ("nr_tlb_remote_flush_received".to_string(), n)));
    (counters, stalls::series(&tasks, &thread_columns(job), elapsed_ns))
}
