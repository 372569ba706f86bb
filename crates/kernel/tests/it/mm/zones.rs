//! Sections 1 and 2: the watermarks of whole machines, zonelists, counters.

use crate::mm::machines;
use crate::mm::setup::{alloc_near, base_on_0, config, naples, put, State};
use numalab_kernel::mm::{Frame, MmConfig, PageClass, PhysicalMemory};

#[test]
fn vector_4_naples_node() {
    let w = naples(&[]).watermarks(0);
    assert_eq!((w.min, w.low, w.high, w.promo), (7040, 11_234, 15_428, 19_622));
    let without_thp = naples(&["thp.enabled=never"]).watermarks(0);
    assert_eq!(without_thp.min, 46_340 / 4 / 8);
}

#[test]
fn vector_9_orders_of_a_machine() {
    let m = naples(&[]);
    assert_eq!(m.fallback(5), [5, 6, 7, 4, 1, 2, 3, 0]);
    let x5 = PhysicalMemory::new(&machines::x5_8());
    assert_eq!(x5.fallback(3), [3, 7, 4, 2, 5, 6, 0, 1]);
}

#[test]
fn a_dma32_zone_is_used_after_normal_and_before_other_nodes() {
    let mut machine = machines::naples();
    machine.nodes[0].memory_bytes = 64 << 30;
    let mut m = PhysicalMemory::with_config(&machine, &config(&["vm.zones=z2"]), 0);
    let total = (64 << 30) / 4096;
    assert_eq!(m.free(0), total);
    let normal = total - (3 << 18);
    let normal_low = m.watermarks(0).low - (3 << 18) / 1000 - m.watermarks(0).min * 3 / 64;
    for _ in 0..normal - normal_low + 1000 {
        assert_eq!(base_on_0(&mut m), Ok(0));
    }
    // DMA32 keeps 244 MiB plus its low watermark from requests that could have used Normal.
    let mut more = 0;
    while base_on_0(&mut m) == Ok(0) {
        more += 1;
    }
    let left = m.free(0);
    let kept = (244 << 8) + m.watermarks(0).low;
    assert!(more > 600_000 && left.abs_diff(kept) <= 3, "{more} more, {left} left, {kept} kept");
    m.check().unwrap();
}

#[test]
fn hit_miss_foreign_local_other_are_events() {
    let mut m = naples(&[]);
    put(&mut m, 0, State::Stuck);
    assert_eq!(base_on_0(&mut m), Ok(1));
    let (zero, one) = (*m.node_counters(0), *m.node_counters(1));
    assert_eq!((zero.numa_foreign, zero.numa_hit, one.numa_miss, one.numa_other, one.numa_hit), (1, 0, 1, 1, 0));
    assert_eq!(alloc_near(&mut m, 2, 0b110, 512), Some(2), "a huge page counts once");
    assert_eq!((m.node_counters(2).numa_hit, m.node_counters(2).numa_local), (1, 1));
    assert_eq!(alloc_near(&mut m, 0, 0b1100, 1), Some(2), "bind inside its mask is a hit");
    assert_eq!((m.node_counters(2).numa_hit, m.node_counters(2).numa_other), (2, 1));
    assert_eq!((m.counters.numa_hit, m.counters.numa_miss, m.counters.numa_foreign), (2, 1, 1));
}

#[test]
fn pages_without_noted_frames_come_and_go() {
    let mut m = PhysicalMemory::with_config(&machines::milan(), &MmConfig::default(), 0);
    for _ in 0..2000 {
        assert_eq!(alloc_near(&mut m, 1, 3, 1), Some(1));
    }
    assert!(m.alloc_on(0, 1, 512).is_some() && m.alloc_on(1, 1, 512).is_some());
    assert_eq!(m.used(1), 3024);
    m.free_page(1, Frame::UNKNOWN, PageClass::AnonHuge);
    m.free_page(1, Frame::UNKNOWN, PageClass::AnonHuge);
    (0..2000).for_each(|_| m.free_page(1, Frame::UNKNOWN, PageClass::Anon));
    assert_eq!((m.used(1), m.empty_blocks(1)), (0, 256 * 512));
    m.check().unwrap();
}
