//! numalab-worker.
