//! Intervals and thresholds of domains, release by release.

/// Whose constants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DomainConstants {
    /// Up to 3.15.
    V37,
    /// 3.16 to 5.9.
    V316,
    /// From 5.10 on.
    V510,
}

impl DomainConstants {
    /// All with their names.
    pub const NAMES: [(&'static str, Self); 3] = [("v37", Self::V37), ("v316", Self::V316), ("v510", Self::V510)];
}
