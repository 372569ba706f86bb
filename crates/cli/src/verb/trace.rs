//! `numalab trace`: the events of a run as a Perfetto trace.

use crate::failure::{Done, Failure};
use crate::logs::{self, EVENTS};
use crate::output_file::{self, Target};
use crate::records::{self, Pick};
use numalab_model::record::events::Events;
use numalab_report::trace::{self, TraceError};
use serde_json::json;
use std::io::BufWriter;
use std::path::PathBuf;

/// Arguments of `trace`.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    run: Pick,
    /// File to write, or - for standard output. It can be opened at ui.perfetto.dev, which processes it in the browser
    #[arg(long, value_name = "FILE")]
    out: PathBuf,
    /// Print file name and sizes as JSON (docs/reference/json.md)
    #[arg(long)]
    json: bool,
}

/// Writes the trace of a run that was made with `--trace`.
///
/// # Errors
/// No such run, no event log beside its record, a damaged log, or a file that cannot be written.
pub fn run(args: &Args) -> Result<Done, Failure> {
    output_file::refuse_both_on_stdout(&args.out, args.json)?;
    let record = records::find(&args.run)?;
    logs::refuse_unlogged(&record)?;
    logs::note_settled(&record);
    let log = logs::path_of(&record.path, EVENTS);
    if !log.exists() {
        return Err(logs::absent(&record.path, "event log", "--trace"));
    }
    let mut events = Events::open(&log)?;
    let target = Target::new(&args.out, &trace::begins)?;
    let open = target.open()?;
    let mut to = BufWriter::with_capacity(1 << 20, open.file());
    let written = trace::write(&mut events, &record.outcome.series, &mut to);
    drop(to);
    if matches!(&written, Err(TraceError::Write(e)) if target.is_unread(e)) {
        return Ok(Done::text(String::new()));
    }
    let written = written.map_err(|e| match e {
        TraceError::Log(e) => Failure::from(e),
        TraceError::Write(e) => target.refused(&e),
    })?;
    target.keep(open)?;
    if args.json {
        let file = args.out.display().to_string();
        let form = json!({"file": file, "events": written.events, "packets": written.packets, "bytes": written.bytes});
        return Done::json(&form);
    }
    let text = format!(
        "trace: {} ({} events, {:.1} MB); open it at ui.perfetto.dev\n",
        args.out.display(),
        written.events,
        written.bytes as f64 / 1e6
    );
    Ok(Done::text(output_file::text_beside(&args.out, text)))
}
