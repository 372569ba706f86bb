//! numalab-sim.
