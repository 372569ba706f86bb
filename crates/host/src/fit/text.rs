//! The workload file of a fit.

use super::processes::Process;
use super::Fit;
use numalab_base::visible_text::is_invisible;
use std::fmt::Write;

/// CPU time of a step, us. A step is short against a scan and long against a fault.
const STEP_US: f64 = 500.0;
/// Bytes of an access.
const LINE_BYTES: f64 = 64.0;
/// Traffic from which accesses must be in blocks: threads that wait for one line after the other get no more, bytes a
/// CPU second.
const STREAMS: f64 = 1.5e9;
/// Shortest run that shows what balancing does, s.
const SHORTEST_S: f64 = 5.0;

impl Fit {
    /// Keys of the pattern of accesses, and the time of an access in ns.
    fn pattern(&self) -> (&'static str, u32) {
        if self.bytes_per_cpu_s > STREAMS {
            ("pattern = \"blocks\", block = \"64KiB\"", 4)
        } else {
            ("pattern = \"random\"", 30)
        }
    }

    /// The workload as TOML. `record` names the record that it comes from, and becomes its source.
    pub fn to_toml(&self, record: &str) -> String {
        let mut out = String::new();
        // Writing to a string cannot fail.
        let _ = self.write(&mut out, record);
        out
    }

    fn write(&self, out: &mut String, record: &str) -> std::fmt::Result {
        let nodes = self.processes.iter().map(|p| p.start.len()).max().unwrap_or(1);
        let (_, access_ns) = self.pattern();
        let accesses = (self.bytes_per_cpu_s * STEP_US / 1e6 / LINE_BYTES).round().max(1.0);
        writeln!(out, "name = \"{}\"", self.own_name())?;
        writeln!(out, "title = \"Fitted to a record of {}\"", quoted(&self.name))?;
        writeln!(out, "about = \"\"\"\nFitted by `numalab fit`: sizes, start places, threads, busy times and traffic are those of the record.")?;
        writeln!(out, "Every thread repeats a step: CPU time, accesses at random to its own part of memory or to all of it, and a pause.")?;
        for text in &self.assumed {
            writeln!(out, "Assumed: {}.", quoted(text))?;
        }
        writeln!(out, "It measures what balancing would do for such a program, and is adverse where its steps are unlike the program's.\n\"\"\"")?;
        writeln!(out, "source = \"{}\"\n\n[params]", quoted(record))?;
        for p in &self.processes {
            writeln!(
                out,
                "memory_{0} = {{ value = \"{1}MiB\", about = \"Memory of each {0}\" }}",
                p.name,
                (p.bytes >> 20).max(1)
            )?;
            writeln!(out, "threads_{0} = {{ value = {1}, about = \"Threads of each {0}\" }}", p.name, p.threads)?;
        }
        writeln!(out, "step = {{ value = \"{STEP_US}us\", about = \"CPU time of a step, as the record has it: work and accesses together\" }}")?;
        writeln!(out, "accesses = {{ value = {accesses}, about = \"Accesses of a step that reach memory\" }}")?;
        writeln!(
            out,
            "access_time = {{ value = \"{access_ns}ns\", about = \"Time of an access, with what overlaps (estimate)\" }}"
        )?;
        writeln!(out, "shared = {{ value = {:.2}, about = \"Share of accesses that go anywhere in memory, not to the thread's own part\" }}", self.shared)?;
        writeln!(out, "write_share = {{ value = 0.25, about = \"Share of accesses that write (assumed)\" }}")?;
        writeln!(
            out,
            "repeat = {{ value = 1, about = \"How many times as long every phase lasts, against the record\" }}"
        )?;
        writeln!(out, "\n[[score]]\nname = \"steps\"\nunit = \"steps/s\"\nbetter = \"higher\"\nper_second = true")?;
        for node in (0..nodes).filter(|n| self.processes.iter().any(|p| p.start.get(*n).is_some_and(|s| *s > 0.0))) {
            writeln!(out, "\n[[policy]]\nname = \"start{node}\"\nmode = \"preferred\"\nnodes = \"{node} % nodes\"")?;
        }
        self.processes.iter().try_for_each(|p| self.process(out, p))
    }

    fn process(&self, out: &mut String, p: &Process) -> std::fmt::Result {
        let name = &p.name;
        writeln!(out, "\n[[process]]\nname = \"{name}\"\ncount = {}\nthreads = \"threads_{name}\"", p.count)?;
        writeln!(out, "\n[[process.region]]\nname = \"memory\"\nsize = \"memory_{name}\"")?;
        let mut from = 0.0;
        for (node, share) in p.start.iter().enumerate().filter(|(_, s)| **s > 0.0) {
            let to = (from + share).min(1.0);
            writeln!(
                out,
                "\n[[process.prologue]]\nname = \"memory that starts on node {node}\"\naccess = \"memory\"\nwrite = 1"
            )?;
            writeln!(out, "offset = \"floor({from:.4} * memory_{name})\"\npolicy = \"start{node}\"")?;
            writeln!(out, "len = \"floor({to:.4} * memory_{name}) - floor({from:.4} * memory_{name})\"")?;
            from = to;
        }
        let all: f64 = self.phases.iter().map(|p| p.seconds).sum();
        // What balancing does shows only after some seconds, so a short record is stretched.
        let stretch = (SHORTEST_S / all.max(1e-3)).max(1.0);
        let (pattern, _) = self.pattern();
        for phase in &self.phases {
            let (seconds, pause) = (phase.seconds * stretch, STEP_US * (1.0 - phase.busy) / phase.busy);
            writeln!(
                out,
                "\n[[process.phase]]\nname = \"{:.0} % busy\"\ntime = \"{seconds:.3}s * repeat\"\n\
                 timed = \"steps\"\nsteps = [",
                phase.busy * 100.0
            )?;
            writeln!(out, "    {{ access = \"memory\", slice = \"thread\", {pattern}, accesses = \"floor(accesses * (1 - shared))\", write = \"write_share\" }},")?;
            writeln!(out, "    {{ access = \"memory\", {pattern}, accesses = \"floor(accesses * shared)\", write = \"write_share\" }},")?;
            writeln!(out, "    {{ compute = \"max(0us, step - accesses * access_time)\" }},")?;
            if pause >= 1.0 {
                writeln!(out, "    {{ sleep = \"{pause:.0}us\", exponential = true }},")?;
            }
            writeln!(out, "    {{ score = \"steps\" }},\n]")?;
        }
        Ok(())
    }

    /// Name of the workload.
    fn own_name(&self) -> String {
        let fits = |c: char| c.is_ascii_alphanumeric() || "_-.".contains(c);
        let text: String = self.name.chars().map(|c| if fits(c) { c } else { '_' }).collect();
        format!("fit-{}", text.trim_matches('.'))
    }
}

/// A text without characters that end a string of TOML.
fn quoted(text: &str) -> String {
    text.chars().map(|c| if c == '"' || c == '\\' || is_invisible(c) { '_' } else { c }).collect()
}
