//! The search of a node before 4.19 (kernel: `task_numa_compare`, `numa_has_capacity`, `load_too_imbalanced`).
//!
//! Nodes are compared by their loads and by how many tasks they hold for their cores. A search considers every CPU of a
//! node: a move to it, or a swap with the task that runs there. A search does not claim the CPU it chooses
//! (`numa_migrate_on` came with 4.19, a4739eca4456), so two tasks can end on one CPU.
//!
//! * 3.13 (Mel Gorman's and Peter Zijlstra's series of October 2013; ca28aa53dd95): the preferred node is searched if
//!   it has fewer tasks than cores. The better or equal CPU wins. A move or swap must leave loads within half of the
//!   domain's allowance. If the search finds a CPU, every task prefers the node examined last from then on.
//! * 3.17: the preferred node is always searched. Loads may also stay as far apart as they were (e63da03639cc). A move
//!   competes with each swap (0132c3e1777c) and goes where `select_idle_sibling` sends it (ba7e5a279e72). Cores are
//!   counted by [`SearchModel::task_capacity`]. Which of these came with 3.16 and 3.18 is from memory; no catalog
//!   kernel is one of them.
//! * 4.0: groups that span nodes look at other nodes even if they have found a CPU (792568ec6a31; 3.19).
//! * 4.2: a node is searched only if it is less loaded than the source ([`SearchModel::V42`]; 6f9aad0bc372, release
//!   from memory). 2d4056fafa19 removed that in 4.19, which also has the other changes that `task_numa_compare` names.

use super::node_stats::NodeStats;
use super::search::Search;
use crate::numa::balancing::NumaBalancing;
use crate::numa::host::TaskHost;
use crate::numa::rules::SearchModel;
use crate::numa::state::TaskId;
use crate::numa::weights::Whose;

impl SearchModel {
    /// Whether groups that span nodes look at other nodes although they have found a CPU.
    pub(super) fn spread_groups_look_on(self) -> bool {
        !matches!(self, Self::V313 | Self::V317)
    }
    /// Number of tasks that a node has room for (`capacity` of 3.13, then `task_capacity`).
    pub fn task_capacity(self, node: &NodeStats) -> u64 {
        let whole = (node.capacity + 512) / 1024;
        if self == Self::V313 || node.capacity == 0 {
            return whole;
        }
        let threads = (1024 * u64::from(node.weight)).div_ceil(node.capacity);
        whole.min(u64::from(node.weight) / threads)
    }
    fn has_free_capacity(self, node: &NodeStats) -> bool {
        u64::from(node.nr_running) < self.task_capacity(node)
    }
    /// Whether the destination is searched. `preferred`: it is the task's preferred node.
    pub(super) fn considers(self, s: &Search, preferred: bool) -> bool {
        match self {
            Self::V313 => !preferred || self.has_free_capacity(&s.dst),
            Self::V317 | Self::V40 | Self::V419 => true,
            Self::V42 => {
                let full = self.has_free_capacity(&s.src) && !self.has_free_capacity(&s.dst);
                !full && s.src.load * s.dst.capacity * s.imbalance_pct > s.dst.load * s.src.capacity * 100
            }
        }
    }
    /// Whether the destination is too full for one more task.
    fn no_room(self, s: &Search) -> bool {
        let source_copes = match self {
            Self::V313 => self.has_free_capacity(&s.src),
            _ => u64::from(s.src.nr_running) <= self.task_capacity(&s.src),
        };
        source_copes && !self.has_free_capacity(&s.dst)
    }
    /// Whether loads would be too far apart after `load` has moved from the source to the destination.
    fn unbalances(self, s: &Search, load: i64) -> bool {
        let pct = s.imbalance_pct as i64;
        let (src_cap, dst_cap) = (s.src.capacity as i64, s.dst.capacity as i64);
        if self == Self::V313 {
            // The kernel takes loads of nodes per capacity, but not those of tasks. Its comment says that power terms
            // are missing.
            let scaled = |load: u64, cap: i64| load as i64 * 1024 / cap.max(1);
            let (src, dst) = (scaled(s.src.load, src_cap) - load, scaled(s.dst.load, dst_cap) + load);
            return src.min(dst) * pct < src.max(dst) * 100;
        }
        // As in the kernel, the larger load is multiplied by the capacity of the source, whichever node it belongs to.
        let excess = |a: i64, b: i64| a.max(b) * src_cap * 100 - a.min(b) * dst_cap * pct;
        let (src, dst) = (s.src.load as i64, s.dst.load as i64);
        let after = excess(src - load, dst + load);
        after > 0 && after > excess(src, dst)
    }
}

impl NumaBalancing {
    /// Compares `dst_cpu` with the best choice so far.
    pub(super) fn task_numa_compare_before_v419<H: TaskHost>(&self, s: &mut Search, host: &mut H) {
        let model = self.cfg.switches.search;
        let v313 = model == SearchModel::V313;
        let cur = host.running_on(s.dst_cpu).filter(|&t| !self.tasks[t as usize].exiting);
        if cur == Some(s.task) || cur.is_some_and(|t| !host.allowed(t, s.src_cpu)) {
            return;
        }
        let grouped = self.tasks[s.task as usize].numa_group.is_some();
        let by_group = if v313 { s.group_imp > 0 } else { grouped };
        let move_imp = if by_group { s.group_imp } else { s.task_imp };
        let imp = cur.map_or(move_imp, |cur| self.swap_importance_before_v419(s, cur));
        // 3.13 takes the last of equal choices.
        let best = s.best_imp;
        let better = |imp: i64| imp > best || v313 && imp == best;
        if !better(imp) && (v313 || !better(move_imp)) {
            return;
        }
        match cur {
            None if model.no_room(s) => return,
            // Loads do not matter where each CPU runs one task.
            Some(_) if better(imp) && [s.src_cpu, s.dst_cpu].iter().all(|&c| host.cpu_stats(c).nr_running == 1) => {
                return s.assign(cur, imp);
            }
            _ => {}
        }
        let load = host.task_load(s.task) as i64;
        if !v313 && move_imp > imp && better(move_imp) && !model.unbalances(s, load) {
            // The importance is one less, so that an idle CPU wins. The task moves to this very CPU although it is
            // busy.
            return s.assign(None, move_imp - 1);
        }
        let back = cur.map_or(0, |t| host.task_load(t) as i64);
        if !better(imp) || model.unbalances(s, load - back) {
            return;
        }
        if cur.is_none() && !v313 {
            s.dst_cpu = host.idle_sibling(s.task, s.src_cpu, s.dst_cpu);
        }
        s.assign(cur, imp);
    }

    /// Gain of both tasks from a swap. A grouped task counts by its group, unless both tasks are in the same group.
    fn swap_importance_before_v419(&self, s: &Search, cur: TaskId) -> i64 {
        let (mine, theirs) = (self.tasks[s.task as usize].numa_group, self.tasks[cur as usize].numa_group);
        let gain = |whose| {
            let at = |nid| self.weight(whose, cur, nid, s.dist) as i64;
            at(s.src_nid) - at(s.dst_nid)
        };
        if mine == theirs {
            let imp = s.task_imp + gain(Whose::Task);
            return if theirs.is_some() { imp - imp / 16 } else { imp };
        }
        let own = if mine.is_some() { s.group_imp } else { s.task_imp };
        own + gain(if theirs.is_some() { Whose::Group } else { Whose::Task })
    }
}
