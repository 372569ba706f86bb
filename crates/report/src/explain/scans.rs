//! How long scans took.

use super::names::Names;
use super::words::{cut, unknown};
use crate::format::count;
use numalab_model::record::why::{Durations, TaskWhy, WhyFile};
use numalab_model::spec::SpecError;

/// Widest bar of the histogram, columns.
const BAR: u64 = 40;

/// Describes the scans of the task `PROCESS/tTHREAD`, or those of all tasks if `name` is empty: their number, mean and
/// longest duration, and how many took how long. Without a name, a line for each task follows, the longest first.
///
/// # Errors
/// No task has that name.
pub fn explain(file: &WhyFile, name: &str) -> Result<String, SpecError> {
    let names = Names::new(file);
    let all: Vec<String> = (0..file.why.tasks.len()).map(|t| names.task(t as u32)).collect();
    if !name.is_empty() {
        return match all.iter().position(|n| n == name) {
            Some(i) => Ok(summary(name, &file.why.tasks[i].scan_time)),
            None => Err(unknown("--scans", name, "task", all.iter().map(String::as_str))),
        };
    }
    let mut sum = Durations::default();
    file.why.tasks.iter().for_each(|t| sum.merge(&t.scan_time));
    let mut tasks: Vec<(&TaskWhy, &String)> = file.why.tasks.iter().zip(&all).collect();
    tasks.retain(|(t, _)| t.scan_time.count() > 0);
    tasks.sort_by_key(|(t, _)| std::cmp::Reverse(t.scan_time.total_ns));
    let lines: Vec<String> = tasks.iter().map(|(t, n)| format!("  {}", head(n, &t.scan_time))).collect();
    Ok(format!("{}{}", summary("all tasks", &sum), cut(&lines)))
}

/// The head line and the histogram.
fn summary(name: &str, d: &Durations) -> String {
    let mut out = head(name, d) + "\n";
    let most = d.by_power.iter().copied().max().unwrap_or(0).max(1);
    let first = d.by_power.iter().position(|n| *n > 0).unwrap_or(d.by_power.len());
    for (power, n) in d.by_power.iter().enumerate().skip(first) {
        let bar = "#".repeat((n * BAR).div_ceil(most) as usize);
        out.push_str(
            format!("  {:>9} to {:<9} {n:>8}  {bar}", limit(power.checked_sub(1)), limit(Some(power))).trim_end(),
        );
        out.push('\n');
    }
    out
}

fn head(name: &str, d: &Durations) -> String {
    match d.count() {
        0 => format!("{name}: no scan"),
        n => format!(
            "{name}: {}, {} in all, mean {}, longest {}",
            count(n, "scan"),
            time(d.total_ns),
            time(d.total_ns / n),
            time(d.longest_ns)
        ),
    }
}

/// A limit of the histogram: 2^power µs.
fn limit(power: Option<usize>) -> String {
    match power {
        None => "0".into(),
        Some(p @ 0..10) => format!("{} µs", 1_u64 << p),
        Some(p @ 10..20) => format!("{} ms", (1_u64 << p) as f64 / 1024.0),
        Some(p) => format!("{} s", (1_u64 << p.min(60)) as f64 / 1_048_576.0),
    }
}

/// A duration with a unit that suits it.
fn time(ns: u64) -> String {
    match ns {
        0..1_000_000 => format!("{:.1} µs", ns as f64 / 1e3),
        1_000_000..1_000_000_000 => format!("{:.1} ms", ns as f64 / 1e6),
        _ => format!("{:.2} s", ns as f64 / 1e9),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_counted_by_powers_of_two() {
        let mut d = Durations::default();
        for ns in [500, 1_000, 1_999, 2_000, 9_000_000, 30_000_000] {
            d.add(ns);
        }
        assert_eq!((d.by_power[0], d.by_power[1], d.by_power[2], d.count()), (1, 2, 1, 6));
        let text = summary("all tasks", &d);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[0], "all tasks: 6 scans, 39.0 ms in all, mean 6.5 ms, longest 30.0 ms");
        assert!(lines[1].contains("0 to 1 µs") && lines[1].ends_with("1  ####################"), "{text}");
        assert!(lines.last().unwrap().contains("16 ms to 32 ms"), "{text}");
        assert_eq!(head("x", &Durations::default()), "x: no scan");
        let mut twice = d.clone();
        twice.merge(&d);
        assert_eq!((twice.count(), twice.total_ns, twice.longest_ns), (12, 2 * d.total_ns, d.longest_ns));
    }
}
