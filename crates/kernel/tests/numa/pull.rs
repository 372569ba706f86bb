//! §14.6: what the load balancer asks.

use super::mock::{config, direct, mib_pages, system};
use super::topology::set_faults;
use numalab_kernel::numa::balancer::{fbq_class, FbqClass, Locality, Pull};
use numalab_kernel::numa::NumaBalancing;

fn task(preferred: Option<usize>, faults: &[u64]) -> NumaBalancing {
    let mut n = NumaBalancing::new(config("6.12", 1000), direct(3, 2));
    n.start(0, Some(0), 1000);
    set_faults(&mut n, 0, faults);
    n.tasks[0].numa_preferred_nid = preferred;
    n
}

/// From node 0 to node 1.
const PULL: Pull = Pull { src_cpu: 0, dst_cpu: 2, src_nr_running: 2, src_nr_preferred: 2, dst_idle: false };

#[test]
fn opinions_on_a_pull() {
    let ask = |preferred, faults: &[u64], pull: Pull| task(preferred, faults).degrades_locality(0, &pull);
    let resist = Pull { src_nr_running: 3, ..PULL };
    assert_eq!(ask(Some(0), &[9, 1, 0], resist), Locality::Resist, "others could go instead");
    assert_eq!(ask(Some(0), &[9, 1, 0], PULL), Locality::NoOpinion, "all prefer to be here");
    assert_eq!(ask(Some(1), &[9, 1, 0], PULL), Locality::Move);
    assert_eq!(ask(Some(2), &[9, 1, 0], Pull { dst_idle: true, ..PULL }), Locality::NoOpinion);
    assert_eq!(ask(Some(2), &[9, 1, 0], PULL), Locality::Resist, "less weight there");
    assert_eq!(ask(Some(2), &[5, 5, 0], PULL), Locality::Move, "equal weight is no loss");
    assert_eq!(ask(None, &[1, 9, 0], PULL), Locality::Move);
    assert_eq!(ask(Some(2), &[9, 1, 0], Pull { dst_cpu: 1, ..PULL }), Locality::NoOpinion, "same node");
    let mut n = task(Some(1), &[1, 1, 1]);
    n.tasks[0].faults.clear();
    assert_eq!(n.degrades_locality(0, &PULL), Locality::NoOpinion, "no fault data");
    let mut n = task(Some(1), &[1, 1, 1]);
    n.set_mode(0);
    assert_eq!(n.degrades_locality(0, &PULL), Locality::NoOpinion, "key off");
}

#[test]
fn queue_classes() {
    assert_eq!(fbq_class(3, 2, 2), FbqClass::Regular);
    assert_eq!(fbq_class(3, 3, 2), FbqClass::Remote);
    assert_eq!(fbq_class(3, 3, 3), FbqClass::All);
    assert_eq!(fbq_class(0, 0, 0), FbqClass::All);
    assert!(FbqClass::Regular < FbqClass::Remote && FbqClass::Remote < FbqClass::All);
}

/// Period after a move from node 0 to node 1.
fn after_move(release: &str, seq: i32, preferred: Option<usize>) -> u32 {
    let mut n = system(release, 1000);
    set_faults(&mut n, 0, &[1, 1]);
    n.tasks[0].numa_scan_seq = seq;
    n.tasks[0].numa_preferred_nid = preferred;
    n.tasks[0].numa_scan_period = 9999;
    n.migration_happened(0, 0, 2, mib_pages(1024));
    n.tasks[0].numa_scan_period
}

#[test]
fn cross_node_moves_restart_the_period_of_some() {
    assert_eq!(after_move("6.12", 3, Some(0)), 250, "left its preferred node");
    assert_eq!(after_move("6.12", 3, None), 250, "has none");
    assert_eq!(after_move("6.12", 3, Some(1)), 9999, "reached its preferred node");
    assert_eq!(after_move("6.12", 0, Some(1)), 250, "in the first pass always");
    assert_eq!(after_move("4.19", 3, Some(0)), 250);
    assert_eq!(after_move("4.18", 3, Some(0)), 9999, "before 4.19 only task placement restarts periods");
    let mut n = system("6.12", 1000);
    n.tasks[0].numa_scan_period = 9999;
    n.migration_happened(0, 0, 2, 0);
    assert_eq!(n.tasks[0].numa_scan_period, 9999, "no fault data");
    set_faults(&mut n, 0, &[1, 1]);
    n.migration_happened(0, 0, 1, 0);
    assert_eq!(n.tasks[0].numa_scan_period, 9999, "same node");
}
