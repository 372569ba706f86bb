//! Marks for the plugin of QEMU, which observes memory accesses below the kernel.
//!
//! A read of an otherwise unused page at a fixed address tells the plugin that the run begins, that a sample is taken,
//! or that the run ends. The plugin's counters thereby share the time axis of the samples. Without the plugin a mark
//! costs one load.

use crate::sys;

/// Address of the page.
pub const ADDRESS: u64 = 0x4E55_4D41_0000;

/// Kind of a mark; the read is at offset `8 * value` of the page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mark {
    /// The workload starts.
    Begin = 0,
    /// A sample is taken.
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
    /// Maps the page. If that fails, marks do nothing.
    pub fn new() -> Self {
        Self { mapped: sys::map_at(ADDRESS, sys::PAGE_BYTES, true, sys::Backing::Private).is_ok() }
    }

    /// Makes a mark.
    pub fn set(&self, mark: Mark) {
        if self.mapped {
            // SAFETY: `new` mapped the page, it is never unmapped, and nothing else uses it.
            unsafe { ((ADDRESS + 8 * mark as u64) as *const u64).read_volatile() };
        }
    }
}

impl Default for Marks {
    fn default() -> Self {
        Self::new()
    }
}
