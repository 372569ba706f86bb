//! `numalab explain ladder`: the order in which a huge-page fault tries nodes and page sizes.

use crate::context::{named, Context};
use crate::failure::{Done, Failure};
use crate::sources;
use numalab_base::node_mask::NodeMask;
use numalab_kernel::mm::policy::{all_nodes, MemPolicy, PolicyMode};
use numalab_kernel::mm::thp::{explain_ladder, ladder_text, LadderQuery, Locality, Step, ThpEnabled};
use numalab_kernel::mm::MmConfig;
use numalab_kernel::registry;
use numalab_model::kernel::Setting;
use numalab_model::machine::Machine;
use numalab_model::spec::{SpecError, Spot};
use serde::Serialize;
use std::fmt::Write as _;

/// Arguments of `explain ladder`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Machine: a name of the catalog, a TOML file, NODESxLLCSxCORESxTHREADS, or `host`
    #[arg(long)]
    machine: String,
    /// Rule of huge-page locality: an implementation of the role `thp_locality` [default: the kernel's]
    #[arg(long, value_name = "RULE")]
    policy: Option<String>,
    /// Kernel with the other settings: a name of the catalog, or a TOML file
    #[arg(long, default_value = "6.12")]
    kernel: String,
    /// Override a tunable (group.key=value) or a role (role=implementation) of the kernel. May be repeated
    #[arg(long, value_name = "NAME=VALUE")]
    set: Vec<String>,
    /// Node of the faulting CPU
    #[arg(long, default_value_t = 0)]
    node: usize,
    /// Memory policy of the range, such as `default`, `bind:0,1` or `interleave:0-3`
    #[arg(long, value_name = "MODE[:NODES]", default_value = "default")]
    mempolicy: String,
    /// Memory policy of the range's huge pages alone, for --policy mpol_huge
    #[arg(long, value_name = "MODE[:NODES]")]
    huge_mempolicy: Option<String>,
    /// Assume a range without the advice MADV_HUGEPAGE
    #[arg(long)]
    plain: bool,
    /// Print latencies as a guest of the machine sees them, with nested page walks
    #[arg(long)]
    guest: bool,
    /// List for --policy ladder_custom, such as `D0 THP | D1 THP | D0 4k`. Short for --set thp.ladder=LIST
    #[arg(long, value_name = "LIST")]
    ladder: Option<String>,
    /// Print as JSON (docs/reference/json.md)
    #[arg(long)]
    json: bool,
}

/// Prints the ladder.
///
/// # Errors
/// An unknown machine, kernel, rule, policy or node; a list that cannot be parsed.
pub fn run(context: &Context, args: &Args) -> Result<Done, Failure> {
    let name = named("--machine", &args.machine);
    let machine = sources::machine(context, &name)?;
    let cfg = config(context, args)?;
    if machine.nodes.get(args.node).is_none_or(|n| n.cpus.is_empty()) {
        let cpu_nodes: Vec<String> = machine.cpu_nodes().map(|n| n.to_string()).collect();
        let what = format!("no CPU on node {}", args.node);
        return Err(SpecError::plain("--node", what, format!("one of {}", cpu_nodes.join(", "))).into());
    }
    let policy = mempolicy("--mempolicy", &args.mempolicy, &machine)?;
    let own = |text| mempolicy("--huge-mempolicy", text, &machine);
    let huge = args.huge_mempolicy.as_deref().map(own).transpose()?;
    if huge.is_some() && cfg.thp.locality != Locality::MpolHuge {
        let what = "a policy for huge pages that only mpol_huge reads";
        return Err(SpecError::plain("--huge-mempolicy", what, "--policy mpol_huge").into());
    }
    if cfg.thp.locality == Locality::LadderCustom && cfg.thp.ladder.is_none() {
        let what = "no list for ladder_custom";
        return Err(SpecError::plain("--ladder", what, "--ladder \"D0 THP | D0 4k\"").into());
    }
    let query = LadderQuery {
        node: args.node,
        advised: !args.plain,
        policy: &policy,
        huge_policy: huge.as_ref().map(|p| (p, cfg.thp.huge_rules())),
        span: cfg.thp.span,
        guest: args.guest || machine.tlb.nested,
    };
    let steps = explain_ladder(&machine, &cfg, &query);
    let answer = Answer {
        machine: &machine.name,
        kernel: &args.kernel,
        policy: cfg.thp.locality.word(),
        defrag: cfg.thp.defrag.word(),
        mempolicy: &args.mempolicy,
        node: args.node,
        advised: !args.plain,
        guest: query.guest,
        ladder: ladder_text(&steps, false),
        steps: steps.iter().map(Row::of).collect(),
    };
    if args.json {
        return Done::json(&answer);
    }
    Ok(Done::text(answer.text()))
}

/// The memory-management settings that the arguments describe.
fn config(context: &Context, args: &Args) -> Result<MmConfig, Failure> {
    let mut sets = args.set.iter().map(|s| Setting::from_argument("--set", s)).collect::<Result<Vec<_>, _>>()?;
    if let Some(rule) = &args.policy {
        if Locality::parse(rule).is_none() {
            let e = SpecError::plain(
                "--policy",
                format!("no rule `{rule}`"),
                format!("one of {}", Locality::WORDS.join(", ")),
            );
            return Err(e.near(rule, Locality::WORDS.iter().copied()).into());
        }
        sets.push(Setting { name: named("--policy", "thp_locality"), value: rule.clone() });
    }
    if let Some(list) = &args.ladder {
        if list.trim().is_empty() {
            let expected = "a list like \"D0 THP | D0 4k | D1 THP\"";
            return Err(SpecError::plain("--ladder", "the list is empty", expected).into());
        }
        let name = Spot { value: "thp.ladder".to_string(), ..named("--ladder", list) };
        sets.push(Setting { name, value: list.clone() });
    }
    let kernel = sources::kernels(context, &[named("--kernel", &args.kernel)], &sets)?.remove(0);
    let cfg = registry::mm_config(&kernel);
    if cfg.thp.enabled == ThpEnabled::Never {
        let what = "`system.thp` is never, so there are no huge pages";
        return Err(SpecError::plain(&format!("kernel {}", kernel.name), what, "always or madvise").into());
    }
    Ok(cfg)
}

/// Reads a memory policy `MODE[:NODES]` that `option` gave.
fn mempolicy(option: &str, text: &str, machine: &Machine) -> Result<MemPolicy, SpecError> {
    let (word, nodes) = text.split_once(':').unwrap_or((text, ""));
    let Some((_, mode)) = PolicyMode::WORDS.iter().find(|m| m.0 == word) else {
        let names = PolicyMode::WORDS.map(|m| m.0);
        let e = SpecError::plain(option, format!("no mode `{word}`"), format!("one of {}", names.join(", ")));
        return Err(e.near(word, names));
    };
    let wrong = |what: String, expected: &str| SpecError::plain(&format!("{option} {text}"), what, expected);
    let nodes = numbers(nodes).ok_or_else(|| wrong(format!("`{nodes}` is no list of nodes"), "one like 0,2-3"))?;
    let has_memory = |n: &usize| machine.nodes.get(*n).is_some_and(|node| node.memory_bytes > 0);
    if let Some(bad) = nodes.iter().find(|n| !has_memory(n)) {
        let there: Vec<String> = (0..machine.nodes.len()).filter(has_memory).map(|n| n.to_string()).collect();
        let what = format!("node {bad} is not there or has no memory");
        return Err(wrong(what, &format!("some of {}", there.join(", "))));
    }
    // A `NodeMask` would silently drop the second one.
    if let Some(twice) = nodes.iter().enumerate().find(|(i, n)| nodes[..*i].contains(n)) {
        return Err(wrong(format!("node {} is named twice", twice.1), "each node once"));
    }
    match mode {
        PolicyMode::Default | PolicyMode::Local if !nodes.is_empty() => {
            return Err(wrong(format!("`{word}` takes no nodes"), &format!("`{word}` alone, or a mode with nodes")));
        }
        PolicyMode::Preferred if nodes.len() > 1 => {
            let what = format!("`preferred` names {} nodes", nodes.len());
            return Err(wrong(what, "one node, or `preferred_many`"));
        }
        _ => {}
    }
    let some = || format!("{word}:NODES, such as {word}:0");
    MemPolicy::new(*mode, NodeMask::of(nodes), all_nodes()).map_err(|e| wrong(e.to_string(), &some()))
}

/// Reads a list of numbers such as `0,2-3`; `None` if it is malformed or a range holds more than 4096 numbers.
fn numbers(text: &str) -> Option<Vec<usize>> {
    let mut out = Vec::new();
    for part in text.split(',').filter(|p| !p.is_empty()) {
        let (from, to) = part.split_once('-').unwrap_or((part, part));
        let (from, to) = (from.trim().parse::<usize>().ok()?, to.trim().parse::<usize>().ok()?);
        if to < from || to - from >= 4096 {
            return None;
        }
        out.extend(from..=to);
    }
    Some(out)
}

#[derive(Serialize)]
struct Answer<'a> {
    machine: &'a str,
    kernel: &'a str,
    policy: &'a str,
    defrag: &'a str,
    mempolicy: &'a str,
    node: usize,
    advised: bool,
    guest: bool,
    ladder: String,
    steps: Vec<Row>,
}

#[derive(Serialize)]
struct Row {
    first_class: usize,
    last_class: usize,
    page: &'static str,
    how: &'static str,
    nodes: Vec<usize>,
    access_ns: f64,
    ratio: f64,
}

impl Row {
    fn of(s: &Step) -> Self {
        Self {
            first_class: s.first_class,
            last_class: s.last_class,
            page: if s.huge { "THP" } else { "4k" },
            how: s.effort.words(),
            nodes: s.nodes.clone(),
            access_ns: s.ns,
            ratio: s.ratio,
        }
    }
    fn classes(&self) -> String {
        if self.first_class == self.last_class {
            format!("D{} {}", self.first_class, self.page)
        } else {
            format!("D{}-D{} {}", self.first_class, self.last_class, self.page)
        }
    }
}

impl Answer<'_> {
    fn text(&self) -> String {
        let advice = if self.advised { "advised" } else { "plain" };
        let seen = if self.guest { ", seen from a guest" } else { "" };
        let mut out = format!(
            "{} on {} (kernel {}): a fault from node {} in {advice} memory, defrag {}, policy {}{seen}\n{}\n\n",
            self.policy, self.machine, self.kernel, self.node, self.defrag, self.mempolicy, self.ladder
        );
        let _ = writeln!(out, "  {:>2}  {:<10} {:<28} {:>9} {:>9}  nodes", "", "page", "how", "access ns", "vs D0 THP");
        for (i, r) in self.steps.iter().enumerate() {
            let nodes: Vec<String> = r.nodes.iter().map(ToString::to_string).collect();
            let _ = writeln!(
                out,
                "  {:>2}  {:<10} {:<28} {:>9.1} {:>+8.1}%  {}",
                i + 1,
                r.classes(),
                r.how,
                r.access_ns,
                (r.ratio - 1.0) * 100.0,
                nodes.join(" ")
            );
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::failure::Exit;

    fn args(machine: &str, policy: &str) -> Args {
        Args {
            machine: machine.into(),
            policy: (!policy.is_empty()).then(|| policy.into()),
            kernel: "6.12".into(),
            set: Vec::new(),
            node: 0,
            mempolicy: "default".into(),
            huge_mempolicy: None,
            plain: false,
            guest: false,
            ladder: None,
            json: false,
        }
    }

    fn ladder(args: &Args) -> String {
        let text = run(&Context::new(None).unwrap(), args).unwrap().text;
        text.lines().nth(1).unwrap().to_string()
    }

    #[test]
    fn the_orders_of_the_thread() {
        let sorted = ladder(&args("naples-2s", "ladder_sorted"));
        assert_eq!(sorted, "D0 THP | D0 4k | D1 THP | D1 4k | D2 THP | D2 4k");
        assert_eq!(ladder(&args("tr-1950x-guest", "ladder_sorted")), "D0 THP | D1 THP | D0 4k | D1 4k");
        let thisnode = "D0 THP | D0 4k | D1 4k | D2 4k";
        assert_eq!(ladder(&args("naples-2s", "thp_thisnode")), thisnode);
        assert_eq!(ladder(&args("naples-2s", "")), "D0 THP | D1 THP | D2 THP | D0 4k | D1 4k | D2 4k");
        let old = Args { kernel: "4.15".into(), ..args("naples-2s", "") };
        assert_eq!(ladder(&old), thisnode);
        let bound = Args { mempolicy: "bind:0-1".into(), ..args("naples-2s", "") };
        assert_eq!(ladder(&bound), "D0 THP | D1 THP | D0 4k | D1 4k");
        let strict = |set: &str| Args {
            huge_mempolicy: Some("local".into()),
            set: vec!["thp.huge_strict=true".into(), set.into()],
            ..args("naples-2s", "mpol_huge")
        };
        assert_eq!(ladder(&strict("thp.huge_noretry=false")), thisnode);
        let custom = Args { ladder: Some("D1 THP | D0 4k".into()), ..args("naples-2s", "ladder_custom") };
        assert_eq!(ladder(&custom), "D1 THP | D0 4k | D1 4k | D2 4k");
        let guest = Args { kernel: "5.5+ladder-guest".into(), ..args("naples-2s", "") };
        assert_eq!(ladder(&guest), "D0 THP | D1 THP | D0 4k | D2 THP | D1 4k | D2 4k");
    }

    #[test]
    fn wrong_questions_name_what_is_valid() {
        let context = Context::new(None).unwrap();
        let base = || args("naples-2s", "");
        for (args, part) in [
            (args("naples-2s", "thp_thisnod"), "did you mean `thp_thisnode`?"),
            (args("naples-3s", ""), "no machine `naples-3s`"),
            (Args { node: 8, ..base() }, "no CPU on node 8"),
            (Args { mempolicy: "bnd:1".into(), ..base() }, "did you mean `bind`?"),
            (Args { mempolicy: "bind:9".into(), ..base() }, "--mempolicy bind:9: node 9 is not there"),
            (Args { mempolicy: "bind:1-x".into(), ..base() }, "`1-x` is no list of nodes; expected one like 0,2-3"),
            (
                Args { mempolicy: "bind".into(), ..base() },
                "at least one node that the cpuset allows; expected bind:NODES",
            ),
            (Args { mempolicy: "bind:0-200".into(), ..args("200x1x1x1", "") }, "node 200 is not there"),
            (
                Args { huge_mempolicy: Some("bnd:1".into()), ..args("naples-2s", "mpol_huge") },
                "--huge-mempolicy: no mode `bnd`; expected one of default, ",
            ),
            (Args { ladder: Some("D0 THP".into()), ..base() }, "expected `thp_locality` to be ladder_custom"),
            (args("naples-2s", "ladder_custom"), "no list for ladder_custom"),
            (Args { huge_mempolicy: Some("local".into()), ..base() }, "only mpol_huge reads"),
            (Args { ladder: Some("D0 2M".into()), ..args("naples-2s", "ladder_custom") }, "is no rung"),
            (
                Args { set: vec!["system.thp=never".into()], ..base() },
                "`system.thp` is never, so there are no huge pages; expected always",
            ),
        ] {
            let failure = run(&context, &args).unwrap_err();
            assert_eq!(failure.exit, Exit::USAGE);
            assert!(failure.message.contains(part), "{}", failure.message);
        }
    }
}
