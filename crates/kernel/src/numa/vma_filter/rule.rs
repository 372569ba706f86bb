//! A VMA filter as a run has it: the parts of its role, those that tunables replace, or a filter of the caller.

use super::parts::{Access, FilterContext, Parts};
use super::tunables::{Part, VmaFilterTunables};
use super::VmaFilter;
use crate::numa::state::VmaNuma;
use numalab_base::hook::Hook;

/// A VMA filter of the caller, in place of the one of the role. Steps of the walk are those of the role and its parts.
pub trait VmaPolicy: Sync {
    /// Whether the thread may scan the VMA; see [`Parts::access`]. Called once per VMA and scan work.
    fn access(&self, vma: &VmaNuma, c: &FilterContext) -> Access;
    /// Whether visits are counted although the role does not need it.
    fn counts_visits(&self) -> bool {
        false
    }
}

/// A VMA filter with its parts as set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VmaRules {
    /// The filter that the role names.
    pub role: VmaFilter,
    parts: Parts,
    counts_visits: bool,
    policy: Option<Hook<dyn VmaPolicy>>,
}

fn put(part: Part, to: &mut bool) {
    match part {
        Part::ByRole => {}
        Part::On => *to = true,
        Part::Off => *to = false,
    }
}

impl VmaRules {
    /// The filter of `role` with the parts that `set` replaces. A role without state has no parts to replace.
    pub fn new(role: VmaFilter, set: &VmaFilterTunables) -> Self {
        let mut parts = *role.parts();
        if parts.state {
            put(set.scan_delay, &mut parts.delay);
            put(set.pid_filter, &mut parts.pid_filter);
            put(set.shift_before_filter, &mut parts.shift_before_filter);
            put(set.finish_partial, &mut parts.finish_partial);
            put(set.completion, &mut parts.completion);
            put(set.force_inactive, &mut parts.force_inactive);
            put(set.starvation, &mut parts.starvation);
            parts.free_visits = set.free_visits.or(parts.free_visits);
            match set.renew_passes {
                0 => {}
                1 => parts.refill_passes = 0,
                passes => parts.refill_passes = passes as i32,
            }
            parts.pid_windows = set.pid_windows;
            parts.shared_threads = set.shared_threads;
        }
        Self { role, parts, counts_visits: parts.counts_visits(), policy: None }
    }
    /// The same steps of the walk with a filter of the caller.
    #[must_use]
    pub fn with_policy(self, policy: &'static dyn VmaPolicy) -> Self {
        let counts_visits = self.counts_visits || policy.counts_visits();
        Self { policy: Some(Hook(policy)), counts_visits, ..self }
    }
    /// The parts.
    #[inline]
    pub fn parts(&self) -> &Parts {
        &self.parts
    }
    /// Whether scan visits are counted.
    #[inline]
    pub fn counts_visits(&self) -> bool {
        self.counts_visits
    }
    /// Whether the thread may scan the VMA (`vma_is_accessed`).
    #[inline]
    pub fn access(&self, vma: &VmaNuma, c: &FilterContext) -> Access {
        match self.policy {
            Some(Hook(policy)) => policy.access(vma, c),
            None => self.parts.access(vma, c),
        }
    }
}
