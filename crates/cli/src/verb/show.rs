//! `numalab show`: entries of the catalog in full.

use crate::context::{named, Context};
use crate::failure::{Done, Failure};
use crate::service::entries::{entries, word, Kind};
use crate::service::show::{entry, print, show};
use numalab_model::catalog::{self, is_path, Kind as Folder};
use numalab_model::counters;
use numalab_model::spec::{Doc, SpecError, Spot};
use std::fmt::Write as _;
use std::path::Path;

/// Arguments of `show`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Kind of entry (machines, kernels, workloads, experiments, published, roles or tunables); or the name of an
    /// entry, the path of a file, or a machine as NODESxLLCSxCORESxTHREADS
    what: String,
    /// Names of entries, or of a group of tunables [default: all of the kind]
    names: Vec<String>,
    /// Print as JSON (docs/reference/json.md)
    #[arg(long)]
    json: bool,
}

/// Prints the entries that the arguments name.
///
/// # Errors
/// An unknown name or an invalid file.
pub fn run(context: &Context, args: &Args) -> Result<Done, Failure> {
    if let Ok(kind) = <Kind as clap::ValueEnum>::from_str(&args.what, true) {
        return show(context, kind, &args.names, args.json);
    }
    let mut found = Vec::new();
    let mut heads = String::new();
    for name in std::iter::once(&args.what).chain(&args.names) {
        let kinds = of_any_kind(context, name)?;
        if is_path(name) {
            let nouns: Vec<_> = OF_FILES.iter().filter(|(kind, _)| kinds.contains(kind)).map(|f| f.1).collect();
            let _ = writeln!(heads, "{name} is {}.", nouns.join(" and "));
        }
        found.extend(kinds.into_iter().map(|kind| (kind, named("show", name))));
    }
    let shown = print(context, &found, args.json, found.len() == 1)?;
    Ok(if args.json { shown } else { Done::text(heads + &shown.text) })
}

/// Kinds that a file can have, with their nouns.
const OF_FILES: [(Kind, &str); 5] = [
    (Kind::Machines, "a machine"),
    (Kind::Kernels, "a kernel"),
    (Kind::Workloads, "a workload"),
    (Kind::Experiments, "an experiment"),
    (Kind::Published, "a published table"),
];

/// The kinds of a name that is not in the catalog: those as which a file can be read, a machine for a shorthand, a
/// published table for an alias.
fn beside_catalog(context: &Context, name: &str) -> Vec<Kind> {
    let can = |kind: &Kind| entry(context, *kind, &named("show", name)).is_ok();
    match is_path(name) {
        true => OF_FILES.into_iter().map(|f| f.0).filter(can).collect(),
        false => [Kind::Machines, Kind::Published].into_iter().filter(can).collect(),
    }
}

/// The kinds that have an entry of this name.
fn of_any_kind(context: &Context, name: &str) -> Result<Vec<Kind>, Failure> {
    let mut near = Vec::new();
    let mut kinds = Vec::new();
    for kind in <Kind as clap::ValueEnum>::value_variants() {
        let names = entries(context, *kind)?.into_iter().map(|e| e.name);
        let before = near.len();
        near.extend(names);
        if near[before..].iter().any(|n| n == name) {
            kinds.push(*kind);
        }
        near.push(word(*kind));
    }
    if kinds.is_empty() {
        kinds = beside_catalog(context, name);
    }
    match kinds.is_empty() {
        true => Err(no_entry(context, name, &near)),
        false => Ok(kinds),
    }
}

/// The failure for a name without an entry: what is wrong with the file that it names, or the nearest name.
fn no_entry(context: &Context, name: &str, near: &[String]) -> Failure {
    let place = named("show", name);
    let there = Path::new(name).exists();
    if there && is_path(name) {
        return unreadable(context, &place);
    }
    let what = format!("there is no `{name}`");
    if there {
        return place.error(what, format!("a path that ends in .toml or has a `/` (./{name})")).into();
    }
    if counters::find(name).is_some() {
        let expected = format!("`numalab counters {name}`, which says what it counts");
        return place.error(format!("`{name}` is a counter"), expected).into();
    }
    let error = place.error(what, "a kind of entry or the name of one (`numalab list`)");
    let mut error = error.near(name, near.iter().map(String::as_str));
    // A word for something says more than a spelling that is near.
    let by_word = Folder::ALL.into_iter().find_map(|kind| context.catalog.by_word(kind, name));
    let suggested = || Folder::ALL.into_iter().find_map(|kind| context.catalog.suggest(kind, name));
    error.nearest = by_word.or(error.nearest).or_else(suggested);
    error.into()
}

/// Keys of the top level that only files of one kind have.
const OWN_KEYS: [(Kind, &[&str]); 5] = [
    (Kind::Machines, &["class", "layout", "node", "llc", "cores", "memory", "cache", "clock", "distance", "latency"]),
    (Kind::Kernels, &["roles", "tunables", "alias_of", "since", "image"]),
    (Kind::Workloads, &["process", "require", "score", "channel", "barrier", "policy", "limit"]),
    (Kind::Experiments, &["machines", "kernels", "workloads", "iterations", "set"]),
    (Kind::Published, &["blocks", "columns", "expect"]),
];

/// The failure for a file that cannot be read as any kind: a syntax error, or the error of the kind that it looks like.
fn unreadable(context: &Context, place: &Spot<String>) -> Failure {
    // Read as a machine, which has the largest limit of size; the kind is removed from the message below.
    let doc = catalog::read(Folder::Machine, Path::new(&place.value)).and_then(|f| Doc::parse(&f.label, &f.text));
    let keys: Vec<String> = match &doc {
        Ok(doc) => doc.root().keys().into_iter().map(|k| k.value).collect(),
        Err(e) => return SpecError { expected: e.expected.replace(" of the machine", ""), ..e.clone() }.into(),
    };
    let own = |list: &[&str]| keys.iter().filter(|k| list.contains(&k.as_str())).count();
    // Among kinds with equally many keys, any error is helpful. Without such a key, none is.
    let (kind, count) =
        OWN_KEYS.map(|(kind, list)| (kind, own(list))).into_iter().max_by_key(|k| k.1).unwrap_or((Kind::Machines, 0));
    if let (1.., Err(failure)) = (count, entry(context, kind, place)) {
        return failure;
    }
    let expected = format!("the kind before the file (`numalab show workloads {}`)", place.value);
    place.error("cannot tell what kind of file it is", expected).into()
}
