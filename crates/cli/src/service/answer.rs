//! The answer of a comparison, as `run` and `compare` print it: about five lines, with the place of the page.

use crate::context::Context;
use crate::failure::{finding, is_quiet, note, Done, Exit, Failure};
use crate::records;
use crate::service::page::write_page;
use crate::terminal;
use numalab_model::record::Store;
use numalab_report::data::Comparison;
use numalab_report::tables::TableOptions;
use numalab_report::text::{answer, assessment, mmtests};
use numalab_report::verdict::decide;
use std::path::Path;

/// Which tables stand below the answer.
#[derive(Clone, Debug, Default)]
pub struct Tables {
    /// All tables, in the layout of mmtests.
    pub full: bool,
    /// The table of statistical tests.
    pub tests: bool,
    /// How the tables of mmtests are built.
    pub table: TableOptions,
}

/// Most runs for which the page is written without being asked for. It holds the time series of every run.
const MAX_PAGE_RUNS: usize = 100;

/// The answer for the records in `dir`, and the tables that were asked for. With `--quiet`, one sentence.
pub fn text(c: &Comparison, dir: &Path, tables: Tables) -> String {
    let decision = decide(c);
    let mut out = if is_quiet() {
        format!("{}\n", decision.answer)
    } else {
        let mut lines = answer::lines(c, &decision);
        lines.push(("Page", page(dir)));
        answer::layout(&lines, terminal::width(), &terminal::strong)
    };
    if tables.full {
        // The answer stands above the tables already.
        let options = mmtests::Options { table: tables.table, summary: false, ..mmtests::Options::default() };
        out.push_str(&format!("\n{}", mmtests::report(c, &options)));
    }
    if tables.tests {
        out.push_str(&assessment::table(c));
    }
    out
}

/// The answer of the records in a directory as text, with all tables if `full`. The page is written beside the records.
/// If that fails, a message says so, and the exit code is that of the failure.
///
/// # Errors
/// A damaged record.
pub fn of_records(context: &Context, store: &Store, full: bool) -> Result<Done, Failure> {
    let small = store.file().runs.len() <= MAX_PAGE_RUNS;
    let series = if small { records::Series::Keep } else { records::Series::Drop };
    let loaded = records::load(context, store, None, series)?;
    loaded.incomparable.iter().for_each(|text| note(text));
    let mut exit = Exit::OK;
    if small {
        if let Err(e) = write_page(context, store, &loaded) {
            finding(&format!("numalab: the page was not written: {}", e.message));
            exit = e.exit;
        }
    }
    let tables = Tables { full, ..Tables::default() };
    Ok(Done { text: text(&loaded.comparison, store.dir(), tables), exit })
}

/// Where the page is, or which command writes it; and how to see the tables.
fn page(dir: &Path) -> String {
    let file = dir.join("report.html");
    let shown = dir.display();
    if file.is_file() {
        format!("{} (tables: numalab compare {shown} --full)", file.display())
    } else {
        format!("numalab report {shown} writes it (tables: numalab compare {shown} --full)")
    }
}
