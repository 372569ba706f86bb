//! Times, shares, lists and reasons as the explanations print them.

pub(super) use crate::format::count;
use crate::reasons;
use numalab_model::machine::size;
use numalab_model::record::why::{Tallies, Tally};
use numalab_model::spec::SpecError;

/// Most lines of a list.
const MAX_LINES: usize = 60;

/// An instant: "1.024 s".
pub(super) fn seconds(ns: u64) -> String {
    format!("{:.3} s", ns as f64 / 1e9)
}

/// How often and when: "12 times, first at 1.024 s, last at 8.100 s".
pub(super) fn times(t: &Tally) -> String {
    match t.count {
        0 => "never".into(),
        1 => format!("once, at {}", seconds(t.first_ns)),
        n => format!("{n} times, first at {}, last at {}", seconds(t.first_ns), seconds(t.last_ns)),
    }
}

/// One line per reason: its word, count and times, and its meaning. `role` is the part of its name before the word.
pub(super) fn reasons_text(list: &Tallies, role: &str) -> String {
    let mut sorted: Vec<_> = list.iter().collect();
    sorted.sort_by_key(|r| std::cmp::Reverse(r.1.count));
    let mut out = String::new();
    for (word, t) in sorted {
        let key = if role.is_empty() { word.clone() } else { format!("{role}.{word}") };
        let meaning = reasons::meaning(&key).map(|m| format!("\n      {m}")).unwrap_or_default();
        out.push_str(&format!("  {word}: {}{meaning}\n", times(t)));
    }
    out
}

/// A share in percent: "38.1 %"; "none" if `all` is 0.
pub(super) fn share(part: u64, all: u64) -> String {
    if all == 0 {
        return "none".into();
    }
    format!("{:.1} %", 100.0 * part as f64 / all as f64)
}

pub(super) fn bytes(n: u64) -> String {
    size::short(n)
}

/// The error for an unknown name, with some valid names and the nearest one.
pub(super) fn unknown<'a>(
    option: &str,
    name: &str,
    noun: &str,
    names: impl Iterator<Item = &'a str> + Clone,
) -> SpecError {
    let some: Vec<&str> = names.clone().take(6).collect();
    let expected = format!("a {noun} of this run such as {} (without a name all are listed)", some.join(", "));
    SpecError::plain(option, format!("no {noun} `{name}`"), expected).near(name, names)
}

/// The lines of a list, cut after [`MAX_LINES`].
pub(super) fn cut(lines: &[String]) -> String {
    let mut out = lines.iter().take(MAX_LINES).fold(String::new(), |out, l| out + l + "\n");
    if lines.len() > MAX_LINES {
        out.push_str(&format!("… and {} more\n", lines.len() - MAX_LINES));
    }
    out
}
