//! The checker of run queues finds each count that is wrong.

use super::*;
use crate::sched::pelt::Pelt;
use crate::sched::rq::rounding::Departures;
use crate::sched::rq::sched_entity::State;

/// Something that breaks a rule.
type Damage = fn(&mut Scheduler);

/// What the checker says after `damage` to a machine of two nodes with four CPUs each, where CPU 0 has two tasks.
fn says(damage: Damage) -> String {
    let mut lab = Lab::new(&Shape::flat(2, 4, 1, 20), &config("v61"));
    lab.fill(0, Some(&[0]), 2);
    lab.pass_time(MS);
    assert_eq!(lab.s.check(), Ok(()));
    damage(&mut lab.s);
    lab.s.check().unwrap_err()
}

#[test]
fn each_wrong_count_is_found() {
    let damages: [(Damage, &str); 10] = [
        (|s| s.rqs[0].weight += 1, "CPU 0 keeps (2049, 0, 0, 0, "),
        (|s| s.rqs[0].nr_numa += 1, "CPU 0 keeps (2048, 0, 1, 0, "),
        (|s| s.rqs[0].cur = 7, "CPU 0 runs task 7, which is not queued there"),
        (|s| s.rqs[0].pelt = Pelt::with_averages(s.now, 1, 5000, 0, 0), "CPU 0 keeps (5000, "),
        (|s| s.rqs[5].list.push(1), "task 1 is queued on CPU 5 but says 0"),
        (|s| s.tasks[1].state = State::Blocked, "task 1 is Blocked but on 1 queues"),
        (|s| s.idle.insert(0), "CPU 0 is in the wrong set of idle CPUs"),
        (|s| s.node_tasks[1].nr += 1, "node 1 keeps TaskCounts { nr: 1,"),
        (|s| s.lone += 1, "0 CPUs have one task and 0 groups are marked, but 1 and 0 are kept"),
        (|s| s.caches[0].nr_busy += 1, "cache 0 counts "),
    ];
    for (damage, sentence) in damages {
        let says = says(damage);
        assert!(says.starts_with(sentence), "{says}");
    }
}

/// Tasks that leave a queue leave roundings behind, more than those of the tasks that are there. The bound follows from
/// what left, so it holds then, and is narrow again once that has faded.
#[test]
fn what_departures_leave_in_averages_is_allowed_for_as_long_as_it_lasts() {
    const PERIOD_NS: u64 = 1 << 20;
    let mut lab = Lab::new(&Shape::flat(1, 4, 1, 20), &config("v61"));
    let mut tasks = Vec::new();
    for n in 0..24 {
        tasks.push(lab.start(0, Some(&[0])));
        lab.pass_time(1_300_000 + 70_000 * n);
        lab.tick(0);
    }
    // At the beginning of a period the queue keeps the most of what its averages say.
    lab.pass_time(PERIOD_NS - lab.now % PERIOD_NS);
    for t in &tasks {
        lab.s.set_affinity(*t, Some(&[1]), lab.now).unwrap();
        lab.settle();
    }
    assert_eq!(lab.s.nr_running(0), 0);
    let mut forgets = lab.s.clone();
    forgets.rqs[0].departures = Departures::default();
    let why = forgets.check().unwrap_err();
    assert!(why.starts_with("CPU 0 keeps (") && why.ends_with("its tasks sum to (0, 0, 0)"), "{why}");
    lab.pass_time(3_000 * MS);
    assert_eq!(lab.s.rqs[0].departures.units_at(lab.now), 0);
    assert_eq!(lab.s.check(), Ok(()));
    lab.s.rqs[0].pelt = Pelt::with_averages(lab.now, 1, 0, 2, 0);
    assert!(lab.s.check().is_err(), "two units are a fault then");
}
