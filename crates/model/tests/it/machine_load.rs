//! Machine files beyond the presets: irregular machines, `extends`, shorthand, suspicious tables, and every kind of
//! wrong file, with the place and the nearest name that its message must have.
#![allow(clippy::unwrap_used)] // test helpers: a failure is a failed test

use numalab_model::machine::{self, show, summary, Machine, MemoryKind};
use numalab_model::spec::SpecError;

/// A complete machine of two nodes; tests replace parts of it.
const BASE: &str = r#"name = "base"
title = "two nodes"
class = "modern"

[layout]
sockets = 2
cores_per_node = 4
threads_per_core = 2
llcs_per_node = 2

[clock]
base_ghz = 2.0
sustained_ghz = 3.0
single_ghz = 3.5

[cache]
l2 = "512 KiB"
l2_cycles = 12
llc = "32 MiB"
llc_ns = 13
llc_stream_gbps = 38

[memory]
per_node = "16 GiB"
peak_gbps = 100
sustained_gbps = 80

[distance]
by_hop = [10, 20]

[latency]
by_hop_ns = [100, 150]

[[link]]
kind = "sockets"
scope = "all"
peak_gbps = 40
sustained_gbps = 30
hop_ns = 50

[stream]
lines_sequential = 64
lines_random = 16
cap_gbps = 30

[tlb]
entries_4k = 2048
entries_2m = 2048
"#;

fn load(text: &str) -> Result<Machine, SpecError> {
    numalab_model::machine::from_toml("m.toml", text)
}

/// `BASE` with one piece of text replaced.
fn with(old: &str, new: &str) -> String {
    assert!(BASE.contains(old), "{old}");
    BASE.replacen(old, new, 1)
}

/// `BASE` with the layout replaced by the nodes of an irregular machine, and the matrices by the given ones.
fn irregular(nodes: &str, distance: &str, latency: &str, links: &str) -> String {
    let mut text = BASE.to_string();
    let layout = text.find("[layout]").unwrap()..text.find("[clock]").unwrap();
    text.replace_range(layout, nodes);
    let matrices = text.find("[distance]").unwrap()..text.find("[stream]").unwrap();
    text.replace_range(matrices, &format!("[distance]\n{distance}\n[latency]\n{latency}\n{links}\n"));
    text
}

/// Checks that a text is refused, with the place and with parts of the message.
fn refused(text: &str, line_holds: &str, parts: &[&str]) -> SpecError {
    let e = load(text).expect_err("must be refused");
    let message = e.to_string();
    assert_eq!(e.file, "m.toml", "{message}");
    let line = text.lines().nth(e.line.wrapping_sub(1)).unwrap_or_else(|| panic!("no line: {message}"));
    assert!(line.contains(line_holds), "{message}\nat `{line}`");
    assert!(e.column >= 1 && e.column <= line.chars().count() + 1, "{message}");
    assert!(!e.expected.is_empty(), "{message}: says what was expected");
    for p in parts {
        assert!(message.contains(p), "{message}: lacks `{p}`");
    }
    e
}

#[test]
fn base_loads() {
    let m = load(BASE).unwrap();
    assert_eq!((m.nodes.len(), m.cpus.len(), m.cores, m.llcs.len()), (2, 16, 8, 4));
    assert_eq!(m.cpus[9].core, 1);
    assert_eq!(m.cpus[9].llc, 0);
    assert_eq!(m.llcs[1].cpus, [2, 3, 10, 11]);
    assert_eq!(m.node_reclaim_distance, 30);
    assert_eq!(m.costs.hint_fault_ns, 1500.0, "3.0 GHz, ipc 1: unscaled");
    assert!(m.warnings.is_empty(), "{:?}", m.warnings);
}

#[test]
fn impossible_latencies_are_warned_about() {
    let warned = |old: &str, new: &str| load(&with(old, new)).unwrap().warnings.join("; ");
    let llc = warned("llc_ns = 13", "llc_ns = 500");
    assert!(llc.contains("the last-level cache answers in 500 ns, memory of node 0 in 100 ns"), "{llc}");
    let hop = warned("hop_ns = 50", "hop_ns = 1000");
    assert!(
        hop.contains("from node 0 to node 1 the links alone take 1000 ns, the whole access 150 ns, in 2 pairs"),
        "{hop}"
    );
}

/// Of the two keys about long fills a machine has both or neither.
#[test]
fn a_fill_needs_its_length_and_its_rate() {
    let with = |keys: &str| load(&with("llc_ns = 13", &format!("llc_ns = 13\n{keys}")));
    let fill = with("fill_bypass = \"32 MiB\"\nfill_gbps = 45").unwrap().cache.fill.unwrap();
    assert_eq!((fill.bypass_bytes, fill.gbps), (32 << 20, 45.0));
    for (keys, missing) in
        [("fill_bypass = \"32 MiB\"", "fill_gbps` is missing"), ("fill_gbps = 45", "fill_bypass` is missing")]
    {
        let e = with(keys).unwrap_err().to_string();
        assert!(e.contains(missing), "{e}");
    }
}

#[test]
fn unknown_keys_name_the_nearest() {
    for (old, new, near) in [
        ("sockets = 2", "sokets = 2\nsockets = 2", "sockets"),
        ("llc_ns = 13", "llc_ns = 13\nllc_port_gbsp = 3", "llc_port_gbps"),
        ("per_node = \"16", "pernode = \"1 GiB\"\nper_node = \"16", "per_node"),
        ("hop_ns = 50", "hop_ns = 50\nsustaind_gbps = 1", "sustained_gbps"),
        ("title =", "titel = \"x\"\ntitle =", "title"),
        ("by_hop = [10, 20]", "by_hop = [10, 20]\nbyhop = [1]", "by_hop"),
        ("[stream]", "[steram]\nx = 1\n[stream]", "stream"),
        ("[tlb]", "[costs]\nhint_fault = 3\n[tlb]", "hint_fault_ns"),
    ] {
        let key = new.split(['=', ']']).next().unwrap().trim_start_matches('[').trim();
        let key = if key == "llc_ns" { "llc_port_gbsp" } else { key };
        let e = load(&with(old, new)).unwrap_err();
        assert_eq!(e.nearest.as_deref(), Some(near), "{key}: {e}");
        assert!(e.what.contains("unknown key") && e.line > 0 && e.column > 0, "{e}");
    }
}

/// A cost that nothing charges is an unknown key. The allocation of a huge page is part of `huge_fault_ns`.
#[test]
fn costs_without_a_reader_are_unknown() {
    let e = load(&with("[tlb]", "[costs]\nhuge_alloc_ns = 99999999\n[tlb]")).unwrap_err();
    assert!(e.what.contains("unknown key `costs.huge_alloc_ns`") && e.line > 0, "{e}");
}

#[test]
fn wrong_values_are_refused_at_their_place() {
    for (old, new, holds, parts) in [
        ("class = \"modern\"", "class = \"modren\"", "modren", vec!["no cost class `modren`", "did you mean `modern`"]),
        ("kind = \"sockets\"", "kind = \"socket\"", "kind", vec!["no link kind", "did you mean `sockets`"]),
        ("scope = \"all\"", "scope = \"al\"", "scope", vec!["no scope", "did you mean `all`"]),
        ("per_node = \"16 GiB\"", "per_node = \"-16 GiB\"", "per_node", vec!["is negative"]),
        ("per_node = \"16 GiB\"", "per_node = \"16 GB\"", "per_node", vec!["no known unit", "did you mean `GiB`"]),
        ("per_node = \"16 GiB\"", "per_node = 16", "per_node", vec!["is a whole number", "expected a string"]),
        ("sockets = 2", "sockets = -2", "sockets", vec!["`layout.sockets` is -2", "1 to 1024"]),
        ("sockets = 2", "sockets = 1000000000000", "sockets", vec!["1 to 1024"]),
        ("cores_per_node = 4", "cores_per_node = 4096", "[layout]", vec!["2 nodes with 16384 CPUs", "8192 CPUs"]),
        ("llcs_per_node = 2", "llcs_per_node = 3", "[layout]", vec!["do not divide"]),
        ("threads_per_core = 2", "threads_per_core = 9", "threads", vec!["1 to 8"]),
        ("sustained_gbps = 80", "sustained_gbps = 0", "sustained_gbps = 0", vec!["from 0.01 to 1000000"]),
        ("sustained_gbps = 80", "sustained_gbps = nan", "nan", vec!["is nan or infinite; expected a finite number"]),
        ("sustained_gbps = 80", "sustained_gbps = -inf", "-inf", vec!["is nan or infinite; expected a finite number"]),
        ("sustained_gbps = 30", "sustained_gbps = 50", "sustained_gbps = 50", vec!["above the peak of 40"]),
        ("by_hop = [10, 20]", "by_hop = [10]", "by_hop", vec!["1 values for 2 hop classes"]),
        ("by_hop = [10, 20]", "by_hop = [10, 20, 30]", "by_hop", vec!["3 values for 2 hop classes"]),
        ("by_hop_ns = [100, 150]", "by_hop_ns = [100, 150, 300]", "by_hop_ns", vec!["3 values for 2 hop classes"]),
        (
            "sustained_gbps = 80",
            "sustained_gbps = 300",
            "sustained_gbps = 300",
            vec!["sustained 300 GB/s is above the peak of"],
        ),
        ("sustained_ghz = 3", "sustained_ghz = 9", "[clock]", vec!["all cores sustain 9 GHz", "at most `single_ghz`"]),
        ("[layout]", "[layuot]", "[layuot]", vec!["unknown key `layuot`", "did you mean `layout`"]),
        ("by_hop = [10, 20]", "by_hop = [10, 255]", "by_hop", vec!["distance 255 for a hop class", "10 to 254"]),
        ("by_hop = [10, 20]", "by_hop = [10, 9]", "by_hop", vec!["is 9", "10 to 254"]),
        ("by_hop = [10, 20]", "by_hop = [10, 20.5]", "by_hop", vec!["20.5"]),
        ("by_hop = [10, 20]", "matrix = [[10, 20]]", "matrix", vec!["1 rows for 2 nodes"]),
        ("by_hop = [10, 20]", "matrix = [[10, 20], [20]]", "matrix", vec!["row 1 has 1 values"]),
        ("by_hop = [10, 20]", "matrix = [[10, 20], [20, 10]]\nby_hop = [1]", "matrix", vec!["beside `by_hop`"]),
        ("by_hop_ns = [100, 150]", "by_hop_ns = [100, -1]", "by_hop_ns", vec!["is -1 ns"]),
        ("[stream]", "[hop]\nmatrix = [[0, 0], [1, 0]]\n[stream]", "matrix", vec!["0 exactly on the diagonal"]),
        ("[stream]", "[[node]]\nid = 5\nsocket = 7\nmemory = \"1 GiB\"\n[stream]", "id = 5", vec!["socket 7"]),
        ("[stream]", "[[llc]]\ncpus = \"0\"\n[stream]", "[[llc]]", vec!["beside `[layout]`"]),
        ("name = \"base\"", "name = \"../etc\"", "../etc", vec!["a-z 0-9"]),
        ("name = \"base\"", "name = \"base\"\nrouting = \"cross\"", "routing", vec!["did you mean `cross-first`"]),
        ("title = \"two nodes\"", "title = \"two\\nlines\"", "title", vec!["not one line"]),
        ("scope = \"all\"", "pairs = [[0, 2]]", "pairs", vec!["no end 2", "expected ends among 0-1"]),
        ("scope = \"all\"", "pairs = [[1, 1]]", "pairs", vec!["two different ends"]),
        ("scope = \"all\"", "pairs = []", "kind", vec!["node 1 has no path to node 0"]),
        ("title = \"two nodes\"", "title = ", "title", vec!["valid TOML"]),
    ] {
        // The machine still has a link, but none between the sockets.
        let mut text = with(old, new);
        if new == "pairs = []" {
            text.push_str("[[link]]\nkind = \"ports\"\npeak_gbps = 9\nsustained_gbps = 9\nhop_ns = 1\n");
        }
        let e = load(&text).expect_err(new);
        let message = e.to_string();
        let line = text.lines().nth(e.line.wrapping_sub(1)).unwrap_or("");
        assert!(line.contains(holds), "{new}: {message}\nat `{line}`");
        for p in parts {
            assert!(message.contains(p), "{new}: {message} lacks `{p}`");
        }
    }
}

#[test]
fn missing_sections_and_keys_say_what_is_expected() {
    for (section, next) in [
        ("[clock]", "[cache]"),
        ("[cache]", "[memory]"),
        ("[memory]", "[distance]"),
        ("[distance]", "[latency]"),
        ("[latency]", "[[link]]"),
        ("[stream]", "[tlb]"),
    ] {
        let mut text = BASE.to_string();
        let range = text.find(section).unwrap()..text.find(next).unwrap();
        text.replace_range(range, "");
        let e = load(&text).unwrap_err();
        let name = section.trim_matches(['[', ']']);
        assert!(e.what.contains(name) && e.what.contains("missing") && !e.expected.is_empty(), "{section}: {e}");
    }
    let e = load("").unwrap_err();
    assert!(e.to_string().contains("m.toml:1:1: `name` is missing"), "{e}");
    refused(&with("l2_cycles = 12\n", ""), "[cache]", &["`cache.l2_cycles` is missing", "a number from 0.1 to 10000"]);
}

const POWER: &str = r#"cores = ["4,12"]

[[node]]
id = 0
socket = 0
cpus = "4-7,12"

[[node]]
id = 8
socket = 3
cpus = "20,22"
memory = "0 GiB"

[[node]]
id = 252
socket = 3
memory = "1 TiB"
kind = "cxl"
tier = 2
sustained_gbps = 9

"#;

const POWER_DISTANCE: &str = "matrix = [[10, 40, 80], [42, 10, 80], [80, 80, 10]]";
const POWER_LATENCY: &str = "matrix_ns = [[100, 150, 300], [150, 100, 310], [300, 310, 300]]";

#[test]
fn irregular_machines_with_sparse_ids_are_legal() {
    let m = load(&irregular(POWER, POWER_DISTANCE, POWER_LATENCY, "")).unwrap();
    assert_eq!(m.nodes.iter().map(|n| n.id).collect::<Vec<_>>(), [0, 8, 252]);
    assert_eq!(m.cpus.iter().map(|c| c.id).collect::<Vec<_>>(), [4, 5, 6, 7, 12, 20, 22]);
    assert_eq!((m.sockets, m.cores, m.llcs.len()), (2, 6, 2));
    assert_eq!(m.cpus[0].core, m.cpus[4].core, "4 and 12 are siblings");
    assert_eq!(m.nodes[0].cpus, [0, 1, 2, 3, 4]);
    assert_eq!((m.nodes[0].memory_bytes, m.nodes[1].memory_bytes), (16 << 30, 0), "CPU-only node");
    assert!(m.nodes[2].cpus.is_empty(), "memory-only node");
    assert_eq!((m.nodes[2].kind, m.nodes[2].tier, m.nodes[2].memory_bytes), (MemoryKind::Cxl, 2, 1 << 40));
    assert_eq!((m.nodes[2].dram_peak_gbps, m.nodes[2].dram_sustained_gbps), (100.0, 9.0));
    assert_eq!(m.hop, [[0, 1, 3], [2, 0, 3], [3, 3, 0]], "classes by the rank of the distance");
    assert!(m.routes.iter().flatten().all(Vec::is_empty), "no links, no routes");
    assert_eq!(m.warnings.len(), 1, "{:?}", m.warnings);
    assert!(m.warnings[0].contains("asymmetric distances in 1 pair, such as 40 from node 0 to 8 and 42 back"));
}

#[test]
fn a_machine_without_memory_is_refused_at_the_size() {
    refused(&with("per_node = \"16 GiB\"", "per_node = \"0 GiB\""), "per_node", &["the machine has no memory"]);
}

#[test]
fn irregular_machines_must_be_consistent() {
    let node = |cpus: &str| format!("[[node]]\nid = 0\nsocket = 0\ncpus = \"{cpus}\"\n\n");
    let one = |nodes: &str| irregular(nodes, "matrix = [[10]]", "matrix_ns = [[100]]", "");
    let twice = format!("{}[[node]]\nid = 1\nsocket = 0\ncpus = \"3-5\"\n", node("0-3"));
    for (text, holds, parts) in [
        (one(&twice), "3-5", vec!["CPU 3 is in two nodes"]),
        (one(&format!("{0}{0}", node("0"))), "id = 0", vec!["node 0 is declared twice"]),
        (one(&node("0-")), "cpus", vec!["wrong CPU list", "0-7,64-71"]),
        (one(&node("0-4294967295")), "cpus", vec!["above 65535"]),
        (one(&node("0-65535")), "cpus", vec!["more than 8192"]),
        (one(&node("")), "name", vec!["the machine has no CPU"]),
        (one(""), "name", vec!["the machine has no CPU"]),
        (one(&format!("cores = [\"0,9\"]\n{}", node("0-3"))), "cores", vec!["core with CPU 9, which no node has"]),
        (one(&format!("cores = [\"0,1\", \"1,2\"]\n{}", node("0-3"))), "cores", vec!["CPU 1 is in two cores"]),
        (one(&format!("{}[[llc]]\ncpus = \"0-2\"\n", node("0-3"))), "0-2", vec!["CPU 3 is in no LLC"]),
        (
            one(&format!("cores = [\"1,2\"]\n{}[[llc]]\ncpus = \"0-1\"\n[[llc]]\ncpus = \"2-3\"\n", node("0-3"))),
            "cores",
            vec!["core with CPUs 1 and 2, which are in different LLCs"],
        ),
        (one(&node("0-3").replace("socket = 0\n", "")), "[[node]]", vec!["`node[0].socket` is missing"]),
        (
            one(&node("0-3").replace("cpus", "kind = \"cxll\"\ncpus")),
            "kind",
            vec!["no memory kind", "did you mean `cxl`"],
        ),
        (one(&node("0-3").replace("cpus", "memory = \"0 B\"\ncpus")), "memory = ", vec!["no memory"]),
    ] {
        refused(&text, holds, &parts);
    }
}

#[test]
fn a_node_without_a_path_is_an_error() {
    let three = "[[node]]\nid = 3\nsocket = 0\ncpus = \"0\"\n[[node]]\nid = 5\nsocket = 1\ncpus = \"1\"\n\
                 [[node]]\nid = 7\nsocket = 2\ncpus = \"2\"\n\n";
    let distance = "matrix = [[10, 20, 20], [20, 10, 20], [20, 20, 10]]";
    let latency = "matrix_ns = [[90, 120, 120], [120, 90, 120], [120, 120, 90]]";
    let link = |kind: &str, pairs: &str| {
        format!("[[link]]\nkind = \"{kind}\"\npairs = {pairs}\npeak_gbps = 9\nsustained_gbps = 8\nhop_ns = 1\n")
    };
    let text = irregular(three, distance, latency, &link("nodes", "[[3, 5]]"));
    refused(&text, "kind", &["node 7 has no path to node 3", "between every two nodes"]);
    let text = irregular(three, distance, latency, &link("sockets", "[[0, 2]]"));
    refused(&text, "kind", &["node 5 has no path to node 3"]);
    let text = irregular(three, "by_hop = [10, 20, 30]", latency, &link("nodes", "[[3, 5]]"));
    refused(&text, "kind", &["no path"]);
    let text = irregular(three, distance, latency, &link("nodes", "[[3, 4]]"));
    refused(&text, "pairs", &["no end 4 among the nodes"]);
    // A chain of links is a path.
    let m = load(&irregular(three, distance, latency, &link("nodes", "[[3, 5], [5, 7]]"))).unwrap();
    assert_eq!(m.routes[0][2][0].hops, [(0, true), (1, true)]);
    assert_eq!(m.routes[2][0][0].hops, [(1, false), (0, false)]);
    let m = load(&irregular(three, "by_hop = [10, 20, 30]", latency, &link("nodes", "[[3, 5], [5, 7]]"))).unwrap();
    assert_eq!(m.distance, [[10, 20, 30], [20, 10, 20], [30, 20, 10]]);
    // A distance of 255 says nothing: the opposite direction does.
    let text = irregular(three, &distance.replace("[20, 10, 20]", "[20, 10, 255]"), latency, "");
    let m = load(&text).unwrap();
    assert_eq!(m.distance[1], [20, 10, 20]);
    assert!(m.warnings.iter().any(|w| w.contains("a distance of 255 says nothing, in 1 pair")), "{:?}", m.warnings);
}

#[test]
fn routes_are_bounded() {
    // Between the first and the last node are layers of 5, 5 and 4 nodes, each linked with all of the next: 100
    // shortest ways.
    let nodes: String = (0..16).map(|n| format!("[[node]]\nid = {n}\nsocket = {n}\ncpus = \"{n}\"\n")).collect();
    let row = |i: usize, own: u32| -> String {
        let cells: Vec<String> = (0..16).map(|j| if i == j { own } else { own + 10 }.to_string()).collect();
        format!("[{}]", cells.join(","))
    };
    let matrix = |own| (0..16).map(|i| row(i, own)).collect::<Vec<_>>().join(",");
    let layers = [0..1, 1..6, 6..11, 11..15, 15..16];
    let mut pairs: Vec<String> = Vec::new();
    for (near, far) in layers.iter().zip(&layers[1..]) {
        pairs.extend(near.clone().flat_map(|a| far.clone().map(move |b| format!("[{a},{b}]"))));
    }
    let link = format!(
        "[[link]]\nkind = \"nodes\"\npairs = [{}]\npeak_gbps = 9\nsustained_gbps = 8\nhop_ns = 1\n",
        pairs.join(",")
    );
    let text =
        irregular(&nodes, &format!("matrix = [{}]", matrix(10)), &format!("matrix_ns = [{}]", matrix(100)), &link);
    refused(&text, "kind", &["more than 64 shortest routes"]);
}

#[test]
fn extends_overrides_key_by_key_and_names_the_right_file() {
    let find = |name: &str| match name {
        "base" => Some(("base.toml".to_string(), BASE.to_string())),
        "broken" => Some(("broken.toml".to_string(), with("llc_ns = 13", "llc_ns = \"x\""))),
        "loop" => Some(("loop.toml".to_string(), "extends = \"loop\"\nname = \"loop\"\ntitle = \"t\"\n".to_string())),
        _ => None,
    };
    let child =
        |body: &str, parent: &str| format!("extends = \"{parent}\"\nname = \"child\"\ntitle = \"a child\"\n{body}");
    let read =
        |body: &str, parent: &str| numalab_model::machine::from_toml_with("child.toml", &child(body, parent), &find);
    let m = read("[memory]\nper_node = \"8 GiB\"\n[[node]]\nid = 1\nmemory = \"0 B\"\n", "base").unwrap();
    assert_eq!((m.name.as_str(), m.title.as_str()), ("child", "a child"));
    assert_eq!((m.nodes[0].memory_bytes, m.nodes[1].memory_bytes), (8 << 30, 0), "a CPU-only node");
    assert_eq!((m.nodes[1].dram_sustained_gbps, m.cpus.len()), (80.0, 16));
    let m = read("[distance]\nmatrix = [[10, 15], [15, 10]]\n", "base").unwrap();
    assert_eq!(m.distance[0][1], 15, "another form of the same section");
    let m = read("[costs]\nhint_fault_ns = 1\n", "base").unwrap();
    assert_eq!((m.costs.hint_fault_ns, m.costs.tick_ns), (1.0, 1500.0));
    let e = read("[clock]\nbase_gzh = 1\n", "base").unwrap_err();
    assert_eq!((e.file.as_str(), e.line, e.nearest.as_deref()), ("child.toml", 5, Some("base_ghz")), "{e}");
    let e = read("", "broken").unwrap_err();
    assert_eq!(e.file, "broken.toml");
    assert!(e.to_string().contains("`cache.llc_ns` is a string"), "{e}");
    let e = read("", "bas").unwrap_err();
    assert!(e.to_string().contains("child.toml:1:11: no machine `bas` to extend"), "{e}");
    let e = read("", "loop").unwrap_err();
    assert!(e.to_string().contains("loop.toml:1:11: `extends` names loop, as this machine"), "{e}");
    let deep = |name: &str| {
        let next = name.parse::<u32>().ok()? + 1;
        let text = format!("extends = \"{next}\"\nname = \"{name}\"\ntitle = \"t\"\n");
        Some((format!("{name}.toml"), text))
    };
    let e = numalab_model::machine::from_toml_with("child.toml", &child("", "1"), &deep).unwrap_err();
    assert!(e.to_string().contains("more than 8 files extend each other"), "{e}");
    let e = numalab_model::machine::from_toml("child.toml", &child("", "base")).unwrap_err();
    assert!(e.to_string().contains("no machine `base`"), "{e}");
}

#[test]
fn classes_may_be_replaced_by_the_catalog() {
    let mine =
        include_str!("../../../../catalog/machines/classes/modern.toml").replace("tick_ns = 1500", "tick_ns = 7");
    let find = |name: &str| (name == "classes/mine").then(|| ("mine.toml".to_string(), mine.clone()));
    let text = with("\"modern\"", "\"mine\"");
    assert_eq!(numalab_model::machine::from_toml_with("m.toml", &text, &find).unwrap().costs.tick_ns, 7.0);
    let wrong = |old: &str, new: &str| {
        let class = mine.replacen(old, new, 1);
        let find = move |name: &str| (name == "classes/mine").then(|| ("mine.toml".to_string(), class.clone()));
        numalab_model::machine::from_toml_with("m.toml", &text, &find).unwrap_err()
    };
    let e = wrong("split_ns", "splt_ns");
    assert!(e.file == "mine.toml" && e.to_string().contains("`cpu.split_ns` is missing"), "{e}");
    let e = wrong("[cpu]", "[cpu]\nsplit_sn = 1");
    assert!(e.line > 0 && e.nearest.as_deref() == Some("split_ns"), "{e}");
}

#[test]
fn shorthand_counts() {
    let m = numalab_model::machine::from_shorthand("2x8x8x2").unwrap();
    assert_eq!((m.sockets, m.nodes.len(), m.llcs.len(), m.cores, m.cpus.len()), (2, 2, 16, 128, 256));
    assert_eq!(m.llcs[0].cpus.len(), 16);
    assert_eq!((m.name.as_str(), m.distance[0][1]), ("2x8x8x2", 21));
    assert!(m.warnings.iter().all(|w| w.starts_with("assumed: ")) && m.warnings.len() == 2, "{:?}", m.warnings);
    // Eight cores make a chiplet whose cache has a port; twenty-four share a cache without one.
    assert_eq!(m.cache.llc_port_gbps, Some(51.2));
    let m = numalab_model::machine::from_shorthand("2x1x24x2").unwrap();
    assert_eq!(m.cache.llc_port_gbps, None);
    assert!(m.warnings[0].ends_with("; large caches read as fast as memory delivers"), "{:?}", m.warnings);
    let m = numalab_model::machine::from_shorthand("1x1x1x1").unwrap();
    assert_eq!((m.nodes.len(), m.cpus.len(), m.links.len()), (1, 1, 0));
    let m = numalab_model::machine::from_shorthand("200x1x2x1").unwrap();
    assert_eq!((m.nodes.len(), m.links.len()), (200, 0));
    for (text, part) in [
        ("2x8x8", "is not four numbers"),
        ("2x8x8x2x1", "is not four numbers"),
        ("2x8xx2", "is not four numbers"),
        ("0x8x8x2", "is not four numbers above 0"),
        ("2x8x8x9", "9 threads per core"),
        ("99999999999x1x1x1", "is not four numbers"),
        ("4294967295x4294967295x4294967295x8", "too large"),
        ("2x1x8192x1", "too large"),
        ("2000x1x1x1", "too large"),
    ] {
        let e = numalab_model::machine::from_shorthand(text).unwrap_err();
        assert!(e.to_string().contains(part) && e.expected.contains("2x8x8x2"), "{text}: {e}");
    }
}

#[test]
fn load_takes_names_paths_and_shorthands() {
    let find = |name: &str| (name == "base").then(|| ("base.toml".to_string(), BASE.to_string()));
    let names = ["base", "naples-2s"];
    assert_eq!(machine::load("base", &find, &names).unwrap().name, "base");
    assert_eq!(machine::load("3x1x2x1", &find, &names).unwrap().nodes.len(), 3);
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("mine.toml");
    std::fs::write(&path, with("\"base\"", "\"mine\"")).unwrap();
    assert_eq!(machine::load(path.to_str().unwrap(), &find, &names).unwrap().name, "mine");
    std::fs::write(&path, [0xff, 0xfe]).unwrap();
    let e = machine::load(path.to_str().unwrap(), &find, &names).unwrap_err();
    assert!(e.to_string().contains("mine.toml: cannot be read"), "{e}");
    let e = machine::load("lab/none.toml", &find, &names).unwrap_err();
    assert!(e.to_string().contains("lab/none.toml: cannot be read"), "{e}");
    let e = machine::load("naples-s2", &find, &names).unwrap_err();
    assert_eq!(e.nearest.as_deref(), Some("naples-2s"));
    assert!(e.to_string().contains("no machine `naples-s2`; expected a catalog machine"), "{e}");
    std::fs::write(&path, "extends = \"bsae\"\nname = \"n\"\ntitle = \"t\"\n").unwrap();
    let e = machine::load(path.to_str().unwrap(), &find, &names).unwrap_err();
    assert!(e.line == 1 && e.nearest.as_deref() == Some("base"), "{e}");
    assert!(machine::load("2x8", &find, &names).unwrap_err().expected.contains("THREADS"));
}

/// Warnings of a machine of `n` single-CPU nodes on sockets of their own.
fn warnings(distance: &[&[u32]], latency: &[&[u32]]) -> Vec<String> {
    let nodes: String =
        (0..distance.len()).map(|n| format!("[[node]]\nid = {n}\nsocket = {n}\ncpus = \"{n}\"\n")).collect();
    let text = irregular(&nodes, &format!("matrix = {distance:?}"), &format!("matrix_ns = {latency:?}"), "");
    load(&text).unwrap().warnings
}

#[test]
fn suspicious_tables_have_warnings() {
    let fair: &[&[u32]] = &[&[90, 150, 150], &[150, 90, 150], &[150, 150, 90]];
    let two: &[&[u32]] = &[&[90, 150], &[150, 90]];
    for (distance, latency, parts) in [
        // A virtual machine without a distance table.
        (&[&[10, 10][..], &[10, 10]][..], two, vec!["all distances are 10"]),
        // The distances that Linux assumes.
        (&[&[10, 20, 20], &[20, 10, 20], &[20, 20, 10]], fair, vec!["all 3 nodes are 20 from each other"]),
        (&[&[10, 21, 21], &[21, 10, 21], &[21, 21, 10]], fair, vec![]),
        (&[&[10, 20], &[20, 10]], two, vec![]),
        // Flat distances although the hardware has two classes.
        (
            &[&[10, 12, 12], &[12, 10, 12], &[12, 12, 10]],
            &[&[90, 150, 250], &[150, 90, 150], &[250, 150, 90]],
            vec!["flat distance table: every other node is 12"],
        ),
        // The local distance is not minimal.
        (&[&[20, 12], &[12, 10]], two, vec!["node 0 is 20 from itself, not 10; Linux rejects"]),
        (&[&[10, 10], &[21, 10]], two, vec!["is not farther than the node itself (10), in 1 pair:"]),
        // Distance and latency disagree.
        (
            &[&[10, 16, 32], &[16, 10, 16], &[32, 16, 10]],
            &[&[90, 250, 150], &[150, 90, 150], &[150, 150, 90]],
            vec!["disagree for 1 node: from node 0, node 1 is nearer than node 2 by distance (16 against 32)"],
        ),
        (&[&[10, 21], &[21, 10]], &[&[90, 80], &[150, 90]], vec!["node 1 is faster (80 ns) than its own (90 ns)"]),
        (&[&[10, 21], &[22, 10]], two, vec!["asymmetric distances in 1 pair, such as 21 from node 0 to 1 and 22 back"]),
    ] {
        let found = warnings(distance, latency);
        assert_eq!(found.len(), parts.len(), "{distance:?}: {found:?}");
        for (w, p) in found.iter().zip(&parts) {
            assert!(w.contains(p), "{distance:?}: {w}");
        }
    }
}

#[test]
fn a_table_that_linux_rejects_is_not_used() {
    let of = |distance: &str| load(&irregular(TWO, &format!("matrix = {distance}"), TWO_LATENCY, "")).unwrap();
    let linux = [[10, 20], [20, 10]];
    for distance in ["[[11, 21], [21, 10]]", "[[20, 12], [12, 10]]", "[[10, 10], [21, 10]]"] {
        let m = of(distance);
        assert_eq!(m.distance, linux, "{distance}");
        let text = show(&m, 100);
        assert!(text.contains("distance (as the kernel sees it)\n     0  1\n  0 10 20\n  1 20 10\n"), "{text}");
        assert!(
            m.warnings[0].contains("Linux rejects such a firmware table and uses 10/20 instead"),
            "{:?}",
            m.warnings
        );
        assert_eq!(m.warnings.len(), 1, "{:?}", m.warnings);
    }
    for distance in ["[[10, 21], [22, 10]]", "[[10, 10], [10, 10]]"] {
        assert_ne!(of(distance).distance, linux, "{distance}");
    }
}

/// Two nodes of one CPU each.
const TWO: &str = "[[node]]\nid = 0\nsocket = 0\ncpus = \"0\"\n[[node]]\nid = 1\nsocket = 1\ncpus = \"1\"\n";
const TWO_LATENCY: &str = "matrix_ns = [[90, 150], [150, 90]]";

#[test]
fn summary_is_json_with_the_ids_of_the_machine() {
    let s = summary(&load(&irregular(POWER, POWER_DISTANCE, POWER_LATENCY, "")).unwrap());
    assert_eq!(s["cpus"], 7);
    assert_eq!(s["nodes"][0]["cpus"], "4-7,12");
    assert_eq!(s["nodes"][2]["id"], 252);
    assert_eq!(s["nodes"][2]["kind"], "CXL");
    assert_eq!(s["distance"][1][0], 42);
}
