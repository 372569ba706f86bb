//! Marks that an observer below the kernel can see.
//!
//! The emulator plugin of the lab watches memory accesses. A read of an otherwise unused page at a fixed
//! address tells it where the run begins, where samples are taken and where the run ends, so that its
//! own counters share the time axis of the samples. Elsewhere the marks cost one load.

use crate::sys;

/// The page.
pub const ADDRESS: u64 = 0x4E55_4D41_0000;

/// What a mark says; the read is at `8 * value`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mark {
    /// The workload starts now.
    Begin = 0,
    /// A sample is taken now.
    Sample = 1,
    /// The workload has ended.
    End = 2,
}

/// The mapped page.
#[derive(Debug)]
pub struct Marks {
    mapped: bool,
}

impl Marks {
    /// Maps the page; without it marks do nothing.
    pub fn new() -> Self {
        Self { mapped: sys::map_at(ADDRESS, sys::PAGE_BYTES, true, sys::Backing::Private).is_ok() }
    }
    /// Makes a mark.
    pub fn set(&self, mark: Mark) {
        if self.mapped {
            // SAFETY: the page was mapped by `new` and stays so; nothing else uses it.
            unsafe { ((ADDRESS + 8 * mark as u64) as *const u64).read_volatile() };
        }
    }
}

impl Default for Marks {
    fn default() -> Self {
        Self::new()
    }
}
