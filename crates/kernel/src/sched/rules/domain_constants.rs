//! Intervals and thresholds of domains, by release.

/// Which release's intervals and thresholds domains have.
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
    /// Every variant with its word.
    pub const NAMES: [(&'static str, Self); 3] = [("v37", Self::V37), ("v316", Self::V316), ("v510", Self::V510)];
}
