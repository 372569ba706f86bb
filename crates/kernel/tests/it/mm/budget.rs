//! Budgets: memory for the state of a large machine, and time to allocate a page.

use crate::mm::machines;
use crate::mm::setup::config;
use numalab_kernel::mm::{AddressSpace, PhysicalMemory, SharedMemory, Vma, VmaKind, CHUNK_BYTES};

/// One process has 16 TiB on 32 nodes, all in huge pages.
#[test]
fn a_16_tib_machine_of_huge_pages_fits_in_4_gb() {
    let (nodes, per_node) = (32u64, 512u64 << 30);
    let mut machine = machines::naples();
    let node = machine.nodes[0].clone();
    machine.nodes = vec![node; nodes as usize];
    machine.nodes.iter_mut().for_each(|n| n.memory_bytes = per_node);
    machine.distance = (0..nodes).map(|a| (0..nodes).map(|b| if a == b { 10 } else { 20 }).collect()).collect();
    let mut memory = PhysicalMemory::with_config(&machine, &config(&["thp.enabled=always"]), 0);
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
    // This leaves room for the other state of a run.
    assert!(bytes / all < 160, "{} bytes per huge page", bytes / all);
}

/// CPU time of this thread, ns, without the time of other programs; `None` if the system does not provide it.
fn cpu_ns() -> Option<u64> {
    std::fs::read_to_string("/proc/thread-self/schedstat").ok()?.split(' ').next()?.parse().ok()
}

/// Changes memory and page tables as first faults of a gigabyte and an exit do. The speed benchmark handles about ten
/// million page events a second, so a page may take a few hundred ns. The limit of 1 us finds what is ten times
/// slower, but does not fail on a slow machine.
#[test]
fn a_page_comes_and_goes_within_its_budget() {
    if cfg!(debug_assertions) {
        return;
    }
    let mut machine = machines::naples();
    machine.nodes.truncate(1);
    machine.nodes[0].memory_bytes = 2 << 30;
    machine.distance = vec![vec![10]];
    for huge in [false, true] {
        let mut memory = PhysicalMemory::with_config(&machine, &config(&["thp.enabled=always"]), 0);
        let mut space = AddressSpace::default();
        let id = space.insert(Vma::new(0, 1 << 30, VmaKind::PrivateAnon, true, 1));
        let start = cpu_ns();
        for chunk in 0..512 {
            if huge {
                let frame = memory.alloc_on(0, 0, 512).unwrap();
                space.vma_mut(id).populate_huge(chunk, 0, frame);
                continue;
            }
            for page in 0..512 {
                let frame = memory.alloc_on(0, 0, 1).unwrap();
                space.vma_mut(id).populate(chunk, page, 0, frame);
            }
        }
        space.exit_mmap(0, &mut memory, &mut SharedMemory::default());
        let events = if huge { 512 } else { 512 * 512 };
        // The result is checked on every system; only the time needs the clock.
        let took = start.zip(cpu_ns());
        assert_eq!(memory.used(0), 0);
        match took {
            Some((start, end)) => {
                let each = (end - start) / events;
                assert!(each < if huge { 20_000 } else { 1000 }, "{each} ns a page, huge {huge}");
            }
            None => eprintln!("not timed: no /proc/thread-self/schedstat here"),
        }
    }
}
