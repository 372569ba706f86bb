//! The parts that VMA filters are made of, each with a switch of its own.
//!
//! Problem: a filter of a release is several commits, and patches were posted between them. Every state between two
//! releases must be one that a kernel file can name.
//! Approach: [`Parts`] lists what a filter consists of. A role is a set of parts, and the tunables of the group `vma`
//! replace single ones. [`VmaRules`] is the result; without such tunables it asks the file of the role.

use super::filter::{Access, FilterContext, Shape, VmaPolicy};
use super::rfc_v3::threshold;
use super::VmaFilter;
use crate::numa::rules::{ScanRole, BALANCING_ON};
use crate::numa::state::VmaNuma;
use numalab_base::hook::Hook;
use numalab_base::tunable::Needs;
use numalab_base::words;

words! {
    /// Whether a part is there.
    pub enum Part {
        /// As in the filter of the role.
        ByRole = "by_role",
        /// It is.
        On = "on",
        /// It is not.
        Off = "off",
    }
}

words! {
    /// Which visits of a VMA need no access of its thread.
    pub enum FreeVisits {
        /// As in the filter of the role.
        ByRole = "by_role",
        /// None.
        None = "none",
        /// Those of the first two passes of the address space.
        Mm = "mm" ("6.4 to 6.7"),
        /// Those of the two passes after the VMA's own first visit (84db47ca7146).
        Vma = "vma" ("6.8 on"),
        /// As many as 1 + size/scan size/2.
        Budget = "budget" ("RFC V3, May 2023"),
        /// As many as size/scan size/2, exactly.
        BudgetCover = "budget_cover" ("covering letter of RFC V3"),
        /// As many as 2 + size/scan size/2.
        BudgetV2 = "budget_v2" ("RFC V2"),
    }
}

numalab_base::tunables! {
    /// The parts of VMA filters (kernel-numa-balancing.md §6, §17).
    pub struct VmaFilterTunables: "vma" {
        read when "system.numa_balancing" is BALANCING_ON;
        read when "scan" is ScanRole::TASK_WORK;
        read when "vma_filter" is Needs::Not("off");

        /// A new VMA is left alone for a scan delay (6.4: ef6a22b70f6d).
        scan_delay: Part = Part::ByRole, "", "model";
        /// Only threads that faulted in a VMA lately scan it (6.4: fc137c0ddab2). Without it the exceptions below say
        /// nothing.
        pid_filter: Part = Part::ByRole, "", "model";
        /// Which visits need no access.
        free_visits: FreeVisits = FreeVisits::ByRole, "", "model",
            read when "vma.pid_filter" is Needs::Not("off");
        /// Free visits come back every so many passes. 0: as in the role; 1: never.
        renew_passes: u32 = 0, "passes", "model", range 0..=1_000_000, read when "vma.pid_filter" is Needs::Not("off");
        /// How many windows of accesses are remembered. RFC of 2023: 4 (NR_ACCESS_PID_HIST).
        pid_windows: u8 = 2, "windows", "model", range 1..=4, read when "vma.pid_filter" is Needs::Not("off");
        /// Windows shift before the filter is asked (6.7: 2e2675db1906), not only for VMAs that passed it.
        shift_before_filter: Part = Part::ByRole, "", "model", read when "vma.pid_filter" is Needs::Not("off");
        /// Any thread finishes a VMA in which a work stopped (6.7: b7a5b537c55c).
        finish_partial: Part = Part::ByRole, "", "model", read when "vma.pid_filter" is Needs::Not("off");
        /// A VMA is completed once per pass (6.7: f169c62ff7cd).
        completion: Part = Part::ByRole, "", "model";
        /// A walk that skipped a VMA as inactive scans one of them by force (6.7: f169c62ff7cd).
        force_inactive: Part = Part::ByRole, "", "model", read when "vma.pid_filter" is Needs::Not("off");
        /// A VMA left alone for more passes than the process has threads is open to all (6.12: f22cde4371f3).
        starvation: Part = Part::ByRole, "", "model", read when "vma.pid_filter" is Needs::Not("off");
        /// A VMA in which at least so many threads faulted lately is open to all. 0: none. RFC of 2023: 3
        /// (SHARED_VMA_THRESH).
        shared_threads: u32 = 0, "threads", "model", range 0..=64, read when "vma.pid_filter" is Needs::Not("off");
    }
}

/// What a filter consists of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parts {
    shape: Shape,
    pid_filter: bool,
    free: FreeVisits,
    windows: u8,
    finish_partial: bool,
    starvation: bool,
    shared_threads: u32,
}

impl VmaFilter {
    /// The parts of the filter.
    pub fn parts(self) -> Parts {
        let free = match self {
            Self::Off => FreeVisits::None,
            Self::V64 | Self::V67 => FreeVisits::Mm,
            Self::V68 | Self::V612 => FreeVisits::Vma,
            Self::RfcV3 | Self::V612Budget => FreeVisits::Budget,
            Self::RfcV3Cover => FreeVisits::BudgetCover,
            Self::RfcV2 => FreeVisits::BudgetV2,
        };
        let shape = self.shape();
        Parts {
            shape,
            pid_filter: shape.state,
            free,
            windows: 2,
            finish_partial: shape.completion,
            starvation: matches!(self, Self::V612 | Self::V612Budget),
            shared_threads: 0,
        }
    }
}

/// A VMA filter with its parts as set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VmaRules {
    /// The filter that the role names.
    pub role: VmaFilter,
    parts: Parts,
    as_role: bool,
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
    /// The filter of `role` with the parts that `set` replaces.
    pub fn new(role: VmaFilter, set: &VmaFilterTunables) -> Self {
        let mut parts = role.parts();
        if role != VmaFilter::Off {
            put(set.scan_delay, &mut parts.shape.delay);
            put(set.pid_filter, &mut parts.pid_filter);
            put(set.shift_before_filter, &mut parts.shape.shift_before_filter);
            put(set.finish_partial, &mut parts.finish_partial);
            put(set.completion, &mut parts.shape.completion);
            put(set.force_inactive, &mut parts.shape.force_inactive);
            put(set.starvation, &mut parts.starvation);
            if set.free_visits != FreeVisits::ByRole {
                parts.free = set.free_visits;
                parts.shape.counts_visits =
                    matches!(parts.free, FreeVisits::Budget | FreeVisits::BudgetCover | FreeVisits::BudgetV2);
            }
            match set.renew_passes {
                0 => {}
                1 => parts.shape.refill_passes = 0,
                passes => parts.shape.refill_passes = passes as i32,
            }
            parts.windows = set.pid_windows;
            parts.shared_threads = set.shared_threads;
        }
        Self { role, parts, as_role: parts == role.parts(), policy: None }
    }
    /// The same steps of the walk with a filter of the caller.
    #[must_use]
    pub fn with_policy(self, policy: &'static dyn VmaPolicy) -> Self {
        let mut parts = self.parts;
        parts.shape.counts_visits |= policy.counts_visits();
        Self { policy: Some(Hook(policy)), parts, ..self }
    }
    /// Steps of the walk that the filter brings with it.
    #[inline]
    pub fn shape(&self) -> Shape {
        self.parts.shape
    }
    /// How many windows of accesses are remembered.
    #[inline]
    pub fn windows(&self) -> u8 {
        self.parts.windows
    }
    /// Whether the thread may scan the VMA (`vma_is_accessed`).
    #[inline]
    pub fn access(&self, vma: &VmaNuma, c: &FilterContext) -> Access {
        if let Some(Hook(policy)) = self.policy {
            return policy.access(vma, c);
        }
        if self.as_role {
            return self.role.access(vma, c);
        }
        self.parts.access(vma, c)
    }
}

impl Parts {
    /// Whether the thread may scan the VMA: the parts in the order of 6.12.
    fn access(&self, vma: &VmaNuma, c: &FilterContext) -> Access {
        if !self.pid_filter || self.free(vma, c) || vma.accessed_by(c.tid) {
            return Access::Allow;
        }
        if self.finish_partial && c.scan_offset > c.start {
            return Access::AllowPartial;
        }
        let starved = self.starvation && c.seq > vma.prev_scan_seq.wrapping_add(c.nr_threads as i32);
        let shared = self.shared_threads > 0 && vma.accessed_count() >= self.shared_threads;
        Access::allow_if(starved || shared)
    }
    fn free(&self, vma: &VmaNuma, c: &FilterContext) -> bool {
        let visits = u64::from(vma.scan_counter);
        match self.free {
            FreeVisits::ByRole | FreeVisits::None => false,
            FreeVisits::Mm => c.seq < 2,
            FreeVisits::Vma => c.seq.wrapping_sub(vma.start_scan_seq) < 2,
            FreeVisits::Budget => visits < threshold(c),
            FreeVisits::BudgetV2 => visits <= threshold(c),
            FreeVisits::BudgetCover => {
                2 * u128::from(visits) * (u128::from(c.scan_size_mb) << 20) < u128::from(c.end - c.start)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const C: FilterContext =
        FilterContext { seq: 9, tid: 5, scan_offset: 0, nr_threads: 4, scan_size_mb: 256, start: 0, end: 1 << 30 };

    fn with(role: VmaFilter, set: impl Fn(&mut VmaFilterTunables)) -> VmaRules {
        let mut tunables = VmaFilterTunables::default();
        set(&mut tunables);
        VmaRules::new(role, &tunables)
    }

    #[test]
    fn a_filter_of_the_caller_answers_in_place_of_the_role() {
        struct Even;
        impl VmaPolicy for Even {
            fn access(&self, _vma: &VmaNuma, c: &FilterContext) -> Access {
                Access::allow_if(c.tid.is_multiple_of(2))
            }
        }
        let rules = with(VmaFilter::V64, |_| ()).with_policy(&Even);
        let ask = |tid| rules.access(&VmaNuma::default(), &FilterContext { tid, seq: 0, ..C });
        assert_eq!((ask(4), ask(5)), (Access::Allow, Access::Deny));
        assert_eq!(rules.shape(), VmaFilter::V64.shape());
    }

    #[test]
    fn a_role_is_its_parts() {
        let pids = [0, 1 << crate::numa::state::pid_bit(5), u64::MAX];
        for role in VmaFilter::ALL {
            let parts = role.parts();
            for i in 0..3_000_i32 {
                let r = |m: i32| (i / m) % 7 - 1;
                let vma = VmaNuma {
                    pids_active: [pids[(i % 3) as usize], 0],
                    start_scan_seq: r(2),
                    prev_scan_seq: r(5),
                    scan_counter: (i % 5) as u32,
                    ..VmaNuma::default()
                };
                let c = FilterContext { seq: r(11) + 1, scan_offset: (i % 2) as u64, nr_threads: (i % 4) as u32, ..C };
                assert_eq!(parts.access(&vma, &c), role.access(&vma, &c), "{role:?} {vma:?} {c:?}");
            }
        }
    }

    #[test]
    fn each_part_tells_itself_from_its_neighbour() {
        use Access::{Allow, AllowPartial, Deny};
        let idle = VmaNuma { start_scan_seq: 0, prev_scan_seq: 8, ..VmaNuma::default() };
        let ask = |rules: VmaRules, vma: &VmaNuma, c: FilterContext| rules.access(vma, &c);
        let v612 = with(VmaFilter::V612, |_| ());
        assert_eq!(ask(v612, &idle, C), Deny);
        // pid_filter: the state between ef6a22b70f6d and fc137c0ddab2.
        let delay_only = with(VmaFilter::V64, |t| t.pid_filter = Part::Off);
        assert!(delay_only.shape().delay && ask(delay_only, &idle, C) == Allow);
        // free_visits: start sequence of the VMA against that of the mm.
        let young = VmaNuma { start_scan_seq: 8, ..idle };
        assert_eq!((ask(v612, &young, C), ask(with(VmaFilter::V67, |_| ()), &young, C)), (Allow, Deny));
        assert_eq!(ask(with(VmaFilter::V67, |t| t.free_visits = FreeVisits::Vma), &young, C), Allow);
        assert_eq!(ask(with(VmaFilter::V612, |t| t.free_visits = FreeVisits::None), &young, C), Deny);
        assert_eq!(ask(with(VmaFilter::V612, |t| t.free_visits = FreeVisits::Budget), &idle, C), Allow);
        // finish_partial.
        let inside = FilterContext { scan_offset: 1, ..C };
        assert_eq!((ask(v612, &idle, inside), ask(with(VmaFilter::V64, |_| ()), &idle, inside)), (AllowPartial, Deny));
        assert_eq!(ask(with(VmaFilter::V64, |t| t.finish_partial = Part::On), &idle, inside), AllowPartial);
        // starvation.
        let left = VmaNuma { prev_scan_seq: 4, ..idle };
        assert_eq!((ask(v612, &left, C), ask(with(VmaFilter::V68, |_| ()), &left, C)), (Allow, Deny));
        assert_eq!(ask(with(VmaFilter::V612, |t| t.starvation = Part::Off), &left, C), Deny);
        // shared_threads: two threads are not three.
        let two = VmaNuma { pids_active: [0b10, 0b100], ..idle };
        let shared = with(VmaFilter::V612, |t| t.shared_threads = 3);
        assert_eq!(ask(shared, &two, C), Deny);
        assert_eq!(ask(shared, &VmaNuma { pids_active: [0b1010, 0b100], ..idle }, C), Allow);
    }

    #[test]
    fn steps_of_the_walk_are_parts_too() {
        let shape = |set: &dyn Fn(&mut VmaFilterTunables)| with(VmaFilter::V612, set).shape();
        let plain = shape(&|_| ());
        assert!(plain.delay && plain.shift_before_filter && plain.completion && plain.force_inactive);
        assert!(!shape(&|t| t.scan_delay = Part::Off).delay);
        assert!(!shape(&|t| t.shift_before_filter = Part::Off).shift_before_filter);
        let no_force = shape(&|t| t.force_inactive = Part::Off);
        assert!(no_force.completion && !no_force.force_inactive, "completion without the forced scan");
        assert!(!shape(&|t| t.completion = Part::Off).completion);
        assert_eq!(shape(&|t| t.renew_passes = 8).refill_passes, 8);
        assert_eq!(with(VmaFilter::RfcV2, |t| t.renew_passes = 1).shape().refill_passes, 0);
    }

    #[test]
    fn more_windows_remember_an_access_for_longer() {
        let mut vma = VmaNuma::default();
        vma.record(5);
        let seen = |windows: u8| {
            let mut v = vma;
            let mut step = || {
                let accessed = v.accessed_by(5);
                v.shift_windows(windows);
                accessed
            };
            [step(), step(), step(), step(), step()]
        };
        assert_eq!(seen(1), [true, false, false, false, false]);
        assert_eq!(seen(2), [true, true, false, false, false]);
        assert_eq!(seen(3), [true, true, true, false, false]);
        assert_eq!(seen(4), [true, true, true, true, false]);
    }
}
