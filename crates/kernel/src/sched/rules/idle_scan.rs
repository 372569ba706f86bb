//! How a wake-up looks for an idle CPU, release by release.

/// How a wake-up looks for an idle CPU in the cache of its target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IdleScan {
    /// As far as the cache is not in use (SIS_UTIL, 6.0 on).
    Util,
    /// As far as the waking CPU's remembered idle time pays for it (SIS_PROP, 5.14 to 5.19).
    Prop,
    /// As far as a 512th of the waking CPU's average idle time pays for it (SIS_PROP, 4.13 to 5.13).
    PropV413,
    /// Only whole idle groups, the largest first (3.9 to 4.8).
    Groups,
    /// The same; a task woken elsewhere does not try its last CPU first (to 3.8).
    GroupsV37,
}

impl IdleScan {
    /// All with their names.
    pub const NAMES: [(&'static str, Self); 5] = [
        ("sis_util", Self::Util),
        ("sis_prop", Self::Prop),
        ("sis_prop_v413", Self::PropV413),
        ("idle_groups", Self::Groups),
        ("idle_groups_v37", Self::GroupsV37),
    ];
}
