//! Marks for the plugin of QEMU, which observes memory accesses below the kernel.
//!
//! A read of an otherwise unused page at a fixed address tells the plugin that the run begins, that a sample is taken,
//! or that the run ends. The plugin's counters thereby share the time axis of the samples. Without the plugin a mark
//! costs one load.

use crate::sys;

/// Address of the page.
pub const ADDRESS: u64 = 0x4E55_4D41_0000;

/// Where text begins in the page, bytes.
const TEXT_AT: u64 = 64;

/// Kind of a mark; the read is at offset `8 * value` of the page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mark {
    /// The workload starts.
    Begin = 0,
    /// A sample is taken.
    Sample = 1,
    /// The workload has ended.
    End = 2,
    /// The page holds text that describes the kernel ([`Marks::describe`]).
    Layout = 3,
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

impl Marks {
    /// Lays down text that describes the kernel for the recorder of accesses, and says so by a mark.
    ///
    /// # Errors
    /// There is no page, or the text is longer than it.
    pub fn describe(&self, text: &str) -> Result<(), String> {
        let room = (sys::PAGE_BYTES - TEXT_AT) as usize;
        if !self.mapped || text.len() >= room {
            return Err(format!("{} bytes that describe the kernel have no room in {room}", text.len()));
        }
        // SAFETY: `new` mapped the page writable, the text fits behind `TEXT_AT`, and nothing else uses it.
        unsafe { std::ptr::copy_nonoverlapping(text.as_ptr(), (ADDRESS + TEXT_AT) as *mut u8, text.len()) };
        self.set(Mark::Layout);
        Ok(())
    }
}

impl Default for Marks {
    fn default() -> Self {
        Self::new()
    }
}
