//! What an access to a page meets.

use crate::mm::object::PageRef;

/// What an access to a page meets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PageState {
    /// Nothing mapped.
    Absent,
    /// PROT_NONE.
    Marked {
        /// Its node.
        node: u8,
        /// Its last cpupid.
        last: u32,
        /// 1, or 512 for a huge page.
        pages: u32,
        /// The shared page it is, if not exclusive.
        shared: Option<PageRef>,
    },
    /// A migration entry.
    Migrating(PageRef),
    /// Mapped, but the next store faults.
    ReadOnly {
        /// Its node.
        node: u8,
        /// The shared page it is, if not exclusive.
        shared: Option<PageRef>,
    },
    /// Mapped.
    Ready {
        /// Its node.
        node: u8,
    },
}
