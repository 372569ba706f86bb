//! What the machine does beside the workload: a kernel thread of each CPU, and daemons that run anywhere.
//!
//! They are processes without memory behind those of the workload. The scheduler sees them as tasks like all others:
//! they wake up, preempt a thread of the workload, and count as load while they run. Records leave them out.

use crate::numa_2012::hooks::fork;
use crate::record::log::log_task_created;
use crate::sim_config::SimConfig;
use crate::state::event_queue::Event;
use crate::state::simulation::Simulation;
use crate::state::task::{Activity, Stage, Task};
use crate::state::wait::NOBODY;
use numalab_base::rng::Rng;
use numalab_nouns::machine::{Background, Machine};
use numalab_nouns::record::Status;
use numalab_nouns::workload::{Bound, ForkPoint, Op, Process, Thread, Workload};
use std::sync::Arc;

/// Turns of a CPU's kernel thread that are drawn; then they repeat.
const CPU_THREAD_TURNS: usize = 8;

/// Turns of a daemon that are drawn; then they repeat.
const DAEMON_TURNS: usize = 64;

/// Distinguishes the random stream of the background from others of the same seed.
const STREAM: u64 = 0x6b77_6f72_6b65_7273;

/// The workload with the background of `machine` behind it, and the settings that tell how many of its processes that
/// is.
pub(crate) fn join(machine: &Machine, workload: &Workload, cfg: &SimConfig, seed: u64) -> (Workload, SimConfig) {
    let b = &machine.background;
    let mut rng = Rng::new(seed ^ STREAM);
    let mut more = Vec::new();
    if b.cpu_thread_us > 0.0 {
        more.extend((0..machine.cpu_count()).map(|cpu| cpu_thread(b, cpu, workload.limit_ns, &mut rng)));
    }
    if b.daemon_us > 0.0 {
        more.extend((0..b.daemons).map(|n| daemon(b, n, workload.limit_ns, &mut rng)));
    }
    let cfg = SimConfig {
        background: cfg.background + more.len(),
        machine_threads: more.len(),
        timer_slack_ns: (b.timer_slack_us * 1e3) as u64,
        ..cfg.clone()
    };
    let mut workload = workload.clone();
    workload.processes.append(&mut more);
    (workload, cfg)
}

/// How many threads a machine has beside the workload, and how many steps their programs have.
pub(crate) fn size(machine: &Machine) -> (usize, usize) {
    let b = &machine.background;
    let cpu_threads = if b.cpu_thread_us > 0.0 { machine.cpu_count() } else { 0 };
    let daemons = if b.daemon_us > 0.0 { b.daemons as usize } else { 0 };
    let steps = |turns: usize| 2 * turns + 3;
    (cpu_threads + daemons, cpu_threads * steps(CPU_THREAD_TURNS) + daemons * steps(DAEMON_TURNS))
}

/// The thread that does the deferred work of one CPU, at a fixed period.
fn cpu_thread(b: &Background, cpu: usize, limit_ns: u64, rng: &mut Rng) -> Process {
    let period_ns = (b.cpu_thread_period_ms * 1e6) as u64;
    let first = Op::Sleep { ns: rng.below(period_ns.max(1)), exponential: false };
    let pause = Op::Sleep { ns: period_ns, exponential: false };
    let ops = turns(first, pause, b.cpu_thread_us, (CPU_THREAD_TURNS, limit_ns), rng);
    process(format!("kworker/{cpu}"), Some(Arc::from([cpu as u32])), ops)
}

/// A daemon that wakes up at random and runs anywhere.
fn daemon(b: &Background, n: u32, limit_ns: u64, rng: &mut Rng) -> Process {
    let pause = Op::Sleep { ns: (b.daemon_period_ms * 1e6) as u64, exponential: true };
    let ops = turns(pause.clone(), pause, b.daemon_us, (DAEMON_TURNS, limit_ns), rng);
    process(format!("daemon/{n}"), None, ops)
}

/// Turns of exponentially distributed CPU time with the mean `mean_us`, for the whole run.
fn turns(first: Op, pause: Op, mean_us: f64, (count, limit_ns): (usize, u64), rng: &mut Rng) -> Vec<Op> {
    let mut ops = vec![first, Op::LoopStart(Bound::Time { ns: limit_ns.saturating_mul(2).min(u64::MAX / 4) })];
    for _ in 0..count {
        ops.push(Op::Compute { ns: (rng.exponential(mean_us * 1e3) as u64).max(1) });
        ops.push(pause.clone());
    }
    ops.push(Op::LoopEnd);
    ops
}

fn process(name: String, affinity: Option<Arc<[u32]>>, ops: Vec<Op>) -> Process {
    Process {
        name,
        parent: None,
        fork: ForkPoint::BeforePrologue,
        regions: Vec::new(),
        prologue: Arc::from([]),
        threads: vec![Thread { affinity, ops: ops.into() }],
        mems: None,
        cpu_group: None,
    }
}

/// Creates a thread of the machine, asleep until its first turn: it is older than the program that is run.
pub(crate) fn start_machine_thread(sim: &mut Simulation<'_>, process: usize, cpu: u32) {
    let workload = sim.workload;
    let thread = &workload.processes[process].threads[0];
    let (ops, affinity) = (&thread.ops[..], thread.affinity.clone());
    let id = match sim.kernel.sched.add_task(affinity.as_deref(), 0) {
        Ok(id) => id,
        Err(e) => {
            sim.status = Status::Failed(e.to_string());
            return;
        }
    };
    let cpu = affinity.as_deref().and_then(|cpus| cpus.first().copied()).unwrap_or(cpu);
    let mut task = Task::new(process as u32, 0, ops, Stage::Body, sim.hw.working_sets.colds());
    (task.pc, task.activity) = (1, Activity::Asleep);
    let first_ns = match ops.first() {
        Some(Op::Sleep { ns, exponential: true }) => sim.rng.exponential(*ns as f64) as u64,
        Some(Op::Sleep { ns, .. }) => *ns,
        _ => 0,
    };
    sim.effects.at(sim.now_ns + first_ns, Event::Wake { task: id, waker: NOBODY, sleep: task.wait.sleep });
    sim.tasks.push(task);
    sim.processes[process].live_threads += 1;
    sim.kernel.numa.start(id, None, sim.kernel.next_pid);
    fork(&mut sim.kernel.numa_2012, process, None);
    sim.kernel.sched.set_process(id, process as u32);
    sim.kernel.sched.sleep_from_start(id, cpu, sim.now_ns);
    log_task_created(sim, id);
}

impl Simulation<'_> {
    /// Number of processes of the workload itself; those behind them stand for the machine's own threads.
    #[inline]
    pub(crate) fn own_processes(&self) -> usize {
        self.workload.processes.len() - self.cfg.machine_threads
    }

    /// Whether `process` stands for a thread of the machine, which has no memory.
    #[inline]
    pub(crate) fn is_machine_thread(&self, process: usize) -> bool {
        process >= self.own_processes()
    }
}
