//! The search for a better CPU and the move (kernel: `task_numa_migrate`, kernel-numa-balancing.md §14.2).

use super::node_stats::NodeStats;
use super::search::Search;
use crate::numa::balancing::NumaBalancing;
use crate::numa::caller::TaskMove;
use crate::numa::counters::Placement;
use crate::numa::host::{TaskHost, Told};
use crate::numa::jiffies::Jiffies;
use crate::numa::rules::SearchModel;
use crate::numa::state::TaskId;
use crate::numa::topology::TopologyKind;
use crate::numa::weights::Whose;
use numalab_base::hook::Hook;

/// Percentage by which task placement lets loads of nodes differ: half of the domain's allowance.
pub fn placement_imbalance_pct(domain_pct: u32) -> u64 {
    100 + u64::from(domain_pct.saturating_sub(100)) / 2
}

impl NumaBalancing {
    pub(super) fn task_numa_migrate<H: TaskHost>(
        &mut self,
        task: TaskId,
        preferred: usize,
        now: Jiffies,
        host: &mut H,
    ) {
        let src_cpu = host.cpu_of(task);
        let src_nid = self.topo.node_of(src_cpu);
        let Some(domain) = host.numa_domain(src_cpu) else {
            self.sched_setnuma(task, Some(src_nid), host);
            return;
        };
        let mut s = Search {
            task,
            now,
            src_cpu,
            src_nid,
            dst_nid: preferred,
            dst_cpu: src_cpu,
            dist: self.topo.distance(src_nid, preferred),
            imbalance_pct: placement_imbalance_pct(domain.imbalance_pct),
            imb_numa_nr: domain.imb_numa_nr,
            src: NodeStats::default(),
            dst: NodeStats::default(),
            best_cpu: None,
            best_task: None,
            best_imp: 0,
            task_imp: 0,
            group_imp: 0,
        };
        let weights = self.weights(task, src_nid, s.dist);
        s.src = self.update_numa_stats(&s, src_nid, false, host);
        self.examine(&mut s, preferred, weights, host);
        let spread = self.tasks[task as usize].numa_group.is_some_and(|g| self.groups.get(g).active_nodes > 1);
        if s.best_cpu.is_none() || spread && self.cfg.switches.search.spread_groups_look_on() {
            self.examine_others(&mut s, preferred, weights, host);
        }
        if self.cfg.switches.search == SearchModel::V313 {
            if s.best_cpu.is_some() {
                self.sched_setnuma(task, Some(s.dst_nid), host);
            }
        } else if let Some(g) = self.tasks[task as usize].numa_group {
            let found = s.best_cpu.map_or(src_nid, |cpu| self.topo.node_of(cpu));
            if self.cfg.switches.group_prefers_found {
                self.sched_setnuma(task, Some(found), host);
            } else if spread && self.is_active(g, s.dst_nid) {
                self.sched_setnuma(task, Some(s.dst_nid), host);
            }
        }
        self.carry_out(&s, host);
    }

    /// Weights of a node for the task and for its group, signed so that they can be subtracted.
    fn weights(&self, task: TaskId, nid: usize, dist: u8) -> (i64, i64) {
        (self.weight(Whose::Task, task, nid, dist) as i64, self.weight(Whose::Group, task, nid, dist) as i64)
    }

    /// Searches `nid` for a CPU; `src` are the weights of the source.
    fn examine<H: TaskHost>(&self, s: &mut Search, nid: usize, src: (i64, i64), host: &mut H) {
        let dst = self.weights(s.task, nid, s.dist);
        s.task_imp = dst.0 - src.0;
        s.group_imp = dst.1 - src.1;
        s.dst_nid = nid;
        s.dst = self.update_numa_stats(s, nid, true, host);
        if self.cfg.switches.search.considers(s, self.prefers(s.task, nid)) {
            self.task_numa_find_cpu(s, host);
        }
    }

    /// Searches the other nodes (§14.2 step 5).
    fn examine_others<H: TaskHost>(&self, s: &mut Search, preferred: usize, mut src: (i64, i64), host: &mut H) {
        for nid in self.topo.cpu_nodes().iter() {
            if nid == s.src_nid || nid == preferred {
                continue;
            }
            // As in the kernel, the distance is that of the node examined before, not of `nid`.
            let dist = self.topo.distance(s.src_nid, s.dst_nid);
            if self.topo.kind() == TopologyKind::Backplane && dist != s.dist {
                src = self.weights(s.task, s.src_nid, dist);
            }
            let dst = self.weights(s.task, nid, dist);
            if dst.0 < src.0 && dst.1 < src.1 {
                continue;
            }
            s.dist = dist;
            self.examine(s, nid, src, host);
        }
    }

    /// Makes the move or swap, if the search found one (§14.2 steps 7 and 8).
    fn carry_out<H: TaskHost>(&mut self, s: &Search, host: &mut H) {
        let Some(best_cpu) = s.best_cpu.filter(|cpu| self.task_move_policy_agrees(s, *cpu)) else {
            self.count_placement(Placement::Stick);
            return;
        };
        if !self.cfg.switches.conditional_period_reset {
            self.restart_period(s.task, host);
        }
        let (told, what) = match s.best_task {
            None => (host.move_task(s.task, best_cpu, s.now), Placement::Move),
            Some(other) => (host.swap_tasks(s.task, other, s.now), Placement::Swap),
        };
        match told {
            Told::Done => self.count_placement(what),
            Told::Refused => self.count_placement(Placement::Stick),
            Told::Later => {}
        }
        if told == Told::Done {
            self.moved(s.task, s.src_cpu, best_cpu, host);
            if let Some(other) = s.best_task {
                self.moved(other, best_cpu, s.src_cpu, host);
            }
        }
    }

    /// Whether the caller's policy lets the task move to what the search has found.
    fn task_move_policy_agrees(&self, s: &Search, to_cpu: usize) -> bool {
        let Some(Hook(policy)) = self.cfg.task_move_policy else { return true };
        let (node, to_node) = (s.src_nid, self.topo.node_of(to_cpu));
        let (swap_with, gain) = (s.best_task, s.best_imp);
        let found = TaskMove { task: s.task, cpu: s.src_cpu, node, to_cpu, to_node, swap_with, gain };
        policy.move_task(&found).unwrap_or(true)
    }

    /// Counts the outcome of a search. For a move that was put off, the host calls it after the move or after giving it
    /// up.
    pub fn count_placement(&mut self, what: Placement) {
        self.reasons.placed[what as usize] += 1;
    }

    /// Before 4.19 a search that has found a CPU restarts the period of its task, whether or not the move then
    /// succeeds. A swap partner keeps its period.
    fn restart_period<H: TaskHost>(&mut self, task: TaskId, host: &H) {
        if let Some(mm) = self.tasks[task as usize].mm {
            self.tasks[task as usize].numa_scan_period = self.task_scan_start(task, host.rss_pages(mm));
        }
    }

    fn moved<H: TaskHost>(&mut self, task: TaskId, from: usize, to: usize, host: &H) {
        if let Some(mm) = self.tasks[task as usize].mm {
            self.update_scan_period(task, from, to, host.rss_pages(mm));
        }
    }
}
