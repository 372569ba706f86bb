//! `numalab compare`: the records of an experiment as a report.

use crate::context::Context;
use crate::failure::{finding as finding_line, note, Done, Exit, Failure};
use crate::options::Star;
use crate::records;
use crate::service::answer::{self, Tables};
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
    /// Directory of the experiment, as `numalab run` wrote it
    dir: PathBuf,
    /// Kernel that the others are compared with [default: the experiment's baseline]
    #[arg(long, value_name = "K")]
    baseline: Option<String>,
    /// Print tables in this layout instead of the answer. A plus means better in mmtests and markdown, and larger in
    /// lkp
    #[arg(long, value_name = "STYLE")]
    style: Option<Style>,
    /// Print the answer and then all tables, in the layout of mmtests
    #[arg(long, conflicts_with_all = ["style", "json"])]
    full: bool,
    /// Print as JSON, as --style json does (docs/reference/json.md)
    #[arg(long, conflicts_with = "style")]
    json: bool,
    /// Show only these metrics, derived columns, counters or reasons. WORKLOAD/METRIC is a metric of one workload
    #[arg(long, value_delimiter = ',', value_name = "M,…")]
    metric: Vec<String>,
    /// Exit with code 1 if a kernel exceeds this bound: a change as 'elapsed > +3%', a factor as 'elapsed > 1.03x', or
    /// a figure with its unit as 'elapsed > 3 s' (docs/reference/reports.md). May be repeated
    #[arg(long, value_name = "BOUND")]
    fail_if: Vec<String>,
    /// Rule by which a cell of mmtests or markdown gets a star (docs/reference/reports.md) [default: b; with --layout
    /// 2026: c]
    #[arg(long, value_name = "RULE")]
    star: Option<Star>,
    /// Widths and labels of mmtests: as in its releases of 2018 to 2025, or as in 2026 [default: 2018]
    #[arg(long, value_name = "YEAR")]
    layout: Option<Layout>,
    /// Add a table of statistical tests: probabilities, Holm's correction, confidence interval, smallest detectable
    /// change. JSON always has them
    #[arg(long)]
    tests: bool,
    /// Show every row: in mmtests also vmstat rows of zeros, in lkp also unchanged metrics
    #[arg(long)]
    all: bool,
}

/// Layout of a report.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Style {
    /// Tables of mmtests, as posted to kernel mailing lists
    Mmtests,
    /// Table of the kernel test robot
    Lkp,
    /// Markdown, for issues and commit messages
    Markdown,
    /// Comma-separated values, for spreadsheets and data frames
    Csv,
    /// JSON, for programs (docs/reference/json.md)
    Json,
}

impl Args {
    /// The style of the tables, with `--json` resolved.
    fn style(&self) -> Style {
        if self.json {
            Style::Json
        } else {
            self.style.unwrap_or(Style::Mmtests)
        }
    }

    /// Whether the answer is printed: alone, or with `--full` before the tables.
    fn answers(&self) -> bool {
        let tables = self.style.is_some() || self.json || self.all || self.star.is_some() || self.layout.is_some();
        self.full || (!tables && self.metric.is_empty())
    }

    /// Refuses options that the style does not read.
    fn refuse_ineffective(&self) -> Result<(), Failure> {
        use Style::{Lkp, Markdown, Mmtests};
        let takers: [(&str, bool, &[Style]); 4] = [
            ("--star", self.star.is_some(), &[Mmtests, Markdown]),
            // The year also chooses the rule for stars, which markdown has, too.
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
    /// The name on the command line.
    fn name(self) -> String {
        self.to_possible_value().map_or_else(String::new, |v| v.get_name().to_string())
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

/// Prints the comparison. A run without a record, an incomplete run and an exceeded bound are findings.
///
/// # Errors
/// The directory has no experiment; an unknown baseline or metric; a bound that tests nothing; an option that the style
/// does not read; a damaged record.
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
    let text = match args.answers() {
        true => {
            answer::text(&shown, &args.dir, Tables { full: args.full, tests: args.tests, table: table_options(args) })
        }
        false => render(args, &shown)?,
    };
    // Findings are printed last: they are part of a result, so nothing may fail after them.
    for finding in broken.iter().map(ToString::to_string).chain(untested) {
        finding_line(&format!("numalab: {finding}"));
        exit = exit.max(Exit::FINDING);
    }
    Ok(Done { text, exit })
}

/// The report in the chosen style.
fn render(args: &Args, c: &Comparison) -> Result<String, Failure> {
    let table = table_options(args);
    let tests = if args.tests { assessment::table(c) } else { String::new() };
    // A workload is not judged by a selection of its figures.
    let summary = args.metric.is_empty();
    Ok(match args.style() {
        Style::Mmtests => {
            let vmstat = if args.all { VmstatRows::All } else { VmstatRows::NonZero };
            mmtests::report(c, &mmtests::Options { table, vmstat, summary, ..mmtests::Options::default() }) + &tests
        }
        // Selected metrics are shown even if they are unchanged.
        Style::Lkp => lkp::report(c, lkp::Options { all: args.all || !args.metric.is_empty() }) + &tests,
        Style::Markdown if tests.is_empty() => markdown::report(c, &table, summary),
        Style::Markdown => markdown::report(c, &table, summary) + &format!("\n```{tests}```\n"),
        Style::Csv => csv::report(c).map_err(|e| Failure::environment(e.to_string()))?,
        Style::Json => json::report(c).map_err(|e| Failure::environment(e.to_string()))?,
    })
}

/// Widths, labels and rule for stars.
fn table_options(args: &Args) -> TableOptions {
    let layout = match args.layout {
        None | Some(Layout::Y2018) => TableOptions::default(),
        Some(Layout::Y2026) => TableOptions::y2026(),
    };
    let rule = args.star.map_or(layout.rule, StarRule::from);
    TableOptions { rule, ..layout }
}
