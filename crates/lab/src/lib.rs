//! The backends `vm` and `host`: they run plans on real kernels, in virtual machines and on this host.
//!
//! Problem: an experiment must run on any kernel and any NUMA topology without special hardware and in seconds, and
//! every kind of failure must have a name of its own.
//! Approach: [`fit`] makes a guest of a machine file and records what it scaled. [`image`] finds or builds the kernel.
//! [`guest`] puts the worker and its job into an initial RAM disk ([`initrd`]), starts QEMU ([`qemu`]) and reads the
//! report. [`plugin`] makes remote memory cost virtual time in the deterministic timing mode. [`vm_backend`] is all of
//! this for one plan, [`capacity`] lets many guests run side by side. [`host_backend`] runs the same job natively.
//! [`doctor`] reports what this host can do.
//! Units: ns of guest time unless a name says wall; bytes.
//! Invariants: a guest sees no file and no network of the host. Nothing is left in the directory of a run. A result is
//! only taken from a complete report with correct checksums.

pub mod bisect;
pub mod cache;
pub mod capacity;
pub mod child;
pub mod doctor;
pub mod failure;
pub mod fit;
pub mod guest;
pub mod host_backend;
pub mod image;
pub mod initrd;
pub mod knobs;
mod own_time;
pub mod plugin;
pub mod probe;
pub mod program;
pub mod qemu;
pub mod selftest;
mod setting;
pub mod shrink;
pub mod topology;
pub mod vm_backend;
pub mod worker;
