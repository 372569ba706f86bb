//! Records of runs, read back: all of an experiment lined up for a report, or one that options choose.

mod comparable;
mod load;
mod pick;
mod run;

pub use load::{load, Loaded, Series, AD_HOC};
pub use pick::{at, find, Pick};
pub use run::Run;
