//! `numalab list`: names and titles of the catalog, of roles and of tunables, a line each.

use crate::context::Context;
use crate::failure::{Done, Failure};
use crate::service::entries::{entries, word, Entry, Kind};
use crate::terminal;
use numalab_model::spec::nearest;

/// Arguments of `list`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// What to list [default: everything]
    kind: Option<Kind>,
    /// List only entries that have every word of this text in their name, title or other names, in upper or lower case
    #[arg(long, value_name = "TEXT")]
    search: Option<String>,
    /// Print as JSON (docs/reference/json.md)
    #[arg(long)]
    json: bool,
}

/// Prints names and titles.
///
/// # Errors
/// An invalid file of the catalog; a search that finds nothing.
pub fn run(context: &Context, args: &Args) -> Result<Done, Failure> {
    let kinds: &[Kind] = args.kind.as_slice();
    let kinds = if kinds.is_empty() { <Kind as clap::ValueEnum>::value_variants() } else { kinds };
    let all = kinds.iter().map(|kind| Ok((word(*kind), entries(context, *kind)?))).collect::<Result<Vec<_>, Failure>>();
    let mut all: Vec<(String, Vec<Entry>)> = all?;
    if let Some(text) = &args.search {
        all = found(all, text)?;
    }
    match (&args.kind, all.as_slice()) {
        (Some(_), [(_, entries)]) if args.json => Done::json(entries),
        (Some(_), [(_, entries)]) => Ok(Done::text(lines(entries, 0, args.search.as_deref()))),
        _ if args.json => {
            let map: serde_json::Map<_, _> = all.iter().map(|(kind, e)| (kind.clone(), serde_json::json!(e))).collect();
            Done::json(&map)
        }
        _ => {
            let of = |(kind, entries): &(String, Vec<Entry>)| {
                format!("{}\n{}", terminal::strong(kind), lines(entries, 2, args.search.as_deref()))
            };
            Ok(Done::text(all.iter().map(of).collect::<Vec<_>>().join("\n")))
        }
    }
}

/// The entries that a search finds, without kinds of which it finds none.
///
/// # Errors
/// There are none. The message has the nearest name, or word of a name.
fn found(all: Vec<(String, Vec<Entry>)>, text: &str) -> Result<Vec<(String, Vec<Entry>)>, Failure> {
    let wanted = text.to_lowercase();
    let words: Vec<&str> = wanted.split_whitespace().collect();
    let has = |e: &Entry| {
        let own = format!("{}\n{}\n{}", e.name, e.title, e.aliases.join("\n")).to_lowercase();
        words.iter().all(|word| own.contains(word))
    };
    let names: Vec<String> = all.iter().flat_map(|(_, list)| list.iter().flat_map(words_of)).collect();
    let kinds: Vec<String> = all.iter().map(|(kind, _)| kind.clone()).collect();
    let some = |(kind, list): (String, Vec<Entry>)| (kind, list.into_iter().filter(&has).collect::<Vec<_>>());
    let hits: Vec<_> = all.into_iter().map(some).filter(|(_, list)| !list.is_empty()).collect();
    if words.is_empty() {
        return Err(Failure::usage("--search: no word; expected a part of a name or a title, such as epyc"));
    }
    if hits.is_empty() {
        let near = nearest(&wanted, names.iter().map(String::as_str));
        let near = near.map(|n| format!("; did you mean `{n}`?")).unwrap_or_default();
        let expected = format!("words of a name or a title (`numalab list{}` has all)", of_kinds(&kinds));
        return Err(Failure::usage(format!("--search: nothing has `{}`; expected {expected}{near}", text.trim())));
    }
    Ok(hits)
}

/// What a command has to name for these kinds: the only one, or nothing for all.
fn of_kinds(kinds: &[String]) -> String {
    match kinds {
        [kind] => format!(" {kind}"),
        _ => String::new(),
    }
}

/// The words by which an entry is found, in lower case: its name, and those of its title and other names.
fn words_of(e: &Entry) -> Vec<String> {
    let text = format!("{} {}", e.title, e.aliases.join(" ")).to_lowercase();
    let parts = text.split(|c: char| !c.is_alphanumeric() && c != '-').filter(|w| w.len() > 2).map(str::to_string);
    std::iter::once(e.name.to_lowercase()).chain(parts).collect()
}

/// Names and titles, a line each. Of a search, other names are those that it found.
fn lines(entries: &[Entry], indent: usize, search: Option<&str>) -> String {
    let words: Vec<String> = search.iter().flat_map(|s| s.split_whitespace()).map(str::to_lowercase).collect();
    let title = |e: &Entry| {
        let hit = |a: &&String| words.is_empty() || words.iter().any(|w| a.to_lowercase().contains(w));
        let aliases: Vec<&str> = e.aliases.iter().filter(hit).map(String::as_str).collect();
        match (aliases.as_slice(), words.is_empty()) {
            ([], _) => e.title.clone(),
            (some, true) => format!("{} (also: {})", e.title, some.join(", ")),
            // A line that is cut must show what was found.
            (some, false) => format!("({}) {}", some.join(", "), e.title),
        }
    };
    let rows: Vec<(String, String)> = entries.iter().map(|e| (e.name.clone(), title(e))).collect();
    terminal::lines(&rows, indent, terminal::width())
}
