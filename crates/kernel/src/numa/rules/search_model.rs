//! How task placement searches a node, by release.

use numalab_base::words;

words! {
    /// How a search compares nodes and CPUs.
    pub enum SearchModel {
        /// 3.13.
        V313 = "v313",
        /// 3.17.
        V317 = "v317",
        /// 4.0.
        V40 = "v40",
        /// 4.2 to 4.18.
        V42 = "v42",
        /// 4.19 on.
        V419 = "v419",
    }
}
