use super::*;
use crate::kernel::{RoleChoice, TunableChoice};
use crate::workload::{Op, Process, Thread};
use std::cell::Cell as Counter;

const BACKEND: Backend<'static> = Backend { name: "sim", version: "1" };

/// A catalog in memory: machines by shorthand, two kernels, and two workloads with parameters.
#[derive(Default)]
pub(crate) struct Memory {
    resolved: Counter<usize>,
}

fn tunable(name: &str, value: &str, unit: &str, kernel_name: &str) -> TunableChoice {
    let [name, value, unit, kernel_name, origin] = [name, value, unit, kernel_name, "default"].map(String::from);
    TunableChoice { name, value, unit, kernel_name, origin }
}

pub(crate) fn kernel(name: &str, sets: &[Setting]) -> Kernel {
    let value = sets.iter().find(|s| s.name.value == "system.hz").map_or("250", |s| s.value.as_str());
    Kernel {
        name: name.into(),
        title: String::new(),
        about: String::new(),
        since: String::new(),
        image: None,
        alias_of: None,
        chain: vec![name.into()],
        roles: vec![RoleChoice { role: "scan".into(), implementation: "v414".into(), origin: name.into() }],
        tunables: vec![
            tunable("system.hz", value, "Hz", "CONFIG_HZ"),
            tunable("system.numa_balancing", "1", "", "kernel.numa_balancing"),
        ],
        warnings: vec![],
    }
}

impl Sources for Memory {
    fn machine(&self, name: &Spot<String>) -> Result<Arc<Machine>, SpecError> {
        crate::machine::from_shorthand(&name.value).map(Arc::new)
    }
    fn kernels(&self, names: &[Spot<String>], sets: &[Setting]) -> Result<Vec<Kernel>, SpecError> {
        for n in names {
            if !["a", "b"].contains(&n.value.as_str()) {
                return Err(n.error("unknown kernel", "a or b"));
            }
        }
        Ok(names.iter().map(|n| kernel(&n.value, sets)).collect())
    }
    fn params_of(&self, workload: &Spot<String>) -> Result<Vec<String>, SpecError> {
        match workload.value.as_str() {
            "sweep" => Ok(vec!["loops".into(), "size".into()]),
            "churn" => Ok(vec!["loops".into(), "heap".into()]),
            _ => Err(workload.error("unknown workload", "sweep or churn")),
        }
    }
    fn workload(
        &self,
        name: &Spot<String>,
        _machine: &Machine,
        seed: u64,
        params: &[Setting],
    ) -> Result<Workload, SpecError> {
        self.resolved.set(self.resolved.get() + 1);
        let loops = params.iter().find(|p| p.name.value == "loops").map_or(Ok(7), |p| p.value.parse::<u64>());
        let loops = loops.map_err(|_| name.error("not a number", "a number"))?;
        let thread = Thread { affinity: None, ops: vec![Op::Compute { ns: loops + seed }].into() };
        let process = Process {
            name: "main.0".into(),
            parent: None,
            fork: crate::workload::ForkPoint::BeforePrologue,
            regions: vec![],
            prologue: vec![].into(),
            threads: vec![thread],
            mems: None,
            cpu_group: None,
        };
        Ok(Workload {
            name: name.value.clone(),
            title: String::new(),
            processes: vec![process],
            barrier_widths: vec![],
            channels: 0,
            futexes: Vec::new(),
            scores: vec![],
            limit_ns: 1,
            params: vec![("loops".into(), loops.to_string())],
            warnings: vec![],
            histograms: Default::default(),
        })
    }
}

pub(crate) const FILE: &str = r#"
name = "x"
title = "Two kernels on two workloads"
machines = ["2x1x2x1", "1x1x2x1"]
kernels = ["a", "b"]
workloads = ["sweep", "churn"]
baseline = "b"
iterations = 3
seed = 10
[set]
scan = "v414"
system.hz = 100
"numa.x" = true
[params]
loops = 5
churn.heap = "cpus * 2"
"#;

pub(crate) fn experiment() -> Experiment {
    parse("x.toml", FILE).unwrap().1
}

#[test]
fn parameters_of_a_workload_in_a_file_go_by_its_name() {
    let file = FILE.replace("\"churn\"]", "\"own/churn.toml\"]");
    for name in ["churn", "\"own/churn.toml\""] {
        let e = parse("x.toml", &file.replace("churn.heap", &format!("{name}.heap"))).unwrap().1;
        assert!(e.params.iter().any(|p| p.setting.name.value == "heap"), "{name}");
    }
    let e = parse("x.toml", &file.replace("churn.heap", "own.heap")).unwrap_err().to_string();
    assert!(e.contains("parameters for `own`, which is not run"), "{e}");
}

#[test]
fn a_file_is_read_in_full() {
    let e = experiment();
    assert_eq!((e.name.as_str(), e.iterations, e.seed), ("x", 3, 10));
    let sets: Vec<_> = e.sets.iter().map(|s| (s.name.value.as_str(), s.value.as_str())).collect();
    assert_eq!(sets, [("scan", "v414"), ("system.hz", "100"), ("numa.x", "true")]);
    let params: Vec<_> = e.params.iter().map(|p| (p.workload.as_deref(), p.setting.name.value.as_str())).collect();
    assert_eq!(params, [(None, "loops"), (Some("churn"), "heap")]);
    assert_eq!(e.params[1].setting.name.line, 16);
}

#[test]
fn a_seed_that_grows_too_large_is_refused_at_its_place() {
    let e = parse("x.toml", &FILE.replace("seed = 10", "seed = 9223372036854775807")).unwrap_err();
    assert!(e.to_string().starts_with("x.toml:9:8: the last of 3 runs from seed 9223372036854775807"), "{e}");
}

#[test]
fn kernels_boot_without_numa_balancing_on_one_node() {
    for cell in experiment().cells(&Memory::default(), BACKEND).unwrap() {
        let value = if cell.input.machine.nodes.len() > 1 { "1" } else { "0" };
        assert_eq!(cell.input.plan.kernel.tunables[1].value, value);
        assert_eq!(cell.input.kernel.tunable("system.numa_balancing"), Some(value), "what backends read");
    }
}

/// A plan of many runs holds once what its runs have in common.
#[test]
fn runs_of_one_column_share_machine_kernel_and_workload() {
    let many = Experiment { iterations: 1000, ..experiment() };
    let cells = many.cells(&Memory::default(), BACKEND).unwrap();
    let of_first = |c: &&Cell| c.input.plan.kernel.name == cells[0].input.plan.kernel.name;
    let same: Vec<&Cell> = cells.iter().filter(of_first).take(1000).collect();
    assert_eq!(same.len(), 1000);
    let (first, last) = (&same[0].input, &same[999].input);
    assert!(Arc::ptr_eq(&first.plan.kernel, &last.plan.kernel) && Arc::ptr_eq(&first.kernel, &last.kernel));
    assert!(Arc::ptr_eq(&first.machine, &last.machine));
    assert_ne!((first.seed, &first.id), (last.seed, &last.id));
}

#[test]
fn cells_come_in_a_fixed_order_with_rising_seeds() {
    let sources = Memory::default();
    let cells = experiment().cells(&sources, BACKEND).unwrap();
    assert_eq!(cells.len(), 2 * 2 * 2 * 3);
    let key = |c: &Cell| {
        let p = &c.input.plan;
        format!("{} {} {} {} {}", p.machine.name, p.workload.name, p.kernel.name, c.iteration, p.seed)
    };
    let keys: Vec<String> = cells.iter().map(key).collect();
    assert_eq!(keys[0], "2x1x2x1 sweep a 0 10");
    assert_eq!(keys[4], "2x1x2x1 sweep b 1 11");
    assert_eq!(keys[23], "1x1x2x1 churn b 2 12");
    let mut ids: Vec<&str> = cells.iter().map(|c| c.input.id.full()).collect();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), 24, "every run has its own id");
    // Kernels share a resolved workload: there are 2 machines, 2 workloads and 3 seeds.
    assert_eq!(sources.resolved.get(), 12);
}

#[test]
fn a_longer_experiment_contains_the_shorter() {
    let long = experiment().cells(&Memory::default(), BACKEND).unwrap();
    let short = Experiment { iterations: 1, ..experiment() }.cells(&Memory::default(), BACKEND).unwrap();
    for cell in &short {
        assert!(long.iter().any(|c| c.input.id == cell.input.id));
    }
}

#[test]
fn the_id_changes_with_what_may_change_a_result_and_with_nothing_else() {
    let first = |e: &Experiment| e.cells(&Memory::default(), BACKEND).unwrap()[0].input.id.clone();
    let base = first(&experiment());
    let mut same = experiment();
    same.title = "another title".into();
    same.baseline = None;
    same.kernels.pop();
    assert_eq!(first(&same), base);
    let mut e = experiment();
    e.params[0].setting.value = "6".into();
    assert_ne!(first(&e), base);
    let mut e = experiment();
    e.sets[1].value = "1000".into();
    assert_ne!(first(&e), base);
    assert_ne!(first(&Experiment { seed: 11, ..experiment() }), base);
    let mut e = experiment();
    e.machines[0].value = "2x1x3x1".into();
    assert_ne!(first(&e), base);
    let other = Backend { version: "2", ..BACKEND };
    assert_ne!(experiment().cells(&Memory::default(), other).unwrap()[0].input.id, base);
}

#[test]
fn wrong_experiments_name_the_place_and_the_nearest() {
    for (from, to, part) in [
        ("kernels = [\"a\", \"b\"]", "kernels = []", "`kernels` is empty; expected a list of at least one name"),
        (
            "baseline = \"b\"",
            "baseline = \"c\"",
            "x.toml:7:12: the baseline `c` is not compared; expected one of the kernels a, b",
        ),
        (
            "iterations = 3",
            "iterations = 0",
            "x.toml:8:14: `iterations` is 0; expected a whole number from 1 to 100000",
        ),
        ("iterations", "iteratons", "unknown key `iteratons`; expected one of"),
        (
            "churn.heap",
            "churm.heap",
            "parameters for `churm`, which is not run; expected a workload of the list; did you mean `churn`?",
        ),
        ("scan = \"v414\"", "scan = 414", "`set.scan` is a whole number; expected a string"),
    ] {
        let e = parse("x.toml", &FILE.replace(from, to)).unwrap_err().to_string();
        assert!(e.contains(part), "{e}");
    }
    for (from, to, part) in [
        (
            "loops = 5",
            "lops = 5",
            "x.toml:15:1: no parameter `lops` in sweep, churn; expected one of loops, size, \
            heap; did you mean `loops`?",
        ),
        ("churn.heap", "sweep.heap", "no parameter `heap` in sweep; expected one of loops, size"),
        ("[\"a\", \"b\"]", "[\"b\", \"c\"]", "unknown kernel"),
        ("[\"a\", \"b\"]", "[\"b\", \"b\"]", "`b` is named twice"),
        ("\"1x1x2x1\"]", "\"2x1x2x1\"]", "`2x1x2x1` is named twice"),
        ("\"churn\"]", "\"sweep\"]", "`sweep` is named twice"),
    ] {
        let text = FILE
            .replace(from, to)
            .replace("churn.heap", if from.contains("churn") { "sweep.size" } else { "churn.heap" });
        let text = if from.starts_with("churn.") { FILE.replace(from, to) } else { text };
        let cells = parse("x.toml", &text).and_then(|(_, e)| e.cells(&Memory::default(), BACKEND));
        let e = cells.unwrap_err().to_string();
        assert!(e.contains(part), "{from} -> {to}: {e}");
    }
}

#[test]
fn a_value_for_one_workload_comes_before_one_for_all() {
    let resolved = |text: &str| parse("x.toml", text).unwrap().1.params_by_workload(&Memory::default());
    let loops = |text: &str| -> Vec<String> {
        let of = |list: &Vec<Setting>| list.iter().find(|s| s.name.value == "loops").unwrap().value.clone();
        resolved(text).unwrap().iter().map(of).collect()
    };
    assert_eq!(loops(FILE), ["5", "5"]);
    let line = FILE.lines().find(|l| l.starts_with("churn.heap")).unwrap();
    assert_eq!(loops(&FILE.replace(line, "churn.loops = 7")), ["5", "7"]);
    let first = FILE.replace("loops = 5", "churn.loops = 7").replace(line, "loops = 5");
    assert_eq!(loops(&first), ["5", "7"], "in either order");
    let mut twice = parse("x.toml", FILE).unwrap().1;
    twice.params.push(twice.params[0].clone());
    let e = twice.params_by_workload(&Memory::default()).unwrap_err().to_string();
    assert!(e.contains("parameter `loops` is given twice"), "{e}");
}

#[test]
fn a_quoted_name_of_a_workload_and_its_parameter_is_both() {
    let text = FILE.replace("churn.heap =", "\"churn.heap\" =");
    let quoted = parse("x.toml", &text).unwrap().1;
    let of = |e: &Experiment| -> Vec<(Option<String>, String, String)> {
        let one = |p: &Param| (p.workload.clone(), p.setting.name.value.clone(), p.setting.value.clone());
        e.params.iter().map(one).collect()
    };
    assert_eq!(of(&quoted), of(&experiment()));
    let e = parse("x.toml", &text.replace("\"churn.heap\"", "\"chrun.heap\"")).unwrap_err().to_string();
    assert!(e.starts_with("x.toml:16:1: parameters for `chrun`, which is not run"), "{e}");
    assert!(e.ends_with("did you mean `churn`?"), "{e}");
}

#[test]
fn a_name_given_twice_is_refused_before_anything_is_read() {
    for (old, new, line) in [("\"2x1x2x1\"", "\"1x1x2x1\"", 4), ("\"sweep\"", "\"churn\"", 6)] {
        let e = parse("x.toml", &FILE.replacen(old, new, 1)).unwrap_err();
        assert_eq!(e.line, line, "{e}");
        assert!(e.what.ends_with("is named twice"), "{e}");
    }
}
