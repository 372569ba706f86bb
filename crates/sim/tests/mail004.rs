//! scratch
mod common;
use common::*;
use numalab_kernel::hw::cost::FlushRules;
use numalab_kernel::numa::releases;
use numalab_kernel::sched::SchedConfig;
use numalab_sim::{SimConfig, Thp};

fn col(patched: bool) -> SimConfig {
    let numa = releases::settings(if patched { "5.16+imb-v3" } else { "5.16" }).unwrap().unwrap();
    let sched = SchedConfig { form: "v61", imbalance: if patched { "v3" } else { "k511" }, ..SchedConfig::default() };
    SimConfig::new(&numa, &sched, FlushRules::default(), Thp::Always).unwrap()
}

#[test]
fn stream() {
    for mname in ["zen3-2s-128", "zen3-2s-256"] {
        let m = machine(mname);
        for p in [false, true] {
            let t = std::time::Instant::now();
            let w = workload("stream", &m, 1, &[]);
            let o = run(&m, &w, &col(p), 1);
            println!(
                "{mname} {p} {:?} {:?}",
                o.scalars.iter().map(|s| (s.name.clone(), s.value as f32)).collect::<Vec<_>>(),
                t.elapsed()
            );
        }
    }
}
#[test]
fn coremark() {
    for mname in ["zen3-2s-128", "zen3-2s-256"] {
        let m = machine(mname);
        for p in [false, true] {
            for seed in 1..4 {
                let t = std::time::Instant::now();
                let w = workload("coremark", &m, seed, &[("contexts", "16")]);
                let o = run(&m, &w, &col(p), seed);
                println!(
                    "{mname} {p} {:?} {:?}",
                    o.scalars.iter().map(|s| (s.name.clone(), s.value as f32)).collect::<Vec<_>>(),
                    t.elapsed()
                );
            }
        }
    }
}
#[test]
fn specjbb() {
    let m = machine(&std::env::var("M").unwrap_or("zen3-2s-128".into()));
    let pub_: [(u32, f64, f64); 17] = [
        (1, 73743.05, 70258.27),
        (8, 563036.51, 591187.39),
        (16, 1016590.61, 1032311.78),
        (24, 1418558.41, 1424005.80),
        (32, 1608794.22, 1907855.80),
        (40, 1761338.13, 2108162.23),
        (48, 2290646.54, 2214383.47),
        (56, 2463345.12, 2780216.58),
        (64, 2650213.53, 2598196.66),
        (72, 2497253.28, 2998882.47),
        (80, 2820786.72, 2951655.27),
        (88, 2813541.68, 3045450.86),
        (96, 2604158.67, 3035311.91),
        (104, 2713810.62, 2984270.04),
        (112, 2558425.37, 2894737.46),
        (120, 2611434.93, 2781661.01),
        (128, 2706103.22, 2811447.85),
    ];
    let extra = std::env::var("P").unwrap_or_default();
    let mut params: Vec<(&str, &str)> = vec![("first", "8"), ("step", "8"), ("warehouses", "128"), ("measure", "30s")];
    params.extend(extra.split_whitespace().map(|p| p.split_once('=').unwrap()));
    let seed = 1;
    let runs: Vec<_> = [false, true]
        .into_iter()
        .map(|p| {
            let m = m.clone();
            let params: Vec<(String, String)> = params.iter().map(|(a, b)| (a.to_string(), b.to_string())).collect();
            std::thread::spawn(move || {
                let params: Vec<(&str, &str)> = params.iter().map(|(a, b)| (a.as_str(), b.as_str())).collect();
                let t = std::time::Instant::now();
                let w = workload("specjbb", &m, seed, &params);
                let tr = t.elapsed();
                let o = run(&m, &w, &col(p), seed);
                println!(
                    "{p} elapsed {} sys {} resolve {tr:?} run {:?}",
                    scalar(&o, "elapsed_s"),
                    scalar(&o, "system_s"),
                    t.elapsed()
                );
                for c in [
                    "numa_pte_updates",
                    "numa_hint_faults",
                    "numa_hint_faults_local",
                    "numa_pages_migrated",
                    "numa_local",
                    "numa_other",
                ] {
                    print!(" {c}={}", counter(&o, c));
                }
                println!();
                o
            })
        })
        .collect();
    let outs: Vec<_> = runs.into_iter().map(|r| r.join().unwrap()).collect();
    let (mut err, mut right) = (0.0, 0);
    for (w, a, b) in pub_ {
        let n = format!("tput-{w}");
        let get = |i: usize| outs[i].scalars.iter().find(|s| s.name == n).map(|s| s.value);
        let (Some(x), Some(y)) = (get(0), get(1)) else { continue };
        let (g, h) = ((b / a - 1.0) * 100.0, (y / x - 1.0) * 100.0);
        err += (g - h).abs();
        right += u32::from((g > 0.0) == (h > 0.0));
        println!(
            "{w:4} base {a:10.0} sim {x:10.0} ({:5.2})  patched {b:10.0} sim {y:10.0}  gain {g:6.2} sim {h:6.2}",
            x / a
        );
    }
    println!("mean abs err {:.2} over 16, right {right}", err / 16.0);
}
