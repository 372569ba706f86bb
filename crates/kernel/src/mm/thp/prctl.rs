//! `prctl(PR_SET_THP_DISABLE)` of a process, with the exception for advised ranges (6.18).

/// `PR_THP_DISABLE_EXCEPT_ADVISED`.
pub const EXCEPT_ADVISED: u32 = 2;

/// What a process has asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ThpDisable {
    /// Nothing.
    #[default]
    No,
    /// No huge pages.
    All,
    /// Huge pages in advised ranges only.
    ExceptAdvised,
}

impl ThpDisable {
    /// `prctl(PR_SET_THP_DISABLE, disable, flags)`.
    ///
    /// # Errors
    /// Flags that do not exist, or flags without `disable` (EINVAL).
    pub fn set(disable: bool, flags: u32) -> Result<Self, &'static str> {
        match (disable, flags) {
            (false, 0) => Ok(Self::No),
            (true, 0) => Ok(Self::All),
            (true, EXCEPT_ADVISED) => Ok(Self::ExceptAdvised),
            (false, _) => Err("flags need disable = 1"),
            (true, _) => Err("the only flag is 2, PR_THP_DISABLE_EXCEPT_ADVISED"),
        }
    }
    /// `prctl(PR_GET_THP_DISABLE)`.
    pub fn get(self) -> u32 {
        match self {
            Self::No => 0,
            Self::All => 1,
            Self::ExceptAdvised => 1 | EXCEPT_ADVISED,
        }
    }
    /// Whether a range of the process may have huge pages. `advised`: it has MADV_HUGEPAGE, or a collapse was asked
    /// for.
    pub fn allows(self, advised: bool) -> bool {
        match self {
            Self::No => true,
            Self::All => false,
            Self::ExceptAdvised => advised,
        }
    }
}
