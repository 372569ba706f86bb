//! Threads that do nothing, and matter all the same.
//!
//! The kernel marks pages of a process with one thread only where they are remote, and those of others wherever they
//! are (`change_pte_range`: `target_node` of a mm with one user). So a server that leaves its helpers asleep has marks
//! and hint faults of local pages. A fit leaves out threads that do next to nothing; where it keeps a single one, one
//! more stands for those that lived beside it, and waits for its end.

use super::classes::Worker;
use crate::image::Image;

/// Share of the time of the only thread that works, after what comes before there are others, for which one has to live
/// beside it.
const LEAST_LIFE: f64 = 0.5;

/// Whether a thread lives beside the only one of `workers`, which does not join others.
pub fn lives_beside(image: &Image, workers: &[Worker], joins: bool) -> bool {
    let [only] = workers else { return false };
    let (Some(first), Some(last)) = (only.phases.first(), only.phases.last()) else { return false };
    if joins {
        return false;
    }
    let life_ns = image.ended_at.map(|(_, took)| took as f64);
    let mut others = image.threads.values().filter(|t| t.thread != only.thread);
    others.any(|t| {
        let missed = t.begin_clock.saturating_sub(first.begin) as f64;
        let is_early = missed <= (1.0 - LEAST_LIFE) * last.end.saturating_sub(first.begin) as f64;
        let lasts = t.exited_ns == 0 || life_ns.is_some_and(|life| t.exited_ns as f64 >= LEAST_LIFE * life);
        is_early && lasts
    })
}

#[cfg(test)]
mod tests {
    use super::super::stretch::Stretch;
    use super::*;
    use crate::format::Born;
    use crate::image::tests::empty;

    #[test]
    fn a_thread_counts_that_lives_beside_the_only_one_that_works() {
        let phase = Stretch { begin: 0, end: 100, insns: 100, ..Stretch::default() };
        let worker = |thread: u16| Worker { thread, phases: vec![phase.clone()] };
        let image = |others: &[(u64, u64)]| {
            let mut out = empty(0);
            out.ended_at = Some((5_000, 1_000));
            let main = Born { thread: 0, creator: 0, begin_clock: 0, end_clock: 100, insns: 100, exited_ns: 0 };
            out.threads.insert(0, main);
            for (n, &(begin_clock, exited_ns)) in others.iter().enumerate() {
                let thread = n as u16 + 1;
                out.threads.insert(thread, Born { thread, begin_clock, end_clock: begin_clock, exited_ns, ..main });
            }
            out
        };
        assert!(lives_beside(&image(&[(10, 0)]), &[worker(0)], false));
        assert!(lives_beside(&image(&[(10, 900)]), &[worker(0)], false), "it ended shortly before its process");
        assert!(!lives_beside(&image(&[(10, 100)]), &[worker(0)], false), "it ended early");
        assert!(!lives_beside(&image(&[(90, 0)]), &[worker(0)], false), "it began late");
        assert!(!lives_beside(&image(&[]), &[worker(0)], false));
        assert!(!lives_beside(&image(&[(10, 0)]), &[worker(0)], true), "the initial thread waits for it anyway");
        assert!(!lives_beside(&image(&[(10, 0)]), &[worker(0), worker(1)], false));
    }
}
