//! numalab-stats.
