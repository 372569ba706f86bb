//! `numalab report`: the records of an experiment as one self-contained page.

use crate::context::Context;
use crate::failure::{note, Done, Failure};
use crate::options::Star;
use crate::output_file;
use crate::records::{self, Series};
use crate::service::page::page;
use numalab_accesses::record;
use numalab_model::record::Store;
use serde_json::json;
use std::path::{Path, PathBuf};

/// Arguments of `report`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Directory of the experiment, as `numalab run` wrote it, or a record of accesses
    dir: PathBuf,
    /// File to write, or - for standard output [default: DIR/report.html]
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Kernel that the others are compared with [default: the experiment's baseline]
    #[arg(long, value_name = "K")]
    baseline: Option<String>,
    /// Rule by which a cell gets a star (docs/reference/reports.md)
    #[arg(long, value_name = "RULE", default_value = "b")]
    star: Star,
    /// TOML file of a machine that is not in the catalog, so that the page can draw it. May be repeated
    #[arg(long, value_name = "FILE")]
    machine: Vec<String>,
    /// Print file name, size and number of runs as JSON (docs/reference/json.md)
    #[arg(long)]
    json: bool,
}

/// Writes the page. A run without a record and an incomplete run are findings.
///
/// # Errors
/// The directory has no experiment; an unknown baseline; a damaged record; a file that cannot be written.
pub fn run(context: &Context, args: &Args) -> Result<Done, Failure> {
    let out = args.out.clone().unwrap_or_else(|| args.dir.join("report.html"));
    output_file::refuse_both_on_stdout(&out, args.json)?;
    if record::is_record(&args.dir) {
        return of_accesses(args, &out);
    }
    let store = Store::open(&args.dir)?;
    let loaded = records::load(context, &store, args.baseline.as_deref(), Series::Keep)?;
    loaded.remarks().iter().for_each(|r| note(r));
    let page = page(context, &store, &loaded, args.star.into(), &args.machine)?;
    output_file::write(&out, &page)?;
    let exit = loaded.exit();
    let text = if args.json {
        let runs = loaded.runs.len();
        Done::json(
            &json!({"file": out.display().to_string(), "bytes": page.len(), "runs": runs, "missing": loaded.missing}),
        )?
        .text
    } else {
        let text = format!("report: {} ({} runs, {} kB)\n", out.display(), loaded.runs.len(), page.len() / 1000);
        output_file::text_beside(&out, text)
    };
    Ok(Done { text, exit })
}

/// Writes the page of a record of accesses.
fn of_accesses(args: &Args, out: &Path) -> Result<Done, Failure> {
    let given = [("--baseline", args.baseline.is_some()), ("--machine", !args.machine.is_empty())];
    if let Some((option, _)) = given.iter().find(|g| g.1) {
        let what = format!("{option}: {} is a record of accesses, which has no kernels", args.dir.display());
        return Err(Failure::usage(format!("{what}; expected the directory of an experiment, or no {option}")));
    }
    let record = record::read(&args.dir).map_err(|e| Failure::usage(e.to_string()))?;
    let page = numalab_accesses::page::html(&record);
    output_file::write(out, &page)?;
    let shown = record.images.len();
    if args.json {
        return Done::json(
            &json!({"file": out.display().to_string(), "bytes": page.len(), "runs": shown, "missing": 0}),
        );
    }
    let text = format!("report: {} ({shown} program images, {} kB)\n", out.display(), page.len() / 1000);
    Ok(Done::text(output_file::text_beside(out, text)))
}
