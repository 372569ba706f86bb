//! Time of one solve of memory contention, as at an epoch: flows between all nodes, each a little different from the
//! last epoch. Run it with `cargo run --release -p numalab-kernel --example contention_bench`.

#[path = "../tests/it/hw/flows.rs"]
mod flows;
#[path = "../tests/it/hw/machines.rs"]
#[allow(dead_code)]
mod machines;

use flows::all_to_all;
use numalab_kernel::hw::contention::Contention;
use std::time::Instant;

fn main() {
    for (m, loads) in [
        (machines::milan(), [1.0, 5.0, 8.0, 64.0]),
        (machines::naples(), [0.5, 1.0, 2.0, 8.0]),
        (machines::spr_8s(), [2.0, 4.0, 6.0, 15.0]),
    ] {
        for threads in loads {
            let mut flows = all_to_all(&m, threads);
            let mut c = Contention::new(&m);
            c.solve(&flows, &[]);
            let (rounds, mut sweeps, mut best) = (400, 0, u128::MAX);
            for epoch in 0..rounds {
                for (i, f) in flows.iter_mut().enumerate() {
                    f.threads *= 1.0 + 0.01 * (f64::from((epoch * 7 + i as i32 * 13) % 21) / 10.0 - 1.0);
                }
                // The best of many runs, because other programs run on the machine. Reading the clock takes about 30
                // ns.
                let begin = Instant::now();
                c.solve(&flows, &[]);
                best = best.min(begin.elapsed().as_nanos());
                sweeps += c.sweeps();
            }
            println!(
                "{} {threads} threads/node, {} flows: {best} ns, {:.1} sweeps, u0 {:.3}",
                m.name,
                flows.len(),
                f64::from(sweeps) / f64::from(rounds),
                c.node_utilisation(0)
            );
        }
    }
}
