//! No filter (3.13 to 4.15): shared pages are marked, fault and migrate like others.

use super::rule::{PageRule, Verdict};
use super::tunables::PageFilterTunables;
use crate::numa::page::PageFacts;

/// No filter.
pub struct None;

impl PageRule for None {
    fn verdict(_page: &PageFacts, _t: &PageFilterTunables) -> Verdict {
        Verdict::Mark
    }
}
