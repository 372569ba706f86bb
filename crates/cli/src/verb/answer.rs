//! The answer of a comparison, as `run` and `compare` print it: about five lines, with the place of the page.

use crate::failure::is_quiet;
use crate::terminal;
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
