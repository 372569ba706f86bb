//! Page faults: first touch, NUMA hint faults with migration, write-protection faults after it.

use crate::access::FaultEnd;
use crate::engine::World;
use crate::host::Host;
use crate::task::TaskPolicy;
use numalab_kernel::mm::{PageState, CHUNK_PAGES, PAGE_BYTES};
use numalab_kernel::numa::{EffectivePolicy, MigrateResult, PageFacts};
use numalab_model::workload::PolicyMode;

impl World<'_> {
    /// Handles the fault on one page; returns its time in the kernel and how it ended.
    #[allow(clippy::too_many_arguments)]
    pub(crate) fn fault(
        &mut self,
        cpu: usize,
        task: u32,
        vma: usize,
        chunk: usize,
        page: usize,
        write: bool,
        clock: u64,
    ) -> (u64, FaultEnd) {
        let process = self.tasks[task as usize].process as usize;
        match self.processes[process].space.vma(vma).page(chunk, page) {
            PageState::Absent => self.first_touch(cpu, task, vma, chunk, page),
            PageState::Marked { node, last, pages } => {
                let found = Found { vma, chunk, page, node: node as usize, last, pages };
                (self.hint_fault(cpu, task, &found, write, clock), FaultEnd::Go)
            }
            PageState::ReadOnly { .. } => {
                self.vm.pgfault += 1;
                self.vm.pgreuse += 1;
                self.processes[process].space.vma_mut(vma).reuse_for_write(chunk, page);
                (self.machine.costs.exception_ns as u64, FaultEnd::Go)
            }
            PageState::Ready { .. } => (0, FaultEnd::Go),
        }
    }

    fn first_touch(&mut self, cpu: usize, task: u32, vma: usize, chunk: usize, page: usize) -> (u64, FaultEnd) {
        let here = self.cpus[cpu].node;
        let t = &self.tasks[task as usize];
        let process = t.process as usize;
        let costs = &self.machine.costs;
        let v = self.processes[process].space.vma(vma);
        let index = v.chunk_base(chunk) / PAGE_BYTES + page as u64 - v.start / PAGE_BYTES;
        let (preferred, allowed) = first_choice(&t.policy, here, index, self.machine.node_count());
        self.vm.pgfault += 1;
        if v.huge_ok && v.chunk_is_whole(chunk) && v.chunk(chunk).present == 0 {
            if self.memory.alloc_this_node(here, preferred, CHUNK_PAGES) {
                self.vm.thp_fault_alloc += 1;
                self.processes[process].space.vma_mut(vma).populate_huge(chunk, preferred);
                let rate = if preferred == here { costs.zero_local_gbps } else { costs.zero_remote_gbps };
                let ns = costs.huge_fault_ns + costs.huge_alloc_ns + (CHUNK_PAGES * PAGE_BYTES) as f64 / rate;
                return (ns as u64, FaultEnd::Go);
            }
            self.vm.thp_fault_fallback += 1;
        }
        let Some(node) = self.memory.alloc(here, preferred, allowed, 1) else {
            let name = &self.workload.processes[process].name;
            self.status = numalab_model::record::Status::Failed(format!(
                "out of memory: {name} touched a page and no allowed node has any left"
            ));
            return (0, FaultEnd::OutOfMemory);
        };
        self.processes[process].space.vma_mut(vma).populate(chunk, page, node);
        let mut ns = costs.minor_fault_ns;
        if node != here {
            ns += 2.0 * (self.machine.latency_ns[here][node] - self.machine.latency_ns[here][here]);
        }
        (ns as u64, FaultEnd::Go)
    }

    fn hint_fault(&mut self, cpu: usize, task: u32, f: &Found, write: bool, clock: u64) -> u64 {
        self.vm.pgfault += 1;
        let here = self.cpus[cpu].node;
        let process = self.tasks[task as usize].process as usize;
        let pid = self.tasks[task as usize].pid;
        let p = &mut self.processes[process];
        if let Some(state) = &mut p.vma_numa[f.vma] {
            state.record_access(pid);
        }
        let mut facts = PageFacts {
            nid: f.node as u32,
            last_cpupid: f.last,
            pages: f.pages,
            mapcount: 1,
            writable: true,
            shared_mapping: false,
            file: false,
        };
        let policy = EffectivePolicy { migrate_on_fault: self.tasks[task as usize].policy.migrate_on_fault };
        let decision = self.numa.hint_fault_decide(task, cpu as u32, &mut facts, &policy);
        let space = p.space.vma_mut(f.vma);
        space.unmark(f.chunk, f.page);
        let mut ns = self.machine.costs.hint_fault_ns as u64;
        let mut result = MigrateResult::NotTried;
        if facts.last_cpupid != f.last {
            space.set_last(f.chunk, f.page, facts.last_cpupid);
        }
        if let Some(target) = decision.target {
            let target = target as usize;
            let pages = u64::from(f.pages);
            if self.memory.alloc_migration(here, target, pages) {
                self.memory.release(f.node, pages);
                let space = self.processes[process].space.vma_mut(f.vma);
                space.move_page(f.chunk, f.page, target, facts.last_cpupid);
                if self.cfg.migration_drops_write() && pages == 1 {
                    space.set_read_only(f.chunk, f.page);
                }
                ns += self.migration_ns(cpu, task, f, target, clock);
                result = MigrateResult::Migrated;
            } else {
                result = MigrateResult::Refused;
            }
        }
        if write && result == MigrateResult::Migrated {
            self.store_after_migration(process, f, &mut ns);
        }
        let rss = self.processes[process].space.rss_pages();
        let mut host = Host {
            sched: &mut self.sched,
            tasks: &self.tasks,
            jiffy_ns: self.cfg.jiffy_ns(),
            now_ns: clock,
            rss_pages: rss,
            moves: &mut self.moves,
        };
        self.numa.hint_fault_done(task, cpu as u32, &decision, &facts, result, &mut host);
        ns
    }

    /// The store that caused a migrating hint fault meets the read-only entry at once.
    fn store_after_migration(&mut self, process: usize, f: &Found, ns: &mut u64) {
        let space = self.processes[process].space.vma_mut(f.vma);
        if let PageState::ReadOnly { .. } = space.page(f.chunk, f.page) {
            space.reuse_for_write(f.chunk, f.page);
            self.vm.pgfault += 1;
            self.vm.pgreuse += 1;
            *ns += self.machine.costs.exception_ns as u64;
        }
    }

    /// Time to migrate a page on a hint fault, its shoot-down included where the kernel needs one.
    fn migration_ns(&mut self, cpu: usize, task: u32, f: &Found, target: usize, clock: u64) -> u64 {
        let costs = &self.machine.costs;
        let copy = if f.node == target { costs.copy_4k_local_ns } else { costs.copy_4k_remote_ns };
        let huge = f.pages > 1;
        let ns = if huge {
            costs.migrate_2m_ns + copy * CHUNK_PAGES as f64
        } else {
            costs.migrate_4k_ns + copy
        };
        let process = self.tasks[task as usize].process as usize;
        let protecting = self.processes[process].protecting_until_ns > clock;
        let flush = huge || protecting || self.cfg.migrate_flush_inaccessible();
        ns as u64 + if flush { self.shoot_down(cpu, task, false) } else { 0 }
    }
}

/// A marked page that was touched.
struct Found {
    vma: usize,
    chunk: usize,
    page: usize,
    node: usize,
    last: u32,
    pages: u32,
}

/// Node to try first and nodes allowed, by policy (thp-and-allocation.md section 6).
fn first_choice(policy: &TaskPolicy, here: usize, index: u64, nodes: usize) -> (usize, u64) {
    let all = if nodes >= 64 { u64::MAX } else { (1 << nodes) - 1 };
    let first = policy.mask.trailing_zeros() as usize;
    match policy.mode {
        PolicyMode::Default | PolicyMode::Local => (here, all),
        PolicyMode::Preferred => (first, all),
        PolicyMode::PreferredMany if policy.mask >> here & 1 != 0 => (here, all),
        PolicyMode::PreferredMany => (first, all),
        PolicyMode::Bind => (here, policy.mask),
        PolicyMode::Interleave => {
            let n = policy.nodes.len().max(1) as u64;
            (policy.nodes.get((index % n) as usize).map_or(here, |&x| x as usize), all)
        }
        PolicyMode::WeightedInterleave => {
            let total: u64 = policy.weights.iter().map(|&w| u64::from(w)).sum::<u64>().max(1);
            let mut at = index % total;
            for (&node, &w) in policy.nodes.iter().zip(&policy.weights) {
                if at < u64::from(w) {
                    return (node as usize, all);
                }
                at -= u64::from(w);
            }
            (here, all)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn policy(mode: PolicyMode, nodes: &[u32], weights: &[u8]) -> TaskPolicy {
        let mask = nodes.iter().fold(0, |m, n| m | 1 << n);
        TaskPolicy { mode, mask, nodes: nodes.to_vec(), weights: weights.to_vec(), migrate_on_fault: false }
    }

    #[test]
    fn first_choice_follows_the_policy() {
        assert_eq!(first_choice(&TaskPolicy::system(), 1, 0, 2), (1, 3));
        assert_eq!(first_choice(&policy(PolicyMode::Bind, &[0], &[]), 1, 0, 2), (1, 1));
        assert_eq!(first_choice(&policy(PolicyMode::Preferred, &[2], &[]), 1, 0, 4), (2, 15));
        let spread = policy(PolicyMode::Interleave, &[0, 2], &[]);
        assert_eq!((0..4).map(|i| first_choice(&spread, 1, i, 4).0).collect::<Vec<_>>(), [0, 2, 0, 2]);
        // machines.md vector 11: weights 9:1 put nine of ten pages on DRAM, one on CXL.
        let weighted = policy(PolicyMode::WeightedInterleave, &[0, 2], &[9, 1]);
        let on_cxl = (0..10).filter(|&i| first_choice(&weighted, 0, i, 4).0 == 2).count();
        assert_eq!(on_cxl, 1);
    }
}
