//! numalab-lab.
