//! What NUMA balancing says to a pull, by release.

use numalab_base::words;

words! {
    /// What NUMA balancing says to a pull.
    pub enum LocalityVerdict {
        /// One of three answers; equal weights count as an improvement, and the task moves.
        V46 = "v46" ("up to 6.13"),
        /// A number; equal weights leave the decision to cache heat (c3856c9ce6b8).
        Signed = "signed" ("6.14 on"),
    }
}
