//! A program's accesses to memory: recorded under QEMU's user mode, and fitted to a workload.
//!
//! Problem: whoever asks about a program and a machine that is not there knows neither where its threads go in memory
//! nor in which order, and a laptop or a virtual machine has no counters that would tell.
//! Approach: [`recorder`] runs the unmodified program under `qemu-x86_64` with a plugin of ours ([`plugin`]). It
//! counts the lines that every thread visits, by 2 MiB and slice of time, in files that grow in place ([`format`]).
//! [`record`] reads them, whatever way the program ended. [`fit`] finds regions, kinds of threads and phases, and
//! writes a workload of the same language as every other.
//! Units: bytes, lines of 64 bytes, model instructions; shares from 0 to 1.
//! Invariants: time is not measured under emulation, order and counts are. What a fit assumes is named in its text. A
//! file of any content is read without panic and within bounds.

pub mod calls;
pub mod costs;
pub mod encode;
mod fields;
pub mod fit;
pub mod format;
pub mod guest_recorder;
pub mod heat;
pub mod histograms;
pub mod image;
pub mod kernel_work;
pub mod page;
pub mod plugin;
pub mod record;
pub mod recorder;
pub mod regions;
pub mod sampled;
pub mod sites;
mod unseen;
