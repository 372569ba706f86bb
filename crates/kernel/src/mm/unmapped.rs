//! What a mapping gives back when it unmaps pages.

use super::account::PageClass;
use crate::mm::pageblock::frame::Frame;

/// Something that a mapping no longer holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unmapped {
    /// A page that no other VMA maps.
    Page {
        /// Node of the page.
        node: usize,
        /// Pageblock of the page.
        frame: Frame,
        /// Use of the page.
        class: PageClass,
    },
    /// A grain of base pages of one node that no other VMA maps.
    Grain {
        /// Node of the pages.
        node: usize,
        /// Their pageblock, or [`Frame::UNKNOWN`] if they have several.
        frame: Frame,
        /// Use of the pages.
        class: PageClass,
        /// Their number.
        pages: u64,
    },
    /// A page of a file that no process maps any more. It stays in the page cache.
    Cached {
        /// Node of the page.
        node: usize,
        /// Pageblock of the page.
        frame: Frame,
    },
    /// A slot of the swap device.
    Slot(u32),
    /// A part of a huge page whose rest is still mapped. It stays allocated until memory is short.
    ThpPart {
        /// Node of the huge page.
        node: usize,
    },
    /// The last mapped part of a huge page, so that the whole page is free.
    LastThpPart {
        /// Node of the huge page.
        node: usize,
        /// Pageblock of the huge page.
        frame: Frame,
    },
}
