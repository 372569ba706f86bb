//! `numalab kernel sides`: what knobs change on a real kernel, beside what they change in the simulator.

use super::side_notes::SideNotes;
use crate::context::Context;
use crate::failure::{finding, note, Done, Exit, Failure};
use crate::output_file;
use crate::records;
use numalab_model::record::Store;
use numalab_report::alone;
use numalab_report::data::Comparison;
use numalab_report::format::count;
use numalab_report::held;
use numalab_report::sides::{self, Row};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Arguments of `kernel sides`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Directories of records of `kernel try --sim`. Each has its simulated runs in the directory of that name with
    /// -sim behind it. Without that directory a table has the guests alone
    #[arg(required = true, value_name = "DIR")]
    dirs: Vec<PathBuf>,
    /// Write the tables as a page of Markdown to this file
    #[arg(long, value_name = "FILE")]
    markdown: Option<PathBuf>,
    /// TOML file of notes why sides are apart, for --markdown (such as linux/sides/notes.toml)
    #[arg(long, value_name = "FILE", requires = "markdown")]
    notes: Option<PathBuf>,
}

/// First line of the page, by which it is known when it is written again.
const INTRO: &str =
    "# Knobs on a real kernel and in the simulator\n\nThis page is written by `numalab kernel sides`. Each \
                     table has, for every setting, the change against the kernel with default knobs on its own side: a \
                     guest in QEMU, and the simulator. `p` is that of Welch's test after Holm's correction over the \
                     rows of that side; below 0.05 the change is clear.\n\nA second table has the four counters of \
                     NUMA balancing of every setting: the range of the guests, and the median of the simulator. That \
                     is held inside of the range, widened by a factor of 1.25 at both ends.\n\nWhat the simulator has \
                     no such decision for was run in guests alone, and has a table with their means.\n";

/// Reads the records of both sides and prints them beside each other.
///
/// # Errors
/// A directory without records, a damaged record, or a page that cannot be written.
pub fn run(context: &Context, args: &Args) -> Result<Done, Failure> {
    if let Some(path) = &args.markdown {
        output_file::target_for(path, INTRO)?;
    }
    let (mut text, mut tables) = (String::new(), String::new());
    let mut all = Vec::new();
    // Tables of knobs that matter under the same word share columns: machines, workload and name of those counted.
    let mut counted = BTreeSet::new();
    let mut exit = Exit::OK;
    let mut notes = args.notes.as_deref().map(SideNotes::read).transpose()?.unwrap_or_default();
    for dir in &args.dirs {
        if !simulated(dir).exists() {
            let kernel = comparison(context, dir)?;
            let (rows, what, below) = (alone::rows(&kernel), title(&kernel, dir), notes.below(&kernel));
            text.push_str(&format!("{what}\n{}\n", alone::text(&rows)));
            tables.push_str(&format!("\n## {what}, guests alone\n\n{}{below}", alone::markdown(&rows)));
            continue;
        }
        let Sides { rows, held, what, kernel } = of_directory(context, dir)?;
        if rows.is_empty() {
            finding(&format!("numalab: {}: no column and figure has runs on both sides", dir.display()));
            exit = Exit::FINDING;
        }
        text.push_str(&format!("{what}\n{}{}\n\n", sides::text(&rows), held::sentence(&held)));
        let below = notes.below(&kernel);
        tables.push_str(&format!("\n## {what}\n\n{}\n{}{below}", sides::markdown(&rows), held::markdown(&held)));
        let machines = kernel.origin.as_ref().map(|o| o.machines.clone()).unwrap_or_default();
        for column in held {
            let known = (machines.clone(), column.workload.clone(), column.name.clone());
            if counted.insert(known) {
                all.push(column);
            }
        }
    }
    for unused in notes.unused() {
        note(&format!("numalab: a note is about no table: {unused}"));
    }
    if let Some(path) = &args.markdown {
        let sum = format!("\nOf all settings on this page, each once: {}\n", lower_first(&held::sentence(&all)));
        output_file::write(path, &format!("{INTRO}{sum}{tables}"))?;
    }
    Ok(Done { text, exit })
}

/// A directory and the one beside it.
pub struct Sides {
    /// What each column changed.
    pub rows: Vec<Row>,
    /// How far the sides are apart.
    held: Vec<held::Column>,
    /// What was run.
    what: String,
    /// The guests.
    kernel: Comparison,
}

/// Reads a directory and the one beside it.
///
/// # Errors
/// See [`run`].
pub fn of_directory(context: &Context, dir: &Path) -> Result<Sides, Failure> {
    let kernel = comparison(context, dir)?;
    let simulator = comparison(context, &simulated(dir))?;
    let what = title(&kernel, dir);
    let (rows, held) = (sides::rows(&kernel, &simulator), held::columns(&kernel, &simulator));
    Ok(Sides { rows, held, what, kernel })
}

/// What was run, and how often.
fn title(kernel: &Comparison, dir: &Path) -> String {
    match &kernel.origin {
        Some(o) => format!("{} on {}, {}", o.workloads.join(", "), o.machines.join(", "), runs_of_columns(kernel)),
        None => dir.display().to_string(),
    }
}

/// How many runs the columns have: "3 runs each", "3 to 5 runs a column". Columns without runs do not count.
fn runs_of_columns(kernel: &Comparison) -> String {
    let of_column = |k: usize| kernel.workloads.iter().filter_map(move |w| w.metrics.first().map(|m| m.of(k).len()));
    let runs = || (0..kernel.kernels.len()).flat_map(of_column).filter(|&n| n > 0);
    match (runs().min(), runs().max()) {
        (Some(min), Some(max)) if min < max => format!("{min} to {} a column", count(max as u64, "run")),
        (_, max) => format!("{} each", count(max.unwrap_or(0) as u64, "run")),
    }
}

/// A sentence that goes on after a colon.
fn lower_first(sentence: &str) -> String {
    let mut chars = sentence.chars();
    chars.next().map_or_else(String::new, |c| c.to_lowercase().chain(chars).collect())
}

/// The directory of the simulated runs beside those of guests.
pub fn simulated(dir: &Path) -> PathBuf {
    let mut name = dir.as_os_str().to_os_string();
    name.push("-sim");
    PathBuf::from(name)
}

fn comparison(context: &Context, dir: &Path) -> Result<Comparison, Failure> {
    let store = Store::open(dir)?;
    Ok(records::load(context, &store, None, records::Series::Drop)?.comparison)
}

#[cfg(test)]
mod tests {
    use super::*;
    use numalab_report::data::{Kernel, Metric, Workload};

    #[test]
    fn the_title_says_how_many_runs_the_columns_have() {
        let of = |columns: &[&[f64]]| {
            let lists = columns.iter().map(|c| c.to_vec()).collect();
            let metrics = vec![Metric::new("elapsed", "s", false, lists)];
            let w = Workload { name: "w".into(), metrics, ..Workload::default() };
            let kernels = columns.iter().map(|_| Kernel::named("k")).collect();
            runs_of_columns(&Comparison { kernels, workloads: vec![w], ..Comparison::default() })
        };
        assert_eq!(of(&[&[1.0; 3], &[1.0; 5], &[1.0; 4]]), "3 to 5 runs a column");
        assert_eq!(of(&[&[1.0; 3], &[1.0; 3], &[]]), "3 runs each");
        assert_eq!(of(&[&[1.0], &[1.0]]), "1 run each");
    }
}
