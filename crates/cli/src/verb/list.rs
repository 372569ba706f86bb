//! `numalab list`: names and titles of the catalog, of roles and of tunables.

use crate::context::Context;
use crate::failure::{Done, Failure};
use crate::service::entries::{entries, word, Entry, Kind};
use crate::terminal;

/// Arguments of `list`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// What to list [default: everything]
    kind: Option<Kind>,
    /// Print as JSON (docs/reference/json.md)
    #[arg(long)]
    json: bool,
}

/// Prints names and titles.
///
/// # Errors
/// An invalid file of the catalog.
pub fn run(context: &Context, args: &Args) -> Result<Done, Failure> {
    if let Some(kind) = args.kind {
        let entries = entries(context, kind)?;
        return if args.json { Done::json(&entries) } else { Ok(Done::text(lines(&entries, 0))) };
    }
    let all =
        <Kind as clap::ValueEnum>::value_variants().iter().map(|kind| Ok((word(*kind), entries(context, *kind)?)));
    let all = all.collect::<Result<Vec<_>, Failure>>()?;
    if args.json {
        let map: serde_json::Map<_, _> = all.iter().map(|(kind, e)| (kind.clone(), serde_json::json!(e))).collect();
        return Done::json(&map);
    }
    let part = |(kind, entries): &(String, Vec<Entry>)| format!("{}\n{}", terminal::strong(kind), lines(entries, 2));
    let parts: Vec<String> = all.iter().map(part).collect();
    Ok(Done::text(parts.join("\n")))
}

/// A table of names and titles that fits the terminal.
fn lines(entries: &[Entry], indent: usize) -> String {
    let title = |e: &Entry| match e.aliases.as_slice() {
        [] => e.title.clone(),
        aliases => format!("{} (also: {})", e.title, aliases.join(", ")),
    };
    let rows: Vec<Vec<String>> = entries.iter().map(|e| vec![terminal::name(&e.name), title(e)]).collect();
    terminal::table(&rows, indent, terminal::width())
}
