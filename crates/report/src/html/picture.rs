//! The picture at the top of the page: where the memory of the first workload was, under the baseline and under the
//! kernel that matters most beside it.
//!
//! Problem: what NUMA balancing does is a matter of place, which no table shows. Approach: two maps side by side, which
//! the script draws, and a sentence that says how they end. Invariant: the sentence is made of the same samples.

use std::cmp::Ordering;

use super::chart_data::Picture;
use super::input::{Input, Run};
use super::markup::Html;
use super::timeline;
use crate::format::readable;
use crate::verdict::{Choice, Decision};

/// Bytes of a page.
const PAGE: f64 = 4096.0;
/// From this share on, all memory counts as lying on one node.
const ALL: f64 = 0.98;
/// Shares that differ by at most this count as even.
const EVEN: f64 = 0.1;
/// A node with less than this share is not named.
const FEW: f64 = 0.005;
/// Most nodes that are named.
const MAX_NODES: usize = 4;
/// Series of which maps are drawn.
const DRAWN: [&str; 3] = ["page_node", "process_pages", "node_pages"];

/// Chooses the workload, the first that has maps, and the kernels: the baseline and the winner. If the baseline wins,
/// the kernel that changed most stands beside it. `None` if no run has a map.
pub fn choose(input: &Input<'_>, decision: &Decision) -> Option<Picture> {
    let c = input.comparison;
    let drawn = |w: usize, k: usize| run(input, w, k).is_some();
    let workload = (0..c.workloads.len()).find(|w| (0..c.kernels.len()).any(|k| drawn(*w, k)))?;
    let decided = decision.workloads.iter().find(|d| d.workload == workload);
    let size = |a: f64, b: f64| a.abs().partial_cmp(&b.abs()).unwrap_or(Ordering::Equal);
    let standings = decided.iter().flat_map(|d| &d.standings).filter(|s| drawn(workload, s.kernel));
    // Of several winners the one that gained most.
    let taken = decided.and_then(|d| match &d.choice {
        Choice::Take(take) => {
            let winners = standings.clone().filter(|s| take.contains(&s.kernel));
            winners.max_by(|a, b| size(a.gain, b.gain)).map(|s| s.kernel)
        }
        _ => None,
    });
    let changed = || standings.max_by(|a, b| size(a.gain, b.gain)).map(|s| s.kernel);
    let any = || c.others().find(|k| drawn(workload, *k));
    let beside = taken.or_else(changed).or_else(any);
    let base = Some(c.baseline).filter(|k| drawn(workload, *k));
    let kernels = base.into_iter().chain(beside).collect();
    Some(Picture { workload: c.workloads[workload].name.clone(), kernels })
}

/// The first run of a workload under a kernel that has a map.
fn run<'a>(input: &'a Input<'_>, workload: usize, kernel: usize) -> Option<&'a Run<'a>> {
    let has = |r: &Run<'_>| r.outcome.series.iter().any(|s| DRAWN.contains(&s.name.as_str()) && s.time_ns.len() > 1);
    input.runs.iter().find(|r| (r.workload, r.kernel) == (workload, kernel) && has(r))
}

/// The section; empty without a picture.
pub fn render(input: &Input<'_>, picture: Option<&Picture>) -> Html {
    let mut h = Html::new();
    let Some(p) = picture else { return h };
    let what = if p.kernels.len() > 1 { "Before and after: where the memory of " } else { "Where the memory of " };
    h.raw("<section id=\"picture\"><h2>").raw(what).text(&p.workload).raw(" was</h2>");
    if let Some(text) = sentence(input, p) {
        h.element("p", &[("class", "lead")], &text);
    }
    h.raw("<p class=\"note\">Each row is a piece of memory, from the first to the last; time goes to the right; the colour is the node that ");
    h.raw("held it.</p><div id=\"maps\"></div></section>");
    h
}

/// How the runs of the picture ended: "The 1 GiB ended on node 2 alone under off, and evenly on 4 nodes under 6.12."
fn sentence(input: &Input<'_>, p: &Picture) -> Option<String> {
    let c = input.comparison;
    let workload = c.workloads.iter().position(|w| w.name == p.workload)?;
    let mut parts = Vec::new();
    let mut sizes = Vec::new();
    for &k in &p.kernels {
        let (pages, once) = timeline::pages_at_the_end(run(input, workload, k)?.outcome)?;
        // The size of memory that is counted twice would mislead; its shares do not.
        sizes.push(once.then(|| size(pages.iter().sum::<f64>() * PAGE)));
        parts.push(format!("{} under {}", place(&pages), c.kernels[k].name));
    }
    let what = match sizes.first() {
        Some(Some(size)) if sizes.iter().all(|s| s.as_ref() == Some(size)) => format!("The {size} ended"),
        _ => "The memory ended".to_string(),
    };
    Some(format!("{what} {}.", parts.join(", and ")))
}

fn size(bytes: f64) -> String {
    let scales = [(1_099_511_627_776.0, "TiB"), (1_073_741_824.0, "GiB"), (1_048_576.0, "MiB")];
    let (one, unit) = scales.into_iter().find(|(one, _)| bytes >= *one).unwrap_or((1024.0, "KiB"));
    format!("{} {unit}", readable(bytes / one))
}

/// Where pages lie, in words.
fn place(pages: &[f64]) -> String {
    let total: f64 = pages.iter().sum();
    let mut shares: Vec<(usize, f64)> = pages.iter().map(|p| p / total).enumerate().filter(|s| s.1 >= FEW).collect();
    shares.sort_by(|a, b| b.1.partial_cmp(&a.1).unwrap_or(Ordering::Equal).then(a.0.cmp(&b.0)));
    let (Some(first), Some(last)) = (shares.first(), shares.last()) else { return "nowhere".into() };
    if first.1 >= ALL {
        return format!("on node {} alone", first.0);
    }
    if first.1 - last.1 <= EVEN / shares.len() as f64 * 2.0 {
        return format!("evenly on {} nodes", shares.len());
    }
    let named: Vec<String> =
        shares.iter().take(MAX_NODES).map(|(n, s)| format!("{:.0} % on node {n}", 100.0 * s)).collect();
    let more = if shares.len() > MAX_NODES { ", the rest elsewhere" } else { "" };
    format!("{}{more}", named.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::{Comparison, Kernel, Workload};
    use crate::verdict::decide;
    use numalab_model::record::{Outcome, Series};

    fn outcome(pages: &[f64]) -> Outcome {
        let columns = (0..pages.len()).map(|n| format!("main.0/node{n}")).collect();
        let values = pages.iter().map(|p| vec![0.0, *p]).collect();
        let s = Series { name: "process_pages".into(), unit: "pages".into(), columns, time_ns: vec![1, 2], values };
        Outcome { series: vec![s], ..Outcome::default() }
    }

    #[test]
    fn places_are_said_in_words() {
        let said = [&[0.0, 100.0][..], &[25.0, 26.0, 24.0, 25.0], &[60.0, 30.0, 0.0, 10.0], &[0.0]].map(place);
        let want =
            ["on node 1 alone", "evenly on 4 nodes", "60 % on node 0, 30 % on node 1, 10 % on node 3", "nowhere"];
        assert_eq!(said, want);
    }

    #[test]
    fn the_picture_is_of_the_first_workload_that_has_maps() {
        let names = ["off", "on"].map(Kernel::named).to_vec();
        let w = |name: &str| Workload { name: name.into(), ..Workload::default() };
        let c = Comparison { kernels: names, workloads: vec![w("a"), w("b")], ..Comparison::default() };
        let (before, after, none) = (outcome(&[262_144.0, 0.0]), outcome(&[131_072.0; 2]), Outcome::default());
        let run = |workload, kernel, outcome| Run { workload, kernel, seed: 1, outcome };
        let mut input =
            Input { runs: vec![run(0, 0, &none), run(1, 0, &before), run(1, 1, &after)], ..Input::new("t", &c) };
        let p = choose(&input, &decide(&c)).unwrap();
        assert_eq!(p, Picture { workload: "b".into(), kernels: vec![0, 1] });
        let text = render(&input, Some(&p)).into_string();
        let want = "The 1.00 GiB ended on node 0 alone under off, and evenly on 2 nodes under on.";
        assert!(text.contains(want), "{text}");
        input.runs.truncate(2);
        assert_eq!(choose(&input, &decide(&c)).unwrap().kernels, [0], "one kernel alone has a picture, too");
        input.runs.truncate(1);
        assert_eq!(choose(&input, &decide(&c)), None);
        assert_eq!(render(&input, None).into_string(), "");
    }
}
