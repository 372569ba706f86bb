//! Budgets: what the state of a large machine takes, and what a page costs to get.

use crate::machines;
use crate::world::config;
use numalab_kernel::mm::{AddressSpace, NodeMemory, Vma, VmaKind, CHUNK_BYTES};

/// 16 TiB on 32 nodes, all of it in huge pages of one process.
#[test]
fn a_16_tib_machine_of_huge_pages_fits_in_4_gb() {
    let (nodes, per_node) = (32u64, 512u64 << 30);
    let mut machine = machines::naples();
    let node = machine.nodes[0].clone();
    machine.nodes = vec![node; nodes as usize];
    machine.nodes.iter_mut().for_each(|n| n.memory_bytes = per_node);
    machine.distance = (0..nodes).map(|a| (0..nodes).map(|b| if a == b { 10 } else { 20 }).collect()).collect();
    let mut memory = NodeMemory::with_config(&machine, &config(&["thp.enabled=always"]), 0);
    let mut vma = Vma::new(0, nodes * per_node, VmaKind::PrivateAnon, true, nodes as usize);
    let mut huge = 0;
    for node in 0..nodes as usize {
        while let Some(frame) = memory.alloc_on(node, node, 512) {
            vma.populate_huge(huge, node, frame);
            huge += 1;
        }
    }
    let all = (nodes * per_node / CHUNK_BYTES) as usize;
    assert!(huge > all * 99 / 100, "{huge} of {all}: only the reserves are left");
    let mut space = AddressSpace::default();
    let id = space.insert(vma);
    let bytes = space.vma(id).state_bytes() + memory.state_bytes();
    assert!(bytes < 4_000_000_000, "{bytes} bytes");
    // And with room to spare: a run has more to keep than this.
    assert!(bytes / all < 160, "{} bytes per huge page", bytes / all);
}
