//! The pageblock and the flags of a page.

/// Where a page lies, and its flags: a pageblock of the machine, numbered through all zones, below 2^28 (512 TiB), and the
/// three page flags that reclaim keeps of an anonymous page in the bits above. They go wherever the page goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Frame(pub u32);

impl Frame {
    /// A page whose place was not noted; freeing it takes one from some block of its node. It has no flags.
    pub const UNKNOWN: Self = Self(u32::MAX);
    /// `PG_active`: on the active list.
    pub const ACTIVE: u32 = 1 << 28;
    /// `PG_referenced`: found used when reclaim looked last.
    pub const REFERENCED: u32 = 1 << 29;
    /// `PG_workingset`: it has been on the active list before.
    pub const WORKINGSET: u32 = 1 << 30;

    /// Its pageblock.
    #[inline]
    pub fn block(self) -> u32 {
        if self == Self::UNKNOWN {
            self.0
        } else {
            self.0 & (Self::ACTIVE - 1)
        }
    }
    /// Whether it has a flag.
    #[inline]
    pub fn has(self, flag: u32) -> bool {
        self != Self::UNKNOWN && self.0 & flag != 0
    }
    /// The same page with a flag set or cleared; an unknown one stays without.
    #[inline]
    pub fn with(self, flag: u32, on: bool) -> Self {
        match self {
            Self::UNKNOWN => self,
            _ if on => Self(self.0 | flag),
            _ => Self(self.0 & !flag),
        }
    }
}
