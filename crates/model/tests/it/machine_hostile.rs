//! Hostile input: any text gives one error or a machine, without a panic, a hang or an excess of memory.
#![allow(clippy::unwrap_used)] // test helpers: a failure is a failed test

use numalab_model::machine::{self, cpulist, import, show};
use proptest::prelude::*;

fn data(name: &str) -> String {
    std::fs::read_to_string(format!("{}/tests/data/{name}", env!("CARGO_MANIFEST_DIR"))).unwrap()
}

/// Checks that a text is refused as hwloc XML with a message that has all of `parts`.
fn refused(text: &str, parts: &[&str]) {
    let e = import::hwloc_xml("h.xml", text, "x").expect_err("must be refused");
    let message = e.to_string();
    for p in parts {
        assert!(message.contains(p), "{message}: lacks `{p}`");
    }
    assert!(e.file == "h.xml" && !e.expected.is_empty(), "{message}");
}

#[test]
fn truncated_xml_is_refused_wherever_it_is_cut() {
    let text = data("hwloc-v2.xml");
    let end = text.trim_end().len();
    for cut in (0..end).step_by(37).chain([end - 1, end - 5]) {
        let e = import::hwloc_xml("h.xml", &text[..cut], "x").expect_err("cut");
        assert!(e.line > 0 && e.column > 0, "{cut}: {e}");
    }
    refused(&text[..end - 3], &["h.xml:", "not well-formed"]);
}

#[test]
fn deep_nesting_is_refused_before_parsing() {
    let deep = format!("<topology version=\"2.0\">{}", "<object type=\"Group\">".repeat(100_000));
    refused(&deep, &["h.xml:1:", "elements nested more than 128 deep"]);
    let closed = format!("{deep}{}</topology>", "</object>".repeat(100_000));
    refused(&closed, &["nested more than 128 deep"]);
}

#[test]
fn entities_and_document_types_are_refused() {
    let bomb = r#"<?xml version="1.0"?>
<!DOCTYPE topology [
  <!ENTITY a "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa">
  <!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;&a;&a;&a;&a;">
  <!ENTITY c "&b;&b;&b;&b;&b;&b;&b;&b;&b;&b;&b;&b;">
]>
<topology version="2.0">&c;</topology>"#;
    refused(bomb, &["h.xml:2:1", "document type with declarations"]);
    let outside = "<!DOCTYPE topology SYSTEM \"file:///etc/passwd\">\n<topology version=\"2.0\">&x;</topology>";
    refused(outside, &["h.xml:2:", "not well-formed"]);
    refused("<!ENTITY x \"y\"><topology version=\"2.0\"/>", &["document type"]);
    // The document type line that hwloc writes is harmless, and positions after it stay correct.
    let text = data("hwloc-v2.xml").replacen(
        "os_index=\"0\" cpuset=\"0x00000033\"",
        "os_index=\"-1\" cpuset=\"0x00000033\"",
        1,
    );
    refused(&text, &["h.xml:6:5", "`os_index` is `-1`"]);
}

#[test]
fn floods_are_refused() {
    let many = format!("<topology version=\"2.0\">{}</topology>", "<info/>".repeat(300_000));
    refused(&many, &["more than 262144 elements"]);
    let objects = format!("<topology version=\"2.0\">{}</topology>", "<object type=\"Misc\"/>".repeat(70_000));
    refused(&objects, &["more than 65536 objects"]);
    let attributes: String = (0..1000).map(|n| format!(" a{n}=\"\"")).collect();
    refused(&format!("<topology version=\"2.0\"><object{attributes}/></topology>"), &["more than 64 attributes"]);
    refused("<topology version=\"2.0\" xmlns:a=\"b\"/>", &["namespace"]);
    let pus: String = (0..9000).map(|n| format!("<object type=\"PU\" os_index=\"{n}\"/>")).collect();
    refused(&format!("<topology version=\"2.0\">{pus}</topology>"), &["more CPUs or nodes", "at most 8192 CPUs"]);
    let nodes: String = (0..1100).map(|n| format!("<object type=\"NUMANode\" os_index=\"{n}\"/>")).collect();
    refused(&format!("<topology version=\"2.0\">{nodes}</topology>"), &["more CPUs or nodes"]);
    let big = " ".repeat((machine::MAX_FILE_BYTES + 1) as usize);
    refused(&big, &["more than 64 MiB"]);
}

#[test]
fn huge_and_odd_counts_in_hwloc_are_refused() {
    let good = data("hwloc-v2.xml");
    for (old, new, parts) in [
        (
            "cpuset=\"0x00000033\" nodeset=\"0x00000001\" gp_index=\"3\"",
            "cpuset=\"0xzz\" nodeset=\"\" gp_index=\"3\"",
            vec!["`0xzz` in a CPU set"],
        ),
        ("os_index=\"4\"", "os_index=\"99999999999\"", vec!["`os_index` is `99999999999`", "0 to 65535"]),
        ("local_memory=\"4294967296\"", "local_memory=\"-1\"", vec!["`local_memory` is `-1`"]),
        ("cache_size=\"20971520\"", "cache_size=\"999999999999999999999\"", vec!["`cache_size`"]),
        ("10 21 21 10", "10 21 21", vec!["2 indexes and 3 distances for 2 nodes"]),
        ("10 21 21 10", "10 5 21 10", vec!["distance 5 from node 0 to 1", "10 to 254"]),
        (">0 1 <", ">0 0 <", vec!["index `0`", "every NUMA node once"]),
        (">0 1 <", ">0 7 <", vec!["index `7`"]),
        ("version=\"2.0\"", "version=\"1.11\"", vec!["hwloc XML version 1.11", "2.x or 3.x"]),
        ("<topology version=\"2.0\">", "<topology>", vec!["hwloc XML version 1"]),
        ("type=\"PU\" os_index=\"0\"", "type=\"PU\"", vec!["without `os_index`"]),
        ("type=\"Machine\" ", "", vec!["without `type`"]),
        ("type=\"PU\" os_index=\"4\"", "type=\"PU\" os_index=\"0\"", vec!["CPU 0 is in two nodes"]),
    ] {
        assert!(good.contains(old), "{old}");
        refused(&good.replacen(old, new, 1), &parts);
    }
    let set = format!("cpuset=\"{}0x1\" nodeset=\"0x00000001\" gp_index=\"3\"", "0xffffffff,".repeat(100_000));
    refused(
        &good.replacen("cpuset=\"0x00000033\" nodeset=\"0x00000001\" gp_index=\"3\"", &set, 1),
        &["a set beyond CPU 65535"],
    );
    refused(&good.replace("NUMANode\" os_index", "Misc\" os_index"), &["no `NUMANode` object"]);
    refused(&good.replace("type=\"PU\"", "type=\"Misc\""), &["no CPU belongs to any node"]);
    refused("<html></html>", &["h.xml:1:1: root element `html`", "`topology`"]);
}

#[test]
fn control_characters_and_quotes_do_not_escape_into_the_file() {
    let text = data("hwloc-v2.xml").replace("Example &quot;two&quot; CPU", "x&quot;&#10;class = &quot;&#9;\\");
    let toml = import::hwloc_xml("h.xml", &text, "x").unwrap();
    let m = numalab_model::machine::from_toml("x.toml", &toml).unwrap();
    assert!(m.title.contains("x\" class = \"") && m.title.ends_with('\\'), "{}", m.title);
    assert!(!m.title.contains('\n'));
}

#[test]
fn a_toml_of_deep_nesting_is_an_error() {
    let e = numalab_model::machine::from_toml("m.toml", &format!("x = {}", "[".repeat(100_000))).unwrap_err();
    assert!(e.line > 0, "{e}");
    let e = numalab_model::machine::from_toml("m.toml", &format!("x{} = 1", ".x".repeat(100_000))).unwrap_err();
    assert!(!e.to_string().is_empty());
}

/// A machine file with one byte range replaced.
fn mutated(text: &str, at: usize, remove: usize, insert: &str) -> String {
    let clamp = |o: usize| (0..=o.min(text.len())).rev().find(|&o| text.is_char_boundary(o)).unwrap_or(0);
    let (from, to) = (clamp(at % (text.len() + 1)), clamp(at % (text.len() + 1) + remove));
    format!("{}{insert}{}", &text[..from], &text[to.max(from)..])
}

/// Checks that a text that loads can also be shown.
fn try_toml(text: &str) {
    let find = |name: &str| {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../catalog/machines");
        let text = std::fs::read_to_string(format!("{folder}/{name}.toml")).ok()?;
        Some((format!("{name}.toml"), text))
    };
    match numalab_model::machine::from_toml_with("m.toml", text, &find) {
        Ok(m) => assert!(!show(&m, 100).is_empty()),
        Err(e) => assert!(!e.to_string().is_empty()),
    }
}

fn preset(name: &str) -> String {
    std::fs::read_to_string(format!("{}/../../catalog/machines/{name}.toml", env!("CARGO_MANIFEST_DIR"))).unwrap()
}

/// Pieces of text that are likely to do harm.
fn insert() -> impl Strategy<Value = String> {
    prop_oneof![
        "[ -~]{0,6}",
        Just("\"".to_string()),
        Just("-1".to_string()),
        Just("0".to_string()),
        Just("99999999999999999999".to_string()),
        Just("1e308".to_string()),
        Just("nan".to_string()),
        Just("<object type=\"PU\">".to_string()),
        Just("</object>".to_string()),
        Just("&#0;".to_string()),
        Just("\u{0}\u{fffd}é".to_string()),
        Just("[[node]]\nid = 1\n".to_string()),
        Just("0xf...f".to_string()),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: ProptestConfig::default().cases.max(300), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn random_text_never_panics(text in "\\PC{0,200}") {
        try_toml(&text);
        let _ = import::hwloc_xml("x", &text, "x");
        let _ = import::numactl("x", &text, "x");
        let _ = import::text("x", &text, "x");
        let _ = cpulist::parse(&text);
        let _ = numalab_model::machine::from_shorthand(&text);
        let _ = machine::load(&text.replace('/', ""), &|_| None, &["a"]);
    }

    #[test]
    fn shorthand_like_text_never_panics(text in "[0-9x]{0,40}") {
        let _ = numalab_model::machine::from_shorthand(&text);
    }

    #[test]
    fn mutated_machine_files_never_panic(
        at in 0..10_000usize, remove in 0..40usize, text in insert(), which in 0..4usize
    ) {
        let name = ["cxl-2s", "naples-2s", "x5-8-flat", "genoa-2s-nps4"][which];
        try_toml(&mutated(&preset(name), at, remove, &text));
    }

    #[test]
    fn mutated_hwloc_never_panics(at in 0..10_000usize, remove in 0..60usize, text in insert(), which in 0..2usize) {
        let good = data(["hwloc-v2.xml", "hwloc-v3.xml"][which]);
        if let Ok(toml) = import::hwloc_xml("h.xml", &mutated(&good, at, remove, &text), "x") {
            prop_assert!(numalab_model::machine::from_toml("x", &toml).is_ok());
        }
    }

    #[test]
    fn mutated_numactl_never_panics(at in 0..2_000usize, remove in 0..30usize, text in insert(), which in 0..2usize) {
        let good = data(["numactl-naples.txt", "numactl-power.txt"][which]);
        if let Ok(toml) = import::numactl("n.txt", &mutated(&good, at, remove, &text), "x") {
            prop_assert!(numalab_model::machine::from_toml("x", &toml).is_ok());
        }
    }

    #[test]
    fn cpu_lists_round_trip(ids in proptest::collection::btree_set(0..=cpulist::MAX_ID, 0..60)) {
        let ids: Vec<u32> = ids.into_iter().collect();
        prop_assert_eq!(cpulist::parse(&cpulist::format(&ids)).unwrap(), ids);
    }
}

const HASWELL: &str = include_str!("../../../../catalog/machines/haswell-2s.toml");
const CXL: &str = include_str!("../../../../catalog/machines/cxl-2s.toml");
const NAPLES: &str = include_str!("../../../../catalog/machines/naples-2s.toml");

/// `text` with the line that starts with `key` replaced by `new`.
fn line(text: &str, key: &str, new: &str) -> String {
    assert!(text.lines().any(|l| l.starts_with(key)), "no line `{key}`");
    let lines = text.lines().map(|l| if l.starts_with(key) { new } else { l });
    lines.map(|l| format!("{l}\n")).collect()
}

/// Checks that a machine file is refused at the line that starts with `place`, with a message that has all of `parts`.
fn refused_at(text: &str, place: &str, parts: &[&str]) {
    let e = numalab_model::machine::from_toml("m.toml", text).expect_err("must be refused");
    let at = text.lines().nth(e.line.wrapping_sub(1)).unwrap_or_default();
    assert!(at.starts_with(place), "{e}\nat `{at}`");
    for p in parts {
        assert!(e.to_string().contains(p), "{e}: lacks `{p}`");
    }
}

#[test]
fn memory_of_all_nodes_is_bounded() {
    let most = line(HASWELL, "per_node", "per_node = \"32 TiB\"");
    assert_eq!(numalab_model::machine::from_toml("m.toml", &most).unwrap().memory_bytes(), machine::MAX_MEMORY);
    let more = line(HASWELL, "per_node", "per_node = \"33 TiB\"");
    refused_at(&more, "per_node", &["the nodes have 66 TiB of memory in all; expected at most 64 TiB"]);
    let one = format!("{HASWELL}\n[[node]]\nid = 1\nmemory = \"1024 TiB\"\n");
    refused_at(&one, "memory = ", &["TiB of memory in all", "at most 64 TiB"]);
}

#[test]
fn rates_near_zero_are_refused() {
    for (text, key, least) in [
        (HASWELL, "llc_stream_gbps", "0.01"),
        (HASWELL, "sustained_gbps", "0.01"),
        (HASWELL, "sustained_ghz", "0.1"),
        (HASWELL, "lines_sequential", "0.5"),
        (HASWELL, "cap_gbps", "0.01"),
        (NAPLES, "sustained_gbps = 18", "0.01"),
    ] {
        let (place, key) = (key, key.split(' ').next().unwrap());
        for value in ["1e-6", "1e-300"] {
            let wrong = line(text, place, &format!("{key} = {value}"));
            refused_at(&wrong, key, &[&format!("`{key}` is "), &format!("expected a number from {least} to ")]);
        }
    }
    let wrong = line(HASWELL, "llc_stream_gbps", "llc_stream_gbps = 1e300");
    refused_at(&wrong, "llc_stream_gbps", &["is 1e300; expected"]);
}

#[test]
fn a_zeroing_rate_of_zero_is_refused() {
    for key in ["zero_local_gbps", "zero_remote_gbps"] {
        let own = format!("{HASWELL}\n[costs]\n{key} = 0\n");
        refused_at(&own, key, &[&format!("`{key}` is 0; expected a number from 0.01 to 1000000")]);
        let class = line(include_str!("../../../../catalog/machines/classes/2012-15.toml"), key, &format!("{key} = 0"));
        let find = |n: &str| (n == "classes/mine").then(|| ("mine.toml".to_string(), class.clone()));
        let text = line(HASWELL, "class", "class = \"mine\"");
        let e = numalab_model::machine::from_toml_with("m.toml", &text, &find).expect_err("no rate").to_string();
        assert!(e.starts_with("mine.toml:") && e.contains(&format!("`{key}` is 0; expected")), "{e}");
    }
    let slow = format!("{HASWELL}\n[costs]\nzero_local_gbps = 0.5\nhint_fault_ns = 0\n");
    let costs = numalab_model::machine::from_toml("m.toml", &slow).unwrap().costs;
    assert_eq!((costs.zero_local_gbps, costs.hint_fault_ns), (0.5, 0.0));
}

#[test]
fn a_transit_latency_needs_its_bandwidth() {
    let without: String = CXL.lines().filter(|l| !l.starts_with("transit_gbps")).map(|l| format!("{l}\n")).collect();
    assert!(without.contains("transit_hop_ns"));
    refused_at(&without, "[[link]]", &["transit_gbps` is missing", "beside `transit_hop_ns`"]);
}

#[test]
fn a_link_that_is_given_twice_is_refused() {
    let link = |pairs: &str| {
        format!("[[link]]\nkind = \"sockets\"\n{pairs}\npeak_gbps = 38.4\nsustained_gbps = 30\nhop_ns = 50\n")
    };
    let mine = |links: &str| format!("name = \"dl\"\ntitle = \"t\"\nextends = \"haswell-2s\"\n{links}");
    let read = |links: &str| {
        let find = |n: &str| (n == "haswell-2s").then(|| ("haswell-2s.toml".to_string(), HASWELL.to_string()));
        numalab_model::machine::from_toml_with("m.toml", &mine(links), &find)
    };
    assert!(read(&link("pairs = [[1, 0]]")).is_ok());
    for (links, at) in [
        (link("pairs = [[0, 1], [0, 1]]"), 6),
        (link("pairs = [[0, 1], [1, 0]]"), 6),
        (link("scope = \"all\"") + &link("pairs = [[1, 0]]"), 12),
    ] {
        let e = read(&links).expect_err("twice");
        assert_eq!(e.line, at, "{e}");
        assert!(e.what.starts_with("the link between sockets ") && e.what.ends_with(" is given twice"), "{e}");
    }
}

#[test]
fn an_incomplete_memory_section_names_its_place_and_key() {
    let without: String = HASWELL.lines().filter(|l| !l.starts_with("per_node")).map(|l| format!("{l}\n")).collect();
    refused_at(&without, "[memory]", &["`memory.per_node` is missing"]);
}
