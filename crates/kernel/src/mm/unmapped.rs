//! What a mapping no longer holds, on its way back to physical memory.

use super::account::PageClass;
use crate::mm::pageblock::frame::Frame;

/// What a mapping gave up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unmapped {
    /// A page that nobody has any more.
    Page {
        /// Its node.
        node: usize,
        /// Its pageblock.
        frame: Frame,
        /// Its use.
        class: PageClass,
    },
    /// A page of a file that no process maps any more: it stays in the page cache.
    Cached {
        /// Its node.
        node: usize,
        /// Its pageblock.
        frame: Frame,
    },
    /// A slot of the swap device.
    Slot(u32),
    /// A part of a huge page whose rest is still mapped: it stays allocated until memory is short.
    ThpPart {
        /// Its node.
        node: usize,
    },
    /// The last part of a huge page, which goes whole.
    LastThpPart {
        /// Its node.
        node: usize,
        /// Its pageblock.
        frame: Frame,
    },
}
