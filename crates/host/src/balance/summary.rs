//! What a daemon says at its end: how many looks there were, what they cost, when the next was due, and what came of
//! it.

use super::metrics::Metrics;
use std::time::Duration;

/// Reasons for leaving memory or threads alone that are named, the largest first.
const MAX_REASONS: usize = 3;
/// Pauses this much longer than the asked interval are explained.
const LONGER: f64 = 1.5;

/// The looks of a daemon.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Looks {
    /// Time from the first look to the end.
    pub lasted: Duration,
    /// CPU time of the dearest look.
    pub dearest: Duration,
    /// Interval that was asked for.
    pub every: Duration,
    /// Share of one CPU that the daemon may take, from 0 to 1.
    pub cpu_share: f64,
    /// Time from the end to the next look.
    pub next_in: Duration,
    /// It only said what it would do.
    pub dry_run: bool,
}

/// The sentences.
pub(super) fn text(looks: &Looks, m: &Metrics) -> String {
    let n = if m.looks == 1 { "1 look".to_string() } else { format!("{} looks", m.looks) };
    let (lasted, dearest) = (looks.lasted.as_secs_f64(), looks.dearest.as_secs_f64());
    let mut out = format!("{n} in {lasted:.1} s, the dearest with {dearest:.3} s of CPU time; ");
    out += &format!("the next was due in {:.1} s", looks.next_in.as_secs_f64());
    // A look is paid for by the pause after it, so that the share of a CPU holds.
    let pause = dearest / looks.cpu_share;
    if pause > LONGER * looks.every.as_secs_f64() {
        let percent = looks.cpu_share * 100.0;
        out += &format!(
            " (a look of {dearest:.3} s is paid for by {pause:.1} s at {percent:.1} % of a CPU; --cpu allows more)"
        );
    }
    out + ". " + &came_of_it(looks, m)
}

/// What was moved, or why nothing was.
fn came_of_it(looks: &Looks, m: &Metrics) -> String {
    let (tasks, pages) = (m.tasks_moved.values().sum::<u64>(), m.pages_moved.values().sum::<u64>());
    if tasks + pages > 0 {
        return format!("Moved {tasks} threads and {pages} pages; {} pages were refused.", m.pages_refused);
    }
    let why = if m.kernel_balancing > 0 && !looks.dry_run {
        format!("kernel.numa_balancing is {}", m.kernel_balancing)
    } else if looks.dry_run {
        "this is a dry run".to_string()
    } else if m.pages_refused > 0 {
        format!("the kernel refused {} pages", m.pages_refused)
    } else if m.left.is_empty() && m.looks < 2 {
        "what is busy is known from the second look on".to_string()
    } else {
        let local =
            format!("{:.1} % of the memory of busy processes was local at the last look", 100.0 * m.local_share);
        let mut left: Vec<(&String, &u64)> = m.left.iter().collect();
        left.sort_by_key(|(word, count)| (std::cmp::Reverse(**count), *word));
        let list: Vec<String> =
            left.iter().take(MAX_REASONS).map(|(word, count)| format!("{count} {}", word.replace('_', " "))).collect();
        if list.is_empty() {
            local
        } else {
            format!("{local}, and pages and threads were left alone: {}", list.join(", "))
        }
    };
    format!("Nothing was moved: {why}.")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn looks(dearest_ms: u64) -> Looks {
        Looks {
            lasted: Duration::from_secs(40),
            dearest: Duration::from_millis(dearest_ms),
            every: Duration::from_secs(2),
            cpu_share: 0.02,
            next_in: Duration::from_secs(12),
            dry_run: false,
        }
    }

    #[test]
    fn a_dear_look_explains_the_long_pause() {
        let m = Metrics { looks: 2, local_share: 0.5, ..Metrics::default() };
        let dear = text(&looks(500), &m);
        let start = "2 looks in 40.0 s, the dearest with 0.500 s of CPU time; the next was due in 12.0 s";
        assert!(dear.starts_with(start), "{dear}");
        assert!(dear.contains("paid for by 25.0 s at 2.0 % of a CPU; --cpu allows more"), "{dear}");
        assert!(!text(&looks(10), &m).contains("--cpu"));
    }

    #[test]
    fn why_nothing_moved_is_told() {
        let why = |m: Metrics| text(&looks(1), &m).split(". ").last().unwrap_or_default().to_string();
        let mut m = Metrics { looks: 9, local_share: 0.98, ..Metrics::default() };
        assert_eq!(
            why(m.clone()),
            "Nothing was moved: 98.0 % of the memory of busy processes was local at the last look."
        );
        m.left.extend([("pinned".to_string(), 4), ("shared_cow".to_string(), 900)]);
        assert!(why(m.clone()).ends_with("left alone: 900 shared cow, 4 pinned."), "{}", why(m));
        let one = Metrics { looks: 1, ..Metrics::default() };
        assert!(why(one).contains("from the second look on"));
        let kernel = Metrics { looks: 5, kernel_balancing: 1, ..Metrics::default() };
        assert!(why(kernel).contains("kernel.numa_balancing is 1"));
        let mut moved = Metrics { looks: 5, pages_refused: 3, ..Metrics::default() };
        assert!(why(moved.clone()).contains("the kernel refused 3 pages"));
        moved.pages_moved.insert((0, 1), 512);
        assert_eq!(why(moved), "Moved 0 threads and 512 pages; 3 pages were refused.");
    }
}
