//! When a newly idle CPU searches, release by release.

/// When a CPU that runs dry searches for work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Newidle {
    /// If it idles for as long as a migration costs (to 3.12).
    V37,
    /// The same, and a domain only if its search pays (9bd721c55c8a, 3.13).
    V313,
    /// The same, and only if some CPU has two tasks (4486edd12b5a, 3.17).
    V317,
    /// If the lowest domain's search pays, however short the idle time (c5b0a7eefc70, 5.16).
    V516,
}

impl Newidle {
    /// All with their names.
    pub const NAMES: [(&'static str, Self); 4] =
        [("v37", Self::V37), ("v313", Self::V313), ("v317", Self::V317), ("v516", Self::V516)];
}
