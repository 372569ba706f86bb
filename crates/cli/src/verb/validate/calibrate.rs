//! Calibration: speeds of a guest, measured with probes, are put into the simulated machine.
//!
//! A guest's CPU is many times slower than that of the machine file. Its kernel code costs as much as its instructions
//! take, not the costs of the file. Five probe workloads measure times of single operations in the guest and in the
//! simulator ([`NAMES`]). Then latencies and costs of the machine are changed until the simulator takes the same times.
//! Counts serve as divisors only.

use super::bench::{setting, Bench};
use super::measured::Measured;
use crate::context::named;
use crate::failure::{Exit, Failure};
use crate::logs::Logs;
use crate::run_label::run_label;
use numalab_lab::fit::divisor_of;
use numalab_model::experiment::{Axes, Experiment, Param};
use numalab_model::kernel::Setting;
use numalab_model::machine::Machine;
use numalab_model::record::Status;
use numalab_model::spec::Spot;
use serde::Serialize;

/// Number of rounds in which the machine is adjusted. Times are nearly linear in what is adjusted, so the later rounds
/// change little.
const ROUNDS: usize = 6;
/// Size of a cache line, bytes.
const LINE_BYTES: f64 = 64.0;
/// Base pages of 4 KiB in a huge page.
const HUGE_PAGES: f64 = 512.0;
/// Size of a base page, bytes.
const PAGE_BYTES: u64 = 4096;
/// CPU time within which `probe-scan` expects the first pass of the scanner, ms; a parameter of the probe.
const FIRST_PASS_MS: f64 = 3000.0;

/// Factor on the bandwidth of links that removes their limit.
const UNLIMITED: f64 = 1e6;

/// Name and unit of each time, in the order of [`Times`].
const NAMES: [(&str, &str); 14] = [
    ("near line", "ns"),
    ("far line", "ns"),
    ("random access, near", "ns"),
    ("first touch", "ns/page"),
    ("hint fault, page stays", "ns"),
    ("hint fault, page moves", "ns"),
    ("scan: page marked", "ns"),
    ("first touch of a huge page", "ns"),
    ("hint fault, huge page moves", "ns"),
    ("fork and exit: page mapped", "ns"),
    ("copy on write", "ns/page"),
    ("message on one CPU", "ns"),
    ("message, other process", "ns"),
    ("message, idle CPU", "ns"),
];

/// What a probe is measured for. Captures of guests that were made without some of them lack their times.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// Every calibration has it.
    Base,
    /// Forks.
    Fork,
    /// Messages between threads.
    Message,
    /// Huge pages.
    Huge,
}

/// Runs that measure them: directory, workload, its parameters, setting of huge pages, and what they are for.
const PROBES: [(&str, &str, &[&str], &str, Part); 14] = [
    ("probe-memory", "probe-memory", &[], "never", Part::Base),
    ("probe-faults-near", "probe-faults", &["home=0"], "never", Part::Base),
    ("probe-faults-far", "probe-faults", &["home=nodes - 1"], "never", Part::Base),
    ("probe-scan", "probe-scan", &["first=3s"], "never", Part::Base),
    ("probe-fork-small-alone", "probe-fork", &["memory=4KiB", "children=0"], "never", Part::Fork),
    ("probe-fork-small", "probe-fork", &["memory=4KiB"], "never", Part::Fork),
    ("probe-fork-alone", "probe-fork", &["children=0"], "never", Part::Fork),
    ("probe-fork", "probe-fork", &[], "never", Part::Fork),
    ("probe-fork-writes", "probe-fork", &["written=1"], "never", Part::Fork),
    ("probe-message", "probe-message", &[], "never", Part::Message),
    ("probe-message-foreign", "probe-message", &["foreign=1"], "never", Part::Message),
    ("probe-message-apart", "probe-message", &["apart=1"], "never", Part::Message),
    ("huge-memory", "probe-memory", &[], "always", Part::Huge),
    ("huge-faults-far", "probe-faults", &["home=nodes - 1"], "always", Part::Huge),
];

/// Places of the probes' records in guests, each with the name of its experiment.
pub fn places() -> impl Iterator<Item = (String, &'static str)> {
    PROBES.iter().map(|&(dir, workload, ..)| (format!("calibration/{dir}"), workload))
}

/// The runs of a probe, by its directory.
pub type Probe = (&'static str, Vec<Measured>);

/// A machine with the speeds of a guest.
pub struct Calibration {
    /// The machine, with undivided caches.
    pub machine: Machine,
    /// The measured times.
    pub figures: Vec<Figure>,
    /// Release and SHA-256 digest of the guests' image.
    pub release: String,
}

/// One measured time.
#[derive(Clone, Debug, Serialize)]
pub struct Figure {
    /// The operation.
    pub name: &'static str,
    /// Unit.
    pub unit: &'static str,
    /// Time in the guest.
    pub guest: f64,
    /// Time in the simulator on the machine of the file.
    pub file: f64,
    /// Time in the simulator on the calibrated machine.
    pub calibrated: f64,
}

/// The figures as a table.
pub fn text(figures: &[Figure]) -> String {
    let mut out = format!("\n{:<30}{:>10}{:>14}{:>14}\n", "calibration", "guest", "machine file", "calibrated");
    for f in figures {
        let name = format!("{} [{}]", f.name, f.unit);
        out += &format!("{name:<36}{:>10.0}{:>14.0}{:>14.0}\n", f.guest, f.file, f.calibrated);
    }
    out
}

/// Times of single operations, ns, in the order of [`NAMES`]; NaN where nothing was measured.
pub type Times = Vec<f64>;

/// Times by their names, as a capture has them, and what they were measured for.
#[cfg(test)]
pub fn captured(time: impl Fn(&str) -> Option<f64>) -> (Times, Vec<Part>) {
    let times: Times = NAMES.iter().map(|(name, _)| time(name).unwrap_or(f64::NAN)).collect();
    let has = |i: usize| times[i].is_finite();
    let parts = [(Part::Base, true), (Part::Huge, has(7)), (Part::Fork, has(9)), (Part::Message, has(11))];
    let parts = parts.into_iter().filter(|(_, measured)| *measured).map(|(part, _)| part).collect();
    (times, parts)
}

/// Measures in guests, then fits the machine. `huge` adds the times of huge pages.
///
/// # Errors
/// A probe that fails, that reaches its limit of time, or in which nothing was scanned or faulted.
pub fn run(bench: &Bench<'_>, machines: &[Spot<String>], huge: bool) -> Result<Calibration, Failure> {
    let mut guests = Vec::new();
    let mut parts = vec![Part::Base, Part::Fork, Part::Message];
    parts.extend(huge.then_some(Part::Huge));
    for (dir, experiment) in probes(bench, machines, &parts)? {
        guests.push((dir, bench.guests(&experiment, &format!("calibration/{dir}"))?));
    }
    let runs = || guests.iter().flat_map(|(_, runs)| runs);
    if let Some(late) = runs().find(|m| m.outcome.status == Status::Timeout) {
        let message = format!(
            "{}: the probe reached its limit of time, so nothing can be calibrated",
            run_label(&late.input.plan)
        );
        return Err(Failure { exit: Exit::TIMEOUT, message });
    }
    let guest = times(&guests)?;
    let Fitted { machine, before, now } = fit(bench, &guests, &guest)?;
    let release = runs().find_map(|m| m.input.plan.kernel.image.clone()).unwrap_or_default();
    let figures = NAMES.iter().zip(&guest).zip(before.iter().zip(&now));
    let figures = figures
        .map(|((&(name, unit), &guest), (&file, &calibrated))| Figure { name, unit, guest, file, calibrated })
        .filter(|f| f.guest.is_finite());
    Ok(Calibration { machine, figures: figures.collect(), release })
}

/// The result of [`fit`].
pub struct Fitted {
    /// The machine.
    pub machine: Machine,
    /// Simulated times on the machine of the file.
    pub before: Times,
    /// Simulated times on the fitted machine.
    pub now: Times,
}

/// Adjusts the machine of the probes' plans until the simulator takes the times `guest`.
///
/// # Errors
/// No plans, or a probe in which nothing was scanned or faulted.
pub fn fit(bench: &Bench<'_>, guests: &[Probe], guest: &[f64]) -> Result<Fitted, Failure> {
    let first =
        guests.iter().flat_map(|(_, runs)| runs).next().ok_or_else(|| Failure::environment("the probe made no run"))?;
    let file = (*first.input.machine).clone();
    let simulated = |machine: &Machine, round: &str| -> Result<Times, Failure> {
        let mut runs = Vec::new();
        for (dir, measured) in guests {
            let name = format!("calibration/{dir}-{round}");
            runs.push((*dir, bench.simulate(measured, machine, &name, &Logs::default())?));
        }
        times(&runs)
    };
    let before = simulated(&file, "file")?;
    let mut machine = one_line_at_a_time(&file, guest[0]);
    let mut now = simulated(&machine, "round0")?;
    for round in 1..=ROUNDS {
        adjust(&mut machine, guest, &now);
        now = simulated(&machine, &format!("round{round}"))?;
    }
    Ok(Fitted { machine, before, now })
}

/// Directory and experiment of every probe for these parts.
///
/// # Errors
/// Never with the built-in probes.
pub fn probes(
    bench: &Bench<'_>,
    machines: &[Spot<String>],
    parts: &[Part],
) -> Result<Vec<(&'static str, Experiment)>, Failure> {
    PROBES
        .iter()
        .filter(|(.., part)| parts.contains(part))
        .map(|&(dir, workload, params, thp, _)| Ok((dir, experiment(bench, machines, workload, params, thp)?)))
        .collect()
}

/// The experiment of a probe. It has a kernel with balancing on and one with balancing off if their difference is
/// needed.
fn experiment(
    bench: &Bench<'_>,
    machines: &[Spot<String>],
    workload: &str,
    params: &[&str],
    thp: &str,
) -> Result<Experiment, Failure> {
    let param = |text: &&str| Ok(Param { workload: None, setting: Setting::from_argument("probe", text)? });
    let mut kernels = vec![named("--image", bench.image())];
    let mut sets = vec![setting("system.thp", thp)?];
    if ["probe-memory", "probe-fork", "probe-message"].contains(&workload) {
        sets.push(setting("system.numa_balancing", "0")?);
    } else {
        kernels.push(named("probe", "off"));
    }
    Ok(Experiment {
        name: workload.into(),
        title: "times of single operations".into(),
        about: String::new(),
        machines: machines.to_vec(),
        kernels,
        workloads: vec![named("probe", workload)],
        baseline: None,
        iterations: 1,
        seed: 1,
        sets,
        params: params.iter().map(param).collect::<Result<_, Failure>>()?,
        axes: Axes::default(),
    })
}

/// Times of single operations from the runs of [`PROBES`].
fn times(runs: &[Probe]) -> Result<Times, Failure> {
    let of = |dir: &str| runs.iter().find(|(name, _)| *name == dir).map(|(_, runs)| &runs[..]);
    let base = |dir: &str| of(dir).ok_or_else(|| Failure::environment("a probe made no run"));
    let per = |m: &Measured, name: &str| 1e9 / scalar(m, name);
    let memory = off(base("probe-memory")?)?;
    let near = added(base("probe-faults-near")?)?;
    let hint_ns = near.system_ns / near.faults.max(1.0);
    let move_ns = moving_ns(&added(base("probe-faults-far")?)?, hint_ns, 1.0)?;
    let scan = base("probe-scan")?;
    let (with, without) = (on(scan)?, off(scan)?);
    let pages = counter(with, "numa_pte_updates");
    if pages == 0.0 {
        return Err(nothing("marked no pages"));
    }
    // The first pass is compared with later passes of the same run, since the speed of computing differs between runs.
    let lost = |m: &Measured| 1e3 / scalar(m, "marking") - 1e3 / scalar(m, "passing");
    let mark_ns = (lost(with) - lost(without)) * FIRST_PASS_MS * 1e6 / pages;
    let [near_ns, far_ns, random_ns, touch_ns] = ["near", "far", "random", "touch"].map(|name| per(memory, name));
    // The number of accesses in the guest is divided as its memory is, but its score is not.
    let random_ns = random_ns * divisor_of(&memory.input.workload) as f64;
    let mut out = vec![near_ns, far_ns, random_ns, touch_ns, hint_ns, move_ns, mark_ns];
    out.resize(NAMES.len(), f64::NAN);
    if let (Some(huge_memory), Some(huge_far)) = (of("huge-memory"), of("huge-faults-far")) {
        out[7] = per(off(huge_memory)?, "touch") * HUGE_PAGES;
        out[8] = moving_ns(&added(huge_far)?, hint_ns, HUGE_PAGES)?;
    }
    if of("probe-fork").is_some() {
        let system_ns = |dir: &str| Ok::<_, Failure>(scalar(off(base(dir)?)?, "system_s") * 1e9);
        let copied = mapped_pages(off(base("probe-fork")?)?);
        let forks = system_ns("probe-fork")? - system_ns("probe-fork-alone")?;
        // What a child costs whose parent has hardly any memory: the clone, and the pages that every program has.
        let children = system_ns("probe-fork-small")? - system_ns("probe-fork-small-alone")?;
        out[9] = (forks - children) / copied;
        out[10] = (system_ns("probe-fork-writes")? - system_ns("probe-fork")?) / copied;
    }
    for (i, dir) in [(11, "probe-message"), (12, "probe-message-foreign"), (13, "probe-message-apart")] {
        if let Some(runs) = of(dir) {
            out[i] = per(off(runs)?, "messages");
        }
    }
    Ok(out)
}

/// Pages of the table of `probe-fork` that its children inherit, each counted once for each child.
fn mapped_pages(m: &Measured) -> f64 {
    let processes = &m.input.workload.processes;
    let bytes: u64 = processes[0].regions.iter().map(|r| r.size_bytes).sum();
    (bytes / PAGE_BYTES) as f64 * (processes.len() - 1).max(1) as f64
}

/// What balancing added to a run.
struct Added {
    /// System time, ns.
    system_ns: f64,
    /// Hint faults.
    faults: f64,
    /// Base pages moved.
    pages: f64,
}

/// Time of a hinting fault that moves its page, ns. The page has `size` base pages.
fn moving_ns(added: &Added, hint_ns: f64, size: f64) -> Result<f64, Failure> {
    let moved = added.pages / size;
    if added.faults == 0.0 || moved == 0.0 {
        let what = format!("took {} hint faults and moved {moved} pages", added.faults);
        return Err(nothing(&what));
    }
    Ok((added.system_ns - hint_ns * (added.faults - moved).max(0.0)) / moved)
}

/// The failure of a probe in which nothing was counted.
fn nothing(what: &str) -> Failure {
    Failure { exit: Exit::FINDING, message: format!("the probe {what}: nothing to divide by") }
}

/// The difference between the runs with balancing on and off.
fn added(runs: &[Measured]) -> Result<Added, Failure> {
    let (with, without) = (on(runs)?, off(runs)?);
    Ok(Added {
        system_ns: (scalar(with, "system_s") - scalar(without, "system_s")) * 1e9,
        faults: counter(with, "numa_hint_faults"),
        pages: counter(with, "numa_pages_migrated"),
    })
}

/// A score; NaN if the run has none of the name.
fn scalar(m: &Measured, name: &str) -> f64 {
    m.outcome.scalars.iter().find(|s| s.name == name).map_or(f64::NAN, |s| s.value)
}

/// A counter; 0 if the run has none of the name.
fn counter(m: &Measured, name: &str) -> f64 {
    m.outcome.counters.iter().find(|c| c.0 == name).map_or(0.0, |c| c.1 as f64)
}

/// Whether the kernel of a run had balancing on.
fn balancing(m: &Measured) -> bool {
    m.input.kernel.tunable("system.numa_balancing") != Some("0")
}

/// The run with balancing on.
fn on(runs: &[Measured]) -> Result<&Measured, Failure> {
    runs.iter().find(|m| balancing(m)).ok_or_else(|| Failure::environment("the probe has no run with balancing on"))
}

/// The run with balancing off.
fn off(runs: &[Measured]) -> Result<&Measured, Failure> {
    runs.iter().find(|m| !balancing(m)).ok_or_else(|| Failure::environment("the probe has no run with balancing off"))
}

/// The machine as the plugin of timing `modelled` implements it (docs/explanation/guest-timing.md). A CPU has one cache
/// line in flight, page walks cost nothing, links have no limit, and a write costs as much as a read. A node saturates
/// with as many streaming threads as in the file.
fn one_line_at_a_time(file: &Machine, near_ns: f64) -> Machine {
    let mut m = file.clone();
    let factor = LINE_BYTES / near_ns / m.stream.cap_gbps;
    m.name = format!("{} (calibrated)", m.name);
    m.stream.lines_sequential = 1.0;
    m.stream.lines_random = 1.0;
    m.cache.writes_back = false;
    m.tlb.walker = None;
    m.tlb.walk_4k_ns = 0.0;
    m.tlb.leaf_miss = 0.0;
    for node in &mut m.nodes {
        node.dram_peak_gbps *= factor;
        node.dram_sustained_gbps *= factor;
    }
    for link in &mut m.links {
        link.peak_gbps *= UNLIMITED;
        link.sustained_gbps *= UNLIMITED;
    }
    // A line costs its latency and the instructions of the loop, wherever it is found.
    let instructions_ns = (near_ns - m.latency_ns[0][0]).max(1.0);
    m.cache.llc_stream_gbps = LINE_BYTES / (instructions_ns + m.cache.llc_latency_ns);
    m.cache.l2_cycles = instructions_ns * m.clock.sustained_ghz;
    m
}

/// Changes latencies in proportion and costs by the difference, so that the times `now` become `wanted`.
fn adjust(m: &mut Machine, wanted: &[f64], now: &[f64]) {
    let ratio = |i: usize| if now[i] > 0.0 && wanted[i].is_finite() { wanted[i] / now[i] } else { 1.0 };
    for (i, row) in m.latency_ns.iter_mut().enumerate() {
        for (j, ns) in row.iter_mut().enumerate() {
            *ns *= if i == j { ratio(0) } else { ratio(1) };
        }
    }
    // What was not measured stays as it is.
    let missing = |i: usize| if wanted[i].is_finite() && now[i].is_finite() { wanted[i] - now[i] } else { 0.0 };
    let add = |cost: &mut f64, ns: f64| *cost = (*cost + ns).max(0.0);
    add(&mut m.tlb.base_ns, missing(2));
    add(&mut m.costs.minor_fault_ns, missing(3));
    add(&mut m.costs.hint_fault_ns, missing(4));
    let moving = missing(5) - missing(4);
    add(&mut m.costs.migrate_4k_ns, moving);
    add(&mut m.costs.migrate_4k_batched_ns, moving);
    let marked_ns = m.costs.pte_mark_ns;
    add(&mut m.costs.pte_mark_ns, missing(6));
    // Too small to measure. It is scaled like the cost of marking, which is the same loop over the same entries.
    m.costs.pte_skip_ns *= m.costs.pte_mark_ns / marked_ns.max(1e-9);
    add(&mut m.costs.huge_fault_ns, missing(7));
    add(&mut m.costs.migrate_2m_ns, missing(8));
    // The exit of the child counts with the fork: the model charges for both where the entries are copied.
    add(&mut m.costs.fork_pte_ns, missing(9));
    add(&mut m.costs.cow_fault_ns, missing(10));
    // On one CPU a message is a wake-up, which costs the waker as much as a switch, and a switch. On two CPUs it is a
    // wake-up, what an idle CPU takes to run, and a switch from nobody, which is that to another process.
    let waker = missing(11) / 2.0;
    add(&mut m.costs.switch_same_ns, waker);
    add(&mut m.costs.switch_other_ns, missing(12) - waker);
    add(&mut m.costs.wake_ns, missing(13) - missing(12));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn adjusting_moves_every_time_by_what_is_missing() {
        let mut m = numalab_model::machine::load("2x1x2x1", &|_| None, &[]).unwrap();
        let before = m.clone();
        let wanted = [300.0, 500.0, 400.0, 9000.0, 4000.0, 9000.0, 700.0, 3e6, 2e6, 5000.0, 7e4, 9e4, 1e5, 15e4];
        let now = [150.0, 250.0, 300.0, 5000.0, 1000.0, 2000.0, 200.0, 1e6, 1e6, 1000.0, 1e4, 3e3, 4e3, 5e3];
        adjust(&mut m, &wanted, &now);
        assert_eq!(m.latency_ns[0][0], 2.0 * before.latency_ns[0][0]);
        assert_eq!(m.latency_ns[0][1], 2.0 * before.latency_ns[0][1]);
        assert_eq!(m.costs.minor_fault_ns, before.costs.minor_fault_ns + 4000.0);
        assert_eq!(m.costs.hint_fault_ns, before.costs.hint_fault_ns + 3000.0);
        assert_eq!(m.costs.migrate_4k_ns, before.costs.migrate_4k_ns + 4000.0);
        assert_eq!(m.tlb.base_ns, before.tlb.base_ns + 100.0);
        assert_eq!(m.costs.pte_mark_ns, before.costs.pte_mark_ns + 500.0);
        assert!(m.costs.pte_skip_ns > 2.0 * before.costs.pte_skip_ns);
        assert_eq!(m.costs.huge_fault_ns, before.costs.huge_fault_ns + 2e6);
        assert_eq!(m.costs.migrate_2m_ns, before.costs.migrate_2m_ns + 1e6);
        assert_eq!(m.costs.fork_pte_ns, before.costs.fork_pte_ns + 4000.0);
        assert_eq!(m.costs.cow_fault_ns, before.costs.cow_fault_ns + 60_000.0);
        assert_eq!(m.costs.switch_same_ns, before.costs.switch_same_ns + 43_500.0);
        assert_eq!(m.costs.switch_other_ns, before.costs.switch_other_ns + 52_500.0);
        assert_eq!(m.costs.wake_ns, before.costs.wake_ns + 49_000.0);
    }

    #[test]
    fn what_a_capture_lacks_stays_as_in_the_file() {
        let all = |name: &str| NAMES.iter().position(|(n, _)| *n == name).map(|i| i as f64);
        let (times, parts) = captured(|name| all(name).filter(|i| *i < 7.0));
        assert_eq!(parts, [Part::Base]);
        let mut m = numalab_model::machine::load("2x1x2x1", &|_| None, &[]).unwrap();
        let before = m.costs;
        adjust(&mut m, &times, &[1.0; NAMES.len()]);
        assert_eq!((m.costs.fork_pte_ns, m.costs.huge_fault_ns), (before.fork_pte_ns, before.huge_fault_ns));
        assert_eq!((m.costs.switch_same_ns, m.costs.wake_ns), (before.switch_same_ns, before.wake_ns));
        assert_eq!(captured(all).1, [Part::Base, Part::Huge, Part::Fork, Part::Message]);
    }

    #[test]
    fn a_node_saturates_with_as_many_threads_as_in_the_file() {
        let file = numalab_model::machine::load("2x1x2x1", &|_| None, &[]).unwrap();
        let m = one_line_at_a_time(&file, 150.0);
        let threads = |m: &Machine, thread_gbps: f64| m.nodes[0].dram_sustained_gbps / thread_gbps;
        // A written line counts as one line here, and as two on the machine of the file.
        assert_eq!((m.cache.lines_of_write(1.0), file.cache.lines_of_write(1.0)), (1.0, 2.0));
        let close = threads(&m, LINE_BYTES / 150.0) / threads(&file, file.stream.cap_gbps);
        assert!((close - 1.0).abs() < 1e-9, "{close}");
    }
}
