//! The hot path of the hardware model allocates nothing. This test counts with its own allocator.

#[path = "it/hw/machines.rs"]
#[allow(dead_code)]
mod machines;

use numalab_kernel::hw::contention::{Contention, Flow, PageCopy};
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

struct Counting;

thread_local! {
    /// Number of allocations of this thread. Constant-initialised, so that reading it does not allocate.
    static CALLS: Cell<u64> = const { Cell::new(0) };
}

fn count() {
    CALLS.with(|calls| calls.set(calls.get() + 1));
}

// SAFETY: every call is passed unchanged to the system allocator, which upholds the contract.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count();
        // SAFETY: the caller's obligations are those of `System`.
        unsafe { System.alloc(layout) }
    }
    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        // SAFETY: `at` came from `System` with this layout.
        unsafe { System.dealloc(at, layout) }
    }
    unsafe fn realloc(&self, at: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count();
        // SAFETY: `at` came from `System` with this layout.
        unsafe { System.realloc(at, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

#[test]
fn solving_an_epoch_allocates_nothing() {
    let m = machines::spr_8s();
    let pairs = |scale: f64| -> Vec<Flow> {
        (0..32u32)
            .flat_map(|i| (0..32u32).map(move |j| (i, j)))
            .flat_map(|(i, j)| {
                let threads = scale * f64::from(1 + (i * 5 + j * 3) % 7) / 16.0;
                [Flow::stream(&m, i, j, threads), Flow::random(&m, i, j, threads)]
            })
            .collect()
    };
    let epochs = [pairs(0.5), pairs(20.0), pairs(1.0)[..700].to_vec(), Vec::new()];
    let copies = [PageCopy { from_node: 0, to_node: 9, gbps: 3.0, clears: false }];
    let mut c = Contention::new(&m);
    let before = CALLS.with(Cell::get);
    for flows in &epochs {
        c.solve(flows, &copies);
        assert_eq!(c.rates().len(), flows.len());
    }
    assert_eq!(CALLS.with(Cell::get) - before, 0);
    let seen = Box::new(CALLS.with(Cell::get));
    assert_eq!(CALLS.with(Cell::get), *seen + 1, "the counter counts");
}
