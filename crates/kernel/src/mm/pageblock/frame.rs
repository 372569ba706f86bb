//! The pageblock and the flags of a page.

/// The pageblock of a page, and three of its flags. Pageblocks of the machine are numbered through all zones, below
/// 2^28 (512 TiB). The bits above hold the flags that reclaim keeps of an anonymous page; they move with the page.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Frame(pub u32);

impl Frame {
    /// The frame of a page whose pageblock is not noted. Freeing it frees a page of some block of its node. It has no
    /// flags.
    pub const UNKNOWN: Self = Self(u32::MAX);
    /// `PG_active`: the page is on the active list.
    pub const ACTIVE: u32 = 1 << 28;
    /// `PG_referenced`: the page was found used at the last scan.
    pub const REFERENCED: u32 = 1 << 29;
    /// `PG_workingset`: the page has been on the active list before.
    pub const WORKINGSET: u32 = 1 << 30;

    /// Pageblock of the page.
    #[inline]
    pub fn block(self) -> u32 {
        if self == Self::UNKNOWN {
            self.0
        } else {
            self.0 & (Self::ACTIVE - 1)
        }
    }
    /// Whether a flag is set.
    #[inline]
    pub fn has(self, flag: u32) -> bool {
        self != Self::UNKNOWN && self.0 & flag != 0
    }
    /// This frame with a flag set or cleared; [`Self::UNKNOWN`] does not change.
    #[inline]
    pub fn with(self, flag: u32, on: bool) -> Self {
        match self {
            Self::UNKNOWN => self,
            _ if on => Self(self.0 | flag),
            _ => Self(self.0 & !flag),
        }
    }
}
