//! Shares: figures of a run that do not depend on how often the guest was scanned.
//!
//! Problem: with timing `counters` the guest's CPUs run at the same time, so threads meet at pages. But its clock is
//! the host's, so the number of scans, and every counter with it, depends on the load of the host. Approach: counters
//! are divided by each other. What remains tells how often threads met: pages that several threads allocated for one
//! place, faults that found nothing left to do, sleeps until another thread had moved a page. The same plans are
//! simulated a second time as if the CPUs took turns, without the mechanisms in which threads meet. A share that both
//! simulations hit says nothing about these.

use super::measured::Measured;
use super::placement::pages_on_nodes;
use super::row::{rows, Row, CLOSE};
use numalab_model::record::Outcome;
use serde::Serialize;

/// Shares are per 1000 of their divisor.
const PER: f64 = 1000.0;
/// Distance within which shares are not told apart, per 1000. A guest allocates some 1300 pages of its own beside the
/// 65536 of a program of `validate-concurrent`: page tables, stacks, buffers of the samples.
pub const NOISE: f64 = 25.0;

/// A share of the kernel, and of the simulator with and without the mechanisms in which threads meet.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Share {
    /// The kernel's share, and the simulated one on CPUs that run at the same time.
    #[serde(flatten)]
    pub row: Row,
    /// The simulated share on CPUs that take turns; `None` if no simulated run has it.
    pub by_turns: Option<f64>,
}

impl Share {
    /// Whether the simulated share lies within 1.25 of the kernel's range, or within [`NOISE`] of it.
    pub fn hit(&self) -> bool {
        close(&self.row)
    }
    /// Whether the share on CPUs that take turns does.
    pub fn hit_by_turns(&self) -> bool {
        self.by_turns.is_some_and(|simulated| close(&Row { simulated, ..self.row.clone() }))
    }
    /// Whether one of the two simulated shares is a hit and the other is not, so that the guest can tell them apart.
    pub fn tells(&self) -> bool {
        self.hit() != self.hit_by_turns()
    }
}

fn close(row: &Row) -> bool {
    let nearest = row.simulated.clamp(row.min, row.max);
    row.off_by() <= CLOSE || (row.simulated - nearest).abs() <= NOISE
}

/// The shares of the runs of one workload: the kernel's beside the simulator's, with and without threads that meet.
pub fn compare(kernel: &[&Measured], model: &[&Measured], by_turns: &[&Measured]) -> Vec<Share> {
    let of = |side: &[&Measured]| -> Vec<Vec<(String, f64)>> { side.iter().map(|m| shares(&m.outcome)).collect() };
    let apart = rows(&of(kernel), &of(by_turns));
    let turned = |name: &str| apart.iter().find(|r| r.name == name).map(|r| r.simulated);
    let together = rows(&of(kernel), &of(model)).into_iter();
    together.map(|row| Share { by_turns: turned(&row.name), row }).collect()
}

/// The shares of an outcome. One whose divisor is 0 is left out.
fn shares(o: &Outcome) -> Vec<(String, f64)> {
    let count = |name: &str| o.counters.iter().find(|c| c.0 == name).map_or(0.0, |c| c.1 as f64);
    let on_nodes: Vec<f64> = pages_on_nodes(o).into_iter().map(|p| p.1).collect();
    let pages: f64 = on_nodes.iter().sum();
    let fullest = on_nodes.iter().copied().fold(0.0, f64::max);
    let (faults, hints) = (count("pgfault"), count("numa_hint_faults"));
    let (moved, failed) = (count("pgmigrate_success"), count("pgmigrate_fail"));
    let allocated = count("numa_local") + count("numa_other") - moved;
    let idle = faults - hints - allocated - count("pgreuse");
    let figures = [
        ("pages allocated in vain, per 1000", allocated - pages, pages),
        ("faults with nothing left to do, per 1000", idle, faults),
        ("hint faults per 1000 marks", hints, count("numa_pte_updates")),
        ("local of 1000 hint faults", count("numa_hint_faults_local"), hints),
        ("pages moved per 1000 hint faults", moved, hints),
        ("moves that failed, per 1000", failed, moved + failed),
        ("sleeps behind pages, per 1000 moved", count("task_waits"), moved),
        ("pages on the fullest node, of 1000", fullest, pages),
    ];
    figures.iter().filter(|f| f.2 > 0.0).map(|f| (f.0.to_string(), (PER * f.1 / f.2).max(0.0))).collect()
}

/// The shares as lines of text.
pub fn text(of: &[Share]) -> String {
    if of.is_empty() {
        return String::new();
    }
    let mut out = format!(
        "\n{:<42}{:>8}{:>8}{:>8}{:>11}{:>10}\n",
        "share, whatever the clock", "min", "median", "max", "simulated", "by turns"
    );
    for s in of {
        let turned = s.by_turns.map_or("-".into(), |v| format!("{v:.0}"));
        let (r, mark) = (&s.row, if s.hit() { '+' } else { '!' });
        let tells = if s.tells() { " *" } else { "" };
        out += &format!(
            "{:<42}{:>8.0}{:>8.0}{:>8.0}{:>11.0}{turned:>10} {mark}{tells}\n",
            r.name, r.min, r.median, r.max, r.simulated
        );
    }
    out
}

/// The score of all shares, in a sentence or two; empty if there are none.
pub fn score<'a>(all: impl Iterator<Item = &'a Share>) -> String {
    let all: Vec<&Share> = all.collect();
    if all.is_empty() {
        return String::new();
    }
    let count = |of: &dyn Fn(&&&Share) -> bool| all.iter().filter(of).count();
    let (hit, turned, telling) = (count(&|s| s.hit()), count(&|s| s.hit_by_turns()), count(&|s| s.tells()));
    let right = count(&|s| s.tells() && s.hit());
    let speak = if right == 1 { "speaks" } else { "speak" };
    format!(
        "{hit} of {} shares lie within {CLOSE} of the kernel's range or within {NOISE:.0} of 1000; {turned} would if the CPUs took turns. \
         {telling} shares tell the two apart, and of these {right} {speak} for threads that meet.",
        all.len()
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use numalab_model::record::Series;

    /// A run in which 1000 pages lie on two nodes, with the given counters.
    fn outcome(counters: &[(&str, u64)]) -> Outcome {
        let placement = Series {
            name: "placement".into(),
            columns: ["main/buffer/node0", "main/buffer/node1"].map(String::from).to_vec(),
            values: vec![vec![600.0], vec![400.0]],
            ..Series::default()
        };
        let counters = counters.iter().map(|c| (c.0.to_string(), c.1)).collect();
        Outcome { series: vec![placement], counters, ..Outcome::default() }
    }

    fn share(simulated: f64, by_turns: f64) -> Share {
        let row = Row { name: "x".into(), min: 200.0, median: 220.0, max: 240.0, simulated };
        Share { row, by_turns: Some(by_turns) }
    }

    #[test]
    fn shares_do_not_depend_on_the_number_of_passes() {
        let run = |passes: u64| {
            let (hints, moved) = (passes * 900, passes * 90);
            outcome(&[
                // 1000 pages and 40 in vain, and one more for each page that moves.
                ("numa_local", 640 + moved),
                ("numa_other", 400),
                ("numa_pte_updates", passes * 1000),
                ("numa_hint_faults", hints),
                ("numa_hint_faults_local", passes * 450),
                ("pgmigrate_success", moved),
                ("pgmigrate_fail", passes * 10),
                ("task_waits", passes * 9),
                ("pgfault", 1040 + hints),
            ])
        };
        let want = [40.0, 0.0, 900.0, 500.0, 100.0, 100.0, 100.0, 600.0];
        for passes in [1, 7] {
            let found: Vec<f64> = shares(&run(passes)).into_iter().map(|s| s.1).collect();
            assert_eq!(found, want, "{passes}");
        }
    }

    #[test]
    fn a_fault_that_allocates_moves_and_reuses_nothing_has_nothing_left_to_do() {
        let o = outcome(&[("numa_local", 1000), ("pgfault", 2000), ("numa_hint_faults", 300), ("pgreuse", 200)]);
        let idle = shares(&o).into_iter().find(|s| s.0.starts_with("faults with nothing")).unwrap();
        assert_eq!(idle.1, 250.0);
    }

    #[test]
    fn a_share_without_divisor_is_left_out() {
        let names: Vec<String> = shares(&outcome(&[("numa_local", 1000)])).into_iter().map(|s| s.0).collect();
        assert_eq!(names, ["pages allocated in vain, per 1000", "pages on the fullest node, of 1000"]);
    }

    #[test]
    fn a_share_tells_if_only_one_of_the_simulations_comes_near() {
        // 240 * 1.25 = 300, and 200 / 1.25 = 160.
        for (together, turns, want) in [
            (300.0, 301.0, (true, false, true)),
            (301.0, 160.0, (false, true, true)),
            (159.0, 301.0, (false, false, false)),
            (220.0, 230.0, (true, true, false)),
        ] {
            let s = share(together, turns);
            assert_eq!((s.hit(), s.hit_by_turns(), s.tells()), want, "{together} {turns}");
        }
    }

    #[test]
    fn shares_within_the_guests_own_noise_are_the_same() {
        let row = Row { name: "x".into(), min: 20.0, median: 20.0, max: 22.0, simulated: 0.0 };
        let s = Share { row, by_turns: None };
        assert!(s.hit() && !s.hit_by_turns());
        let far = Share { row: Row { simulated: 47.5, ..s.row.clone() }, by_turns: None };
        assert!(!far.hit(), "25.5 from the range, and twice as much");
    }

    #[test]
    fn the_score_counts_what_tells_for_and_against() {
        let all = [share(220.0, 900.0), share(900.0, 220.0), share(220.0, 220.0)];
        let text = score(all.iter());
        assert!(text.starts_with("2 of 3 shares lie within 1.25"), "{text}");
        assert!(
            text.contains("2 would if the CPUs took turns. 2 shares tell the two apart, and of these 1 speaks"),
            "{text}"
        );
        assert_eq!(score([].iter()), "");
    }
}
