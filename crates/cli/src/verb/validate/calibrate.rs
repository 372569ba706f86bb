//! Speeds of a guest, measured with probes, put into the machine that the simulator runs on.
//!
//! A guest's CPU is many times slower than the machine file's, and its kernel code costs instructions, not what the
//! file's class says. Two probe workloads measure five times in the guest and in the simulator: a line of near and of far
//! memory, a first touch, a hint fault that leaves its page, one that moves it. Then the machine's latencies and fault
//! costs are changed until the simulator takes the same times. Counts are not looked at, except to divide by them.

use super::{Bench, Measured};
use crate::context::named;
use crate::failure::{Exit, Failure};
use numalab_model::experiment::{Experiment, Param};
use numalab_model::kernel::Setting;
use numalab_model::machine::Machine;
use numalab_model::spec::Spot;
use serde::Serialize;

/// Rounds of changing the machine; times are nearly linear in what is changed, so the second one only polishes.
const ROUNDS: usize = 3;
const LINE_BYTES: f64 = 64.0;

/// What was measured, in the order of [`Times`].
const NAMES: [(&str, &str); 5] = [
    ("near line", "ns"),
    ("far line", "ns"),
    ("first touch", "ns/page"),
    ("hint fault, page stays", "ns"),
    ("hint fault, page moves", "ns"),
];

/// A machine with the speeds of a guest.
pub struct Calibration {
    /// The machine, caches undivided.
    pub machine: Machine,
    /// What was measured.
    pub figures: Vec<Figure>,
}

/// One measured time.
#[derive(Clone, Debug, Serialize)]
pub struct Figure {
    /// What takes it.
    pub name: &'static str,
    /// Unit.
    pub unit: &'static str,
    /// In the guest.
    pub guest: f64,
    /// In the simulator on the machine file as it is.
    pub file: f64,
    /// In the simulator on the calibrated machine.
    pub calibrated: f64,
}

impl Calibration {
    /// The figures as lines.
    pub fn text(&self) -> String {
        let mut out = format!("\n{:<26}{:>12}{:>14}{:>14}\n", "calibration", "guest", "machine file", "calibrated");
        for f in &self.figures {
            let name = format!("{} [{}]", f.name, f.unit);
            out += &format!("{name:<30}{:>8.0}{:>14.0}{:>14.0}\n", f.guest, f.file, f.calibrated);
        }
        out
    }
}

/// Times of single operations, ns: near line, far line, first touch, hint fault, migrating hint fault.
type Times = [f64; 5];

/// Measures in guests, then fits the machine.
///
/// # Errors
/// A probe that fails, or that took no hint faults.
pub fn run(bench: &Bench<'_>, machines: &[Spot<String>]) -> Result<Calibration, Failure> {
    let probe = |workload: &str, params: &[&str], dir: &str| {
        bench.guests(&experiment(bench, machines, workload, params)?, &format!("calibration/{dir}"))
    };
    let guests = [
        probe("probe-memory", &[], "probe-memory")?,
        probe("probe-faults", &["home=0"], "probe-faults-near")?,
        probe("probe-faults", &["home=nodes - 1"], "probe-faults-far")?,
    ];
    let guest = times(&guests)?;
    let file = guests[0].first().map(|m| (*m.input.machine).clone());
    let file = file.ok_or_else(|| Failure::environment("the probe made no run"))?;
    let simulated = |machine: &Machine, round: &str| -> Result<Times, Failure> {
        let names = ["probe-memory", "probe-faults-near", "probe-faults-far"];
        let mut runs = Vec::new();
        for (measured, name) in guests.iter().zip(names) {
            runs.push(bench.simulate(measured, machine, &format!("calibration/{name}-{round}"))?);
        }
        times(&runs)
    };
    let before = simulated(&file, "file")?;
    let mut machine = one_line_at_a_time(&file, guest[0]);
    let mut now = simulated(&machine, "round0")?;
    for round in 1..=ROUNDS {
        adjust(&mut machine, &guest, &now);
        now = simulated(&machine, &format!("round{round}"))?;
    }
    let figures = NAMES.iter().enumerate();
    let figures =
        figures.map(|(i, &(name, unit))| Figure { name, unit, guest: guest[i], file: before[i], calibrated: now[i] });
    Ok(Calibration { machine, figures: figures.collect() })
}

/// A probe with balancing on and off.
fn experiment(
    bench: &Bench<'_>,
    machines: &[Spot<String>],
    workload: &str,
    params: &[&str],
) -> Result<Experiment, Failure> {
    let param = |text: &&str| Ok(Param { workload: None, setting: Setting::from_argument("probe", text)? });
    Ok(Experiment {
        name: workload.into(),
        title: "times of single operations".into(),
        about: String::new(),
        machines: machines.to_vec(),
        kernels: vec![named("--image", bench.image()), named("probe", "off")],
        workloads: vec![named("probe", workload)],
        baseline: None,
        iterations: 1,
        seed: 1,
        sets: Vec::new(),
        params: params.iter().map(param).collect::<Result<_, Failure>>()?,
    })
}

fn times(runs: &[Vec<Measured>]) -> Result<Times, Failure> {
    let memory = off(&runs[0])?;
    let speed = |name: &str| memory.outcome.scalars.iter().find(|s| s.name == name).map_or(f64::NAN, |s| 1e9 / s.value);
    let (stay_ns, _, _) = added(&runs[1])?;
    let (all_ns, faults, moved) = added(&runs[2])?;
    let hint_ns = stay_ns / counter(on(&runs[1])?, "numa_hint_faults").max(1.0);
    if faults == 0.0 || moved == 0.0 {
        let what = format!("the probe took {faults} hint faults and moved {moved} pages: nothing to divide by");
        return Err(Failure { exit: Exit::Finding, message: what });
    }
    let move_ns = (all_ns - hint_ns * (faults - moved)) / moved;
    Ok([speed("near"), speed("far"), speed("touch"), hint_ns, move_ns])
}

/// System time that balancing added (ns), hint faults, pages moved.
fn added(runs: &[Measured]) -> Result<(f64, f64, f64), Failure> {
    let (with, without) = (on(runs)?, off(runs)?);
    let system = |m: &Measured| m.outcome.scalars.iter().find(|s| s.name == "system_s").map_or(0.0, |s| s.value * 1e9);
    Ok((system(with) - system(without), counter(with, "numa_hint_faults"), counter(with, "numa_pages_migrated")))
}

fn counter(m: &Measured, name: &str) -> f64 {
    m.outcome.counters.iter().find(|c| c.0 == name).map_or(0.0, |c| c.1 as f64)
}

fn balancing(m: &Measured) -> bool {
    m.input.kernel.tunable("system.numa_balancing") != Some("0")
}

fn on(runs: &[Measured]) -> Result<&Measured, Failure> {
    runs.iter().find(|m| balancing(m)).ok_or_else(|| Failure::environment("the probe has no run with balancing on"))
}

fn off(runs: &[Measured]) -> Result<&Measured, Failure> {
    runs.iter().find(|m| !balancing(m)).ok_or_else(|| Failure::environment("the probe has no run with balancing off"))
}

/// The machine as the plugin of timing `modelled` sees it: a CPU has one line in flight, and a node still saturates with
/// as many streaming threads as in the file.
fn one_line_at_a_time(file: &Machine, near_ns: f64) -> Machine {
    let mut m = file.clone();
    let factor = LINE_BYTES / near_ns / m.stream.cap_gbps;
    m.name = format!("{} (calibrated)", m.name);
    m.stream.lines_sequential = 1.0;
    m.stream.lines_random = 1.0;
    for node in &mut m.nodes {
        node.dram_peak_gbps *= factor;
        node.dram_sustained_gbps *= factor;
    }
    for link in &mut m.links {
        link.peak_gbps *= factor;
        link.sustained_gbps *= factor;
    }
    // What a line costs beside its miss is instructions, wherever it is found.
    let instructions_ns = (near_ns - m.latency_ns[0][0]).max(1.0);
    m.cache.llc_stream_gbps = LINE_BYTES / (instructions_ns + m.cache.llc_latency_ns);
    m.cache.l2_cycles = instructions_ns * m.clock.sustained_ghz;
    m
}

/// Changes latencies in proportion and fault costs by the difference, so that `now` becomes `wanted`.
fn adjust(m: &mut Machine, wanted: &Times, now: &Times) {
    let ratio = |i: usize| if now[i] > 0.0 && wanted[i].is_finite() { wanted[i] / now[i] } else { 1.0 };
    for (i, row) in m.latency_ns.iter_mut().enumerate() {
        for (j, ns) in row.iter_mut().enumerate() {
            *ns *= if i == j { ratio(0) } else { ratio(1) };
        }
    }
    let missing = |i: usize| wanted[i] - now[i];
    let add = |cost: &mut f64, ns: f64| *cost = (*cost + ns).max(0.0);
    add(&mut m.costs.minor_fault_ns, missing(2));
    add(&mut m.costs.hint_fault_ns, missing(3));
    let moving = missing(4) - missing(3);
    add(&mut m.costs.migrate_4k_ns, moving);
    add(&mut m.costs.migrate_4k_batched_ns, moving);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn adjusting_moves_every_time_by_what_is_missing() {
        let mut m = numalab_model::machine::load("2x1x2x1", &|_| None, &[]).unwrap();
        let before = m.clone();
        adjust(&mut m, &[300.0, 500.0, 9000.0, 4000.0, 9000.0], &[150.0, 250.0, 5000.0, 1000.0, 2000.0]);
        assert_eq!(m.latency_ns[0][0], 2.0 * before.latency_ns[0][0]);
        assert_eq!(m.latency_ns[0][1], 2.0 * before.latency_ns[0][1]);
        assert_eq!(m.costs.minor_fault_ns, before.costs.minor_fault_ns + 4000.0);
        assert_eq!(m.costs.hint_fault_ns, before.costs.hint_fault_ns + 3000.0);
        assert_eq!(m.costs.migrate_4k_ns, before.costs.migrate_4k_ns + 4000.0);
    }

    #[test]
    fn a_node_saturates_with_as_many_threads_as_in_the_file() {
        let file = numalab_model::machine::load("2x1x2x1", &|_| None, &[]).unwrap();
        let m = one_line_at_a_time(&file, 150.0);
        let threads = |m: &Machine, thread_gbps: f64| m.nodes[0].dram_sustained_gbps / thread_gbps;
        let close = threads(&m, LINE_BYTES / 150.0) / threads(&file, file.stream.cap_gbps);
        assert!((close - 1.0).abs() < 1e-9, "{close}");
    }
}
