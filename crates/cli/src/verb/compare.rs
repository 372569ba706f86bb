//! `numalab compare`: the records of an experiment as one report.

use crate::context::Context;
use crate::failure::{note, Done, Exit, Failure};
use crate::records;
use clap::ValueEnum;
use numalab_model::record::Store;
use numalab_model::spec::SpecError;
use numalab_report::data::Comparison;
use numalab_report::fail_if::FailIf;
use numalab_report::select::select;
use numalab_report::tables::monitor::VmstatRows;
use numalab_report::tables::TableOptions;
use numalab_report::text::{assessment, csv, lkp, markdown, mmtests};
use numalab_report::{json, StarRule};
use std::path::PathBuf;

/// Arguments of `compare`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Directory that `numalab run` wrote
    dir: PathBuf,
    /// Kernel to compare with; the experiment's own baseline if not given
    #[arg(long, value_name = "K")]
    baseline: Option<String>,
    /// Layout of the report; plus is better in mmtests and markdown, plus is larger in lkp
    #[arg(long, value_name = "STYLE", default_value = "mmtests")]
    style: Style,
    /// The same as --style json (docs/json.md)
    #[arg(long, conflicts_with = "style")]
    json: bool,
    /// Only these metrics, derived columns, counters or reasons, or WORKLOAD/METRIC
    #[arg(long, value_delimiter = ',', value_name = "M,…")]
    metric: Vec<String>,
    /// Exit with 1 if a kernel goes beyond this bound, e.g. 'elapsed > +3%'; may be given several times
    #[arg(long, value_name = "BOUND")]
    fail_if: Vec<String>,
    /// When a cell is starred in mmtests and markdown (docs/reports.md); b, or c with --layout 2026
    #[arg(long, value_name = "RULE")]
    star: Option<Star>,
    /// Widths and labels of mmtests: as from 2018 to 2025, or as of 2026; 2018 if not given
    #[arg(long, value_name = "YEAR")]
    layout: Option<Layout>,
    /// Add the tests beside the star: probabilities, Holm's correction, interval, detectable change; always part of
    /// JSON
    #[arg(long)]
    tests: bool,
    /// Every row: zero vmstat rows in mmtests, unchanged metrics in lkp
    #[arg(long)]
    all: bool,
}

/// Layout of a report.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Style {
    /// What kernel mailing lists read
    Mmtests,
    /// What the kernel test robot sends
    Lkp,
    /// For issues and commit messages
    Markdown,
    /// For spreadsheets and data frames
    Csv,
    /// For programs
    Json,
}

impl Args {
    /// The layout asked for.
    fn style(&self) -> Style {
        if self.json {
            Style::Json
        } else {
            self.style
        }
    }

    /// Refuses options that the style does not read.
    fn refuse_ineffective(&self) -> Result<(), Failure> {
        use Style::{Lkp, Markdown, Mmtests};
        let takers: [(&str, bool, &[Style]); 4] = [
            ("--star", self.star.is_some(), &[Mmtests, Markdown]),
            // The year also chooses the rule of the stars, which markdown has.
            ("--layout", self.layout.is_some(), &[Mmtests, Markdown]),
            ("--tests", self.tests, &[Mmtests, Lkp, Markdown]),
            ("--all", self.all, &[Mmtests, Lkp]),
        ];
        let style = self.style();
        let ineffective = |(_, given, styles): &&(&str, bool, &[Style])| *given && !styles.contains(&style);
        let Some((option, _, styles)) = takers.iter().find(ineffective) else { return Ok(()) };
        let names: Vec<String> = styles.iter().map(|s| format!("--style {}", s.name())).collect();
        let what = format!("has no effect with --style {}", style.name());
        Err(SpecError::plain(option, what, names.join(" or ")).into())
    }
}

impl Style {
    /// As the command line spells it.
    fn name(self) -> String {
        self.to_possible_value().map_or_else(String::new, |v| v.get_name().to_string())
    }
}

/// When a cell is starred.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Star {
    /// p < 0.10 as mmtests had it from 2018 to 2024
    B,
    /// Intervals of 1.96 deviations apart, as mmtests has it since November 2024
    C,
    /// Welch's test, p < 0.05
    Welch,
}

impl From<Star> for StarRule {
    fn from(star: Star) -> Self {
        match star {
            Star::B => StarRule::GenB,
            Star::C => StarRule::GenC,
            Star::Welch => StarRule::Welch,
        }
    }
}

/// Widths and labels of the mmtests layout.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Layout {
    /// 12 characters per value
    #[value(name = "2018")]
    Y2018,
    /// 18 characters per value
    #[value(name = "2026")]
    Y2026,
}

/// Prints the comparison; a run without a record, one that did not complete and a bound that is passed are findings.
///
/// # Errors
/// Not an experiment's directory, an unknown baseline or metric, a bound that tests nothing, an option that the style
/// does not read, or a damaged record.
pub fn run(context: &Context, args: &Args) -> Result<Done, Failure> {
    args.refuse_ineffective()?;
    let bounds = args.fail_if.iter().map(|b| FailIf::parse(b)).collect::<Result<Vec<_>, _>>()?;
    let store = Store::open(&args.dir)?;
    let loaded = records::load(context, &store, args.baseline.as_deref(), records::Series::Drop)?;
    let mut exit = loaded.exit();
    loaded.remarks().iter().for_each(|r| note(r));
    let (mut broken, mut untested) = (Vec::new(), Vec::new());
    for bound in &bounds {
        let found = bound.check(&loaded.comparison)?;
        broken.extend(found.failures);
        untested.extend(found.untested);
    }
    let shown = if args.metric.is_empty() { loaded.comparison } else { select(&loaded.comparison, &args.metric)? };
    let text = render(args, &shown)?;
    // After everything that can still be refused: a message that a bound was passed stands for a result.
    for finding in broken.iter().map(ToString::to_string).chain(untested) {
        note(&format!("numalab: {finding}"));
        exit = exit.max(Exit::Finding);
    }
    Ok(Done { text, exit })
}

fn render(args: &Args, c: &Comparison) -> Result<String, Failure> {
    let table = table_options(args);
    let tests = if args.tests { assessment::table(c) } else { String::new() };
    // Figures that were picked are not what a workload is judged by.
    let summary = args.metric.is_empty();
    Ok(match args.style() {
        Style::Mmtests => {
            let vmstat = if args.all { VmstatRows::All } else { VmstatRows::NonZero };
            mmtests::report(c, &mmtests::Options { table, vmstat, summary, ..mmtests::Options::default() }) + &tests
        }
        // Metrics that were picked are shown, changed or not.
        Style::Lkp => lkp::report(c, lkp::Options { all: args.all || !args.metric.is_empty() }) + &tests,
        Style::Markdown if tests.is_empty() => markdown::report(c, &table, summary),
        Style::Markdown => markdown::report(c, &table, summary) + &format!("\n```{tests}```\n"),
        Style::Csv => csv::report(c),
        Style::Json => json::report(c).map_err(|e| Failure::environment(e.to_string()))?,
    })
}

fn table_options(args: &Args) -> TableOptions {
    let layout = match args.layout {
        None | Some(Layout::Y2018) => TableOptions::default(),
        Some(Layout::Y2026) => TableOptions::y2026(),
    };
    let rule = args.star.map_or(layout.rule, StarRule::from);
    TableOptions { rule, ..layout }
}

/// The comparison in the layout of mmtests, as `run` prints it.
pub fn as_text(comparison: &Comparison) -> String {
    mmtests::report(comparison, &mmtests::Options::default())
}
