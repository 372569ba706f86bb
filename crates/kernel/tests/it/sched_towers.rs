//! The modelled towers against those of real kernels, file by file, span by span and group by group. The data are every
//! CPU's domains from /sys/kernel/debug/sched/domains and from the log of a booted kernel. `towers/capture.py` makes
//! them; each file's header has the kernel and the QEMU command.
#![allow(clippy::unwrap_used)]

use numalab_kernel::sched::domains::Domains;
use numalab_kernel::sched::rules::Form;
use numalab_kernel::sched::shapes::{table, Shape};
use numalab_kernel::sched::SchedConfig;
use std::collections::BTreeMap;

/// The shapes of capture.py. QEMU's CPUs count as Intel's, whose node_reclaim_distance is 30.
fn shape(name: &str) -> Shape {
    let of = |nodes: usize, llcs_per_node: usize, cpus_per_llc: usize, smt: usize, far: &dyn Fn(usize, usize) -> u8| {
        Shape { llcs_per_node, distance: table(nodes, far), ..Shape::flat(nodes, cpus_per_llc, smt, 20) }
    };
    let line = |a: usize, b: usize| 10 + 10 * a.abs_diff(b) as u8;
    let cube = |a: usize, b: usize| if (a ^ b).is_power_of_two() { 21 } else { 31 };
    let socket = |a: usize, b: usize| if a / 2 == b / 2 { 12 } else { 21 };
    let pair = |a: usize, b: usize| if a < 2 && b < 2 { 20 } else { 30 };
    match name {
        "two-sockets" => of(2, 1, 4, 2, &|_, _| 21),
        "two-sockets-four-llcs" => of(2, 4, 4, 2, &|_, _| 32),
        "four-nodes-two-llcs" => of(4, 2, 2, 1, &|_, _| 20),
        "line" => of(4, 1, 2, 1, &line),
        "cube" => of(8, 1, 2, 1, &cube),
        // One cache per socket, which the kernel clips to the node.
        "two-nodes-per-socket" => Shape { sockets: 2, nodes_per_socket: 2, ..of(4, 1, 4, 2, &socket) },
        "pair-and-one" => of(3, 1, 4, 2, &pair),
        "one-node-two-llcs" => of(1, 2, 4, 2, &|_, _| 10),
        other => panic!("no shape {other}"),
    }
}

type Tower = BTreeMap<String, BTreeMap<String, String>>;

/// Maps `cpuN/domainM` to its files and their contents.
fn captured(text: &str) -> Tower {
    let mut out = Tower::new();
    let mut at = String::new();
    for line in text.lines().filter(|l| !l.starts_with('#')) {
        match line.strip_prefix("  ").and_then(|l| l.split_once('=')) {
            Some((name, value)) => {
                out.get_mut(&at).unwrap().insert(name.into(), value.trim().into());
            }
            None => {
                at = line.to_string();
                out.insert(at.clone(), BTreeMap::new());
            }
        }
    }
    out
}

fn ours(shape: &Shape, form: &'static str) -> Tower {
    let config = SchedConfig { form: Form::parse(form).unwrap(), ..SchedConfig::default() };
    let domains = Domains::build(&shape.machine("m"), &config).unwrap();
    let mut out = Tower::new();
    for cpu in 0..domains.cpus() as u32 {
        for (i, d) in domains.tower(cpu).iter().enumerate() {
            let mut files: BTreeMap<String, String> =
                domains.files(d).into_iter().map(|(n, v)| (n.to_string(), v)).collect();
            files.insert("span".into(), domains.span_list(d));
            files.insert("groups".into(), domains.group_lists(d).join(" "));
            out.insert(format!("cpu{cpu}/domain{i}"), files);
        }
    }
    out
}

fn differences(name: &str, real: &Tower, ours: &Tower) -> Vec<String> {
    let mut out = Vec::new();
    let empty = BTreeMap::new();
    for key in real.keys().chain(ours.keys().filter(|k| !real.contains_key(*k))) {
        let (a, b) = (real.get(key).unwrap_or(&empty), ours.get(key).unwrap_or(&empty));
        for file in a.keys().chain(b.keys().filter(|f| !a.contains_key(*f))) {
            if a.get(file) != b.get(file) {
                out.push(format!("{name} {key}/{file}: the kernel has {:?}, we {:?}", a.get(file), b.get(file)));
            }
        }
    }
    out
}

#[test]
fn towers_equal_those_of_booted_kernels() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/towers");
    let (mut shapes, mut wrong) = (Vec::new(), Vec::new());
    let mut paths: Vec<_> = std::fs::read_dir(folder).unwrap().map(|e| e.unwrap().path()).collect();
    paths.sort();
    for path in paths.iter().filter(|p| p.extension().is_some_and(|x| x == "txt")) {
        let name = path.file_stem().unwrap().to_str().unwrap();
        let (kernel, shape_name) = name.split_once('-').unwrap();
        let form = if kernel == "6.1" { "v61" } else { "v612" };
        let real = captured(&std::fs::read_to_string(path).unwrap());
        assert!(real.len() > 4 && real.values().all(|f| f.len() >= 9), "{name} is incomplete");
        wrong.extend(differences(name, &real, &ours(&shape(shape_name), form)));
        shapes.push(shape_name.to_string());
    }
    shapes.sort();
    shapes.dedup();
    assert!(wrong.is_empty(), "{} differences:\n{}", wrong.len(), wrong[..wrong.len().min(40)].join("\n"));
    assert!(shapes.len() >= 5, "only {shapes:?}");
}
