//! kernel-after-6.12.md §11.3 (L1 to L13), §11.6 (R8), §11.7 (D2 to D5), and the searches that the token holds up.

use super::super::balance::lb_env::LbEnv;
use super::super::balance::migrate_degrades_locality::{locality_verdict, NodePull};
use super::super::balance::migration_type::MigrationType;
use super::super::domains::{Domains, Flags};
use super::super::event::Why;
use super::super::numa_view::NumaView;
use super::super::rq::sched_entity::State;
use super::super::shapes::Shape;
use super::super::state::CpuIdleType;
use super::{release, Lab, MS};
use crate::sched::config::SchedConfig;

struct Weights([i64; 2]);

impl NumaView for Weights {
    fn enabled(&self) -> bool {
        true
    }
    fn has_faults(&self, _task: u32) -> bool {
        true
    }
    fn node_weight(&self, _task: u32, node: u32, _distance: u32) -> i64 {
        self.0[node as usize]
    }
}

#[test]
fn l1_to_l9_verdicts() {
    let v = |preferred, nr, nr_preferred, idle, weights| {
        let pull = NodePull { src: 0, dst: 1, distance: 20, nr, nr_preferred, idle };
        locality_verdict(0, preferred, &pull, &Weights(weights))
    };
    let (new, idle) = (CpuIdleType::NewlyIdle, CpuIdleType::Idle);
    assert_eq!(v(Some(0), 3, 3, new, [0, 0]), 0, "L1");
    assert_eq!(v(Some(0), 3, 2, new, [0, 0]), 1, "L2");
    assert_eq!(v(Some(1), 3, 3, new, [0, 0]), -1, "L3");
    assert_eq!(v(None, 3, 3, idle, [400, 100]), 0, "L4");
    assert_eq!(v(None, 3, 3, new, [400, 300]), 100, "L5");
    assert_eq!(v(None, 3, 3, new, [300, 300]), 0, "L6, L7");
    assert_eq!(v(None, 3, 3, new, [300, 400]), -100, "L8");
}

/// Two nodes of four CPUs. CPU 4 of node 1 runs a task and has another one waiting.
struct Scene {
    lab: Lab<Weights>,
    waiting: u32,
    env: LbEnv,
}

/// CPU 0 of node 0 pulls from CPU 4. `hot`: the waiting task ran just now.
fn scene(minor: u32, weights: [i64; 2], hot: bool) -> Scene {
    let config = SchedConfig { locality_verdict: release(6, minor).locality_verdict, ..release(6, minor) };
    let mut lab = Lab::with_view(&Shape::flat(2, 4, 1, 20), &config, Weights(weights));
    let both = [lab.start(4, Some(&[4])), lab.start(4, Some(&[4]))];
    lab.pass_time(40 * MS);
    lab.tick(4);
    let running = lab.s.current(4).unwrap();
    let waiting = if both[0] == running { both[1] } else { both[0] };
    both.iter().for_each(|t| lab.s.set_affinity(*t, None, lab.now).unwrap());
    lab.s.tasks[waiting as usize].exec_start = if hot { lab.now as i64 } else { 0 };
    // An early vruntime makes it eligible.
    lab.s.tasks[waiting as usize].vruntime = lab.s.rqs[4].min_vruntime;
    let dom = lab.s.topo.sd_numa(0).unwrap();
    let env = LbEnv { src: 4, ..LbEnv::new(0, dom, CpuIdleType::NewlyIdle, Why::Newidle) };
    Scene { lab, waiting, env }
}

impl Scene {
    fn pulls(&mut self) -> bool {
        self.lab.s.can_migrate_task(&mut self.env, self.waiting, &self.lab.view)
    }
    fn fail(mut self, times: u32) -> Self {
        self.lab.s.dom[self.env.dom as usize].nr_balance_failed = times;
        self
    }
    fn not_eligible(mut self) -> Self {
        self.lab.s.tasks[self.waiting as usize].vruntime += 1_000_000_000;
        self
    }
}

#[test]
fn l1_to_l9_pulls() {
    // Weights are of [node 0, node 1]; the source is node 1.
    assert!(!scene(14, [300, 400], false).pulls(), "L5");
    assert!(scene(14, [300, 400], false).fail(3).pulls(), "L9");
    assert!(!scene(14, [300, 300], true).pulls(), "L6");
    assert!(scene(12, [300, 300], true).pulls(), "L6: 6.12 moves it");
    assert!(scene(14, [300, 300], false).pulls(), "L7");
    assert!(scene(14, [400, 300], true).pulls(), "L8");
    let prefers = |nid, hot| {
        let mut s = scene(14, [300, 300], hot);
        s.lab.s.set_preferred_nid(s.waiting, Some(nid));
        s
    };
    assert!(prefers(0, true).pulls(), "L3: no cache test");
    assert!(!prefers(1, false).pulls(), "L2: another task there is off its node");
    assert!(prefers(1, false).fail(3).pulls(), "L2: refused until failed > 2");
    let all_home = |hot| {
        let mut s = prefers(1, hot);
        let running = s.lab.s.current(4).unwrap();
        s.lab.s.set_preferred_nid(running, Some(1));
        s
    };
    assert!(all_home(false).pulls() && !all_home(true).pulls(), "L1: the cache test decides");
    let mut idle = scene(14, [100, 400], false);
    idle.env.idle = CpuIdleType::Idle;
    assert!(idle.pulls(), "L4");
}

#[test]
fn l10_to_l12_a_first_attempt_takes_eligible_tasks() {
    let occupied = |s: Scene| {
        let mut s = s;
        s.lab.start(0, None);
        s.lab.s.tasks[s.waiting as usize].exec_start = 0;
        s
    };
    assert!(!occupied(scene(14, [400, 300], false)).not_eligible().pulls(), "L10");
    assert!(occupied(scene(12, [400, 300], false)).not_eligible().pulls(), "L10: 6.12 does not ask");
    assert!(occupied(scene(14, [400, 300], false)).not_eligible().fail(1).pulls(), "L11");
    assert!(scene(14, [400, 300], false).not_eligible().pulls(), "L12");
}

#[test]
fn l13_delayed_sleepers_move_by_load_only() {
    let delayed = |minor, kind| {
        let mut s = scene(minor, [400, 300], false);
        s.lab.s.tasks[s.waiting as usize].state = State::Delayed;
        s.env.kind = kind;
        s.pulls()
    };
    assert!(!delayed(14, MigrationType::Task), "L13");
    assert!(delayed(14, MigrationType::Load), "L13");
    assert!(delayed(12, MigrationType::Task), "L13: 6.12");
}

/// A pass of CPU 4 over both nodes while a search of CPU 0 is at that level: failures, interval (ms) and whether the
/// domain was balanced now.
fn while_busy(minor: u32) -> (u32, u64, bool) {
    let machine = {
        let mut m = Shape::flat(2, 4, 1, 20).machine("m");
        m.costs.balance_cpu_ns = 1000.0;
        m
    };
    let mut s = crate::sched::Scheduler::new(&machine, &release(6, minor)).unwrap();
    let near = s.topo.sd_numa(0).unwrap();
    let far = s.topo.sd_numa(4).unwrap();
    s.overload = true;
    s.rqs[0].avg_idle_ns = 1_000_000;
    s.dom[near as usize].dice.ratio = 1024;
    s.topo.ids(0).for_each(|d| s.dom[d as usize].dice.ratio = 1024);
    // Passes take time, so that the search is at one domain after the other.
    let mut now = 1000;
    while s.rqs[0].newidle.as_ref().is_none_or(|n| n.at != near) {
        let _ = s.sched_balance_newidle(0, &super::super::numa_view::NoNuma);
        now += 1;
        assert!(now < 1010, "the search comes to the nodes");
    }
    s.dom[far as usize].nr_balance_failed = 3;
    s.dom[far as usize].interval_ms = 8;
    s.clock(5_000 * MS);
    s.sched_balance_domains(4, CpuIdleType::Idle, Why::Periodic, &super::super::numa_view::NoNuma);
    let d = &s.dom[far as usize];
    (d.nr_balance_failed, d.interval_ms, d.last_balance == s.jiffy)
}

#[test]
fn r8_a_busy_token_counts_as_balanced() {
    assert_eq!(while_busy(19), (0, 16, true), "R8");
}

/// Granite Rapids in six clusters, as a bare shape.
fn granite(title: &str, sockets: usize) -> Domains {
    let rows: [[u8; 6]; 6] = [
        [10, 15, 17, 21, 28, 26],
        [15, 10, 15, 23, 26, 23],
        [17, 15, 10, 26, 23, 21],
        [21, 28, 26, 10, 15, 17],
        [23, 26, 23, 15, 10, 15],
        [26, 23, 21, 17, 15, 10],
    ];
    let shape = Shape {
        sockets,
        nodes_per_socket: 6 / sockets,
        distance: rows.iter().map(|r| r.to_vec()).collect(),
        ..Shape::flat(6, 4, 2, 20)
    };
    let mut machine = shape.machine("gnr");
    machine.title = title.to_string();
    Domains::build(&machine, &release(6, 19)).unwrap()
}

/// Spans of the NUMA levels that a CPU of the node sees, in nodes.
fn spans(d: &Domains, node: usize) -> Vec<Vec<u32>> {
    let cpu = 4 * node as u32;
    let nodes = |span: &numalab_base::cpu_set::CpuSet| {
        let mut n: Vec<u32> = span.iter().map(|c| d.node_of(c)).collect();
        n.dedup();
        n
    };
    d.tower(cpu).iter().filter(|x| x.flags.has(Flags::NUMA)).map(|x| nodes(&x.span)).collect()
}

#[test]
fn d2_to_d5_simplified_distances() {
    let d = granite("Granite Rapids, SNC3", 2);
    assert_eq!(spans(&d, 0), [vec![0, 1], vec![0, 1, 2], vec![0, 1, 2, 3, 4, 5]], "D2");
    assert_eq!(spans(&d, 4), [vec![3, 4, 5], vec![0, 1, 2, 3, 4, 5]], "D3");
    assert_eq!(d.distance(0, 4), 28, "D4: NUMA balancing keeps the table");
    let table = |title: &str, sockets: usize| {
        let mut m = Shape { sockets, nodes_per_socket: 4 / sockets, ..Shape::flat(4, 4, 1, 20) }.machine("m");
        m.title = title.to_string();
        crate::sched::domains::simplify::simplified(&m).is_some()
    };
    assert!(table("Granite Rapids, two clusters", 2), "the model the table is for");
    assert!(!table("Another CPU", 2) && !table("Granite Rapids", 1), "D5");
}

/// Two nodes of two caches of eight CPUs. The threads of one process start on these CPUs.
fn threads(config: &SchedConfig, cpus: &[u32]) -> (Lab<Weights>, Vec<u32>) {
    let shape = Shape { llcs_per_node: 2, ..Shape::flat(2, 8, 1, 20) };
    let mut machine = shape.machine("m");
    machine.llcs.iter_mut().for_each(|l| l.size_bytes = 32 << 20);
    let mut lab = Lab::with_view(&shape, config, Weights([0, 0]));
    lab.s = crate::sched::Scheduler::new(&machine, config).unwrap();
    let tasks: Vec<u32> = cpus.iter().map(|c| lab.start(*c, Some(&[*c]))).collect();
    for t in &tasks {
        lab.s.set_affinity(*t, None, lab.now).unwrap();
        lab.s.set_process(*t, 0);
    }
    (lab, tasks)
}

/// Lets all busy CPUs tick for a time.
fn run(lab: &mut Lab<Weights>, ms: u64) {
    for _ in 0..ms / 4 {
        lab.pass_time(4 * MS);
        for cpu in 0..32 {
            if lab.s.current(cpu).is_some() {
                lab.tick(cpu);
            }
        }
    }
}

fn caches(lab: &Lab<Weights>, tasks: &[u32]) -> Vec<u32> {
    let mut all: Vec<u32> = tasks.iter().map(|t| lab.s.topo.cache_of(lab.s.cpu_of(*t))).collect();
    all.sort_unstable();
    all
}

#[test]
fn threads_of_a_process_gather_on_one_cache_in_7_2() {
    let on = release(7, 2);
    let (mut lab, tasks) = threads(&on, &[0, 1, 8]);
    assert_eq!(caches(&lab, &tasks), [0, 0, 1]);
    run(&mut lab, 4000);
    assert_eq!(tasks.iter().map(|t| lab.s.preferred_cache(*t)).collect::<Vec<_>>(), [Some(0); 3]);
    assert_eq!(caches(&lab, &tasks), [0; 3]);
    let (mut lab, tasks) = threads(&release(7, 1), &[0, 1, 8]);
    run(&mut lab, 4000);
    assert_ne!(caches(&lab, &tasks), [0; 3], "7.1 has them where CPUs are idle");
    assert_eq!(lab.s.preferred_cache(0), None);
}

#[test]
fn x11_numa_balancing_has_precedence_unless_told_otherwise() {
    let preferred = |config: SchedConfig| {
        let (mut lab, tasks) = threads(&config, &[0, 1, 8]);
        run(&mut lab, 400);
        lab.s.set_preferred_nid(tasks[2], Some(1));
        run(&mut lab, 8);
        lab.s.preferred_cache(tasks[2])
    };
    let mut config = release(7, 2);
    assert_eq!(preferred(config), None, "X11");
    config.llc_balancing.precedence = crate::sched::cache_aware::Precedence::Cache;
    assert_eq!(preferred(config), Some(0), "the posted override");
}

#[test]
fn x22_a_node_to_prefer_is_stronger_than_a_cache_to_leave() {
    let (mut lab, tasks) = threads(&release(7, 2), &[0, 0, 1, 2]);
    let pin = |lab: &mut Lab<Weights>, to: Option<&[u32]>| {
        tasks[..2].iter().for_each(|t| lab.s.set_affinity(*t, to, lab.now).unwrap());
    };
    pin(&mut lab, Some(&[0]));
    run(&mut lab, 100);
    pin(&mut lab, None);
    for c in 0..4 {
        lab.s.cache_aware.publish(c, if c == 0 { 300 } else { 0 }, 1000);
    }
    let waiting = if lab.s.current(0) == Some(tasks[0]) { tasks[1] } else { tasks[0] };
    lab.s.tasks[waiting as usize].exec_start = 0;
    let dom = lab.s.topo.sd_numa(16).unwrap();
    let mut env = LbEnv { src: 0, ..LbEnv::new(16, dom, CpuIdleType::Idle, Why::Periodic) };
    assert_eq!(lab.s.preferred_cache(waiting), Some(0));
    lab.s.dom[dom as usize].nr_balance_failed = 0;
    assert!(!lab.s.can_migrate_task(&mut env, waiting, &lab.view) && env.llc_pinned, "it would leave its cache");
    lab.s.set_preferred_nid(waiting, Some(1));
    assert!(lab.s.can_migrate_task(&mut env, waiting, &lab.view), "X22: verdict -1, the cache is not asked");
}

#[test]
fn x23_one_cache_per_node_is_no_case_for_it() {
    let mut lab = Lab::with_view(&Shape::flat(2, 8, 1, 20), &release(7, 2), Weights([0, 0]));
    let t = lab.start(0, None);
    lab.s.set_process(t, 0);
    run_two(&mut lab);
    assert!(!lab.s.cache_aware.active);
    assert_eq!(lab.s.preferred_cache(t), None, "X23");
}

fn run_two(lab: &mut Lab<Weights>) {
    for _ in 0..50 {
        lab.pass_time(4 * MS);
        lab.tick(0);
    }
}
