//! Active balance: when stoppers are asked to push a running task, and what they do.

use super::super::event::{Event, Why};
use super::super::state::CpuIdleType;
use super::balance::{dom, failed, interval, pass, spread_node};
use super::FORMS;

#[test]
fn the_push_comes_with_the_failure_after_tries_plus_two_and_resets() {
    for form in FORMS {
        let mut lab = spread_node(form);
        for _ in 0..4 {
            pass(&mut lab, 128, 256, CpuIdleType::Idle);
        }
        assert_eq!((failed(&lab, 128, 256), lab.s.counters().active), (4, 0));
        pass(&mut lab, 128, 256, CpuIdleType::Idle);
        assert_eq!((failed(&lab, 128, 256), lab.s.counters().active), (0, 1));
        let moved = Event::Moved { task: 0, from: 0, to: 128, why: Why::Active };
        assert!(lab.log.contains(&moved) && lab.s.current(128) == Some(0) && lab.s.is_idle(0));
    }
}

/// Two idle CPUs with many old failures could otherwise hand one running task to each other for ever at one instant.
#[test]
fn a_newly_idle_search_moves_no_running_task_at_once() {
    for form in FORMS {
        let mut lab = spread_node(form);
        let d = dom(&lab, 128, 256);
        lab.s.dom[d as usize].nr_balance_failed = 9;
        // The stopper is asked once, however often a pass wants it before it runs.
        for idle in [CpuIdleType::NewlyIdle, CpuIdleType::NewlyIdle, CpuIdleType::Idle] {
            assert_eq!(pass(&mut lab, 128, 256, idle).0, 0);
            assert_eq!((lab.s.current(0), lab.s.current(128)), (Some(0), None));
            assert_eq!(lab.asked().collect::<Vec<_>>(), [(0, 128)]);
        }
        lab.stoppers();
        assert_eq!((failed(&lab, 128, 256), lab.s.current(0), lab.s.current(128)), (0, None, Some(0)));
    }
}

#[test]
fn a_pinned_running_task_blocks_the_push_but_not_the_count() {
    for form in FORMS {
        let mut lab = spread_node(form);
        lab.s.set_affinity(0, Some(&[0, 1]), lab.now).unwrap();
        for n in 1..=6 {
            pass(&mut lab, 128, 256, CpuIdleType::Idle);
            assert_eq!(failed(&lab, 128, 256), n);
        }
        assert_eq!(lab.s.counters().active, 0);
        // With a single task on the source all-pinned still holds, so the limit of 512 ms applies.
        assert_eq!(interval(&lab, 128, 256), 512);
    }
}
