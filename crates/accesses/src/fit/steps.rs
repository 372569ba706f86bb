//! Steps of a fitted phase, as TOML.

use super::messages::Turns;
use super::motion;
use super::pattern::{Part, Phase, Tier, Visit};
use super::region::{Placing, Region};
use super::usage::Order;
use crate::format::LINE_BYTES;

/// Sizes of the regions of a process, as expressions.
pub type Sizes = Vec<String>;

/// Instructions for which a phase must visit a line; with fewer lines it computes.
pub const INSNS_OF_A_LINE: f64 = 20_000.0;
/// Instructions of others for which a loop sleeps.
const LEAST_AWAITED: f64 = 2_000.0;
/// Passes in a loop below which a part is not swept to its end.
pub const WHOLE_PASS: f64 = 0.9;

/// The node of a thread that is kept on one, as an expression.
pub const NODE_OF_THREAD: &str = "thread * cpu_nodes // threads";

/// What steps refer to.
pub struct Scope<'a> {
    /// Regions of the process.
    pub regions: &'a [Region],
    /// Their names.
    pub names: &'a [&'a str],
    /// Their sizes.
    pub sizes: &'a [String],
    /// How many members each has, as an expression; empty if it is a single one.
    pub members: &'a [String],
}

/// How lines follow each other, in words.
pub fn order_in_words(v: &Visit) -> String {
    match v.order {
        _ if v.foreign >= 1.0 => "by turns".into(),
        _ if v.recorded.is_some() => "as recorded".into(),
        _ if v.reuse.is_some() => "at random, some lines more often".into(),
        Order::Sweep => "in order".into(),
        Order::Strided(bytes) => format!("every {bytes} bytes"),
        Order::Blocks(bytes) => format!("in blocks of {bytes} bytes"),
        Order::Random if !v.tiers.is_empty() => "at random, some parts more often".into(),
        Order::Random => "at random".into(),
    }
}

/// A share as a number of at most three digits.
fn share(value: f64) -> String {
    let rounded = (value * 1000.0).round() / 1000.0;
    format!("{rounded}")
}

impl Scope<'_> {
    /// Steps of a phase that every thread repeats; `None` if it does nothing. `barrier` is met at the end of each loop.
    /// There are `threads` of them.
    pub fn phase(&self, phase: &Phase, barrier: Option<&str>, threads: usize) -> Option<String> {
        let pieces = u64::from(motion::pieces(phase));
        let each = phase.loops().div_ceil(pieces);
        let loops = each * pieces;
        let mut steps = self.steps(phase, loops, threads);
        if phase.slept_ns >= 1000.0 {
            steps.push(format!("{{ sleep = \"{:.0}ns\" }}", phase.slept_ns / loops as f64));
        }
        let awaited = phase.awaited / loops as f64;
        if awaited >= LEAST_AWAITED && phase.awaited >= 0.01 * phase.all_insns() {
            steps.push(format!("{{ sleep = \"{awaited:.0} * instruction_time\" }}"));
        }
        if steps.is_empty() {
            return None;
        }
        steps.extend(barrier.map(|b| format!("{{ barrier = \"{b}\" }}")));
        if pieces > 1 {
            let text = in_pieces(pieces, &format!("\"repeat * {each}\""), &steps);
            return Some(format!("timed = \"visited\"\n{text}"));
        }
        let count = if phase.once { loops.to_string() } else { format!("\"repeat * {loops}\"") };
        Some(format!("timed = \"visited\"\ncount = {count}\nsteps = [\n    {},\n]", steps.join(",\n    ")))
    }

    /// Steps of the initial thread before there are others.
    pub fn prologue(&self, phase: &Phase) -> String {
        let pieces = u64::from(motion::pieces(phase));
        let each = phase.loops().div_ceil(pieces);
        let loops = each * pieces;
        let cost = cost(phase);
        let mut steps = Vec::new();
        for v in &phase.visits {
            let of = &self.members[v.region];
            let all = self.regions[v.region].members.map(|_| format!("for = \"m\", in = \"0..{of} - 1\", "));
            for text in self.accesses(v, (loops, &cost), (pieces as u32, "m")) {
                let text = text.replace(", counts = \"visited\", unit_bytes = \"1MB\"", "");
                steps.push(format!("{{ {}{text} }}", all.clone().unwrap_or_default()));
            }
        }
        if pieces > 1 {
            return in_pieces(pieces, &each.to_string(), &steps);
        }
        format!("count = {loops}\nsteps = [\n    {},\n]", steps.join(",\n    "))
    }

    /// Phases of one of two kinds that take turns: the first fills a part and says so, the second uses it and gives it
    /// back.
    pub fn turn(&self, phase: &Phase, name: &str, turn: &Turns, is_first: bool) -> String {
        let rounds = turn.rounds;
        let Some(v) = phase.visits.iter().max_by(|a, b| a.lines.total_cmp(&b.lines)) else { return String::new() };
        let passes = v.passes.max(1e-3);
        let loops = passes.round().max(1.0) as u64;
        let parts = ((rounds as f64 / passes).round().max(1.0) as u64).min(1024);
        let (full, empty) = (format!("full_{name}[thread]"), format!("empty_{name}[thread]"));
        let (wait, post) = if is_first { (&empty, &full) } else { (&full, &empty) };
        let size = &self.sizes[v.region];
        let mut access =
            format!("access = \"{}[thread]\", offset = \"floor(h * {size} / {parts})\"", self.names[v.region]);
        access.push_str(&format!(", len = \"floor((h + 1) * {size} / {parts}) - floor(h * {size} / {parts})\""));
        access.push_str(&format!("{}{}{}", write(v), cost(phase), COUNTS));
        let mut out = String::new();
        if !is_first {
            let ahead = turn.ahead.min(parts);
            out.push_str(&format!(
                "\n[[phase]]\nname = \"parts are free at first\"\ncount = {ahead}\nsignal = \"{post}\"\n"
            ));
        }
        let name = if is_first { "fill a part" } else { "use a part" };
        out.push_str(&format!("\n# At least {rounds} messages were seen.\n[[phase]]\nname = \"{name}\"\n"));
        out.push_str(&format!(
            "timed = \"visited\"\ncount = \"repeat * {loops}\"\nfor = \"h\"\nin = \"0..{}\"\n",
            parts - 1
        ));
        let steps = format!("{{ wait = \"{wait}\" }},\n    {{ {access} }},\n    {{ signal = \"{post}\" }},");
        out.push_str(&format!("steps = [\n    {steps}\n]\n"));
        out
    }

    /// One step for each use; a computation if there is none to speak of.
    fn steps(&self, phase: &Phase, loops: u64, threads: usize) -> Vec<String> {
        let insns = phase.all_insns();
        if insns > INSNS_OF_A_LINE * phase.lines() {
            return match insns >= 1000.0 {
                true => vec![format!("{{ compute = \"{:.0} * instruction_time\" }}", insns / loops as f64)],
                false => Vec::new(),
            };
        }
        let cost = cost(phase);
        let pieces = motion::pieces(phase);
        let texts = phase.visits.iter().flat_map(|v| {
            // Kinds that were put together may be more threads than there are members.
            let is_more = self.regions[v.region].members.is_some_and(|m| m < threads);
            let of = &self.members[v.region];
            let member = if is_more { format!("thread % {of}") } else { "thread".into() };
            self.accesses(v, (loops, &cost), (pieces, &member))
        });
        texts.map(|t| format!("{{ {t} }}")).collect()
    }

    /// The access steps of a use: one, or one for each tier.
    fn accesses(&self, v: &Visit, (loops, cost): (u64, &str), (pieces, member): (u32, &str)) -> Vec<String> {
        let region = &self.regions[v.region];
        let size = &self.sizes[v.region];
        let index = match region.placing {
            Placing::Copied => format!("[{NODE_OF_THREAD}]"),
            _ => region.members.map(|_| format!("[{member}]")).unwrap_or_default(),
        };
        let head = format!("access = \"{}{index}\"", self.names[v.region]);
        let tail = format!("{}{cost}{COUNTS}", write(v));
        if let Some(lines) = region.lines {
            // Others' writes are no work, so they do not count.
            let (accesses, len) = ((v.lines / loops as f64).round().max(1.0), lines * LINE_BYTES);
            let pattern = format!(", offset = 0, len = \"{len}B\", pattern = \"chase\", accesses = {accesses}");
            return vec![format!("{head}{pattern}{}{cost}", write(v))];
        }
        if let Some(visit) = v.recorded {
            let accesses = (v.lines / loops as f64).round().max(1.0);
            let block = match v.order {
                Order::Blocks(bytes) => bytes,
                _ => LINE_BYTES,
            };
            // The histogram is one of the whole region.
            let pattern = format!(", pattern = \"recorded\", visit = {visit}, block = \"{block}B\"");
            return vec![format!("{head}{pattern}, accesses = {accesses}{tail}")];
        }
        if !v.tiers.is_empty() {
            let of = |t: &Tier| {
                let accesses = (v.lines * t.accesses / loops as f64).round();
                (accesses >= 1.0).then(|| {
                    let part = range(size, t.from, t.to);
                    let pattern = match v.order {
                        Order::Blocks(bytes) => format!("\"blocks\", block = \"{bytes}B\""),
                        _ => "\"random\"".into(),
                    };
                    format!("{head}{part}, pattern = {pattern}, accesses = {accesses}{tail}")
                })
            };
            return v.tiers.iter().filter_map(of).collect();
        }
        let passes = v.passes / loops as f64;
        let part = match v.part {
            _ if v.motion.is_some_and(|_| pieces > 1) => {
                v.motion.map(|m| motion::window(v.part, m, pieces, size)).unwrap_or_default()
            }
            _ if v.is_pass() && passes < WHOLE_PASS => cut(v.part, size, passes),
            Part::Whole => String::new(),
            Part::Slice => ", slice = \"thread\"".into(),
            Part::Range(from, to) => range(size, from, to),
        };
        let times = passes.round().max(1.0);
        let count = if v.is_pass() && times > 1.0 { format!("count = {times}, ") } else { String::new() };
        let accesses = (v.lines / loops as f64).round().max(1.0);
        let pattern = match v.order {
            _ if v.reuse.is_some() => {
                format!(", pattern = \"reuse\", alpha = {}, accesses = {accesses}", share(v.reuse.unwrap_or(0.5)))
            }
            Order::Sweep => String::new(),
            Order::Strided(bytes) => format!(", pattern = \"strided\", stride = \"{bytes}B\""),
            Order::Blocks(bytes) => format!(", pattern = \"blocks\", block = \"{bytes}B\", accesses = {accesses}"),
            Order::Random => format!(", pattern = \"random\", accesses = {accesses}"),
        };
        vec![format!("{count}{head}{part}{pattern}{tail}")]
    }
}

/// Steps that are carried out for each piece of what a window moves through, `each` times there.
fn in_pieces(pieces: u64, each: &str, steps: &[String]) -> String {
    let (steps, last) = (steps.join(",\n        "), pieces - 1);
    let inner = format!("{{ count = {each}, steps = [\n        {steps},\n    ] }}");
    format!("steps = [\n    {{ for = \"piece\", in = \"0..{last}\", steps = [{inner}] }},\n]")
}

const COUNTS: &str = ", counts = \"visited\", unit_bytes = \"1MB\"";

/// The share of writes, as a key.
fn write(v: &Visit) -> String {
    match v.write_share {
        w if w < 0.001 => String::new(),
        w if w > 0.99 => ", write = 1".into(),
        w => format!(", write = {}", share(w)),
    }
}

/// The cost of a line, as a key: the instructions between two lines, with those of the kernel.
fn cost(phase: &Phase) -> String {
    format!(", cost = \"{} * instruction_time\"", share(phase.all_insns() / phase.lines().max(1.0)))
}

/// From one share of a region to another, as keys. What begins with the region needs no offset, and what ends with it
/// no length. Fractions of a byte are cut off anyway.
fn range(size: &str, from: f64, to: f64) -> String {
    let share = |s: f64| format!("{s:.6}");
    let (begins, ends) = (share(from) == share(0.0), share(to) == share(1.0));
    let at = |s: f64| format!("{} * {size}", share(s));
    let offset = if begins { String::new() } else { format!(", offset = \"{}\"", at(from)) };
    let len = match (begins, ends) {
        (_, true) => String::new(),
        (true, false) => format!(", len = \"max(64B, {})\"", at(to)),
        (false, false) => format!(", len = \"max(64B, floor({}) - floor({}))\"", at(to), at(from)),
    };
    offset + &len
}

/// The first `passes` of a part, as keys.
fn cut(part: Part, size: &str, passes: f64) -> String {
    match part {
        Part::Whole => format!(", len = \"max(64B, {passes:.6} * {size})\""),
        Part::Slice => {
            format!(", offset = \"thread * {size} / threads\", len = \"max(64B, {passes:.6} * {size} / threads)\"")
        }
        Part::Range(from, to) => range(size, from, from + (to - from) * passes),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_says_no_more_than_it_must() {
        assert_eq!(range("size", 0.0, 1.0), "");
        assert_eq!(range("size", 0.25, 1.0), ", offset = \"0.250000 * size\"");
        assert_eq!(range("size", 0.0, 0.5), ", len = \"max(64B, 0.500000 * size)\"");
        let len = ", len = \"max(64B, floor(0.500000 * size) - floor(0.250000 * size))\"";
        assert_eq!(range("size", 0.25, 0.5), format!(", offset = \"0.250000 * size\"{len}"));
    }
}
