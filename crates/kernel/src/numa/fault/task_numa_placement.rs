//! Placement once per pass: averages, preferred node, scan period (kernel: `task_numa_placement`,
//! kernel-numa-balancing.md §11.2, §12).

use super::decay::{cpu_share, decay_cpu, decay_mem};
use crate::numa::balancing::NumaBalancing;
use crate::numa::caller::Pass;
use crate::numa::host::TaskHost;
use crate::numa::jiffies::Jiffies;
use crate::numa::period::{self, Interval};
use crate::numa::rules::FaultStats;
use crate::numa::state::{fault_index, TaskId, CPU, CPUBUF, MEM, MEMBUF, PRIVATE, SHARED};
use crate::numa::weights::Whose;
use crate::sched::cache_aware::size::footprint_after;
use numalab_base::hook::Hook;

/// Largest decayed load sum (`LOAD_AVG_MAX`), which serves as the "period" of a first placement.
const LOAD_AVG_MAX: u64 = 47_742;

impl NumaBalancing {
    /// Places the task, once per pass (§11.2). Before 4.19 the period is adapted first, and a grouped task changes its
    /// preferred node only if it has faults of its own. There a task that is not on its preferred node tries to move at
    /// once, whatever its retry time.
    pub(super) fn task_numa_placement<H: TaskHost>(&mut self, task: TaskId, now: Jiffies, host: &mut H) {
        let t = &mut self.tasks[task as usize];
        let Some(mm) = t.mm else { return };
        let seq = self.mms[mm as usize].numa_scan_seq;
        if t.numa_scan_seq == seq {
            return;
        }
        t.numa_scan_seq = seq;
        let rss = host.rss_pages(mm);
        let max_period = self.task_scan_max(task, rss);
        let t = &mut self.tasks[task as usize];
        t.numa_scan_period_max = max_period;
        let faults = t.numa_faults_locality[0].wrapping_add(t.numa_faults_locality[1]);
        let share = self.numa_get_avg_runtime(task, host);
        let sums = self.fold_buffers(task, faults, share);
        let paced = self.cfg.switches.placement_paced;
        if !paced {
            self.update_task_scan_period(task, now, rss, sums);
        }
        let (mut max, mut candidate) = self.busiest_node(task);
        candidate = candidate.and_then(|n| self.topo.nearest_cpu_node(n));
        if let Some(g) = self.tasks[task as usize].numa_group {
            match self.cfg.switches.active_node_mask {
                true => self.groups.get_mut(g).update_numa_active_node_mask(&self.topo),
                false => self.groups.get_mut(g).numa_group_count_active_nodes(&self.topo),
            }
            let (own_max, own) = self.busiest_own_node(task);
            candidate = if self.cfg.switches.group_prefers_both {
                self.preferred_by_both(task, own, candidate)
            } else {
                self.preferred_group_nid(task, candidate)
            };
            if !paced {
                max = own_max;
            }
        }
        if let Some(Hook(policy)) = self.cfg.placement {
            let nodes = self.topo.nodes();
            let faults: Vec<u64> = (0..nodes).map(|nid| self.tasks[task as usize].task_faults(nodes, nid)).collect();
            let node = self.topo.node_of(host.cpu_of(task));
            let chosen = policy.preferred_node(task, &faults, node, candidate);
            candidate = chosen.filter(|n| *n < nodes).and_then(|n| self.topo.nearest_cpu_node(n));
        }
        if max > 0 {
            self.sched_setnuma(task, candidate, host);
        }
        if paced {
            self.update_task_scan_period(task, now, rss, sums);
        } else if max > 0 && self.tasks[task as usize].numa_preferred_nid != Some(self.topo.node_of(host.cpu_of(task)))
        {
            self.numa_migrate_preferred(task, now, host);
        }
    }

    /// The preferred node before 3.17, if the task's own busiest node is not its group's: the node with the largest sum
    /// of both weights, in thousandths. The first wins a tie.
    fn preferred_by_both(&self, task: TaskId, own: Option<usize>, of_group: Option<usize>) -> Option<usize> {
        if own == of_group {
            return own;
        }
        let far = self.topo.max_distance();
        let weight = |nid| self.weight(Whose::Task, task, nid, far) + self.weight(Whose::Group, task, nid, far);
        let heavier =
            |best: (u64, Option<usize>), nid| if weight(nid) > best.0 { (weight(nid), Some(nid)) } else { best };
        (0..self.topo.nodes()).fold((0, own), heavier).1.and_then(|n| self.topo.nearest_cpu_node(n))
    }

    /// Node with most memory faults of the task itself; the first wins a tie.
    fn busiest_own_node(&self, task: TaskId) -> (u64, Option<usize>) {
        let nodes = self.topo.nodes();
        let t = &self.tasks[task as usize];
        let more = |best: (u64, Option<usize>), nid| {
            let faults = t.task_faults(nodes, nid);
            if faults > best.0 {
                (faults, Some(nid))
            } else {
                best
            }
        };
        (0..nodes).fold((0, None), more)
    }

    /// Share of CPU time since the last placement, in 1/65536.
    fn numa_get_avg_runtime<H: TaskHost>(&mut self, task: TaskId, host: &H) -> u64 {
        let (runtime, clock) = (host.runtime_ns(task), host.exec_start_ns(task));
        let t = &mut self.tasks[task as usize];
        let (r, d) = if t.last_task_numa_placement != 0 {
            let elapsed = clock.wrapping_sub(t.last_task_numa_placement) as i64;
            (runtime.wrapping_sub(t.last_sum_exec_runtime), elapsed.max(0) as u64)
        } else {
            (host.load_sum(task), LOAD_AVG_MAX)
        };
        t.last_sum_exec_runtime = runtime;
        t.last_task_numa_placement = clock;
        cpu_share(r, d)
    }

    /// Folds the buffers into the averages of the task and its group. Returns the pages folded, by fault type.
    fn fold_buffers(&mut self, task: TaskId, faults: u64, share: u64) -> [u64; 2] {
        let nodes = self.topo.nodes();
        let stats = self.cfg.fault_stats;
        let t = &mut self.tasks[task as usize];
        let mut group = t.numa_group.map(|g| self.groups.get_mut(g));
        let mut footprint = t.mm.map(|mm| &mut self.mms[mm as usize].footprint_pages);
        let mut sums = [0u64; 2];
        for nid in 0..nodes {
            for private in [SHARED, PRIVATE] {
                let at = |stat| fault_index(stat, nodes, nid, private);
                let recorded = std::mem::take(&mut t.faults[at(MEMBUF)]);
                let ran = std::mem::take(&mut t.faults[at(CPUBUF)]);
                sums[private] = sums[private].wrapping_add(recorded);
                let (mem, cpu) = (t.faults[at(MEM)], t.faults[at(CPU)]);
                let new_mem = decay_mem(stats, mem, recorded);
                let new_cpu = if stats == FaultStats::V313 { 0 } else { decay_cpu(cpu, ran, share, faults) };
                t.faults[at(MEM)] = new_mem;
                t.faults[at(CPU)] = new_cpu;
                let diff = new_mem.wrapping_sub(mem);
                t.total_numa_faults = t.total_numa_faults.wrapping_add(diff);
                if let Some(pages) = footprint.as_mut() {
                    **pages = footprint_after(**pages, diff as i64);
                }
                if let Some(g) = group.as_mut() {
                    g.faults[at(MEM)] = g.faults[at(MEM)].wrapping_add(diff);
                    g.faults[at(CPU)] = g.faults[at(CPU)].wrapping_add(new_cpu.wrapping_sub(cpu));
                    g.total_faults = g.total_faults.wrapping_add(diff);
                }
            }
        }
        sums
    }

    /// Node with most memory faults of the group, or of a task without group; the first wins a tie.
    fn busiest_node(&self, task: TaskId) -> (u64, Option<usize>) {
        let nodes = self.topo.nodes();
        let Some(g) = self.tasks[task as usize].numa_group else { return self.busiest_own_node(task) };
        let mut best = (0, None);
        for nid in 0..nodes {
            let faults = self.groups.get(g).mem(nodes, nid);
            if faults > best.0 {
                best = (faults, Some(nid));
            }
        }
        best
    }

    /// Adapts the scan period, with its side effects (§12).
    fn update_task_scan_period(&mut self, task: TaskId, now: Jiffies, rss: u64, sums: [u64; 2]) {
        let t = &self.tasks[task as usize];
        let interval = Interval {
            period: t.numa_scan_period,
            locality: t.numa_faults_locality,
            shared: sums[SHARED],
            private: sums[PRIVATE],
            min: period::scan_min(&self.cfg, rss),
            max: self.task_scan_max(task, rss),
            backoff_max: t.numa_scan_period_max,
        };
        let mut adapted = period::adapt(self.cfg.period_model, &interval);
        if let Some(Hook(policy)) = self.cfg.period_policy {
            let [remote, local, failed] = interval.locality;
            let pass = Pass {
                task,
                period_ms: interval.period,
                min_ms: interval.min,
                max_ms: interval.max,
                remote,
                local,
                failed,
                shared: interval.shared,
                private: interval.private,
            };
            let chosen = policy.scan_period(&pass, adapted.period).map(|ms| ms.max(interval.min).min(interval.max));
            adapted.period = chosen.unwrap_or(adapted.period);
        }
        let t = &mut self.tasks[task as usize];
        t.numa_scan_period = adapted.period;
        if !adapted.backoff || self.cfg.switches.locality_reset_on_backoff {
            t.numa_faults_locality = [0; 3];
        }
        if adapted.backoff {
            if let Some(mm) = t.mm {
                self.mms[mm as usize].numa_next_scan = now.wrapping_add(self.cfg.hz.jiffies(adapted.period));
            }
        }
    }
}
