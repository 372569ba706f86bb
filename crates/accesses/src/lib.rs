//! A program's accesses to memory: recorded under QEMU's user mode.
//!
//! Problem: whoever asks about a program and a machine that is not there knows neither where its threads go in memory
//! nor in which order, and a laptop or a virtual machine has no counters that would tell.
//! Approach: [`recorder`] runs the unmodified program under `qemu-x86_64` with a plugin of ours ([`plugin`]). It counts
//! the lines that every thread visits, by 2 MiB and slice of time, in files that grow in place ([`format`]). [`record`]
//! reads them, whatever way the program ended.
//! Units: bytes, lines of 64 bytes, model instructions; shares from 0 to 1.
//! Invariants: time is not measured under emulation, order and counts are. A file of any content is read without
//! panic and within bounds.

pub mod calls;
pub mod format;
pub mod plugin;
pub mod record;
pub mod recorder;
