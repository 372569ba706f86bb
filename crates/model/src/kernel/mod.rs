//! From files of kernels, and a table of releases, to a [`Kernel`].
//!
//! Problem: a release, a posted patch and a release with one value changed must be written in a few lines.
//! Approach: a row of the table of releases says what a release changed, and a catalog file what it changes on the
//! kernel it `extends`. [`resolve`] walks that chain, applies overrides and yields a [`Kernel`].

mod parse;
mod releases;
mod resolve;
pub mod series;
mod setting;
pub mod uname;

pub use numalab_nouns::kernel::*;
pub(crate) use parse::settings_but;
pub use parse::{parse, settings, KernelSpec, IMAGE_FORMS, IMAGE_KINDS, SAME_IMAGE};
pub use releases::{Change, Release, Releases, Version, COMMIT_NOT_KNOWN};
pub use resolve::{own_names, resolve, Lookup, OVERRIDE};
pub use setting::Setting;

#[cfg(test)]
mod tests;
