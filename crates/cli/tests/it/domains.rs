//! `machine show --domains`, compared with the domains of kernel-scheduler.md §1.8 and the thresholds of §5.1.
#![allow(clippy::unwrap_used)]

use crate::common;
use common::Lab;
use serde_json::Value;

/// Catalog machine, weights from the lowest domain upwards, numbers of groups, and `imb_numa_nr` of the NUMA domains
/// for the rules of v3, 5.18 and 6.0.
type Tower = (&'static str, &'static [u64], &'static [usize], [&'static [u64]; 3]);

const TOWERS: [Tower; 7] = [
    // Machine T1 of §1.8.
    ("zen3-2s-256", &[2, 16, 128, 256], &[2, 8, 8, 2], [&[1], &[8], &[8]]),
    // T1 with 8 CPUs per cache: lambda 8, phi 64, so ⌊4/16⌋ and R = 8.
    ("zen3-2s-128", &[2, 8, 64, 128], &[2, 4, 8, 2], [&[1], &[8], &[8]]),
    // Machine T5 of §1.8.
    ("tr-1950x", &[2, 8, 16, 32], &[2, 4, 2, 2], [&[1], &[2], &[2]]),
    // Naples 2S of §5.1.
    ("naples-2s", &[2, 8, 16, 64, 128], &[2, 4, 2, 4, 2], [&[1, 1], &[2, 4], &[2, 4]]),
    // T2 with four nodes of 12 CPUs. A node is one cache, so PKG and NODE are degenerate.
    ("e7-4807-4s", &[2, 12, 48], &[2, 6, 4], [&[1], &[3], &[1]]),
    // A ring with chords: neighbours at distance 21, others at 31. Upper groups of node 0: {0,1,4,7}, {1,2,3,6},
    // {1,4,5,6}.
    ("x5-8", &[2, 36, 144, 288], &[2, 18, 4, 3], [&[2, 2], &[9, 18], &[4, 8]]),
    // Three caches of 16 CPUs per node, four nodes per socket: R = 3.
    ("genoa-2s-nps4", &[2, 16, 48, 192, 384], &[2, 8, 3, 4, 2], [&[1, 1], &[3, 6], &[3, 6]]),
];

fn tower(lab: &Lab, line: &str) -> Value {
    serde_json::from_str(&lab.ok(&format!("machine show {line} --domains --json")).out).unwrap()
}

#[test]
fn towers_of_the_reference_machines() {
    let lab = Lab::new();
    for (machine, weights, groups, thresholds) in TOWERS {
        let value = tower(&lab, machine);
        let domains = value["domains"].as_array().unwrap();
        let of = |key: &str| domains.iter().map(|d| d[key].as_u64().unwrap()).collect::<Vec<_>>();
        assert_eq!(of("weight"), weights, "{machine}");
        assert_eq!(of("min_interval"), weights, "{machine}");
        let counts: Vec<usize> = domains.iter().map(|d| d["groups"].as_array().unwrap().len()).collect();
        assert_eq!(counts, groups, "{machine}");
        for (rule, want) in ["imb_v3", "imb_5_18", "imb_6_0"].into_iter().zip(thresholds) {
            let got: Vec<u64> = domains.iter().filter_map(|d| d["imb_numa_nr"][rule].as_u64()).collect();
            assert_eq!(got, want, "{machine} {rule}");
        }
    }
}

#[test]
fn the_tower_of_imb_numa_nr_2021_as_text() {
    let lab = Lab::new();
    let out = lab.ok("machine show zen3-2s-256 --domains --cpu 200 --kernel 5.16+imb-v3").out;
    for part in [
        "zen3-2s-256, kernel 5.16+imb-v3: /sys/kernel/debug/sched/domains/cpu200 ",
        "cpu200/domain2\n  name              DIE\n",
        "  span              64-127,192-255 (128 CPUs)\n",
        "  groups            {64-127,192-255} {0-63,128-191}\n",
        "SD_SHARE_PKG_RESOURCES",
        "  cache_nice_tries  2\n",
        "every CPU has a tower of this shape",
        "quarter_5_11   domain3: fork stays below 64 tasks; balancing spares a source below 32  [5.11, ",
        "imb_v3         domain3: imb_numa_nr 1: below 1  [5.16+imb-v3]",
        "imb_5_18       domain3: imb_numa_nr 8: up to 8, the new one counted  [5.17+imb-v5, 5.17+imb-v6, 5.18",
    ] {
        assert!(out.contains(part), "{part:?} is not in\n{out}");
    }
    assert!(!out.contains("SD_CLUSTER"), "no flag of that name before 6.7");
}

#[test]
fn towers_that_differ_from_cpu_to_cpu() {
    let lab = Lab::new();
    // Nodes in a line, as in vector 16 of kernel-scheduler.md: inner nodes have fewer levels than outer ones.
    lab.write(
        "line.toml",
        "name = \"line\"\ntitle = \"t\"\nextends = \"e7-4807-4s\"\n[latency]\nby_hop_ns = [136, 197, 250, 300]\n[distance]\nmatrix = [[10, 20, 30, 40], [20, 10, 20, 30], \
         [30, 20, 10, 20], [40, 30, 20, 10]]\n",
    );
    let outer = tower(&lab, "line.toml");
    let spans =
        |t: &Value| t["domains"].as_array().unwrap().iter().map(|d| d["weight"].as_u64().unwrap()).collect::<Vec<_>>();
    assert_eq!((spans(&outer), outer["like"].as_str()), (vec![2, 12, 24, 36, 48], Some("0-5,18-29,42-47")));
    let inner = tower(&lab, "line.toml --cpu 6");
    assert_eq!((spans(&inner), inner["like"].as_str()), (vec![2, 12, 36, 48], Some("6-17,30-41")));
    let text = lab.ok("machine show line.toml --domains").out;
    assert!(text.contains("a tower of this shape have CPUs 0-5,18-29,42-47; another is that of --cpu 6"), "{text}");
    let ends = tower(&lab, "naples-2s --cpu 127");
    assert_eq!((ends["cpu"].as_u64(), ends["domains"][0]["span"].as_str()), (Some(127), Some("63,127")));
}

#[test]
fn what_is_absent_is_refused() {
    let lab = Lab::new();
    lab.refused(
        "machine show zen3-2s-256 --domains --cpu 256",
        &["--cpu: zen3-2s-256 has no CPU 256; expected one of its 256 CPUs, up to 255"],
    );
    lab.refused("machine show zen3-2s-256 --domains --kernel 6.33", &["unknown kernel `6.33`", "did you mean `6.19`?"]);
    lab.refused("machine show zen3-2s-256 --cpu 1", &["--domains"]);
    lab.refused("machine show zen3-2s --domains", &["no machine `zen3-2s`", "did you mean `zen3-2s-"]);
}
