//! How an import knows what memory a node holds.

/// How the kind of a node is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Origin {
    /// The source names it, or it is ordinary memory of CPUs.
    Read,
    /// The user named it.
    Given,
    /// It follows from what the source states, for the reason named.
    Concluded(&'static str),
    /// Nothing tells.
    Unknown,
}
