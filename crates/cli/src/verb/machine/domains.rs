//! `numalab machine show X --domains`: the scheduling domains of a CPU, as the kernel's debugfs shows them, and the
//! NUMA imbalance that each kernel release allows.

use crate::context::{named, Context};
use crate::failure::{Done, Failure};
use crate::sources;
use numalab_kernel::registry;
use numalab_kernel::sched::domains::{Domain, Domains, Flags};
use numalab_kernel::sched::imbalance::{DomainSizes, Rule};
use numalab_kernel::sched::SchedConfig;
use numalab_model::catalog::Kind;
use numalab_model::kernel::Kernel;
use numalab_model::machine::Machine;
use numalab_model::spec::SpecError;
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// Default kernel, which decides the names and flags of domains.
const DEFAULT_KERNEL: &str = "6.12";

/// What to print.
#[derive(Clone, Debug)]
pub struct Request<'a> {
    /// Machine: catalog name, file or shorthand.
    pub machine: &'a str,
    /// CPU, by the machine's numbering; `None` for the first.
    pub cpu: Option<u32>,
    /// Kernel; `None` for the default.
    pub kernel: Option<&'a str>,
    /// Whether to print JSON.
    pub json: bool,
}

/// An implementation of the role `imbalance`, applied to the domains of the CPU.
#[derive(Clone, Debug, Serialize)]
struct RuleRow {
    /// Name of the implementation.
    implementation: &'static str,
    /// Kernels of the catalog that have it.
    kernels: Vec<String>,
    /// What it allows in every NUMA domain, from the lowest upwards.
    allowed: Vec<Allowed>,
}

/// The imbalance that a rule allows in one NUMA domain.
#[derive(Clone, Debug, Serialize)]
struct Allowed {
    /// Index of the domain, 0 for the lowest.
    domain: usize,
    /// `imb_numa_nr`, for rules that use it.
    imb_numa_nr: Option<u32>,
    /// The rule in words, with its limit in tasks.
    meaning: String,
}

#[derive(Serialize)]
struct DomainJson {
    name: &'static str,
    flags: Vec<String>,
    groups_flags: Vec<String>,
    span: String,
    weight: u32,
    groups: Vec<String>,
    min_interval: u32,
    max_interval: u32,
    busy_factor: u64,
    imbalance_pct: u32,
    cache_nice_tries: u32,
    imb_numa_nr: BTreeMap<&'static str, u32>,
}

#[derive(Serialize)]
struct Json<'a> {
    machine: &'a str,
    kernel: &'a str,
    cpu: u32,
    like: String,
    domains: Vec<DomainJson>,
    rules: Vec<RuleRow>,
}

/// Prints the domains.
///
/// # Errors
/// An unknown machine or kernel, an absent CPU, or distances from which no domains follow.
pub fn run(context: &Context, request: &Request<'_>) -> Result<Done, Failure> {
    let option = named("machine show", request.machine);
    let machine = sources::machine(context, &option)?;
    let kernel = named("--kernel", request.kernel.unwrap_or(DEFAULT_KERNEL));
    let kernel = sources::kernels(context, &[kernel], &[])?.remove(0);
    let config = registry::sched_config(&kernel);
    let build = |config: &SchedConfig| sources::domains(&machine, &option, config).map_err(Failure::from);
    let domains = build(&config)?;
    let cpu = index_of(&machine, request.cpu)?;
    let rules = rules(context, &domains, cpu, |imbalance| build(&SchedConfig { imbalance, ..config }))?;
    if request.json {
        return Done::json(&json(&machine, &kernel, &domains, cpu, rules));
    }
    Ok(Done::text(text(&machine, &kernel, &domains, cpu, &rules)))
}

/// Index of the CPU with the number `cpu`; 0 without a number.
fn index_of(machine: &Machine, cpu: Option<u32>) -> Result<u32, Failure> {
    let Some(cpu) = cpu else { return Ok(0) };
    let found = machine.cpus.iter().position(|c| c.id == cpu);
    found.map(|i| i as u32).ok_or_else(|| {
        let last = machine.cpus.iter().map(|c| c.id).max().unwrap_or(0);
        let what = format!("{} has no CPU {cpu}", machine.name);
        SpecError::plain("--cpu", what, format!("one of its {} CPUs, up to {last}", machine.cpu_count())).into()
    })
}

/// Every implementation of the role `imbalance`: what it allows for this CPU, and which kernels have it.
fn rules(
    context: &Context,
    domains: &Domains,
    cpu: u32,
    build: impl Fn(Rule) -> Result<Domains, Failure>,
) -> Result<Vec<RuleRow>, Failure> {
    let names: Vec<_> = context.catalog.names(Kind::Kernel).map(|n| named("catalog kernel", n)).collect();
    let kernels = sources::kernels(context, &names, &[])?;
    let mut out = Vec::new();
    for rule in Rule::ALL {
        let with_rule = build(*rule)?;
        let numa = domains.tower(cpu).iter().enumerate().filter(|(_, d)| d.flags.has(Flags::NUMA));
        let allowed = numa.map(|(i, d)| allowed(*rule, i, d, domains, with_rule.tower(cpu)[i].imb_numa_nr));
        let users = kernels.iter().filter(|k| k.implementation("imbalance") == Some(rule.word()));
        out.push(RuleRow {
            implementation: rule.word(),
            allowed: allowed.collect(),
            kernels: users.map(|k| k.name.clone()).collect(),
        });
    }
    Ok(out)
}

/// What a rule allows in a domain (kernel-scheduler.md §5.1).
fn allowed(rule: Rule, domain: usize, d: &Domain, domains: &Domains, imb_numa_nr: u32) -> Allowed {
    let own = d.groups.first().map_or(0, |g| domains.group(*g).weight);
    let (weight, imbalance_pct) = (d.weight, d.imbalance_pct);
    let meaning = (rule.parts().in_words)(&DomainSizes { weight, group_weight: own, imbalance_pct, imb_numa_nr });
    let value = rule.parts().threshold.map(|_| imb_numa_nr);
    Allowed { domain, imb_numa_nr: value, meaning }
}

/// CPUs whose domains have the same levels, sizes, flags and thresholds.
fn same_shape(domains: &Domains, cpu: u32) -> Vec<u32> {
    let shape = |c: u32| {
        let of = |d: &Domain| (d.level, d.weight, d.flags, domains.own_group_flags(d), d.groups.len(), d.imb_numa_nr);
        domains.tower(c).iter().map(of).collect::<Vec<_>>()
    };
    let own = shape(cpu);
    (0..domains.cpus() as u32).filter(|c| shape(*c) == own).collect()
}

/// CPUs, given by index, as ranges of the machine's numbers.
fn ranges(machine: &Machine, list: &[u32]) -> String {
    use numalab_base::cpu_set::CpuSet;
    let ids: Vec<u32> = machine.cpus.iter().map(|c| c.id).collect();
    CpuSet::from_iter(ids.len(), list.iter().copied()).list(&ids)
}

fn text(machine: &Machine, kernel: &Kernel, domains: &Domains, cpu: u32, rules: &[RuleRow]) -> String {
    let id = machine.cpus[cpu as usize].id;
    let same = same_shape(domains, cpu);
    let mut out = format!(
        "{}, kernel {}: /sys/kernel/debug/sched/domains/cpu{id} (span, groups and imb_numa_nr are not files there)\n",
        machine.name, kernel.name
    );
    out.push_str(&domains.describe(cpu));
    if same.len() == domains.cpus() {
        out.push_str("\nevery CPU has a tower of this shape\n");
    } else {
        let other = (0..domains.cpus() as u32).find(|c| !same.contains(c)).unwrap_or(cpu);
        let other = machine.cpus[other as usize].id;
        let _ = writeln!(
            out,
            "\na tower of this shape have CPUs {}; another is that of --cpu {other}",
            ranges(machine, &same)
        );
    }
    out.push_str("\ntasks that a node may have more than its share (role `imbalance`)\n");
    let users = |r: &RuleRow| if r.kernels.is_empty() { "-".to_string() } else { r.kernels.join(", ") };
    let widest = rules.iter().map(|r| r.implementation.len()).max().unwrap_or(0);
    for r in rules {
        let each: Vec<String> = r.allowed.iter().map(|a| format!("domain{}: {}", a.domain, a.meaning)).collect();
        let each = if each.is_empty() { "no NUMA domain".to_string() } else { each.join("; ") };
        let _ = writeln!(out, "  {:widest$}  {each}  [{}]", r.implementation, users(r));
    }
    out
}

fn json<'a>(machine: &'a Machine, kernel: &'a Kernel, domains: &Domains, cpu: u32, rules: Vec<RuleRow>) -> Json<'a> {
    let words = |f: Flags| f.text(domains.form()).split_whitespace().map(str::to_string).collect::<Vec<_>>();
    let value = |r: &RuleRow, i: usize| r.allowed.iter().find(|a| a.domain == i).and_then(|a| a.imb_numa_nr);
    let one = |(i, d): (usize, &Domain)| DomainJson {
        name: d.level.name(domains.form()),
        flags: words(d.flags),
        groups_flags: words(domains.own_group_flags(d)),
        span: domains.span_list(d),
        weight: d.weight,
        groups: domains.group_lists(d),
        min_interval: d.interval_ms,
        max_interval: d.max_interval_ms,
        busy_factor: d.busy.factor,
        imbalance_pct: d.imbalance_pct,
        cache_nice_tries: d.cache_nice_tries,
        imb_numa_nr: rules.iter().filter_map(|r| value(r, i).map(|v| (r.implementation, v))).collect(),
    };
    Json {
        machine: &machine.name,
        kernel: &kernel.name,
        cpu: machine.cpus[cpu as usize].id,
        like: ranges(machine, &same_shape(domains, cpu)),
        domains: domains.tower(cpu).iter().enumerate().map(one).collect(),
        rules,
    }
}
