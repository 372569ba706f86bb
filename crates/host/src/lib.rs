//! What numalab does on the machine at hand: it watches and records programs, advises, and balances memory from user
//! space.
//!
//! Problem: an operator's question is about a program and a machine of their own, in production, often without the
//! right to change the kernel.
//! Approach: [`procfs`] reads what Linux shows of processes, threads, mappings and nodes. Everything else is built on
//! its types. [`sys`] has the system calls, the only unsafe code of the crate.
//! Units: bytes, ns and shares from 0 to 1, unless a name says otherwise.
//! Invariants: reading changes nothing on the machine. A file that cannot be read is named as missing, never taken for
//! zero.

pub mod advise;
pub mod balance;
pub mod fit;
pub mod private_dir;
pub mod procfs;
pub mod record;
pub mod sys;
pub mod watch;
