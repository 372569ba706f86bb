//! Removal of levels without effect, per CPU, after groups and thresholds are known (kernel-scheduler.md §1.6).

use super::super::config::Form;
use super::build::Raw;
use super::{Flags, Group};

fn useless(d: &Raw) -> bool {
    if d.span.len() == 1 {
        return true;
    }
    let balances = d.flags.any(Flags::NEED_GROUPS) && d.groups.len() >= 2;
    !balances && !d.flags.has(Flags::WAKE_AFFINE)
}

fn parent_useless(child: &Raw, parent: &Raw) -> bool {
    if useless(parent) {
        return true;
    }
    let mut flags = parent.flags;
    if parent.groups.len() == 1 {
        flags = flags.without(Flags::NEED_GROUPS);
    }
    child.span == parent.span && child.flags.has(flags)
}

/// Removes what is useless from one tower, adjusting group flags as the kernel of `form` does.
pub(super) fn degenerate(mut tower: Vec<Raw>, groups: &mut [Group], form: Form) -> Vec<Raw> {
    let mut i = 0;
    while i + 1 < tower.len() {
        if !parent_useless(&tower[i], &tower[i + 1]) {
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
    if tower.first().is_some_and(useless) {
        tower.remove(0);
        if let Some(own) = tower.first().and_then(|d| d.groups.first()) {
            groups[*own as usize].flags = Flags(0);
        }
    }
    tower
}
