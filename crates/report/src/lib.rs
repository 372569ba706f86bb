//! Reports: tables people trust, and the same figures for programs.
//!
//! Problem: a comparison must be readable on a kernel mailing list, in an issue, in a spreadsheet and by a script, and
//! must say the same in all of them. Approach: [`data`] is the plain model that everything is made of ([`collect`]
//! builds it from records); [`tables`] turns it into rows and cells; [`text`] and [`json`] only place them.
//!
//! [`html`] the page · [`trace`] for the Perfetto viewer · [`explain`] reasons in sentences · [`columns`] derived
//! figures from `catalog/columns.toml` · [`dictionary`] of counters · [`fail_if`] bounds for scripts · [`reproduce`]
//! published beside simulated · [`select`] some figures only · [`assess`] tests beside the star · [`origin`] what was
//! run · [`legend`] what a reader must know.
//!
//! Units: those of the metrics. Invariant: a report is a pure function of its data; no clock, no hash order, no locale.

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
pub mod html;
pub mod json;
pub mod legend;
pub mod order;
pub mod origin;
pub mod reasons;
pub mod reproduce;
pub mod select;
pub mod statistics;
pub mod tables;
pub mod text;
pub mod trace;
pub mod verdict;

pub use numalab_stats::star::StarRule;
