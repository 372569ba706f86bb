//! The workload file of a fit.

use super::classes::{Class, Kept};
use super::fitted::Fit;
use super::idle_text;
use super::image::FittedProcess;
use super::messages::{self, Turns};
use super::pattern::{Part, Phase, Visit};
use super::region::{self, Placing, Region};
use super::sizes::total;
use super::steps;
use numalab_base::visible_text::is_invisible;
use std::fmt::{Result, Write};

/// Model instructions after which a process begins late.
pub const LEAST_BEGIN: u64 = 1_000_000;

/// Time of an instruction that a fit assumes, ns: three a ns, of which a third waits for caches.
pub const INSTRUCTION_NS: &str = "0.4ns";

impl Fit {
    /// The workload as TOML. `source` says which record it comes from.
    pub fn to_toml(&self, source: &str) -> String {
        let mut out = String::new();
        // Writing to a string cannot fail.
        let _ = self.write(&mut out, source);
        out
    }

    /// Name of the workload.
    pub fn own_name(&self) -> String {
        format!("fit-{}", region::word(&self.name))
    }

    fn write(&self, out: &mut String, source: &str) -> Result {
        writeln!(out, "name = \"{}\"", self.own_name())?;
        writeln!(out, "title = \"Fitted to the accesses of {}\"", quoted(&self.name))?;
        writeln!(out, "about = \"\"\"\nFitted by `numalab fit` to a record of accesses.\n\nMeasured:")?;
        self.measured.iter().try_for_each(|m| writeln!(out, "* {}.", quoted(m)))?;
        writeln!(out, "\nAssumed:")?;
        self.assumed.iter().try_for_each(|a| writeln!(out, "* {}.", quoted(a)))?;
        writeln!(
            out,
            "\nWhat a recording under emulation cannot tell: docs/explanation/recording-under-emulation.md.\n\"\"\""
        )?;
        writeln!(out, "source = \"{}\"", quoted(source))?;
        if let Some(file) = &self.histograms {
            writeln!(out, "histograms = \"{}\"", quoted(file))?;
        }
        writeln!(out, "\n[params]")?;
        for m in &self.shared {
            let about = format!("Memory that {} processes share, touched", m.users);
            writeln!(out, "{} = {{ value = \"{}B\", about = \"{about}\" }}", m.name, m.bytes())?;
        }
        for (n, p) in self.processes.iter().enumerate() {
            self.params(out, n, p)?;
        }
        writeln!(out, "repeat = {{ value = 1, about = \"How often every loop is repeated, against the recording\" }}")?;
        writeln!(
            out,
            "instruction_time = {{ value = \"{INSTRUCTION_NS}\", about = \"Time of an instruction whose data is in the \
             core (assumed)\" }}"
        )?;
        writeln!(out, "\n[[score]]\nname = \"visited\"\nunit = \"MB/s\"\nbetter = \"higher\"\nper_second = true")?;
        let regions = || self.processes.iter().flat_map(|p| &p.regions);
        if regions().any(|r| r.placing == Placing::Interleaved) {
            writeln!(out, "\n[[policy]]\nname = \"spread\"\nmode = \"interleave\"\nnodes = \"all\"")?;
        }
        if regions().any(|r| r.placing == Placing::Bound) {
            writeln!(out, "\n[[policy]]\nname = \"bound\"\nmode = \"bind\"\nnodes = [0]")?;
        }
        for (n, p) in self.processes.iter().enumerate() {
            for (c, met) in p.meetings.iter().enumerate().filter(|(_, m)| **m > 0) {
                writeln!(out, "\n# {met} meetings were seen.\n[[barrier]]\nname = \"{}\"", barrier(p, n, c))?;
            }
            for turn in &p.turns {
                let threads = self.threads(n, turn.first);
                for what in ["full", "empty"] {
                    writeln!(out, "\n[[channel]]\nname = \"{what}_{}\"\nover = \"0..{threads} - 1\"", p.name)?;
                    writeln!(out, "kind = \"futex\"")?;
                }
            }
            self.ends(out, n)?;
        }
        self.barriers_of_idle(out)?;
        self.sharing(out)?;
        self.processes.iter().enumerate().try_for_each(|(n, p)| self.process(out, n, p))
    }

    /// The process that maps what others share.
    fn sharing(&self, out: &mut String) -> Result {
        if self.shared.is_empty() {
            return Ok(());
        }
        writeln!(out, "\n# It maps what the others share. They are forked from it, and it ends.")?;
        writeln!(out, "[[process]]\nname = \"{}\"", self.sharing_name())?;
        for m in &self.shared {
            let name = &m.name;
            writeln!(out, "\n[[process.region]]\nname = \"{name}\"\nkind = \"shared\"\nsize = \"{name}\"")?;
            let all = self.processes.iter().flat_map(|p| &p.regions);
            let placings = all.filter(|r| r.is_shared && r.name == *name).map(|r| r.placing);
            placed(out, placings.into_iter().find(|p| *p != Placing::Own).unwrap_or_default())?;
        }
        writeln!(out, "\n[[process.phase]]\nname = \"begin the others\"\ncompute = \"1us\"")
    }

    fn params(&self, out: &mut String, n: usize, p: &FittedProcess) -> Result {
        let all = total(p);
        let each = if p.count > 1 { "each " } else { "" };
        // With shared memory alone there is none of its own.
        if all > 0 || p.regions.iter().all(Region::is_own) {
            let (memory, name) = (self.memory(n), &p.name);
            writeln!(out, "{memory} = {{ value = \"{all}B\", about = \"Memory of {each}{name}, touched\" }}")?;
        }
        for (c, class) in p.classes.iter().enumerate().filter(|(c, _)| p.turns.iter().all(|t| t.second != *c)) {
            let about = format!("Threads of {each}{} that {}", p.name, told(class, p));
            writeln!(out, "{} = {{ value = {}, about = \"{about}\" }}", self.threads(n, c), class.threads.len())?;
        }
        Ok(())
    }

    fn process(&self, out: &mut String, n: usize, p: &FittedProcess) -> Result {
        let sizes = self.sizes(n, p);
        writeln!(out, "\n[[process]]\nname = \"{}\"", p.name)?;
        if p.count > 1 {
            writeln!(out, "count = {}", p.count)?;
        }
        self.forked(out, n)?;
        if p.joins {
            writeln!(out, "initial = \"joins\"")?;
        }
        let is_single = p.classes.len() == 1 && !p.idles;
        let woven = woven(p);
        if is_single {
            writeln!(out, "threads = \"{}\"", self.threads(n, 0))?;
            kept(out, &p.classes[0])?;
        }
        if let Some(turn) = woven {
            writeln!(out, "threads = \"2 * {}\"", self.threads(n, turn.first))?;
        }
        for (r, size) in p.regions.iter().zip(&sizes).filter(|(r, _)| r.is_own()) {
            writeln!(out)?;
            if let Some(site) = &r.site {
                writeln!(out, "# {}", site.chars().filter(|c| !is_invisible(*c)).collect::<String>())?;
            }
            writeln!(out, "[[process.region]]\nname = \"{}\"", r.name)?;
            if r.placing == Placing::Copied {
                writeln!(out, "over = \"0..cpu_nodes - 1\"")?;
            } else if let Some(members) = r.members {
                writeln!(out, "over = \"0..{} - 1\"", self.member_count(n, p, members))?;
            }
            writeln!(out, "size = \"{size}\"")?;
            placed(out, r.placing)?;
        }
        let names: Vec<&str> = p.regions.iter().map(|r| r.name.as_str()).collect();
        let count = |r: &Region| r.members.map(|m| self.member_count(n, p, m)).unwrap_or_default();
        let members: Vec<String> = p.regions.iter().map(count).collect();
        let of = steps::Scope { regions: &p.regions, names: &names, sizes: &sizes, members: &members };
        if p.begins >= LEAST_BEGIN {
            let begins = p.begins;
            writeln!(out, "\n[[process.prologue]]\nname = \"until others have begun it\"")?;
            writeln!(out, "count = 1\nsteps = [\n    {{ sleep = \"{begins} * instruction_time\" }},\n]")?;
        }
        for phase in &p.prologue {
            writeln!(out, "\n[[process.prologue]]\nname = \"by the initial thread: {}\"", about(phase, &names))?;
            let text = of.prologue(phase);
            writeln!(out, "{text}")?;
        }
        if let Some(turn) = woven {
            for (rest, c) in [turn.first, turn.second].into_iter().enumerate() {
                let mut text = String::new();
                self.class(&mut text, &of, (n, c), (&p.classes[c], "process.phase"))?;
                let text = text.replace("[thread]", "[thread // 2]");
                let when = format!("[[process.phase]]\nwhen = \"thread % 2 == {rest}\"");
                out.push_str(&text.replace("[[process.phase]]", &when));
            }
            return Ok(());
        }
        for (c, class) in p.classes.iter().enumerate() {
            let table = if is_single { "process.phase" } else { "process.group.phase" };
            if !is_single {
                writeln!(out, "\n[[process.group]]\nname = \"kind{}\"\nthreads = \"{}\"", c + 1, self.threads(n, c))?;
                kept(out, class)?;
            }
            self.class(out, &of, (n, c), (class, table))?;
        }
        self.idle_thread(out, p)
    }

    fn class(
        &self,
        out: &mut String,
        of: &steps::Scope<'_>,
        (n, c): (usize, usize),
        (class, table): (&Class, &str),
    ) -> Result {
        let p = &self.processes[n];
        let turn = p.turns.iter().find(|t| t.first == c || t.second == c);
        let loops: u64 = class.phases.iter().map(Phase::loops).sum();
        let meets_each_loop = p.meetings[c] * 2 >= loops;
        let barrier = (p.meetings[c] > 0).then(|| barrier(p, n, c));
        let of_phases = if c == 0 { p.waits_after.map(|w| w.min(class.phases.len())) } else { None };
        for (number, phase) in class.phases.iter().enumerate() {
            if of_phases == Some(number) {
                self.wait(out, n, table)?;
            }
            if let Some(turn) = turn.filter(|_| phase.lines() > 0.0) {
                let text = of.turn(phase, &p.name, turn, turn.first == c);
                out.push_str(&text.replace("[[phase]]", &format!("[[{table}]]")));
                continue;
            }
            let inside = barrier.as_deref().filter(|_| meets_each_loop);
            let Some(text) = of.phase(phase, inside, class.threads.len()) else { continue };
            writeln!(out, "\n[[{table}]]\nname = \"{}\"\n{text}", about(phase, of.names))?;
            if let Some(name) = barrier.as_deref().filter(|_| !meets_each_loop) {
                writeln!(out, "\n[[{table}]]\nbarrier = \"{name}\"")?;
            }
        }
        if of_phases == Some(class.phases.len()) {
            self.wait(out, n, table)?;
        }
        idle_text::meet(out, p, table)?;
        self.end(out, n, table)?;
        if class.phases.is_empty() && !self.waits(n) {
            writeln!(out, "\n[[{table}]]\nname = \"end\"\ncompute = \"1us\"")?;
        }
        Ok(())
    }
}

/// How a region is placed, as a key.
fn placed(out: &mut String, placing: Placing) -> Result {
    match placing {
        Placing::Own | Placing::Copied => Ok(()),
        Placing::Interleaved => writeln!(out, "policy = \"spread\""),
        Placing::Bound => writeln!(out, "policy = \"bound\""),
        Placing::Huge => writeln!(out, "advice = \"huge\""),
    }
}

/// Where the threads of a kind may run, as a key.
fn kept(out: &mut String, class: &Class) -> Result {
    match class.kept {
        Kept::Free => Ok(()),
        Kept::Spread => writeln!(out, "affinity = {{ nodes = \"{}\" }}", steps::NODE_OF_THREAD),
        Kept::First => writeln!(out, "affinity = {{ nodes = [0] }}"),
    }
}

/// The two kinds of a process that has no others, if they take turns and are created by turns.
fn woven(p: &FittedProcess) -> Option<&Turns> {
    let turn = p.turns.first().filter(|_| p.classes.len() == 2)?;
    let is_whole = p.classes.iter().all(|c| c.phases.iter().filter(|p| p.lines() > 0.0).count() == 1);
    (is_whole && messages::are_woven(&p.classes[turn.first], &p.classes[turn.second])).then_some(turn)
}

fn barrier(p: &FittedProcess, _: usize, class: usize) -> String {
    format!("meet_{}_{}", p.name, class + 1)
}

/// What a kind does, in a few words.
fn told(class: &Class, p: &FittedProcess) -> String {
    let names: Vec<&str> = p.regions.iter().map(|r| r.name.as_str()).collect();
    let main = class.phases.iter().max_by(|a, b| a.lines().total_cmp(&b.lines()));
    main.map_or_else(|| "work".into(), |phase| about(phase, &names))
}

/// What a phase is about: its largest use, in words.
fn about(phase: &Phase, names: &[&str]) -> String {
    let Some(v) = phase.visits.iter().max_by(|a, b| a.lines.total_cmp(&b.lines)) else { return "compute".into() };
    let verb = match v.write_share {
        w if w > 0.7 => "write",
        w if w > 0.05 => "read and write",
        _ => "read",
    };
    format!("{verb} {}{} {}", part(v), names[v.region], steps::order_in_words(v))
}

fn part(v: &Visit) -> &'static str {
    match v.part {
        Part::Whole => "",
        Part::Slice => "slices of ",
        Part::Range(..) => "a part of ",
    }
}

/// A text without characters that end a string of TOML.
fn quoted(text: &str) -> String {
    text.chars().map(|c| if c == '"' || c == '\\' || is_invisible(c) { '_' } else { c }).collect()
}
