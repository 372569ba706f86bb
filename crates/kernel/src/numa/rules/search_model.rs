//! How task placement searches a node, by release.

use numalab_base::words;

words! {
    /// How a search compares nodes and CPUs, by release.
    pub enum SearchModel {
        /// The preferred node, if it has fewer tasks than cores; loads must be close after a move.
        V313 = "v313" ("3.13"),
        /// The preferred node always; loads may stay as far apart as they were.
        V317 = "v317" ("3.17"),
        /// As v317; groups that span nodes look at other nodes too.
        V40 = "v40" ("4.0"),
        /// Only nodes with less load than the source.
        V42 = "v42" ("4.2 to 4.18"),
        /// Every node; no two tasks head for one CPU.
        V419 = "v419" ("4.19 on"),
    }
}
