//! When a busy CPU asks idle ones to balance, release by release.

/// When a busy CPU with one task asks idle ones to balance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NohzKick {
    /// If a second CPU of its group is busy, in any domain inside the cache: with two
    /// threads per core, that of its core (to 3.12).
    V37,
    /// If a second CPU of its cache is busy (37dc6b50cee9, 3.13).
    V313,
}

impl NohzKick {
    /// All with their names.
    pub const NAMES: [(&'static str, Self); 2] = [("v37", Self::V37), ("v313", Self::V313)];
}
