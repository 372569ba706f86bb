//! Entries of the catalog in full, as text and as JSON.

use crate::context::{named, Context};
use crate::failure::{Done, Failure};
use crate::service::entries::{entries, Kind};
use crate::sources;
use crate::terminal;
use numalab_model::access::Histogram;
use numalab_model::catalog::Kind as Folder;
use numalab_model::experiment::{Column, Named, Param};
use numalab_model::kernel::{Implementation, Kernel, RoleInfo, Setting, TunableInfo};
use numalab_model::spec::{SpecError, Spot};
use numalab_model::workload::WorkloadSpec;
use numalab_model::{experiment, machine, published};
use serde_json::{json, Value};
use std::fmt::Write as _;

/// Prints the entries with these names, or all entries of the kind without a name. As JSON, one name gives an object,
/// and everything else a list.
///
/// # Errors
/// An unknown name or an invalid file.
pub fn show(context: &Context, kind: Kind, names: &[String], as_json: bool) -> Result<Done, Failure> {
    let all: Vec<String> = match names {
        [] => entries(context, kind)?.into_iter().map(|e| e.name).collect(),
        some => some.iter().flat_map(|name| of_group(context, kind, name)).collect(),
    };
    let alone = names.len() == 1 && all.len() == 1;
    let all: Vec<_> = all.iter().map(|name| (kind, named("show", name))).collect();
    print(context, &all, as_json, alone)
}

/// The tunables of a group (`llc_balancing`), or the name as it is.
fn of_group(context: &Context, kind: Kind, name: &str) -> Vec<String> {
    let of = |t: &&TunableInfo| t.name.split_once('.').is_some_and(|(group, _)| group == name);
    let group = context.vocabulary.tunables.iter().filter(|_| kind == Kind::Tunables).filter(of);
    let names: Vec<String> = group.map(|t| t.name.clone()).collect();
    if names.is_empty() {
        return vec![name.to_string()];
    }
    names
}

/// Prints entries. As JSON they are a list of objects, or the only object if `alone` is set.
///
/// # Errors
/// An unknown name or an invalid file.
pub fn print(context: &Context, what: &[(Kind, Spot<String>)], as_json: bool, alone: bool) -> Result<Done, Failure> {
    let shown = what.iter().map(|(kind, name)| entry(context, *kind, name)).collect::<Result<Vec<_>, _>>()?;
    match (as_json, shown.as_slice()) {
        (true, [(_, value)]) if alone => Done::json(value),
        (true, _) => Done::json(&shown.iter().map(|s| &s.1).collect::<Vec<_>>()),
        (false, _) => {
            let text = shown.iter().map(|s| s.0.as_str()).collect::<Vec<_>>().join("\n");
            Ok(Done::text(terminal::fit(&text, terminal::width())))
        }
    }
}

/// An entry as text and as JSON.
///
/// # Errors
/// An unknown name or an invalid file.
pub fn entry(context: &Context, kind: Kind, name: &Spot<String>) -> Result<(String, Value), Failure> {
    Ok(match kind {
        Kind::Machines => {
            let m = sources::machine(context, name)?;
            (machine::show(&m, terminal::width()), machine::summary(&m))
        }
        Kind::Kernels => kernel(&sources::kernels(context, std::slice::from_ref(name), &[])?[0]),
        Kind::Workloads => workload(&sources::workload(context, name)?),
        Kind::Experiments => experiment_text(context, name)?,
        Kind::Published => published_text(context, name)?,
        Kind::Roles => role(find(&context.vocabulary.roles, name, "role", |r| r.name)?),
        Kind::Tunables => tunable(find(&context.vocabulary.tunables, name, "tunable", |t| &t.name)?),
    })
}

/// The role or tunable with a name.
fn find<'a, T>(list: &'a [T], name: &Spot<String>, noun: &str, key: fn(&T) -> &str) -> Result<&'a T, SpecError> {
    list.iter().find(|t| key(t) == name.value).ok_or_else(|| {
        let expected = format!("a {noun} (`numalab list {noun}s`)");
        name.error(format!("unknown {noun} `{}`", name.value), expected).near(&name.value, list.iter().map(key))
    })
}

/// Lines of two columns, aligned; the second is wrapped to the terminal.
pub fn aligned(rows: &[(String, String)]) -> String {
    let rows: Vec<Vec<String>> = rows.iter().map(|(left, right)| vec![left.clone(), right.clone()]).collect();
    terminal::table(&rows, 2, terminal::width())
}

fn kernel(k: &Kernel) -> (String, Value) {
    let mut text = format!("{}: {}\n", k.name, k.title);
    if !k.about.is_empty() {
        let _ = writeln!(text, "{}", k.about);
    }
    let since = if k.since.is_empty() { String::new() } else { format!("since {}; ", k.since) };
    let _ = writeln!(text, "{since}composed from {}", chain(&k.chain));
    if let Some(image) = &k.image {
        let _ = writeln!(text, "image {image} (--backend vm)");
    }
    for w in &k.warnings {
        let _ = writeln!(text, "note: {w}");
    }
    let roles: Vec<_> =
        k.roles.iter().map(|r| (r.role.clone(), format!("{} (from {})", r.implementation, r.origin))).collect();
    let tunables: Vec<_> = k
        .tunables
        .iter()
        .map(|t| {
            (t.name.clone(), format!("{} {} (from {}) {}", t.value, t.unit, t.origin, t.kernel_name).replace("  ", " "))
        })
        .collect();
    let _ = write!(text, "\nroles\n{}\ntunables\n{}", aligned(&roles), aligned(&tunables));
    let value = json!({
        "name": k.name, "title": k.title, "about": k.about, "since": k.since, "alias_of": k.alias_of, "image": k.image,
        "chain": k.chain, "roles": k.roles, "tunables": k.tunables, "warnings": k.warnings,
    });
    (text, value)
}

/// Names from a kernel down to the first release; of a long row of releases only the ends.
fn chain(names: &[String]) -> String {
    match names {
        [first @ .., last] if first.len() > 5 => format!("{} <- … <- {last}", first[..4].join(" <- ")),
        all => all.join(" <- "),
    }
}

fn workload(w: &WorkloadSpec) -> (String, Value) {
    let mut text = format!("{}: {}\n", w.name(), w.title());
    for part in [w.about(), w.source()] {
        if !part.is_empty() {
            let _ = writeln!(text, "{}", part.trim());
        }
    }
    if !w.aliases().is_empty() {
        let _ = writeln!(text, "also: {}", w.aliases().join(", "));
    }
    let params: Vec<_> =
        w.params().iter().map(|p| (format!("{} = {}", p.name, p.default_text()), p.about.clone())).collect();
    if !params.is_empty() {
        let _ = write!(text, "\nparameters (--param name=expression)\n{}", aligned(&params));
    }
    let better = |higher| if higher { "higher" } else { "lower" };
    let scores: Vec<_> =
        w.scores().map(|(n, unit, higher)| (n.to_string(), format!("{unit}, {} is better", better(higher)))).collect();
    if !scores.is_empty() {
        let _ = write!(text, "\nscores beside elapsed, user and system time\n{}", aligned(&scores));
    }
    let params =
        |p: &numalab_model::workload::ParamSpec| json!({"name": p.name, "default": p.default_text(), "about": p.about});
    let histograms = w.histograms_file().map(|file| {
        let visits: Vec<_> = (w.histograms().iter().enumerate())
            .map(|(n, h)| (n.to_string(), format!("{} lines in {} parts, {}", h.total(), h.parts(), hottest(h))))
            .collect();
        let _ = write!(text, "\nhistograms of {} (pattern `recorded`), by visit\n{}", file.value, aligned(&visits));
        let one = |h: &Histogram| json!({"parts": h.parts(), "lines": h.total(), "hottest_tenth": h.hottest(0.1)});
        json!({"file": file.value, "visits": w.histograms().iter().map(one).collect::<Vec<_>>()})
    });
    let mut value = json!({
        "name": w.name(), "title": w.title(), "aliases": w.aliases(), "about": w.about(), "source": w.source(),
        "params": w.params().iter().map(params).collect::<Vec<_>>(),
        "scores": w.scores().map(|(n, u, h)| json!({"name": n, "unit": u, "better": better(h)})).collect::<Vec<_>>(),
    });
    if let Some(histograms) = histograms {
        value["histograms"] = histograms;
    }
    (text, value)
}

/// How uneven a histogram is, in words.
fn hottest(h: &Histogram) -> String {
    format!("the hottest tenth has {:.0} %", h.hottest(0.1) * 100.0)
}

fn experiment_text(context: &Context, name: &Spot<String>) -> Result<(String, Value), Failure> {
    let file = context.catalog.find(Folder::Experiment, name)?;
    let (_, e) = experiment::parse(&file.label, &file.text)?;
    let list = |spots: &[Spot<String>]| spots.iter().map(|s| s.value.clone()).collect::<Vec<_>>();
    let (machines, kernels, workloads) = (list(&e.machines), list(&e.kernels), list(&e.workloads));
    let baseline = e.baseline.as_ref().or_else(|| e.column_names().next()).map_or("", |b| b.value.as_str());
    let mut rows = vec![
        ("machines".to_string(), machines.join(", ")),
        ("kernels".to_string(), kernels.join(", ")),
        ("baseline".to_string(), baseline.to_string()),
        ("workloads".to_string(), workloads.join(", ")),
        ("iterations".to_string(), e.iterations.to_string()),
        ("seed".to_string(), e.seed.to_string()),
    ];
    rows.retain(|(_, value)| !value.is_empty());
    rows.extend(e.axes.columns.iter().map(|c| (format!("column {}", c.name.value), column_text(c))));
    rows.extend(e.axes.workloads.iter().map(|w| (format!("workload {}", w.name.value), format!("is {}", w.of.value))));
    rows.extend(e.sets.iter().map(|s| (format!("set {}", s.name.value), s.value.clone())));
    let scoped = e.axes.sets.iter().flat_map(|(of, sets)| sets.iter().map(move |s| (of, s)));
    rows.extend(scoped.map(|(of, s)| (format!("set {} of {}", s.name.value, of.value), s.value.clone())));
    rows.extend(e.params.iter().map(|p| {
        let of = p.workload.as_ref().map(|w| format!("{w}.")).unwrap_or_default();
        (format!("param {of}{}", p.setting.name.value), p.setting.value.clone())
    }));
    let about = if e.about.is_empty() { String::new() } else { format!("{}\n", e.about) };
    let text = format!("{}: {}\n{about}\n{}", e.name, e.title, aligned(&rows));
    let set = |s: &Setting| json!({"name": s.name.value, "value": s.value});
    let column = |c: &Column| {
        json!({"name": c.name.value, "kernel": c.kernel.value, "numactl": c.numactl.as_ref().map(|n| n.text()),
            "instances": c.instances.as_ref().map(|i| i.text()),
            "set": c.sets.iter().map(set).collect::<Vec<_>>(), "params": c.params.iter().map(set).collect::<Vec<_>>()})
    };
    let named = |n: &Named| json!({"name": n.name.value, "of": n.of.value});
    let part = |(of, sets): &(Spot<String>, Vec<Setting>)| json!({"of": of.value, "set": sets.iter().map(set).collect::<Vec<_>>()});
    let param = |p: &Param| json!({"workload": p.workload, "name": p.setting.name.value, "value": p.setting.value});
    let value = json!({
        "name": e.name, "title": e.title, "about": e.about, "machines": machines, "kernels": kernels,
        "baseline": baseline, "workloads": workloads, "iterations": e.iterations, "seed": e.seed,
        "set": e.sets.iter().map(set).collect::<Vec<_>>(), "params": e.params.iter().map(param).collect::<Vec<_>>(),
        "columns": e.axes.columns.iter().map(column).collect::<Vec<_>>(),
        "named_workloads": e.axes.workloads.iter().map(named).collect::<Vec<_>>(),
        "set_of": e.axes.sets.iter().map(part).collect::<Vec<_>>(),
    });
    Ok((text, value))
}

/// A column in words: its kernel, how the workload is started, and what is set.
fn column_text(c: &Column) -> String {
    let start = c.numactl.iter().map(|n| format!("numactl {}", n.text()));
    let start = start.chain(c.instances.iter().map(|i| format!("instances={}", i.text())));
    let sets = c.sets.iter().map(|s| format!("{}={}", s.name.value, s.value));
    let params = c.params.iter().map(|s| format!("param {}={}", s.name.value, s.value));
    std::iter::once(c.kernel.value.clone()).chain(start).chain(sets).chain(params).collect::<Vec<_>>().join(", ")
}

fn published_text(context: &Context, name: &Spot<String>) -> Result<(String, Value), Failure> {
    let file = context.catalog.find(Folder::Published, name)?;
    let p = published::parse(&file.label, &file.text)?;
    file.check_name(&p.name)?;
    let mut text = format!("{}: {}\n{}\n{}\n", p.name.value, p.title, p.source, p.about);
    for b in &p.blocks {
        let _ = write!(
            text,
            "\n{} ({})\n",
            b.group,
            p.columns_of(b).0.iter().map(|c| c.name.as_str()).collect::<Vec<_>>().join(" | ")
        );
        if let Err(reason) = &b.run {
            let _ = writeln!(text, "not simulated: {reason}");
        }
        let values = |v: &[f64]| v.iter().map(f64::to_string).collect::<Vec<_>>().join(" | ");
        let note = |r: &published::Row| if r.formatter_only.is_some() { "  (formatter tests only)" } else { "" };
        let rows: Vec<_> =
            b.rows.iter().map(|r| (r.id.clone(), format!("{} {}{}", values(&r.values), r.unit, note(r)))).collect();
        text.push_str(&aligned(&rows));
    }
    if !p.repeats.is_empty() {
        let about = |r: &published::Repeat| if r.about.is_empty() { String::new() } else { format!("; {}", r.about) };
        let rows: Vec<_> = p
            .repeats
            .iter()
            .map(|r| (r.name.clone(), format!("{} rows; {}{}", r.rows.len(), r.source, about(r))))
            .collect();
        let _ = write!(text, "\nmeasured again\n{}", aligned(&rows));
    }
    let row = |r: &published::Row| {
        json!({
            "id": r.id, "metric": r.metric, "unit": r.unit, "values": r.values, "formatter_only": r.formatter_only,
        })
    };
    let column = |c: &published::Column| json!({"name": c.name, "kernel": c.kernel.value});
    let block = |b: &published::Block| {
        let rows: Vec<_> = b.rows.iter().map(row).collect();
        let mut value = json!({"group": b.group, "rows": rows});
        if let Some(own) = &b.columns {
            value["columns"] = own.list.iter().map(column).collect();
            value["baseline"] = own.list[own.baseline].name.clone().into();
        }
        value
    };
    let repeat = |r: &published::Repeat| {
        let columns: Vec<_> = r.columns.iter().map(|&c| &p.columns[c].name).collect();
        let row = |x: &published::RepeatedRow| json!({"group": x.group, "id": x.id, "values": x.values});
        let rows: Vec<_> = r.rows.iter().map(row).collect();
        json!({"name": r.name, "source": r.source, "about": r.about, "columns": columns, "rows": rows})
    };
    let value = json!({
        "name": p.name.value, "title": p.title, "source": p.source, "about": p.about,
        "baseline": p.columns.get(p.baseline).map(|c| &c.name),
        "columns": p.columns.iter().map(column).collect::<Vec<_>>(),
        "blocks": p.blocks.iter().map(block).collect::<Vec<_>>(),
        "repeats": p.repeats.iter().map(repeat).collect::<Vec<_>>(),
    });
    Ok((text, value))
}

fn role(r: &RoleInfo) -> (String, Value) {
    let rows: Vec<_> = r.implementations.iter().map(|i| (i.name.to_string(), i.text())).collect();
    let one = |i: &Implementation| json!({"name": i.name, "releases": i.releases, "doc": i.doc});
    let value =
        json!({"name": r.name, "doc": r.doc, "implementations": r.implementations.iter().map(one).collect::<Vec<_>>()});
    (format!("{}: {}\n{}", r.name, r.doc, aligned(&rows)), value)
}

fn tunable(t: &TunableInfo) -> (String, Value) {
    let unit = if t.unit.is_empty() { String::new() } else { format!(" {}", t.unit) };
    let mut rows = vec![
        ("default".to_string(), format!("{}{unit}", t.default)),
        ("legal".to_string(), t.legal.clone()),
        ("kernel name".to_string(), t.kernel_name.to_string()),
    ];
    let when: Vec<String> = t.read_when.iter().map(|c| format!("{} is {}", c.subject, c.needs)).collect();
    if !when.is_empty() {
        rows.push(("read when".to_string(), when.join(" and ")));
    }
    let value = json!({
        "name": t.name, "doc": t.doc, "unit": t.unit, "default": t.default, "legal": t.legal,
        "kernel_name": t.kernel_name, "read_when": when,
    });
    (format!("{}: {}\n{}", t.name, t.doc, aligned(&rows)), value)
}
