//! DAMON on the simulated machine (kernel: mm/damon; kernel-after-6.12.md section 3.4).
//!
//! The decisions are those of [`numalab_kernel::damon`]. This folder supplies the mappings ([`targets`]), looks at
//! pages ([`sampling`]), migrates what a scheme takes ([`migrate`]), and wakes up for it ([`kdamond`]).
//! Simplification: a page of the model has no place in its node. So accesses are watched by virtual addresses, as
//! `vaddr` does, of all processes together, also where an administrator would watch physical memory.

pub(crate) mod kdamond;
mod migrate_region;
mod sampling;
mod targets;
