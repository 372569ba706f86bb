//! Whether and where a page is misplaced (kernel: `mpol_misplaced`, kernel-numa-balancing.md §9.3).

use super::policy::{EffectivePolicy, PolicyMode};
use crate::numa::balancing::NumaBalancing;
use crate::numa::fault_result::FaultSite;
use crate::numa::migrate::ZoneInfo;
use crate::numa::page::PageFacts;
use numalab_base::node_mask::NodeMask;

impl NumaBalancing {
    /// The node on which the page should be; `None` if it may stay.
    pub(super) fn mpol_misplaced<M: ZoneInfo>(
        &mut self,
        at: FaultSite,
        page: &mut PageFacts,
        policy: &EffectivePolicy,
        memory: &M,
    ) -> Option<usize> {
        if !policy.migrate_on_fault {
            return None;
        }
        let here = self.topo.node_of(at.cpu);
        // Since about 5.15 policies have one node mask, and a page on one of its nodes is not examined further.
        let exits = !self.cfg.switches.local_fault_updates_cpupid;
        let mut wanted = match policy.mode {
            PolicyMode::Default if exits && page.nid == here => return None,
            PolicyMode::Default | PolicyMode::Local => here,
            PolicyMode::Interleave(node) => node,
            PolicyMode::Preferred(nodes) if exits && nodes.contains(page.nid) => return None,
            PolicyMode::Preferred(nodes) => nodes.first()?,
            PolicyMode::Bind(nodes) | PolicyMode::PreferredMany(nodes) if policy.to_faulting_node => {
                if !nodes.contains(here) {
                    return None;
                }
                here
            }
            PolicyMode::Bind(nodes) | PolicyMode::PreferredMany(nodes) => {
                if nodes.contains(page.nid) {
                    return None;
                }
                self.nearest_of(nodes, here)?
            }
        };
        if policy.to_faulting_node {
            wanted = here;
            if let Err(denial) = self.should_numa_migrate_memory(at, page, here, memory) {
                if let Some(denial) = denial.filter(|_| page.nid != here) {
                    self.reasons.denied[denial as usize] += u64::from(page.grain);
                }
                return None;
            }
        }
        (page.nid != wanted).then_some(wanted)
    }

    /// The nearest node of a set; the lowest number wins a tie.
    fn nearest_of(&self, nodes: NodeMask, from: usize) -> Option<usize> {
        nodes.iter().min_by_key(|&n| (self.topo.distance(from, n), n))
    }
}
