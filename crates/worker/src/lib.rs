//! The worker: carries out a workload for real and reports what the kernel did with it.
//!
//! Problem: `vm` and `host` must run exactly the workload that `sim` models, on any kernel, without
//! an interpreter, a shell or a library in the guest.
//! Approach: one static program. A [`job::Job`] is a resolved workload plus settings, as JSON. The
//! *coordinator* ([`run`]) starts the processes, samples the kernel's files and builds the
//! [`Outcome`](numalab_model::record::Outcome); the processes and threads ([`process`], [`thread`])
//! carry out op lists and talk to it through one shared block of atomics ([`control`]).
//! As process 1 of a guest ([`init`]) it also mounts, sets knobs, and reports over a serial line
//! in checksummed frames ([`frame`]).
//! Units: ns of `CLOCK_MONOTONIC` (virtual time in a guest), bytes, pages of 4 KiB.
//! Invariants: between the start gate and the end of a process nothing is allocated on the access
//! paths; every address an op touches was checked against its region when the op was compiled.

pub mod access;
pub mod backing;
pub mod collect;
pub mod control;
pub mod frame;
pub mod init;
pub mod job;
pub mod knob;
pub mod mark;
pub mod memory;
pub mod process;
pub mod program;
pub mod run;
pub mod sample;
pub mod sampler;
pub mod settings;
pub mod spin;
pub mod sys;
pub mod thread;

/// Says a line on standard error. If nobody listens any more there is nobody to tell, and the run must still undo its
/// settings.
pub fn say(line: &str) {
    use std::io::Write;
    let _ = writeln!(std::io::stderr(), "{line}");
}
