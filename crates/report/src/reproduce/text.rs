//! The text form: published and simulated values side by side, the score, and every miss.

use super::cell::{Cell, Role};
use super::score::{in_bands, left_out, score};
use crate::format::readable;
use crate::order::unique;

/// The text form: the answer, one table per group with kernels as columns, the score and the misses. Columns that do
/// not fit `width` characters beside each other stand below each other.
pub fn text(mail: &str, cells: &[Cell], width: usize) -> String {
    let mut out = answer(mail, cells);
    for group in unique(cells.iter().map(|c| c.group.as_str())) {
        let members: Vec<&Cell> = cells.iter().filter(|c| c.group == group).collect();
        out.push_str(&format!("\n{group}\n"));
        out.push_str(&table(&members, width));
    }
    let s = score(cells);
    out.push_str(&format!(
        "\nPredicted {}: direction right {}, ratio within 1.25 {}, within 2 {}{}{}\n",
        s.predicted,
        s.direction_right,
        s.within_1_25,
        s.within_2,
        in_bands(&s),
        left_out(s.derived)
    ));
    out.push_str(
        "c calibrated   d derived   = within 1.25   ~ within 2   > direction only   ! direction wrong or no figure\n",
    );
    out.push_str(&derived(cells));
    let misses: Vec<String> = cells.iter().filter(|c| c.missed()).map(miss).collect();
    if !misses.is_empty() {
        out.push_str(&format!("\nMisses ({})\n{}", misses.len(), misses.concat()));
    }
    out
}

/// What came out, in a sentence: directions, sizes, and bands if the table states some.
fn answer(mail: &str, cells: &[Cell]) -> String {
    let s = score(cells);
    if s.predicted == 0 {
        return format!("{mail}: no cell is predicted\n");
    }
    let bands = match s.banded {
        0 => String::new(),
        n => format!("; {} of {n} sizes in their band", s.in_band),
    };
    format!(
        "{mail}: {} of {} directions as published; {} sizes within a factor of 1.25 and {} within 2{bands}\n",
        s.direction_right, s.predicted, s.within_1_25, s.within_2
    )
}

/// What was derived from the cells that are not counted: one line per reason and group. Empty without derived cells.
fn derived(cells: &[Cell]) -> String {
    let of: Vec<&Cell> = cells.iter().filter(|c| c.role == Role::Derived && !c.baseline).collect();
    if of.is_empty() {
        return String::new();
    }
    let mut out = format!("\nDerived, not counted ({})\n", of.len());
    let mut seen: Vec<(&str, &str)> = Vec::new();
    for c in &of {
        let key = (c.group.as_str(), c.derived.as_str());
        if seen.contains(&key) {
            continue;
        }
        seen.push(key);
        let same = of.iter().filter(|d| (d.group.as_str(), d.derived.as_str()) == key);
        let metrics = unique(same.clone().map(|d| d.metric.as_str()));
        let what = if metrics.len() <= 2 { metrics.join(", ") } else { format!("{} rows", metrics.len()) };
        out.push_str(&format!("  {}, {what} ({}): {}\n", c.group, same.count(), c.derived));
    }
    out
}

/// A table with two lines per metric: values, then ratios to the baseline with the sign of the cell.
fn table(cells: &[&Cell], width: usize) -> String {
    let kernels = unique(cells.iter().map(|c| c.kernel.as_str()));
    let metrics = unique(cells.iter().map(|c| c.metric.as_str()));
    let mut lines: Vec<(String, Vec<[String; 3]>)> = Vec::new();
    for metric in metrics {
        let of = |kernel: &str| cells.iter().find(|c| c.metric == metric && c.kernel == kernel);
        let values = kernels.iter().map(|k| of(k).map_or_else(empty, |c| values(c)));
        lines.push((metric.to_string(), values.collect()));
        let ratios = kernels.iter().map(|k| of(k).map_or_else(empty, |c| ratios(c)));
        lines.push(("  ratio".into(), ratios.collect()));
    }
    let heading = vec![["published".into(), "simulated".into(), String::new()]; kernels.len()];
    lines.insert(0, (String::new(), heading));
    render(&kernels, &lines, width)
}

fn render(kernels: &[&str], lines: &[(String, Vec<[String; 3]>)], most: usize) -> String {
    let chars = |s: &str| s.chars().count();
    let label = lines.iter().map(|l| chars(&l.0)).max().unwrap_or(0);
    let width = |k: usize, part: usize| lines.iter().map(|l| chars(&l.1[k][part])).max().unwrap_or(0);
    let widths: Vec<(usize, usize)> = kernels
        .iter()
        .enumerate()
        .map(|(k, name)| {
            let (a, b) = (width(k, 0), width(k, 1));
            // A long kernel name widens the first part of its column.
            (a.max(chars(name).saturating_sub(b + 2)), b)
        })
        .collect();
    let mut out = String::new();
    let mut from = 0;
    while from < kernels.len() {
        // Each column has two spaces before each of its parts, and a space and a sign behind.
        let fits = |n: &usize| label + widths[from..from + n].iter().map(|(a, b)| a + b + 6).sum::<usize>() <= most;
        let to = from + (1..=kernels.len() - from).take_while(fits).last().unwrap_or(1);
        panel(&kernels[from..to], &widths[from..to], label, lines.iter().map(|l| (&*l.0, &l.1[from..to])), &mut out);
        from = to;
    }
    out
}

/// Some columns of a table: their names, and a line for each of `lines`.
fn panel<'a>(
    kernels: &[&str],
    widths: &[(usize, usize)],
    label: usize,
    lines: impl Iterator<Item = (&'a str, &'a [[String; 3]])>,
    out: &mut String,
) {
    let mut head = " ".repeat(label);
    for (name, (a, b)) in kernels.iter().zip(widths) {
        head.push_str(&format!("  {name:>w$}  ", w = a + b + 2));
    }
    out.push_str(&format!("{}\n", head.trim_end()));
    for (name, parts) in lines {
        let mut line = format!("{name:<label$}");
        for ([p, s, sign], (a, b)) in parts.iter().zip(widths) {
            line.push_str(&format!("  {p:>a$}  {s:>b$} {sign:1}"));
        }
        out.push_str(line.trim_end());
        out.push('\n');
    }
}

fn empty() -> [String; 3] {
    ["".into(), "".into(), "".into()]
}

fn values(c: &Cell) -> [String; 3] {
    [number(c.published), number(c.simulated), String::new()]
}

pub(super) fn ratios(c: &Cell) -> [String; 3] {
    let ratio =
        |r: Option<f64>| r.map_or_else(|| "-".to_string(), |x| if x >= 100.0 { any(x) } else { format!("{x:.3}") });
    [ratio(c.published_ratio), ratio(c.simulated_ratio), c.sign().to_string()]
}

/// A ratio, which may be infinite.
fn any(x: f64) -> String {
    if x.is_finite() {
        readable(x)
    } else {
        "∞".to_string()
    }
}

fn number(x: Option<f64>) -> String {
    x.map_or_else(|| "-".to_string(), readable)
}

/// One line per miss: which cell, how far off, and the suspected cause.
pub(super) fn miss(c: &Cell) -> String {
    let far = match (c.ratios(), c.factor()) {
        (None, _) => "no figure".to_string(),
        (Some((p, s)), factor) => {
            let wrong = if c.direction_right() { "" } else { ", direction wrong" };
            let by = factor.map_or_else(String::new, |f| format!(", off by {f:.2}"));
            let out = match c.band {
                Some((least, largest)) if c.in_band() == Some(false) => format!(", outside {least} to {largest}"),
                _ => String::new(),
            };
            format!("ratio {} published, {} simulated{by}{wrong}{out}", any(p), any(s))
        }
    };
    let note = if c.note.is_empty() { "no mechanism suspected yet" } else { &c.note };
    format!("  {} {} {} on {}: {far}; {note}\n", c.id, c.group, c.metric, c.kernel)
}
