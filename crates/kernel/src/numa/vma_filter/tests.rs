//! Parts by role and by tunable.

use super::{Access, FilterContext, FreeVisits, Part, VmaFilter, VmaFilterTunables, VmaPolicy, VmaRules};
use crate::numa::state::VmaNuma;
use numalab_base::words::OrRole;

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
    assert_eq!(rules.parts(), VmaFilter::V64.parts());
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
    assert!(delay_only.parts().delay && ask(delay_only, &idle, C) == Allow);
    // free_visits: start sequence of the VMA against that of the mm.
    let young = VmaNuma { start_scan_seq: 8, ..idle };
    assert_eq!((ask(v612, &young, C), ask(with(VmaFilter::V67, |_| ()), &young, C)), (Allow, Deny));
    assert_eq!(ask(with(VmaFilter::V67, |t| t.free_visits = OrRole::Own(FreeVisits::Vma)), &young, C), Allow);
    assert_eq!(ask(with(VmaFilter::V612, |t| t.free_visits = OrRole::Own(FreeVisits::None)), &young, C), Deny);
    assert_eq!(ask(with(VmaFilter::V612, |t| t.free_visits = OrRole::Own(FreeVisits::Budget)), &idle, C), Allow);
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
    let parts = |set: &dyn Fn(&mut VmaFilterTunables)| *with(VmaFilter::V612, set).parts();
    let plain = parts(&|_| ());
    assert!(plain.delay && plain.shift_before_filter && plain.completion && plain.force_inactive);
    assert!(!parts(&|t| t.scan_delay = Part::Off).delay);
    assert!(!parts(&|t| t.shift_before_filter = Part::Off).shift_before_filter);
    let no_force = parts(&|t| t.force_inactive = Part::Off);
    assert!(no_force.completion && !no_force.force_inactive, "completion without the forced scan");
    assert!(!parts(&|t| t.completion = Part::Off).completion);
    assert_eq!(parts(&|t| t.renew_passes = 8).refill_passes, 8);
    assert_eq!(with(VmaFilter::RfcV2, |t| t.renew_passes = 1).parts().refill_passes, 0);
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
