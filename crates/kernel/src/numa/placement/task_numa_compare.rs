//! Searching a node for a CPU to move to or a task to swap with (kernel: `task_numa_find_cpu`, `task_numa_compare`,
//! kernel-numa-balancing.md §14.4).
//!
//! Importance is in thousandths of faults. A move needs room on the node, or a load balance that does not get worse. A
//! swap needs a sum of both tasks' gains that makes ping-pong unlikely. From 5.7 on the search prefers partners that
//! get to their preferred node, and ends at the first good choice. Before, every CPU of the node is compared, and a
//! move goes where `select_idle_sibling` sends it. [`before_v419`](super::before_v419) has the search before 4.19.

use super::node_stats::NodeType;
use super::search::Search;
use super::update_numa_stats::load_too_imbalanced;
use crate::numa::balancing::NumaBalancing;
use crate::numa::host::TaskHost;
use crate::numa::rules::SearchModel;
use crate::numa::state::TaskId;
use crate::numa::weights::Whose;
use crate::sched::imbalance::PlacementLoad;

/// Smallest importance of a swap.
pub const SMALLIMP: i64 = 30;

/// Importance of a swap after considering the other task's preferred node. It is a sixteenth less if that task is on
/// its preferred node already, and an eighth more if it would get there (truncated towards zero).
pub fn biased(imp: i64, on_preferred: bool, to_preferred: bool) -> i64 {
    let imp = if on_preferred { imp - imp / 16 } else { imp };
    if to_preferred {
        imp + imp / 8
    } else {
        imp
    }
}

/// Whether a swap of importance `imp` is worth considering, given the best importance so far.
pub fn swap_matters(imp: i64, best_imp: i64, small_imp: bool) -> bool {
    if small_imp {
        imp >= SMALLIMP && imp > best_imp + SMALLIMP / 2
    } else {
        imp > best_imp
    }
}

/// Whether a move of importance `imp` to a CPU on which nobody runs is taken, given the best importance so far.
pub fn moves_to_nobody(may_move: bool, imp: i64, best_imp: i64) -> bool {
    may_move && imp >= best_imp
}

impl NumaBalancing {
    /// Searches the destination node for the best choice.
    pub(super) fn task_numa_find_cpu<H: TaskHost>(&self, s: &mut Search, host: &mut H) {
        if self.cfg.switches.search != SearchModel::V419 {
            for &cpu in self.topo.cpus(s.dst_nid) {
                if host.allowed(s.task, cpu) {
                    s.dst_cpu = cpu;
                    self.task_numa_compare_before_v419(s, host);
                }
            }
            return;
        }
        let by_count = if s.dst.node_type == NodeType::HasSpare { self.spare_imbalance(s) } else { None };
        let may_move = match by_count {
            Some(0) => {
                if let Some(idle) = s.dst.idle_cpu {
                    s.dst_cpu = idle;
                    s.assign(None, 0);
                    return;
                }
                true
            }
            Some(_) => false,
            None => {
                let load = host.task_load(s.task) as i64;
                !load_too_imbalanced(s.src.load as i64 - load, s.dst.load as i64 + load, (&s.src, &s.dst))
            }
        };
        for i in 0..self.topo.cpus(s.dst_nid).len() {
            let cpu = self.topo.cpus(s.dst_nid)[i];
            if !host.allowed(s.task, cpu) {
                continue;
            }
            s.dst_cpu = cpu;
            if self.task_numa_compare(s, may_move, host) {
                break;
            }
        }
    }

    /// Imbalance that a move would leave after what is tolerated; `None` if the model compares loads.
    fn spare_imbalance(&self, s: &Search) -> Option<u32> {
        let src_running = i64::from(s.src.nr_running) - 1;
        let dst_running = s.dst.nr_running + 1;
        self.cfg.imbalance.placement(&PlacementLoad {
            imbalance: (i64::from(dst_running) - src_running).max(0) as u32,
            dst_running,
            src_running: src_running.max(0) as u32,
            dst_weight: s.dst.weight,
            imb_numa_nr: s.imb_numa_nr,
        })
    }

    /// Compares `dst_cpu` with the best choice so far. Returns whether the search of this node ends.
    fn task_numa_compare<H: TaskHost>(&self, s: &mut Search, may_move: bool, host: &mut H) -> bool {
        if s.best_cpu == Some(s.dst_cpu) || host.claimed(s.dst_cpu) {
            return false;
        }
        let bias = self.cfg.switches.bias_by_preference;
        let move_imp = if self.grouped(s.task) { s.group_imp } else { s.task_imp };
        let cur = host.running_on(s.dst_cpu).filter(|&t| self.swap_partner(t));
        let Some(cur) = cur else {
            return moves_to_nobody(may_move, move_imp, s.best_imp) && self.assign_move(s, move_imp, host);
        };
        if cur == s.task {
            return bias;
        }
        if !host.allowed(cur, s.src_cpu) {
            return false;
        }
        let to_preferred = bias && self.prefers(cur, s.src_nid);
        let best_to_preferred = bias && s.best_task.is_some_and(|best| self.prefers(best, s.src_nid));
        if best_to_preferred && !to_preferred {
            return false;
        }
        let Some(imp) = self.swap_importance(s, cur, move_imp) else { return false };
        let imp = if bias { biased(imp, self.prefers(cur, s.dst_nid), to_preferred) } else { imp };
        if may_move && move_imp > imp && move_imp > s.best_imp {
            return self.assign_move(s, move_imp, host);
        }
        let rescues = s.best_task.is_some() && to_preferred && !best_to_preferred;
        if !rescues {
            if !swap_matters(imp, s.best_imp, self.cfg.switches.small_imp) {
                return false;
            }
            let load = host.task_load(s.task) as i64 - host.task_load(cur) as i64;
            let stats = (&s.src, &s.dst);
            if load != 0 && load_too_imbalanced(s.src.load as i64 - load, s.dst.load as i64 + load, stats) {
                return false;
            }
        }
        s.assign(Some(cur), imp);
        bias && !may_move && s.best_task.is_some_and(|best| self.prefers(best, s.src_nid))
    }

    /// Whether the running task of a CPU can be swapped with. Otherwise the CPU counts as if nobody ran there.
    fn swap_partner(&self, t: TaskId) -> bool {
        let t = &self.tasks[t as usize];
        !t.exiting && (t.mm.is_some() || !self.cfg.switches.swap_user_tasks_only)
    }

    /// Gain of both tasks (§14.4 step 4); `None` if they must not be swapped.
    fn swap_importance(&self, s: &Search, cur: TaskId, move_imp: i64) -> Option<i64> {
        let (mine, theirs) = (self.tasks[s.task as usize].numa_group, self.tasks[cur as usize].numa_group);
        let gain = |whose| {
            let at = |nid| self.weight(whose, cur, nid, s.dist) as i64;
            at(s.src_nid) - at(s.dst_nid)
        };
        if mine == theirs {
            if self.cfg.switches.no_swap_with_spare && s.dst.node_type == NodeType::HasSpare {
                return None;
            }
            let imp = s.task_imp + gain(Whose::Task);
            // A little hysteresis against swaps inside a group for tiny differences.
            return Some(if theirs.is_some() { imp - imp / 16 } else { imp });
        }
        let whose = if mine.is_some() && theirs.is_some() { Whose::Group } else { Whose::Task };
        Some(move_imp + gain(whose))
    }

    /// Assigns a move to the remembered idle CPU, else to `dst_cpu`. Returns whether the search of this node ends.
    /// Before 5.7 the move goes where `select_idle_sibling` sends it from `dst_cpu`, and the search never ends.
    fn assign_move<H: TaskHost>(&self, s: &mut Search, imp: i64, host: &mut H) -> bool {
        if !self.cfg.switches.bias_by_preference {
            s.dst_cpu = host.idle_sibling(s.task, s.src_cpu, s.dst_cpu);
            // The kernel sets numa_migrate_on there, and finds it set if this search or another one has chosen the CPU
            // before.
            if s.best_cpu != Some(s.dst_cpu) && !host.claimed(s.dst_cpu) {
                s.assign(None, imp);
            }
            return false;
        }
        let mut cpu = s.dst.idle_cpu.unwrap_or(s.dst_cpu);
        if !host.idle(cpu) {
            if let Some(best) = s.best_cpu.filter(|&best| host.idle(best)) {
                cpu = best;
            }
        }
        s.dst_cpu = cpu;
        s.assign(None, imp);
        // Moves are assigned only where they are allowed.
        s.best_cpu.is_some_and(|best| host.idle(best))
    }

    fn grouped(&self, task: TaskId) -> bool {
        self.tasks[task as usize].numa_group.is_some()
    }
}
