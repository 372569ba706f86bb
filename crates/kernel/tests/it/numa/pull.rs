//! §14.6: the load balancer's questions to NUMA balancing.

use super::mock::{config, direct, mib_pages, system};
use super::topology::set_faults;
use numalab_kernel::numa::NumaBalancing;
use numalab_kernel::sched::balance::migrate_degrades_locality::{migrate_degrades_locality, NodePull};
use numalab_kernel::sched::state::sg_lb_stats::fbq_classify;
use numalab_kernel::sched::state::CpuIdleType;

const NO_OPINION: i32 = -1;
const MOVE: i32 = 0;
const RESIST: i32 = 1;

fn task(preferred: Option<usize>, faults: &[u64]) -> NumaBalancing {
    let mut n = NumaBalancing::new(config("6.12", 1000), direct(3, 2));
    n.start(0, Some(0), 1000);
    set_faults(&mut n, 0, faults);
    n.tasks[0].numa_preferred_nid = preferred;
    n
}

/// A pull from node 0 to node 1.
const PULL: NodePull = NodePull { src: 0, dst: 1, distance: 20, nr: 2, nr_preferred: 2, idle: CpuIdleType::NewlyIdle };

fn verdict(n: &NumaBalancing, pull: &NodePull) -> i32 {
    migrate_degrades_locality(0, n.tasks[0].numa_preferred_nid.map(|node| node as u32), pull, n)
}

#[test]
fn opinions_on_a_pull() {
    for idle in [CpuIdleType::NewlyIdle, CpuIdleType::NotIdle] {
        let pull = NodePull { idle, ..PULL };
        let ask = |preferred, faults: &[u64], pull: NodePull| verdict(&task(preferred, faults), &pull);
        let resist = NodePull { nr: 3, ..pull };
        assert_eq!(ask(Some(0), &[9, 1, 0], resist), RESIST, "others could go instead");
        assert_eq!(ask(Some(0), &[9, 1, 0], pull), NO_OPINION, "all prefer to be here");
        assert_eq!(ask(Some(1), &[9, 1, 0], pull), MOVE);
        assert_eq!(ask(Some(2), &[9, 1, 0], NodePull { idle: CpuIdleType::Idle, ..pull }), NO_OPINION);
        assert_eq!(ask(Some(2), &[9, 1, 0], pull), RESIST, "less weight there");
        assert_eq!(ask(Some(2), &[5, 5, 0], pull), MOVE, "equal weight is no loss");
        assert_eq!(ask(None, &[1, 9, 0], pull), MOVE);
        assert_eq!(ask(Some(2), &[9, 1, 0], NodePull { dst: 0, ..pull }), NO_OPINION, "same node");
    }
    let mut n = task(Some(1), &[1, 1, 1]);
    n.tasks[0].faults.clear();
    assert_eq!(verdict(&n, &PULL), NO_OPINION, "no fault data");
    let mut n = task(Some(1), &[1, 1, 1]);
    n.set_mode(0);
    assert_eq!(verdict(&n, &PULL), NO_OPINION, "key off");
}

/// The classes regular, remote and all, in the kernel's order.
#[test]
fn queue_classes() {
    assert_eq!(fbq_classify(3, 2, 2), 0, "has tasks without a preferred node");
    assert_eq!(fbq_classify(3, 3, 2), 1, "has tasks off their preferred node");
    assert_eq!(fbq_classify(3, 3, 3), 2, "all at home");
    assert_eq!(fbq_classify(0, 0, 0), 2);
}

/// The period after a move from node 0 to node 1.
fn after_move(release: &str, seq: i32, preferred: Option<usize>) -> u32 {
    let mut n = system(release, 1000);
    set_faults(&mut n, 0, &[1, 1]);
    n.tasks[0].numa_scan_seq = seq;
    n.tasks[0].numa_preferred_nid = preferred;
    n.tasks[0].numa_scan_period = 9999;
    n.update_scan_period(0, 0, 2, mib_pages(1024));
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
    n.update_scan_period(0, 0, 2, 0);
    assert_eq!(n.tasks[0].numa_scan_period, 9999, "no fault data");
    set_faults(&mut n, 0, &[1, 1]);
    n.update_scan_period(0, 0, 1, 0);
    assert_eq!(n.tasks[0].numa_scan_period, 9999, "same node");
}
