//! The question that a comparison answers, in words.

use crate::data::{Comparison, Workload};
use crate::order::unique;

/// Most kernels that the question names.
const MAX_ASKED: usize = 6;

/// The question that was asked: the title of the experiment if it is a question, else [`question`].
pub fn asked(c: &Comparison) -> String {
    let title = c.origin.as_ref().map_or("", |o| o.title.as_str());
    let title = title.split_once(": ").map_or(title, |(_, title)| title);
    if title.ends_with('?') {
        title.to_string()
    } else {
        question(c)
    }
}

/// The question of a comparison, made of its names.
pub fn question(c: &Comparison) -> String {
    let on = on(c);
    let others: Vec<&str> = c.others().map(|k| c.kernels[k].name.as_str()).collect();
    let base = c.baseline_name();
    match others.as_slice() {
        [] => format!("How does {base} do{on}?"),
        [one] => format!("Is {one} better than {base}{on}?"),
        [first, second] => format!("Is {first} or {second} better than {base}{on}?"),
        many if many.len() > MAX_ASKED => format!("Which of {} kernels is better than {base}{on}?", many.len()),
        [first @ .., last] => format!("Is {} or {last} better than {base}{on}?", first.join(", ")),
    }
}

/// The workloads and machines of the question: " on numa01 and numa02", " on 2 workloads on 2 machines".
fn on(c: &Comparison) -> String {
    let programs = unique(c.workloads.iter().map(Workload::program));
    let machines = unique(c.workloads.iter().filter_map(|w| w.machine.as_deref()));
    // Two names are spelled out only if the other list has a single name or none.
    let list = |names: &[&str], others: &[&str], noun: &str| match names {
        [] => String::new(),
        [only] => format!(" on {only}"),
        [a, b] if others.len() < 2 => format!(" on {a} and {b}"),
        more => format!(" on {} {noun}", more.len()),
    };
    list(&programs, &machines, "workloads") + &list(&machines, &programs, "machines")
}
