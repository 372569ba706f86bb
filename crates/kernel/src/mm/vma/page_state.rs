//! The state of a page, as an access finds it.

use crate::mm::object::PageRef;
use numalab_base::node_mask::NodeId;

/// The state of a page, as an access finds it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PageState {
    /// Nothing is mapped.
    Absent,
    /// The entry is PROT_NONE.
    Marked {
        /// Node of the page.
        node: NodeId,
        /// Last cpupid of the page.
        last: u32,
        /// Base pages: 1, those of its large folio, or 512 for a huge page. `last` is that of the whole folio.
        pages: u32,
        /// The shared page that the entry maps; `None` for an exclusive page.
        shared: Option<PageRef>,
    },
    /// The entry is a migration entry.
    Migrating(PageRef),
    /// The page is mapped, but a store faults.
    ReadOnly {
        /// Node of the page.
        node: NodeId,
        /// The shared page that the entry maps; `None` for an exclusive page.
        shared: Option<PageRef>,
    },
    /// The page is mapped.
    Ready {
        /// Node of the page.
        node: NodeId,
    },
}
