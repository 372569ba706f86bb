//! What Linux shows below `/proc` and `/sys` of processes, threads, mappings and memory nodes.

pub mod numa_balancing;
