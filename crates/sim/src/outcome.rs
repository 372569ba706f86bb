//! What a run reports.

use crate::engine::World;
use numalab_model::record::{Outcome, Scalar, Status, TOO_SHORT};

/// A balancing run shorter than this says little: the first pass over memory takes longer.
const SHORT_RUN_NS: u64 = 5_000_000_000;

impl World<'_> {
    /// The outcome of a finished run; tunables are the caller's to fill in.
    pub(crate) fn outcome(self) -> Outcome {
        let seconds = |ns: u64| ns as f64 / 1e9;
        let scalar = |name: &str, value: f64, unit: &str, higher_is_better: bool| Scalar {
            name: name.into(),
            value,
            unit: unit.into(),
            higher_is_better,
        };
        let sum = |f: fn(&crate::process::ProcessState) -> u64| self.processes.iter().map(f).sum::<u64>();
        let elapsed = seconds(self.end_ns);
        let mut scalars = vec![
            scalar("elapsed_s", elapsed, "s", false),
            scalar("user_s", seconds(sum(|p| p.user_ns)), "s", false),
            scalar("system_s", seconds(sum(|p| p.system_ns)), "s", false),
            scalar("blocked_s", seconds(sum(|p| p.blocked_ns)), "s", false),
        ];
        let mut warnings = Vec::new();
        for ((spec, &value), clock) in self.workload.scores.iter().zip(&self.scores).zip(&self.score_clocks) {
            match spec.figure(value, clock.read_ns(self.end_ns)) {
                Ok(value) => scalars.push(scalar(&spec.name, value, &spec.unit, spec.higher_is_better)),
                Err(why) => warnings.push(why),
            }
        }
        if self.cfg.numa_enabled() && self.end_ns < SHORT_RUN_NS && self.status == Status::Completed {
            warnings.push(format!(
                "the run took {elapsed:.2} s of model time: {TOO_SHORT}, the first scan of memory takes longer"
            ));
        }
        let mut reasons: Vec<(String, u64)> =
            self.numa.reasons.named().map(|(role, word, n)| (format!("{role}.{word}"), n)).collect();
        if self.designs.active() {
            reasons.extend(self.designs.reasons().map(|(name, n)| (name.to_string(), n)));
        }
        Outcome {
            status: self.status.clone(),
            scalars,
            counters: self.counters(),
            reasons,
            tunables: Vec::new(),
            warnings,
            series: self.samples.into_series().chain(self.maps.into_series()).collect(),
        }
    }

    fn counters(&self) -> Vec<(String, u64)> {
        let a = &self.memory.counters;
        let v = &self.vm;
        let mut out: Vec<(String, u64)> = [
            ("numa_hit", a.numa_hit),
            ("numa_miss", a.numa_miss),
            ("numa_foreign", a.numa_foreign),
            ("numa_interleave", a.numa_interleave),
            ("numa_local", a.numa_local),
            ("numa_other", a.numa_other),
            ("pgfault", v.pgfault),
            ("nr_tlb_remote_flush", v.nr_tlb_remote_flush),
            ("nr_tlb_remote_flush_received", v.nr_tlb_remote_flush_received),
        ]
        .map(|(n, x)| (n.to_string(), x))
        .to_vec();
        let table = numalab_kernel::numa::NumaCounters::TABLE;
        out.extend(table.iter().zip(self.numa.counters.values()).map(|((n, _), x)| ((*n).to_string(), x)));
        // Compaction and reclaim move pages too, under the names that NUMA balancing counts its own moves by.
        let events = numalab_kernel::mm::MmCounters::TABLE.iter().zip(self.memory.events.values());
        for ((name, _), n) in events {
            match out.iter_mut().find(|c| c.0 == *name) {
                Some(counter) => counter.1 += n,
                None => out.push(((*name).to_string(), n)),
            }
        }
        if !self.designs.leaves_scans() {
            for (name, n) in self.designs.named() {
                match out.iter_mut().find(|c| c.0 == name) {
                    Some(counter) => counter.1 += n,
                    None => out.push((name.to_string(), n)),
                }
            }
        }
        out
    }
}
