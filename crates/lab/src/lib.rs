//! The laboratory: runs plans on real kernels, in virtual machines and on this host.
//!
//! Problem: an experiment must run on any kernel and any NUMA shape without special hardware, in seconds,
//! and every way it can fail must be told apart.
//! Approach: [`fit`] makes a guest of a machine file (and says what it scaled), [`image`] finds or builds the
//! kernel, [`vm`] puts worker and job into an initial RAM disk, starts QEMU ([`qemu`]) and reads the report;
//! [`plugin`] makes remote memory cost virtual time in the deterministic timing mode; [`pool`] runs many
//! guests side by side; [`host`] runs the same job natively; [`doctor`] says what this host can do.
//! Units: ns of guest time unless a name says wall; bytes.
//! Invariants: a guest sees no file and no network of the host; nothing is left behind in the run directory;
//! a result is only ever taken from a complete, checksummed report.

pub mod backend;
pub mod cache;
pub mod child;
pub mod doctor;
pub mod failure;
pub mod fit;
pub mod host;
pub mod image;
pub mod initrd;
pub mod knobs;
pub mod plugin;
pub mod pool;
pub mod probe;
pub mod qemu;
pub mod selftest;
pub mod shape;
pub mod shrink;
pub mod vm;
pub mod worker;
