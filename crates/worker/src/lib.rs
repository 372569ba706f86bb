//! The worker: the program that carries out a workload on a real kernel and reports the kernel's figures.
//!
//! Problem: the backends `vm` and `host` must run exactly the workload that `sim` models, on any kernel, and a guest
//! has no interpreter, shell or library.
//! Approach: one static program. A [`job::Job`] is a resolved workload plus settings, as JSON. The *coordinator*
//! ([`run`]) starts the processes, samples the kernel's files and builds the
//! [`Outcome`](numalab_nouns::record::Outcome). The processes ([`process`]) and threads ([`thread`]) carry out lists of
//! ops, and share one block of atomics with the coordinator ([`control`]). As process 1 of a guest ([`init`]) the
//! program also mounts file systems and reports over a serial line in frames with checksums ([`frame`]).
//! Units: ns of `CLOCK_MONOTONIC` (virtual time in a guest), bytes, pages of 4 KiB.
//! Invariants: the access loops allocate nothing between the start gate and the end of a process. Every address that an
//! op accesses was checked against its region when the op was compiled.

pub mod access;
pub mod backing;
pub mod btf;
pub mod collect;
pub mod control;
pub mod descendants;
pub mod direct_io;
pub mod ending;
pub mod init;
pub mod invocation;
pub mod kernel_layout;
pub mod knob;
pub mod mark;
pub mod memory;
pub mod move_pages;
pub mod process;
pub mod program;
pub mod program_sampler;
pub mod read_file;
pub mod run;
pub mod sample;
pub mod sampler;
pub mod settings;
pub mod spin;
pub mod stalls;
pub mod sys;
pub mod thread;

pub use numalab_job::{frame, job, setting};

/// Prints a line on standard error. Errors are ignored: the reader may have closed it, and the run must still undo its
/// settings.
pub fn say(line: &str) {
    use std::io::Write;
    let _ = writeln!(std::io::stderr(), "{line}");
}
