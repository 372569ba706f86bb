//! Each check is seen to fail on a state that was damaged.

use super::view::View;
use super::*;
use crate::engine::carry_out::Engine;
use crate::sim_config::SimConfig;
use crate::state::simulation::Simulation;
use crate::state::task::Activity;
use crate::Observers;
use numalab_base::base_page::BasePage;
use numalab_base::grain::Grain;
use numalab_kernel::mm::pageblock::Frame;
use numalab_kernel::mm::{PageRef, Vma};
use numalab_kernel::registry;
use numalab_model::workload;
use numalab_nouns::machine::Machine;
use numalab_nouns::workload::Workload;

/// Two processes with two threads each, which share memory and have some of their own.
const SHARING: &str = r#"
name = "test"
title = "t"
about = "a"
source = "test"
limit = "20s"
[[process]]
name = "parent"
threads = 2
[[process.region]]
name = "common"
kind = "shared"
size = "4MiB"
[[process.region]]
name = "own"
size = "8MiB"
[[process.prologue]]
access = "common"
write = 1
[[process.phase]]
time = "10s"
access = "own"
write = 1
[[process]]
name = "child"
parent = "parent"
fork = "after"
threads = 2
[[process.phase]]
time = "10s"
access = "common"
write = 1
"#;

fn kernel() -> SimConfig {
    SimConfig::of(&numalab_model::catalog::built_in_kernel("6.12", &registry::vocabulary()).unwrap()).unwrap()
}

fn machine() -> Machine {
    numalab_model::machine::load("2x1x4x1", &|_| None, &[]).unwrap()
}

fn sharing(machine: &Machine) -> Workload {
    let workload = workload::parse("test", SHARING).unwrap().resolve(machine, 1, &[]).unwrap();
    Workload { limit_ns: 300_000_000, ..workload }
}

/// What the check of a part says after `damage` to a run that has been cut off.
fn says(part: fn(&View<'_, '_>) -> Result<(), String>, damage: impl FnOnce(&mut Simulation<'_>)) -> String {
    let (machine, cfg) = (machine(), kernel());
    let workload = sharing(&machine);
    let mut engine = Engine::new(&machine, &workload, &cfg, 1, Observers::default()).unwrap();
    engine.run().unwrap();
    assert_eq!(engine.check(), Ok(()));
    let before = counter_sums::counts(&engine.sim);
    let before_ns = engine.sim.now_ns;
    let look = |engine: &Engine<'_>| part(&View { sim: &engine.sim, queue: &engine.queue, before_ns, before: &before });
    assert_eq!(look(&engine), Ok(()));
    damage(&mut engine.sim);
    look(&engine).unwrap_err()
}

/// A mapping of the first process, and a chunk of it whose first page is so.
fn page_where(sim: &Simulation<'_>, is_so: impl Fn(&Vma, usize) -> bool) -> (usize, usize) {
    let all = sim.processes[0].space.iter().enumerate();
    let found =
        all.flat_map(|(id, v)| (0..v.chunk_count()).map(move |chunk| (id, chunk, v))).find(|(_, c, v)| is_so(v, *c));
    found.map(|(id, chunk, _)| (id, chunk)).unwrap()
}

/// A page that both processes map.
fn common_page(sim: &Simulation<'_>) -> PageRef {
    let (object, of) = sim.mm.shared.iter().find(|(_, o)| o.mappers.len() == 2).unwrap();
    let (chunk, block) = of.blocks().next().unwrap();
    PageRef { object, chunk: chunk as u32, page: block.resident.next(0).unwrap() as u16 }
}

#[test]
fn time_that_goes_back_is_found() {
    let late = says(events::check, |sim| sim.now_ns += 1_000_000_000);
    assert!(late.starts_with("an event is due at "), "{late}");
    let back = says(events::check, |sim| sim.now_ns -= 1);
    assert!(back.starts_with("the last check was at "), "{back}");
}

#[test]
fn counters_that_disagree_or_go_back_are_found() {
    let local = says(counter_sums::check, |sim| sim.kernel.numa.counters.numa_hint_faults_local += 1 << 40);
    assert!(
        local.starts_with("numa_hint_faults_local is ") && local.contains(", more than numa_hint_faults, "),
        "{local}"
    );
    let missed = says(counter_sums::check, |sim| sim.mm.physical.counters.numa_miss += 1);
    assert!(missed.starts_with("allocations by node do not add up"), "{missed}");
    let back = says(counter_sums::check, |sim| sim.kernel.vm.pgfault -= 1);
    assert!(back.starts_with("pgfault went back from "), "{back}");
}

#[test]
fn cpu_time_that_was_not_charged_once_is_found() {
    let twice = says(cpu_time::check, |sim| sim.tasks[0].user_ns -= 1);
    assert!(twice.starts_with("process 0 keeps ("), "{twice}");
    let more = says(cpu_time::check, |sim| sim.tasks[0].user_ns += 1 << 40);
    assert!(more.starts_with("task 0 was charged "), "{more}");
    let ended = says(cpu_time::check, |sim| {
        sim.tasks[0].activity = Activity::Dead;
        sim.tasks[0].user_ns = 0;
        sim.tasks[0].system_ns = 0;
    });
    assert!(ended.starts_with("task 0 was charged 0 ns, had a CPU for "), "{ended}");
}

#[test]
fn cpus_that_run_other_tasks_than_the_scheduler_says_are_found() {
    let busy = |sim: &Simulation<'_>| sim.cpus.iter().position(|c| c.task.is_some()).unwrap();
    let none = says(run_queues::check, |sim| {
        let cpu = busy(sim);
        sim.cpus[cpu].task = None;
    });
    assert!(none.contains("runs task None, the scheduler has Some("), "{none}");
    let dead = says(run_queues::check, |sim| {
        let task = sim.cpus[busy(sim)].task.unwrap();
        sim.tasks[task as usize].activity = Activity::Dead;
    });
    assert!(dead.contains("has ended and is on a run queue"), "{dead}");
    let node = says(run_queues::check, |sim| sim.processes[0].running_on_node[1] += 1);
    assert!(node.starts_with("process 0 runs on "), "{node}");
    let live = says(run_queues::check, |sim| sim.processes[1].live_threads = 0);
    assert!(live.starts_with("process 1 keeps 0 live threads, "), "{live}");
}

#[test]
fn a_page_table_without_a_mapping_is_found() {
    let lost = says(page_tables::check, |sim| {
        let own = sim.processes[0].region_vma[0] as usize;
        sim.processes[0].space.vma_mut(own).frame_map.take_table(0).unwrap();
    });
    assert!(lost.contains(" page tables in mappings, "), "{lost}");
}

#[test]
fn a_mapping_in_other_base_pages_is_found() {
    let other = says(page_tables::check, |sim| {
        let own = sim.processes[0].region_vma[0] as usize;
        sim.processes[0].space.vma_mut(own).grain = Grain::one(BasePage::Kib64);
    });
    assert!(other.contains("is not in whole pages of 4 KiB"), "{other}");
}

#[test]
fn pages_that_are_not_conserved_are_found() {
    let mapped = says(frames::check, |sim| {
        let (id, chunk) = page_where(sim, |v, chunk| v.is_absent(chunk, 0));
        sim.processes[0].space.vma_mut(id).populate(chunk, 0, 0, Frame::UNKNOWN);
    });
    assert!(mapped.starts_with("node 0: ") && mapped.contains(" pages mapped, "), "{mapped}");
}

#[test]
fn active_pages_that_are_not_on_the_list_are_found() {
    let active = says(lru::check, |sim| {
        let own = |v: &Vma, chunk: usize| !v.is_absent(chunk, 0) && v.page_ref(chunk, 0).is_none();
        let (id, chunk) = page_where(sim, own);
        let vma = sim.processes[0].space.vma_mut(id);
        let frame = vma.frame(chunk, 0);
        vma.set_flags(chunk, 0, frame.with(Frame::ACTIVE, !frame.has(Frame::ACTIVE)));
    });
    assert!(active.contains(" active pages, Lru { "), "{active}");
}

#[test]
fn a_mapcount_that_the_page_tables_do_not_show_is_found() {
    let wrong = says(reverse_map::check, |sim| {
        let at = common_page(sim);
        sim.mm.shared.block_of(at).mapcount[usize::from(at.page)] += 1;
    });
    assert!(wrong.contains("is shown 2 times, its mapcount is 3"), "{wrong}");
}

#[test]
fn a_slot_of_the_swap_device_without_a_page_is_found() {
    let (machine, mut cfg) = (machine(), kernel());
    cfg.mm.swap.size_mb = 2;
    let workload = sharing(&machine);
    let mut engine = Engine::new(&machine, &workload, &cfg, 1, Observers::default()).unwrap();
    engine.run().unwrap();
    assert_eq!(engine.check(), Ok(()));
    engine.sim.mm.physical.swap.take().unwrap();
    let says = engine.check().unwrap_err();
    assert!(
        says.starts_with("swap at ") && says.ends_with(": 0 entries, 0 of 0 shared slots, name 1 used slots"),
        "{says}"
    );
}

#[test]
fn a_run_that_finds_a_fault_on_the_way_ends_with_it() {
    let (machine, cfg) = (machine(), SimConfig { check_every_ns: 100_000_000, ..kernel() });
    let workload = sharing(&machine);
    let mut engine = Engine::new(&machine, &workload, &cfg, 1, Observers::default()).unwrap();
    engine.sim.mm.physical.counters.numa_miss += 1;
    let says = engine.run().unwrap_err();
    assert!(says.starts_with("counters at 100000000 ns of model time: allocations by node do not add up"), "{says}");
}
