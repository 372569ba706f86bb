//! Reports: tables people trust, and the same figures for programs.
//!
//! Problem: a comparison must be readable on a kernel mailing list, in an issue, in a spreadsheet and by a script, and
//! must say the same in all of them. Approach: [`data`] is the plain model that everything is made of. [`collect`]
//! builds it from records, [`tables`] turns it into rows and cells, and [`text`], [`json`] and [`html`] only lay them
//! out.
//!
//! * Input: [`collect`] from records · [`columns`] declarations and [`derive`] computation of derived figures ·
//!   [`origin`] what was run · [`select`] some figures only.
//! * Meaning: [`dictionary`] of counters · [`reasons`] · [`assess`] tests of a difference · [`trust`]: how far
//!   predictions are off · [`verdict`] in words · [`legend`] notes.
//! * Forms: [`text`] · [`json`] · [`html`] page · [`trace`] for the Perfetto viewer · [`explain`] reasons in sentences
//!   · [`reproduce`] published beside simulated · [`fail_if`] bounds for scripts · [`sides`] of a real kernel and the
//!   simulator.
//! * Shared: [`tables`] · [`statistics`] rows · [`figures`] lists · [`format`](mod@format) of numbers · [`order`].
//!
//! Units: those of the metrics. Invariant: a report is a pure function of its data. It depends on no clock, no hash
//! order and no locale.

pub mod alone;
pub mod assess;
pub mod collect;
pub mod columns;
pub mod data;
pub mod derive;
pub mod dictionary;
pub mod explain;
pub mod fail_if;
pub mod figures;
pub mod format;
pub mod held;
pub mod html;
pub mod json;
pub mod legend;
pub mod order;
pub mod origin;
pub mod reasons;
pub mod reproduce;
pub mod select;
pub mod settled;
pub mod sides;
pub mod statistics;
pub mod tables;
pub mod text;
#[cfg(feature = "store")]
pub mod trace;
pub mod trust;
pub mod two_groups;
pub mod verdict;

pub use numalab_stats::star::StarRule;
