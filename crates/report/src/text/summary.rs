//! The answer in short, below the tables of a text report: which kernel wins on each workload, and at what cost.
//!
//! The sentences are those at the top of the page ([`crate::verdict`]), without the figures of the tests.

use numalab_stats::describe;

use crate::data::{Comparison, Workload};
use crate::figures::named_metric;
use crate::format::{significant, unit_for};
use crate::verdict::{findings, headline, Finding};

/// Most answers that are printed. A large comparison has one for every workload and kernel.
const MAX_ANSWERS: usize = 12;

/// Figures that are printed as costs, with words for them.
const COSTS: [(&str, &str); 3] = [
    ("system", "system time"),
    ("numa_local_percent", "local share of hint faults"),
    ("numa_migrated_mib", "memory migrated"),
];

/// The whole block after a blank line; empty if there is nothing to compare.
pub fn text(c: &Comparison) -> String {
    let all = findings(c);
    let mut answers = Vec::new();
    for (index, w) in c.workloads.iter().enumerate() {
        for kernel in c.others() {
            let of = |f: &&Finding| (f.workload, f.kernel) == (index, kernel);
            let own: Vec<Finding> = all.iter().filter(of).cloned().collect();
            if !own.is_empty() {
                answers.push(answer(c, w, kernel, &own));
            }
        }
    }
    if answers.is_empty() {
        return String::new();
    }
    let more = answers.len().saturating_sub(MAX_ANSWERS);
    let mut out = format!("\nIn short (means of a run, {} first)\n", c.baseline_name());
    answers.iter().take(MAX_ANSWERS).for_each(|a| out.push_str(a));
    if more > 0 {
        out.push_str(&format!("and {more} more: `numalab report` has all\n"));
    }
    out
}

fn answer(c: &Comparison, w: &Workload, kernel: usize, own: &[Finding]) -> String {
    // Headlines are in print order, without the baseline.
    let at = c.others().position(|k| k == kernel).unwrap_or(0);
    let said = headline(c, own).into_iter().nth(at).map(|h| h.1).unwrap_or_default();
    let mut out = format!("{}: {}\n", w.name, short(&said));
    if w.different_work(kernel).is_some() {
        // The change between runs of different work says nothing about the kernels.
        return out;
    }
    let costs: Vec<String> = COSTS.iter().filter_map(|cost| changed(c, w, *cost, kernel)).collect();
    if !costs.is_empty() {
        out.push_str(&format!("    {}\n", costs.join("; ")));
    }
    out
}

/// The sentence without the figures of its test. A clear difference needs none here, and the notes have the others.
fn short(sentence: &str) -> &str {
    let cut = [". The difference is ", " (p "].iter().filter_map(|mark| sentence.find(mark)).min();
    cut.map_or(sentence, |at| &sentence[..at]).trim_end_matches('.')
}

/// The change of a figure: "system time 0.30 → 2.31 s". `None` if it is 0 or missing on both sides.
fn changed(c: &Comparison, w: &Workload, (name, words): (&str, &str), kernel: usize) -> Option<String> {
    let m = named_metric(w, name)?;
    let means = [c.baseline, kernel].map(|k| describe::amean(m.of(k)));
    if means.iter().all(|x| x.unwrap_or(0.0) == 0.0) {
        return None;
    }
    let largest = means.iter().flatten().copied().fold(0.0, f64::max);
    let (unit, by) = unit_for(&m.unit, largest);
    let [base, col] = means.map(|x| x.map_or_else(|| "–".to_string(), |x| significant(x / by)));
    Some(format!("{words} {base} → {col} {unit}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::{Kernel, Metric};

    fn comparison() -> Comparison {
        let elapsed = vec![vec![10.0, 10.1, 9.9], vec![7.4, 7.5, 7.6], vec![10.0, 10.1, 9.9]];
        let system = vec![vec![0.5; 3], vec![2.5; 3], vec![0.0; 3]];
        let local = vec![vec![], vec![60.0; 3], vec![]];
        let metrics = vec![Metric::new("elapsed", "s", false, elapsed), Metric::new("system", "s", false, system)];
        let derived = vec![Metric::new("numa_local_percent", "%", true, local)];
        let w = Workload { name: "numa02".into(), metrics, derived, ..Workload::default() };
        let kernels = ["off", "6.12", "x"].map(Kernel::named).to_vec();
        Comparison { kernels, workloads: vec![w], ..Comparison::default() }
    }

    #[test]
    fn one_answer_for_each_kernel_with_what_it_cost() {
        let want = "
In short (means of a run, off first)
numa02: 6.12 beats off: elapsed 10.00 → 7.500 s, 25.0 % lower
    system time 0.5000 → 2.500 s; local share of hint faults – → 60.00 %
numa02: No clear difference between x and off: elapsed 10.00 → 10.00 s, the same
    system time 0.5000 → 0 s
";
        assert_eq!(text(&comparison()), want);
    }

    #[test]
    fn runs_that_are_too_short_have_no_answer_and_no_note_of_what_would_be_seen() {
        let mut c = comparison();
        c.workloads[0].too_short = vec![false, false, true];
        let got = text(&c);
        let want =
            "numa02: Cannot tell x from off: the runs are too short for balancing to act. elapsed 10.00 → 10.00 s, \
                    the same\n";
        assert!(got.contains(want), "{got}");
        let notes = |c: &Comparison| crate::legend::text(c, numalab_stats::star::StarRule::default());
        assert!(notes(&comparison()).contains("elapsed on x: no clear difference"));
        assert!(!notes(&c).contains("elapsed on x: no clear difference"), "{}", notes(&c));
    }

    #[test]
    fn different_work_has_no_answer_and_no_cost() {
        let mut c = comparison();
        c.workloads[0].different_work = vec![None, Some("loops is 9, not 3".into()), None];
        let want = "first)\nnuma02: Cannot tell 6.12 from off: different work, as loops is 9, not 3\nnuma02: No clear";
        assert!(text(&c).contains(want), "{}", text(&c));
    }

    #[test]
    fn many_answers_are_cut_and_nothing_says_nothing() {
        let one = comparison();
        let workloads = vec![one.workloads[0].clone(); 7];
        let got = text(&Comparison { workloads, ..one.clone() });
        assert_eq!(got.matches("numa02: ").count(), MAX_ANSWERS, "{got}");
        assert!(got.ends_with("and 2 more: `numalab report` has all\n"), "{got}");
        assert_eq!(text(&Comparison::default()), "");
        let alone = Comparison { kernels: vec![Kernel::named("off")], ..one };
        assert_eq!(text(&alone), "");
    }
}
