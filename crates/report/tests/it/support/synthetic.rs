//! Made-up outcomes for tests of the page and for its example. They are no simulation; the figures only have a
//! plausible shape.
//!
//! Every process starts with all its memory on one node. Pages go to the node of their threads at a pace that depends
//! on the kernel. Counters, times and series follow from that, so that they agree with each other.
#![allow(dead_code, clippy::unwrap_used)]

use numalab_model::catalog::{Catalog, Kind};
use numalab_model::machine::{self, Machine};
use numalab_model::record::{Outcome, Scalar, Series, Status};
use numalab_report::collect::{collect, WorkloadRuns};
use numalab_report::columns;
use numalab_report::data::{Comparison, Kernel};
use numalab_report::derive;
use numalab_report::html::{Input, Run, Setting};

/// How a made-up experiment looks.
#[derive(Clone, Debug)]
pub struct Shape {
    pub machine: String,
    /// Name, rate of convergence per second, and pages that the scanner marks per second.
    pub kernels: Vec<(String, f64, f64)>,
    pub workloads: Vec<Work>,
    pub processes: usize,
    /// Time between samples, ns.
    pub sample_ns: u64,
    /// Rows of the page series per process; 0 records none.
    pub pages: usize,
}

/// A made-up workload.
#[derive(Clone, Debug)]
pub struct Work {
    pub name: String,
    /// Seconds of work if all memory is local.
    pub seconds: f64,
    pub runs: usize,
    /// Names of scores in MB/s.
    pub scores: Vec<String>,
    /// Relative spread of the runs.
    pub noise: f64,
}

/// The experiment of the example.
pub fn demo() -> Shape {
    let work = |name: &str, seconds, runs, scores: &[&str], noise| Work {
        name: name.into(),
        seconds,
        runs,
        scores: scores.iter().map(|s| (*s).into()).collect(),
        noise,
    };
    Shape {
        machine: "e7-4807-4s".into(),
        kernels: vec![
            ("6.3".into(), 0.035, 9.0e4),
            ("6.4-rc2".into(), 0.012, 1.2e4),
            ("6.4-rc2+rfc-v3".into(), 0.09, 4.5e4),
        ],
        workloads: vec![
            work("numa01_THREAD_ALLOC", 42.0, 5, &[], 0.02),
            work("stream", 20.0, 3, &["copy", "triad"], 0.09),
            work("cow-counter", 8.0, 1, &[], 0.01),
        ],
        processes: 2,
        sample_ns: 200_000_000,
        pages: 96,
    }
}

/// Ten runs of a minute, sampled often, with many processes and pages.
pub fn large() -> Shape {
    let kernels = vec![("6.3".into(), 0.05, 9.0e4), ("6.7".into(), 0.05, 4.0e4)];
    let work = Work { name: "large".into(), seconds: 48.0, runs: 5, scores: Vec::new(), noise: 0.02 };
    Shape {
        machine: "genoa-2s-nps4".into(),
        kernels,
        workloads: vec![work],
        processes: 40,
        sample_ns: 50_000_000,
        pages: 64,
    }
}

/// Many kernels and nodes, and runs of half an hour that end at very different times.
pub fn wide() -> Shape {
    let pace = |k: usize| 0.0004 * (1 + k) as f64;
    let work = Work { name: "wide".into(), seconds: 1200.0, runs: 2, scores: Vec::new(), noise: 0.02 };
    Shape {
        machine: "12x1x2x1".into(),
        kernels: (0..11).map(|k| (format!("6.{k}"), pace(k), 9.0e2)).collect(),
        workloads: vec![work],
        processes: 1,
        sample_ns: 5_000_000_000,
        pages: 36,
    }
}

/// A name that tries to break out of every place where a name can stand.
pub const HOSTILE: &str =
    "</script><script>window.broken=1</script><img src=x onerror=window.broken=1>\"' onfocus=window.broken=1 --><!--";

/// The example with hostile names everywhere.
pub fn hostile() -> Made {
    let mut shape = demo();
    shape.workloads.truncate(1);
    shape.workloads[0].name = HOSTILE.into();
    shape.workloads[0].scores = vec![HOSTILE.into()];
    shape.kernels[1].0 = HOSTILE.into();
    let mut made = make(&shape);
    made.title = HOSTILE.into();
    made.machine.name = HOSTILE.into();
    made.machine.title = HOSTILE.into();
    made.machine.warnings.push(HOSTILE.into());
    if let Some(link) = made.machine.links.first_mut() {
        link.name = HOSTILE.into();
    }
    for (_, _, _, o) in &mut made.outcomes {
        o.counters.push((HOSTILE.into(), 7));
        o.reasons.push((HOSTILE.into(), 7));
        o.warnings.push(HOSTILE.into());
        let time_ns = vec![0, 1_000_000_000];
        let columns = vec![HOSTILE.into(), format!("{HOSTILE}/node1")];
        let odd =
            Series { name: HOSTILE.into(), unit: HOSTILE.into(), columns, time_ns, values: vec![vec![1.0, 2.0]; 2] };
        for s in &mut o.series {
            s.columns.iter_mut().for_each(|c| *c = c.replace("main", HOSTILE));
        }
        o.series.push(odd);
    }
    made.comparison = compare(&shape, &made.outcomes);
    for s in made.settings.iter_mut().flatten() {
        let names = [&mut s.value, &mut s.unit, &mut s.kernel_name, &mut s.origin, &mut s.doc];
        for field in names.into_iter().chain([&mut s.meaning, &mut s.unread]) {
            *field = HOSTILE.into();
        }
        s.name.push_str(HOSTILE);
    }
    made
}

/// Made-up outcomes with their machine, settings and comparison.
pub struct Made {
    pub machine: Machine,
    pub comparison: Comparison,
    /// Workload, kernel, seed, outcome.
    pub outcomes: Vec<(usize, usize, u64, Outcome)>,
    pub settings: Vec<Vec<Setting>>,
    pub title: String,
}

impl Made {
    pub fn input(&self) -> Input<'_> {
        let fact = |a: &str, b: &str| (a.to_string(), b.to_string());
        let runs = self.outcomes.iter().map(|(workload, kernel, seed, outcome)| Run {
            workload: *workload,
            kernel: *kernel,
            seed: *seed,
            outcome,
        });
        Input {
            facts: vec![fact("Backend", "none: made-up figures to show the page"), fact("Machine", &self.machine.name)],
            machines: vec![&self.machine],
            runs: runs.collect(),
            settings: self.settings.clone(),
            ..Input::new(&self.title, &self.comparison)
        }
    }
}

/// Makes the outcomes of an experiment.
pub fn make(shape: &Shape) -> Made {
    let machine = load(&shape.machine);
    let mut outcomes = Vec::new();
    for (w, work) in shape.workloads.iter().enumerate() {
        for (k, kernel) in shape.kernels.iter().enumerate() {
            for run in 0..work.runs {
                let seed = 1 + run as u64;
                let chance = Noise(1 + seed + 1000 * k as u64 + 100_000 * w as u64);
                outcomes.push((w, k, seed, outcome(shape, work, kernel, machine.nodes.len(), chance)));
            }
        }
    }
    let comparison = compare(shape, &outcomes);
    let settings = (0..shape.kernels.len()).map(|k| settings(shape, k)).collect();
    Made { machine, comparison, outcomes, settings, title: "Example: made-up figures".into() }
}

fn load(name: &str) -> Machine {
    let catalog = Catalog::embedded();
    let names: Vec<&str> = catalog.names(Kind::Machine).collect();
    let find = |n: &str| catalog.get(Kind::Machine, n).map(|f| (f.label.clone(), f.text.to_string()));
    machine::load(name, &find, &names).unwrap()
}

fn compare(shape: &Shape, outcomes: &[(usize, usize, u64, Outcome)]) -> Comparison {
    let kernels =
        shape.kernels.iter().map(|k| Kernel { name: k.0.clone(), mark: "sim".into(), ..Kernel::default() }).collect();
    let runs: Vec<WorkloadRuns<'_>> = (0..shape.workloads.len())
        .map(|w| WorkloadRuns {
            name: shape.workloads[w].name.clone(),
            runs: (0..shape.kernels.len())
                .map(|k| outcomes.iter().filter(|o| o.0 == w && o.1 == k).map(|o| &o.3).collect())
                .collect(),
        })
        .collect();
    let mut c = collect(kernels, 0, &runs);
    derive::apply(&mut c, &columns::built_in().unwrap());
    c
}

fn settings(shape: &Shape, kernel: usize) -> Vec<Setting> {
    let set = |name: &str, value: &str, unit: &str, kernel_name: &str, doc: &str| Setting {
        name: name.into(),
        value: value.into(),
        unit: unit.into(),
        kernel_name: kernel_name.into(),
        origin: shape.kernels[kernel].0.clone(),
        doc: doc.into(),
        ..Setting::default()
    };
    let filter = ["none", "pid_set", "rfc_v3"][kernel.min(2)];
    vec![
        set("vma_filter", filter, "", "", "Which mappings the scanner passes over."),
        set("page_filter", "shared_cow", "", "", "Which pages the scanner leaves alone."),
        set(
            "scan.period_min",
            "1000",
            "ms",
            "numa_balancing_scan_period_min_ms",
            "Shortest time between scans of a task.",
        ),
        set("scan.size", "256", "MiB", "numa_balancing_scan_size_mb", "Address space scanned at a time."),
        set("system.hz", "250", "Hz", "CONFIG_HZ", "Scheduler ticks per second."),
    ]
}

fn outcome(shape: &Shape, work: &Work, kernel: &(String, f64, f64), nodes: usize, mut chance: Noise) -> Outcome {
    let (_, pace, scan) = kernel;
    let pace = pace * (1.0 + work.noise * chance.signed());
    let dt = shape.sample_ns as f64 / 1e9;
    let mut run = Running::new(shape, nodes, dt);
    // Remote memory halves the speed of the work; the run ends when the work is done.
    while run.done < work.seconds && run.time < 40.0 * work.seconds {
        run.step(pace, *scan, &mut chance);
    }
    run.outcome(work, &mut chance)
}

/// State of a made-up run.
struct Running<'a> {
    shape: &'a Shape,
    nodes: usize,
    dt: f64,
    time: f64,
    done: f64,
    /// Share of the memory that is on the node of its threads.
    local: f64,
    faults: f64,
    local_faults: f64,
    updates: f64,
    migrated: f64,
    cpu: [f64; 3],
    series: Vec<Series>,
}

const PAGES: f64 = 786_432.0;

impl<'a> Running<'a> {
    fn new(shape: &'a Shape, nodes: usize, dt: f64) -> Self {
        let process = |i: usize| format!("main.{i}");
        let per_node = |name: &str| (0..nodes).map(|n| format!("{name}/node{n}")).collect::<Vec<_>>();
        let pages = (0..shape.processes).flat_map(|p| per_node(&process(p))).collect();
        let rows = (0..shape.processes)
            .flat_map(|p| (0..shape.pages).map(move |r| format!("main.{p}/heap+{}MiB", r * 32)))
            .collect();
        let counters =
            ["numa_hint_faults", "numa_hint_faults_local", "numa_pages_migrated", "numa_pte_updates", "pgfault"];
        let series = |name: &str, unit: &str, columns: Vec<String>| Series {
            name: name.into(),
            unit: unit.into(),
            values: vec![Vec::new(); columns.len()],
            columns,
            time_ns: Vec::new(),
        };
        let mut all = vec![
            series("process_pages", "pages", pages),
            series("numa_activity", "count since start", counters.map(String::from).to_vec()),
            series("dram_bandwidth", "GB/s", per_node("dram")),
            series("cpu_time", "s", ["user", "system", "blocked"].map(String::from).to_vec()),
        ];
        if shape.pages > 0 {
            all.push(series("page_node", "node", rows));
        }
        let mut out = Self {
            shape,
            nodes,
            dt,
            time: 0.0,
            done: 0.0,
            local: 1.0 / nodes as f64,
            faults: 0.0,
            local_faults: 0.0,
            updates: 0.0,
            migrated: 0.0,
            cpu: [0.0; 3],
            series: all,
        };
        out.sample();
        out
    }

    fn step(&mut self, pace: f64, scan: f64, chance: &mut Noise) {
        let dt = self.dt;
        let wave = 1.0 + 0.25 * chance.signed();
        // Scanning slows down as faults become local.
        let updates = scan * wave * dt * (1.15 - self.local);
        let faults = 0.9 * updates;
        let moved = pace * dt * wave * (1.0 - self.local);
        self.updates += updates.floor();
        self.faults += faults.floor();
        self.local_faults += (faults * self.local).floor();
        self.migrated += (moved * PAGES * self.shape.processes as f64).floor();
        self.local += moved;
        self.done += dt * (0.45 + 0.55 * self.local);
        let threads = 6.0 * self.nodes as f64;
        let system = updates * 9e-6 + faults * 4e-6 + moved * 30.0;
        let blocked = moved * 60.0;
        self.cpu[0] += (threads * dt - system - blocked).max(0.0);
        self.cpu[1] += system;
        self.cpu[2] += blocked;
        self.time += dt;
        self.sample();
    }

    fn sample(&mut self) {
        let (nodes, shape, time) = (self.nodes, self.shape, self.time);
        let pages = |p: usize, n: usize| {
            // All memory starts on one node; the home nodes of a process are p, p + processes, ….
            let homes =
                (0..nodes).filter(|h| h % shape.processes.min(nodes) == p % nodes.min(shape.processes)).count().max(1);
            let home = n % shape.processes.min(nodes) == p % nodes.min(shape.processes);
            let away = (1.0 - self.local) * PAGES;
            let at_home = if home { self.local * PAGES / homes as f64 } else { 0.0 };
            at_home + if n == 0 { away } else { 0.0 }
        };
        let mut rows: Vec<Vec<f64>> = Vec::new();
        rows.push(
            (0..shape.processes)
                .flat_map(|p| (0..nodes).map(move |n| (p, n)))
                .map(|(p, n)| pages(p, n).round())
                .collect(),
        );
        rows.push(vec![self.faults, self.local_faults, self.migrated, self.updates, PAGES * (time * 4.0).min(1.0)]);
        rows.push((0..nodes).map(|n| (0..shape.processes).map(|p| pages(p, n)).sum::<f64>() / PAGES * 11.0).collect());
        rows.push(self.cpu.to_vec());
        rows.push(self.page_rows());
        for (s, row) in self.series.iter_mut().zip(rows) {
            s.time_ns.push((time * 1e9).round() as u64);
            for (column, v) in s.values.iter_mut().zip(row) {
                column.push(v);
            }
        }
    }

    /// Row r of a process leaves node 0 when the local share passes its threshold; some rows go back and forth.
    fn page_rows(&self) -> Vec<f64> {
        let (nodes, shape) = (self.nodes, self.shape);
        let mut out = Vec::new();
        for p in 0..shape.processes {
            for r in 0..shape.pages {
                let touched = self.time * 40.0 > r as f64;
                let threshold = 1.0 / nodes as f64 + (r * 37 % shape.pages) as f64 / shape.pages as f64 * 0.7;
                let home = (p + shape.processes * (r * nodes / shape.pages.max(1))) % nodes;
                let ping = r % 24 == 5 && ((self.time / 1.6) as usize).is_multiple_of(2);
                let node = if self.local > threshold {
                    if ping {
                        0
                    } else {
                        home
                    }
                } else {
                    0
                };
                out.push(if touched { node as f64 } else { -1.0 });
            }
        }
        out
    }

    fn outcome(self, work: &Work, chance: &mut Noise) -> Outcome {
        let noise = 1.0 + work.noise * chance.signed();
        let elapsed = self.time * noise;
        let scalar = |name: &str, value: f64, unit: &str, higher_is_better: bool| Scalar {
            name: name.into(),
            value,
            unit: unit.into(),
            higher_is_better,
        };
        let mut scalars = vec![
            scalar("elapsed_s", elapsed, "s", false),
            scalar("user_s", self.cpu[0] * noise, "s", false),
            scalar("system_s", self.cpu[1] * noise, "s", false),
            scalar("blocked_s", self.cpu[2] * noise, "s", false),
        ];
        for s in &work.scores {
            let value = 40_000.0 * work.seconds / self.time * (1.0 + work.noise * chance.signed());
            scalars.push(scalar(s, value, "MB/s", true));
        }
        let count = |name: &str, x: f64| (name.to_string(), x as u64);
        Outcome {
            status: Status::Completed,
            scalars,
            counters: vec![
                count("numa_pte_updates", self.updates),
                count("numa_hint_faults", self.faults),
                count("numa_hint_faults_local", self.local_faults),
                count("numa_pages_migrated", self.migrated),
                count("pgmigrate_success", self.migrated),
                count("pgfault", PAGES + self.faults),
            ],
            reasons: vec![count("skip.pid_inactive", 4.0e9 / self.updates.max(1.0)), count("skip.scan_delay", 12.0)],
            series: self.series,
            ..Outcome::default()
        }
    }
}

/// A small deterministic generator of noise.
struct Noise(u64);

impl Noise {
    /// The next value, from -1 to 1.
    fn signed(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let x = (self.0 ^ (self.0 >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 11;
        x as f64 / (1u64 << 52) as f64 - 1.0
    }
}
