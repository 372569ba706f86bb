//! [`WorkloadSpec`] to [`Workload`]: parameters, processes, regions and threads for one machine and seed.

use super::affinity::Affinities;
use super::ast::{Affinity, ProcessSpec, RegionId, RegionSpec, Step, WorkloadSpec};
use super::cpuset::Cpuset;
use super::emit::{default_policy, Emitter, Mapped, Regions};
use super::families::Members;
use super::names::{self, PROCESS, PROCESSES, SEED, THREAD, THREADS, VARIABLES};
use super::tables::Tables;
use super::{check, policy, CpuGroup, ForkPoint, Op, Policy, Process, Region, RegionKind, Thread, Workload};
use crate::expr::{Env, Formula, Value};
use crate::machine::Machine;
use crate::spec::{SpecError, Spot};
use std::sync::Arc;

/// Most threads of a workload.
pub const MAX_THREADS: u64 = 1_000_000;
/// Most process instances of a workload.
pub const MAX_PROCESSES: u64 = 100_000;
/// Largest `cpu.weight` of a control group (`CGROUP_WEIGHT_MAX`).
pub const MAX_CPU_WEIGHT: u64 = 10_000;

/// How many ops a mapping of a process counts as.
const OPS_PER_MAPPING: u64 = 16;

/// Limit of model time where the file gives none, ns. It is longer than every published run except those of SPECjbb.
const DEFAULT_LIMIT_NS: u64 = 7_200_000_000_000;
const PAGE_BYTES: u64 = 4096;
const HUGE_BYTES: u64 = 2 << 20;
/// Largest region, bytes. Larger sizes are refused before any arithmetic on them.
const MAX_REGION_BYTES: u64 = 1 << 52;
/// Most that all processes together may map, bytes, inherited mappings included. The simulator holds 16 bytes for every
/// 2 MiB of a mapping, so 1 GiB for this much.
const MAX_MAPPED_BYTES: u64 = 128 << 40;

impl WorkloadSpec {
    /// Evaluates the workload for `machine`. `overrides` are parameters with the expressions that replace their
    /// defaults (`("loops", "5")`); `seed` is the seed of the run.
    ///
    /// # Errors
    /// A parameter that is unknown or given twice, a requirement that the machine does not meet, an expression that has
    /// no value or one out of range, names of things that do not exist, counts beyond the limits, barriers or channels
    /// on which threads would hang.
    pub fn resolve(&self, machine: &Machine, seed: u64, overrides: &[(String, String)]) -> Result<Workload, SpecError> {
        self.work_out(machine, seed, overrides).map_err(|mut e| {
            // The mistake is often not in the file but in a value given on the command line.
            if e.file != COMMAND_LINE && !overrides.is_empty() {
                let given: Vec<String> = overrides.iter().map(|(name, value)| format!("{name}={value}")).collect();
                e.what = format!("{} (with {})", e.what, given.join(", "));
            }
            e
        })
    }

    fn work_out(&self, machine: &Machine, seed: u64, overrides: &[(String, String)]) -> Result<Workload, SpecError> {
        let mut env = Env::default();
        VARIABLES.iter().for_each(|v| env.set(v.name, v.value(machine)));
        env.set(SEED, names::seed_value(seed));
        let params = self.param_values(&mut env, overrides)?;
        for r in &self.requires {
            if !r.that.holds(&env)? {
                let what = format!("`{}` does not hold on machine `{}`", r.that.text(), machine.name);
                return Err(r.that.spot().error(what, r.because.clone()));
            }
        }
        let limit_ns = match &self.limit {
            None => DEFAULT_LIMIT_NS,
            Some(f) => match f.time_ns(&env)? as u64 {
                0 => return Err(f.refuse(Value::time_ns(0.0), "a time above 0")),
                ns => ns,
            },
        };
        let mut tables = Tables::new(self, &env)?;
        let scores = tables.list_scores(self);
        let mut b = Builder {
            machine,
            env,
            tables,
            affinities: Affinities::default(),
            cpuset: Cpuset::default(),
            cpu_groups: 0,
            instances: Vec::new(),
            first: Vec::new(),
            processes: Vec::new(),
            threads: 0,
            own_bytes: 0,
            mapped_bytes: 0,
            warnings: Vec::new(),
        };
        for (entry, p) in self.processes.iter().enumerate() {
            b.entry(entry, p)?;
        }
        let mut w = Workload {
            name: self.name.clone(),
            title: self.title.clone(),
            processes: b.processes,
            barrier_widths: Vec::new(),
            channels: b.tables.channel_uses.len() as u32,
            futexes: std::mem::take(&mut b.tables.futexes),
            scores,
            limit_ns,
            params,
            warnings: b.warnings,
            histograms: self.histograms.clone().unwrap_or_default(),
        };
        if w.processes.is_empty() {
            let at = &self.processes[0].name;
            return Err(at.error("the workload has no process on this machine", "a `count` above 0"));
        }
        if b.own_bytes > machine.memory_bytes() {
            w.warnings.push(format!(
                "the regions come to {} and the machine has {}: what is touched beyond that is swapped or fails",
                Value::bytes(b.own_bytes as f64),
                Value::bytes(machine.memory_bytes() as f64)
            ));
        }
        check::check(&mut w, &b.tables, self.limit.as_ref(), &self.file)?;
        Ok(w)
    }

    /// Evaluates the parameters into `env`; returns their values as text.
    fn param_values(&self, env: &mut Env, overrides: &[(String, String)]) -> Result<Vec<(String, String)>, SpecError> {
        let names: Vec<&str> = self.params.iter().map(|p| p.name.as_str()).collect();
        for (i, (name, _)) in overrides.iter().enumerate() {
            if !names.contains(&name.as_str()) {
                let what = format!("workload `{}` has no parameter `{name}`", self.name);
                let expected = if names.is_empty() { "none".into() } else { format!("one of {}", names.join(", ")) };
                return Err(SpecError::plain(COMMAND_LINE, what, expected).near(name, names));
            }
            if overrides[..i].iter().any(|(earlier, _)| earlier == name) {
                return Err(SpecError::plain(COMMAND_LINE, format!("parameter `{name}` is given twice"), "one value"));
            }
        }
        let mut out = Vec::new();
        for p in &self.params {
            let value = match overrides.iter().find(|(name, _)| *name == p.name) {
                None => p.default.eval(env)?,
                Some((_, text)) => overridden(&p.name, text, &p.default, env)?,
            };
            env.set(&p.name, value);
            out.push((p.name.clone(), value.to_string()));
        }
        Ok(out)
    }
}

const COMMAND_LINE: &str = "command line";

/// The value of an override. It must have the unit of the default, if the default has a value.
fn overridden(name: &str, text: &str, default: &Formula, env: &Env) -> Result<Value, SpecError> {
    let text = Spot { value: text.to_string(), file: COMMAND_LINE.into(), line: 1, column: 1 };
    let about = |mut e: SpecError| {
        e.what = format!("parameter `{name}`: {}", e.what);
        e
    };
    let formula = Formula::parse(name, text).map_err(about)?;
    let value = formula.eval(env).map_err(about)?;
    match default.eval(env) {
        Ok(d) if d.unit != value.unit && !d.is_plain_zero() && !value.is_plain_zero() => {
            let what = format!("parameter `{name}` is {} ({value})", value.unit.describe());
            Err(formula.spot().error(what, format!("{}, as the default `{}`", d.unit.describe(), default.text())))
        }
        _ => Ok(value),
    }
}

/// What the children of a process instance inherit from it.
struct Instance {
    inherited: Vec<RegionId>,
    regions: Regions,
    policy: Option<Policy>,
    cpuset: Cpuset,
    cpu_group: Option<CpuGroup>,
}

/// Builds process instances in order.
struct Builder<'a> {
    machine: &'a Machine,
    env: Env,
    tables: Tables,
    affinities: Affinities,
    /// The cpuset of the process that is being resolved.
    cpuset: Cpuset,
    /// Number of control groups so far.
    cpu_groups: u32,
    instances: Vec<Instance>,
    /// The first instance and the number of instances of each entry.
    first: Vec<(usize, u64)>,
    processes: Vec<Process>,
    threads: u64,
    own_bytes: u64,
    mapped_bytes: u64,
    warnings: Vec<String>,
}

impl Builder<'_> {
    fn entry(&mut self, entry: usize, p: &ProcessSpec) -> Result<(), SpecError> {
        let count = p.count.as_ref().map_or(Ok(1), |c| c.whole(&self.env, 0, MAX_PROCESSES))?;
        self.first.push((self.processes.len(), count));
        if self.processes.len() as u64 + count > MAX_PROCESSES {
            return Err(p.name.error("too many processes", format!("at most {MAX_PROCESSES} in all")));
        }
        let cpu_group = self.cpu_group(p, count)?;
        self.env.set(PROCESSES, Value::plain(count as f64));
        for k in 0..count {
            self.env.set(PROCESS, Value::plain(k as f64));
            self.instance(entry, p, k, cpu_group)?;
        }
        for name in [PROCESS, PROCESSES] {
            self.env.unset(name);
        }
        Ok(())
    }
    /// The control group of an entry with a `cpu_weight`. All its instances are in it.
    fn cpu_group(&mut self, p: &ProcessSpec, count: u64) -> Result<Option<CpuGroup>, SpecError> {
        let Some(weight) = &p.cpu_weight else { return Ok(None) };
        let cpu_weight = weight.whole(&self.env, 1, MAX_CPU_WEIGHT)? as u32;
        let id = self.cpu_groups;
        self.cpu_groups += u32::from(count > 0);
        Ok(Some(CpuGroup { id, cpu_weight }))
    }
    fn parent(&self, entry: usize, p: &ProcessSpec, k: u64) -> Result<Option<usize>, SpecError> {
        if p.forked_from_first {
            return Ok((k > 0).then_some(self.first[entry].0));
        }
        let Some((parent, which)) = &p.parent else { return Ok(None) };
        let (first, count) = self.first[*parent];
        if count == 0 {
            return Err(p.name.error("its parent has no instance on this machine", "a parent with a `count` above 0"));
        }
        let index = which.as_ref().map_or(Ok(0), |w| w.whole(&self.env, 0, count - 1))?;
        Ok(Some(first + index as usize))
    }
    fn instance(
        &mut self,
        entry: usize,
        p: &ProcessSpec,
        k: u64,
        own_group: Option<CpuGroup>,
    ) -> Result<(), SpecError> {
        let parent = self.parent(entry, p, k)?;
        let counts = self.thread_counts(p)?;
        let mut regions = Regions::new();
        let mut policy = None;
        let mut cpuset = Cpuset::default();
        let mut cpu_group = own_group;
        if let Some(parent) = parent.map(|i| &self.instances[i]) {
            let after = p.fork == ForkPoint::AfterPrologue;
            regions = parent.regions.clone();
            regions.retain(|(id, _), _| after || parent.inherited.contains(id));
            policy = parent.policy.clone();
            cpuset = parent.cpuset.clone();
            cpu_group = own_group.or(parent.cpu_group);
        }
        if let Some(spec) = &p.cpuset {
            cpuset = Cpuset::new(spec, &mut self.affinities, &self.env, self.machine)?;
        }
        self.cpuset = cpuset;
        let inherited: Vec<RegionId> = p.visible.iter().filter(|id| id.process != entry).copied().collect();
        if let [only] = counts[..] {
            self.env.set(THREADS, Value::plain(only as f64));
        }
        // Inherited mappings count too, so that many processes with many mappings are refused as well.
        self.tables.spend(regions.len() as u64 * OPS_PER_MAPPING, &p.name)?;
        let own = self.regions(entry, p, &mut regions)?;
        self.env.unset(THREADS);
        // At least a chunk for each mapping, however small.
        let held = |m: &Mapped| m.len_bytes.max(HUGE_BYTES);
        self.mapped_bytes = regions.values().map(held).fold(self.mapped_bytes, u64::saturating_add);
        if self.mapped_bytes > MAX_MAPPED_BYTES {
            let what = format!("the processes map {} in all", Value::bytes(self.mapped_bytes as f64));
            let most = Value::bytes(MAX_MAPPED_BYTES as f64);
            return Err(p.name.error(what, format!("at most {most}: fewer processes, or smaller regions")));
        }
        if let Some(index) = p.policy {
            policy = Some(policy::resolve(&self.tables.policies[index], &self.env, self.machine, &self.cpuset)?);
        }
        // The ops of an earlier instance of the same entry are shared if they are equal.
        let (first, _) = self.first[entry];
        let twin = (k > 0).then(|| self.processes.len() - 1).filter(|i| *i >= first);
        let prologue = self.ops(&p.prologue, &regions, policy.as_ref())?;
        let prologue = share(prologue, twin.map(|i| &self.processes[i].prologue));
        let threads = self.threads(p, &counts, &regions, policy.as_ref(), twin)?;
        self.processes.push(Process {
            name: format!("{}.{k}", p.name.value),
            parent,
            fork: p.fork,
            regions: own,
            prologue,
            threads,
            mems: self.cpuset.mems.clone(),
            cpu_group,
        });
        let cpuset = std::mem::take(&mut self.cpuset);
        self.instances.push(Instance { inherited, regions, policy, cpuset, cpu_group });
        Ok(())
    }
    /// The number of threads of each group; refuses more than [`MAX_THREADS`] in all.
    fn thread_counts(&mut self, p: &ProcessSpec) -> Result<Vec<u64>, SpecError> {
        let mut counts = Vec::new();
        self.threads += u64::from(!p.initial_works);
        for g in &p.groups {
            let n = g.threads.as_ref().map_or(Ok(1), |t| t.whole(&self.env, 1, MAX_THREADS))?;
            self.threads += n;
            if self.threads > MAX_THREADS {
                let at = g.threads.as_ref().map_or(&p.name, Formula::spot);
                return Err(at.error("too many threads", format!("at most {MAX_THREADS} in all")));
            }
            counts.push(n);
        }
        Ok(counts)
    }
    fn regions(&mut self, entry: usize, p: &ProcessSpec, all: &mut Regions) -> Result<Vec<Region>, SpecError> {
        let mut out = Vec::new();
        for (region, spec) in p.regions.iter().enumerate() {
            if !spec.when.as_ref().map_or(Ok(true), |w| w.holds(&self.env))? {
                continue;
            }
            let id = RegionId { process: entry, region };
            let members = Members::new(&spec.family, &self.env)?;
            self.tables.spend(members.len() as u64 * OPS_PER_MAPPING, &spec.family.name)?;
            let policy = |index: Option<usize>| {
                index
                    .map(|i| policy::resolve(&self.tables.policies[i], &self.env, self.machine, &self.cpuset))
                    .transpose()
            };
            let (policy, huge_policy) = (policy(spec.policy)?, policy(spec.huge_policy)?);
            let (len_bytes, cut) = spec.size.bytes(&self.env, 1)?;
            let memory = self.machine.memory_bytes();
            if len_bytes > memory.min(MAX_REGION_BYTES) {
                let expected = format!("at most the machine's memory, {}", Value::bytes(memory as f64));
                return Err(spec.size.refuse(Value::bytes(len_bytes as f64), expected));
            }
            if cut {
                let text = format!(
                    "region `{}`: a size with a fraction of a byte was cut to {len_bytes} bytes",
                    spec.family.name.value
                );
                if !self.warnings.contains(&text) {
                    self.warnings.push(text);
                }
            }
            let misalign_bytes = spec.misalign.as_ref().map_or(Ok(0), |m| self.misalign(m))?;
            let hugetlb = spec.kind == RegionKind::Hugetlb;
            let size_bytes = len_bytes.next_multiple_of(if hugetlb { HUGE_BYTES } else { PAGE_BYTES });
            let pool_bytes = if hugetlb { self.pool(spec, size_bytes)? } else { 0 };
            let second_level_fault_ns = spec.second_level_fault.as_ref().map_or(Ok(0), |f| self.fault_time(f))?;
            let pinned = spec.pinned.as_ref().is_some_and(|p| p.value);
            for (n, name) in members.labels() {
                let index = all.len() as u32;
                all.insert((id, n), Mapped { index, len_bytes, kind: spec.kind, pinned });
                self.own_bytes = self.own_bytes.saturating_add(size_bytes);
                out.push(Region {
                    name,
                    kind: spec.kind,
                    size_bytes,
                    misalign_bytes,
                    advice: spec.advice,
                    policy: policy.clone(),
                    huge_policy: huge_policy.clone(),
                    write: spec.kind != RegionKind::FileRead,
                    second_level_fault_ns,
                    pinned,
                    pool_bytes,
                });
            }
        }
        Ok(out)
    }
    /// What each node with memory sets aside for a region of hugetlb pages: an even share, unless the region says more.
    fn pool(&self, spec: &RegionSpec, size_bytes: u64) -> Result<u64, SpecError> {
        let nodes = self.machine.nodes.iter().filter(|n| n.memory_bytes > 0).count().max(1) as u64;
        let Some(given) = &spec.pool else { return Ok((size_bytes / HUGE_BYTES).div_ceil(nodes) * HUGE_BYTES) };
        let bytes = given.bytes(&self.env, 1)?.0;
        let pool_bytes = bytes.min(MAX_REGION_BYTES).next_multiple_of(HUGE_BYTES);
        if pool_bytes.saturating_mul(nodes) < size_bytes {
            let least = Value::bytes((size_bytes / HUGE_BYTES).div_ceil(nodes) as f64 * HUGE_BYTES as f64);
            let expected = format!("at least {least} on each of {nodes} nodes (mmap returns ENOMEM)");
            return Err(given.refuse(Value::bytes(bytes as f64), expected));
        }
        Ok(pool_bytes)
    }
    fn misalign(&self, f: &Formula) -> Result<u64, SpecError> {
        let (bytes, cut) = f.bytes(&self.env, 0)?;
        if cut || bytes % PAGE_BYTES != 0 || bytes >= HUGE_BYTES {
            return Err(f.refuse(Value::bytes(bytes as f64), "a multiple of 4KiB below 2MiB"));
        }
        Ok(bytes)
    }
    fn fault_time(&self, f: &Formula) -> Result<u64, SpecError> {
        const MOST_NS: f64 = 1e9;
        match f.time_ns(&self.env)? {
            ns if ns > MOST_NS => Err(f.refuse(Value::time_ns(ns), "at most 1s")),
            ns => Ok(ns.round() as u64),
        }
    }
    /// Ops of `steps` for a thread that starts under `policy`.
    fn ops(&mut self, steps: &[Step], regions: &Regions, policy: Option<&Policy>) -> Result<Vec<Op>, SpecError> {
        let inherited = policy.cloned().unwrap_or_else(default_policy);
        let out: Vec<Op> = policy.cloned().map(Op::SetPolicy).into_iter().collect();
        let set = out.len();
        let (machine, tables, env) = (self.machine, &mut self.tables, &mut self.env);
        let cpuset = &self.cpuset;
        let mut e = Emitter { machine, tables, env, regions, cpuset, policy: inherited, in_time: false, out };
        e.steps(steps)?;
        let mut out = e.out;
        if out.len() == set {
            out.clear();
        }
        Ok(out)
    }
    fn threads(
        &mut self,
        p: &ProcessSpec,
        counts: &[u64],
        regions: &Regions,
        policy: Option<&Policy>,
        twin: Option<usize>,
    ) -> Result<Vec<Thread>, SpecError> {
        let mut out: Vec<Thread> = Vec::new();
        let total = counts.iter().sum::<u64>() + u64::from(!p.initial_works);
        if !p.initial_works {
            // The initial thread only waits. An affinity that depends on the thread's number does not apply to it.
            let spec = p.groups[0].affinity.as_ref().filter(|a| !a.per_thread);
            let affinity = self.affinity(spec)?;
            out.push(Thread { affinity, ops: Arc::from(vec![Op::Join]) });
        }
        for (group, &count) in p.groups.iter().zip(counts) {
            self.env.set(THREADS, Value::plain(count as f64));
            let mut common: Option<Vec<Op>> = None;
            for i in 0..count {
                self.env.set(THREAD, Value::plain(i as f64));
                let mut ops = match &common {
                    Some(ops) if !group.per_thread => {
                        // The ops are those of the thread before, so they are not resolved again.
                        if let Some(last) = out.last().filter(|t| t.ops[..] == ops[..]) {
                            let ops = Arc::clone(&last.ops);
                            let affinity = self.affinity(group.affinity.as_ref())?;
                            out.push(Thread { affinity, ops });
                            continue;
                        }
                        ops.clone()
                    }
                    _ => self.ops(&group.phases, regions, policy)?,
                };
                if ops.is_empty() {
                    let at = group.threads.as_ref().map_or(&p.name, Formula::spot);
                    let what = format!("thread {i} of process `{}` does nothing", p.name.value);
                    return Err(at.error(what, "a phase with at least one step for it"));
                }
                if !group.per_thread && common.is_none() {
                    common = Some(ops.clone());
                }
                if out.is_empty() && total > 1 {
                    ops.push(Op::Join);
                }
                let before = out.last().map(|t| &t.ops).filter(|o| o[..] == ops[..]);
                let same = twin.and_then(|t| self.processes[t].threads.get(out.len())).map(|t| &t.ops);
                let ops = share(ops, before.or(same));
                let affinity = self.affinity(group.affinity.as_ref())?;
                out.push(Thread { affinity, ops });
            }
        }
        for name in [THREAD, THREADS] {
            self.env.unset(name);
        }
        Ok(out)
    }
    /// The CPUs of a thread: those that it asks for and the cpuset allows; all CPUs of the cpuset if it asks for none.
    fn affinity(&mut self, spec: Option<&Affinity>) -> Result<Option<Arc<[u32]>>, SpecError> {
        let Some(spec) = spec else { return Ok(self.cpuset.cpus.clone()) };
        let wanted = self.affinities.resolve(spec, &self.env, self.machine)?;
        self.cpuset.affinity(wanted, &mut self.affinities).ok_or_else(|| {
            let what = "the affinity has no CPU of the process's cpuset (the kernel returns EINVAL)";
            spec.list.spot.error(what, "CPUs of the cpuset")
        })
    }
}

/// `ops`, or the equal list that exists already.
fn share(ops: Vec<Op>, known: Option<&Arc<[Op]>>) -> Arc<[Op]> {
    known.filter(|k| k[..] == ops[..]).map_or_else(|| Arc::from(ops), Arc::clone)
}
