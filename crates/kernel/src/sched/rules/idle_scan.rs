//! How far a wake-up searches for an idle CPU, by release.

use numalab_base::words;

words! {
    /// How a wake-up searches the cache of its target for an idle CPU.
    pub enum IdleScan {
        /// The less the cache is in use, the more CPUs are visited (SIS_UTIL, 6.0 on).
        Util = "sis_util",
        /// As many CPUs as the waking CPU's remembered idle time pays for (SIS_PROP, 5.14 to 5.19).
        Prop = "sis_prop",
        /// As many CPUs as a 512th of the waking CPU's average idle time pays for (SIS_PROP, 4.13 to 5.13).
        PropV413 = "sis_prop_v413",
        /// Only whole idle groups, the largest first (3.9 to 4.8).
        Groups = "idle_groups",
        /// As `Groups`, but a task woken elsewhere does not try its last CPU first (to 3.8).
        GroupsV37 = "idle_groups_v37",
    }
}
