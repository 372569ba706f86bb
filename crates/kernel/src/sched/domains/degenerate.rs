//! Removal of levels without effect, per CPU, after groups and thresholds are known (kernel-scheduler.md §1.6).

use super::domain::Group;
use super::flags::Flags;
use super::raw::RawDomain;
use crate::sched::rules::Form;

fn sd_degenerate(d: &RawDomain) -> bool {
    if d.span.len() == 1 {
        return true;
    }
    let balances = d.flags.any(Flags::NEED_GROUPS) && d.groups.len() >= 2;
    !balances && !d.flags.has(Flags::WAKE_AFFINE)
}

fn sd_parent_degenerate(child: &RawDomain, parent: &RawDomain) -> bool {
    if sd_degenerate(parent) {
        return true;
    }
    let mut flags = parent.flags;
    if parent.groups.len() == 1 {
        flags = flags.without(Flags::NEED_GROUPS);
    }
    child.span == parent.span && child.flags.has(flags)
}

/// Removes the levels of one tower that have no effect. Group flags change as in the kernel of `form`.
pub(super) fn degenerate(mut tower: Vec<RawDomain>, groups: &mut [Group], form: Form) -> Vec<RawDomain> {
    let mut i = 0;
    while i + 1 < tower.len() {
        if !sd_parent_degenerate(&tower[i], &tower[i + 1]) {
            i += 1;
            continue;
        }
        let parent = tower.remove(i + 1);
        if form == Form::V612 {
            if let Some(own) = tower.get(i + 1).and_then(|grand| grand.groups.first()) {
                groups[*own as usize].flags = tower[i].flags;
            }
        }
        if parent.flags.has(Flags::PREFER_SIBLING) {
            tower[i].flags = tower[i].flags.with(Flags::PREFER_SIBLING);
        }
    }
    if tower.first().is_some_and(sd_degenerate) {
        tower.remove(0);
        if let Some(own) = tower.first().and_then(|d| d.groups.first()) {
            groups[*own as usize].flags = Flags(0);
        }
    }
    tower
}
