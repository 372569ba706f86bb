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
