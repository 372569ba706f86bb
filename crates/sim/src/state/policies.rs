//! Memory policies of the workload in the kernel's form.

use numalab_base::node_mask::NodeMask;
use numalab_kernel::mm::policy::{interleave_index, MemPolicy};
use numalab_kernel::mm::Vma;
use numalab_nouns::workload::{Policy, Process};

/// The policy as the kernel keeps it; nodes outside `mems` (those with memory) are left out, and a policy that loses
/// all its nodes is the default, which the resolver of workloads rules out.
pub fn compile(policy: &Policy, mems: NodeMask) -> MemPolicy {
    let nodes = NodeMask::of(policy.nodes.iter().map(|&n| n as usize));
    let Ok(mut out) = MemPolicy::new(policy.mode, nodes, mems) else { return MemPolicy::DEFAULT };
    if !policy.weights.is_empty() {
        out = out.with_weights(&policy.weights);
    }
    if policy.numa_balancing {
        out = out.clone().with_numa_balancing().unwrap_or(out);
    }
    out
}

/// Nodes that the cpuset of a process allows, of those with memory.
pub fn allowed(process: &Process, all: NodeMask) -> NodeMask {
    process.mems.as_ref().map_or(all, |m| NodeMask::of(m.iter().map(|&n| n as usize)).and(&all))
}

/// Interleave index of a page of a mapping: the pattern belongs to the address, in steps of the page size.
pub fn page_index(vma: &Vma, chunk: usize, page: usize, order: u32) -> u64 {
    debug_assert!(order == 0 || page == 0);
    let (size, addr) = (vma.grain.base_page(), vma.page_addr(chunk, page).max(vma.start));
    debug_assert!(addr < vma.chunk_base(chunk) + vma.chunk_bytes());
    // The pattern goes from grain to grain, where there are any.
    interleave_index(size, size.pages(vma.start), vma.start, addr, order + vma.grain.order())
}

#[cfg(test)]
mod tests {
    use super::*;
    use numalab_kernel::mm::policy::{all_nodes, PolicyMode};
    use numalab_kernel::mm::VmaKind;

    fn policy(mode: PolicyMode, nodes: &[u32], weights: &[u8]) -> MemPolicy {
        let p = Policy { mode, nodes: nodes.to_vec(), weights: weights.to_vec(), numa_balancing: false };
        compile(&p, all_nodes())
    }

    #[test]
    fn machines_8_4_vector_11_weighted_interleave() {
        let weighted = policy(PolicyMode::WeightedInterleave, &[0, 2], &[9, 1]);
        let nodes: Vec<_> = (0..10).map(|i| weighted.policy_nodes(0, i).preferred).collect();
        assert_eq!(nodes.iter().filter(|&&n| n == 0).count(), 9);
        assert_eq!(nodes.iter().filter(|&&n| n == 2).count(), 1);
    }

    #[test]
    fn huge_pages_interleave_in_steps_of_their_own() {
        let v = Vma::new(0, 16 << 20, VmaKind::PrivateAnon, true, 4);
        assert_eq!([0, 1, 4].map(|chunk| page_index(&v, chunk, 0, 9)), [0, 1, 4]);
        assert_eq!([0, 5].map(|page| page_index(&v, 1, page, 0)), [512, 517]);
    }

    #[test]
    fn nodes_without_memory_are_left_out() {
        let p = Policy { mode: PolicyMode::Bind, nodes: vec![1, 2], weights: vec![], numa_balancing: true };
        let bound = compile(&p, NodeMask::of([0, 1]));
        assert_eq!(bound.nodes(), NodeMask::of([1]));
        assert!(bound.migrates_on_fault(), "with the flag");
    }
}
