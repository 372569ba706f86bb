//! What arrived at a node and what left it.

use super::names::Names;
use super::words::{bytes, count, share, unknown};
use numalab_model::record::why::WhyFile;
use numalab_model::spec::SpecError;

/// Describes the node with the number `name`, or all nodes if `name` is empty.
///
/// # Errors
/// No node has that number.
pub fn explain(file: &WhyFile, name: &str) -> Result<String, SpecError> {
    let ids: Vec<String> = file.header.nodes.iter().map(u32::to_string).collect();
    let names = Names::new(file);
    let mut out = String::new();
    let mut found = false;
    for (i, id) in ids.iter().enumerate().filter(|(_, id)| name.is_empty() || *id == name) {
        found = true;
        out.push_str(&one(&names, i, id));
    }
    if found {
        Ok(out)
    } else {
        Err(unknown("--node", name, "node", ids.iter().map(String::as_str)))
    }
}

fn one(names: &Names<'_>, i: usize, id: &str) -> String {
    let Some(n) = names.why().nodes.get(i) else { return String::new() };
    let pages = |p: u64| format!("{} ({})", count(p, "page"), bytes(p.saturating_mul(names.why().base_page_bytes)));
    let times = |n: u64| count(n, "time");
    let mut out = format!(
        "Node {id}: {} were first touched into it, {} were on it at the end.\n",
        pages(n.first_touched),
        pages(n.pages_at_end)
    );
    out.push_str(&format!("  Hint faults brought {} and took {}.\n", pages(n.pages_in), pages(n.pages_out)));
    out.push_str(&format!("  Tasks came {} from other nodes and went {}.\n", times(n.tasks_in), times(n.tasks_out)));
    out.push_str(&format!(
        "  Its CPUs took {}, {} of them local.\n",
        count(n.faults, "hint fault"),
        share(n.local, n.faults)
    ));
    let preferring = names
        .why()
        .tasks
        .iter()
        .filter(|t| t.preferred.recent().last().or(t.preferred.first.last()).and_then(|p| p.to) == Some(i as u32));
    let prefer = match preferring.count() {
        1 => "1 task prefers".to_string(),
        n => format!("{n} tasks prefer"),
    };
    out.push_str(&format!("  {prefer} it at the end.\n"));
    out
}
