//! `numalab watch`: nodes, processes and threads with where they run, where their memory is, and what balancing does.
//!
//! Problem: the figures are spread over a dozen files of the kernel, some of which only root may read, and most are
//! totals since boot.
//! Approach: a [`Sampler`] takes samples of a [`Scope`](crate::procfs::scope::Scope). Two of them give a [`Frame`] with
//! rates and shares. [`text`] writes a frame for people, [`screen`] draws it, and `serde` writes it as JSON.
//! Invariants: what cannot be read is named in [`Frame::missing`]. A sampler reads mappings for at most a share of the
//! time ([`Limits`]), and shows how old their figures are.

mod frame;
mod line;
pub mod live;
mod sampler;
pub mod screen;
pub mod text;

pub use frame::{Frame, KernelRates, NodeFrame, NumaWork, ProcessFrame, ThreadFrame};
pub use sampler::{Limits, ProcessSample, Sample, Sampler, TaskSample};

#[cfg(test)]
pub(crate) use sampler::tests as tests_support;
