//! New pages that are not yet on the LRU.

use numalab_kernel::mm::{LruBatches, OwnPage, SharedMemory};

const LRU_BATCH: usize = 15;

fn page(vma: u32, page: u16) -> OwnPage {
    OwnPage { process: 0, vma, chunk: 3, page }
}

#[test]
fn a_batch_is_held_until_it_is_full() {
    let mut store = SharedMemory::default();
    let mut batches = LruBatches::new(2, LRU_BATCH);
    for i in 0..LRU_BATCH as u16 - 1 {
        batches.add_own(1, page(u32::from(i % 2), i), &mut store);
    }
    let of = |b: &LruBatches, vma| b.own_of(0, vma).collect::<Vec<_>>();
    assert_eq!(of(&batches, 0), (0..14).step_by(2).map(|p| (3, p)).collect::<Vec<_>>());
    assert_eq!(of(&batches, 1).len(), LRU_BATCH / 2);
    assert!(batches.own_of(1, 0).next().is_none(), "another process");
    // Other CPUs have batches of their own.
    batches.add_own(0, page(0, 500), &mut store);
    assert_eq!(of(&batches, 0).len(), LRU_BATCH / 2 + 1);
    // The fifteenth page moves the batch of its CPU to the LRU.
    batches.add_own(1, page(0, 14), &mut store);
    assert_eq!(of(&batches, 0), [(3, 500)]);
    assert!(batches.holds_own(page(0, 500)) && !batches.holds_own(page(0, 501)) && !batches.holds_own(page(0, 14)));
    batches.drain(0, &mut store);
    assert!(of(&batches, 0).is_empty() && !batches.holds_own(page(0, 500)));
}

#[test]
fn pages_with_the_same_place_in_the_table_are_told_apart() {
    let mut store = SharedMemory::default();
    let mut batches = LruBatches::new(3, LRU_BATCH);
    // Pages 2^14 apart.
    let far = |n: u32| OwnPage { process: 0, vma: 0, chunk: 3 + 32 * n, page: 7 };
    for cpu in 0..3 {
        batches.add_own(cpu, far(2 * cpu as u32), &mut store);
        batches.add_own(cpu, far(2 * cpu as u32 + 1), &mut store);
    }
    let held = |b: &LruBatches| (0..7).filter(|&n| b.holds_own(far(n))).collect::<Vec<_>>();
    assert_eq!(held(&batches), [0, 1, 2, 3, 4, 5]);
    batches.drain(1, &mut store);
    assert_eq!(held(&batches), [0, 1, 4, 5]);
    batches.drain(2, &mut store);
    batches.add_own(1, far(6), &mut store);
    assert_eq!(held(&batches), [0, 1, 6]);
    batches.drain(0, &mut store);
    batches.drain(1, &mut store);
    assert!(held(&batches).is_empty());
}
