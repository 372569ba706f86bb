//! When a newly idle CPU searches for work, by release.

use numalab_base::words;

words! {
    /// When a newly idle CPU searches for work.
    pub enum Newidle {
        /// If its average idle time is longer than a migration costs (to 3.12).
        V37 = "v37",
        /// As `V37`, and in a domain only if its search pays (9bd721c55c8a, 3.13).
        V313 = "v313",
        /// As `V313`, and only if some CPU has two tasks (4486edd12b5a, 3.17).
        V317 = "v317",
        /// If the search of the lowest domain pays, however short the idle time (c5b0a7eefc70, 5.16).
        V516 = "v516",
    }
}
