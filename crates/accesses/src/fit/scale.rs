//! A fit at another size than the recorded one, and how often its loops are repeated.

use super::fitted::Fit;
use super::image::FittedProcess;
use super::pattern::{Phase, Visit};
use super::shared::SharedMemory;
use super::sizes::total;
use super::usage::Order;

/// Time of an instruction for estimates, ns (as [`super::text::INSTRUCTION_NS`]).
pub const INSTRUCTION_NS: f64 = 0.4;
/// Time of a line in order, and of one anywhere, for estimates, ns.
const LINE_NS: (f64, f64) = (6.0, 80.0);

/// Parameters for another size, and the rules that gave them.
#[derive(Clone, Debug, PartialEq)]
pub struct Scaled {
    /// Names and values of the workload's parameters.
    pub params: Vec<(String, String)>,
    /// Memory of all processes, bytes.
    pub memory_bytes: u64,
    /// Threads of all processes, those that only wait left out.
    pub threads: u32,
    /// What was scaled, and how, as sentences. Empty for the recorded size.
    pub rules: Vec<String>,
}

impl Fit {
    /// Memory of all processes, bytes.
    pub fn memory_bytes(&self) -> u64 {
        let own: u64 = self.processes.iter().map(|p| total(p) * p.count as u64).sum();
        own + self.shared.iter().map(SharedMemory::bytes).sum::<u64>()
    }

    /// Threads of all processes, those that only wait left out.
    pub fn thread_count(&self) -> u32 {
        let of = |p: &FittedProcess| p.count * p.classes.iter().map(|c| c.threads.len()).sum::<usize>();
        self.processes.iter().map(of).sum::<usize>() as u32
    }

    /// Parameters for another size. Memory of every region grows by one factor. Kinds of several threads grow by one
    /// factor; a thread that is the only one of its kind stays alone.
    pub fn scaled(&self, memory_bytes: Option<u64>, threads: Option<u32>) -> Scaled {
        let mut out = Scaled { params: Vec::new(), memory_bytes: 0, threads: 0, rules: Vec::new() };
        let own_memory = self.memory_bytes().max(1);
        let memory = memory_bytes.map_or(1.0, |m| m as f64 / own_memory as f64);
        let single: usize = self.sizes_of_kinds().filter(|(n, _)| *n == 1).map(|(_, count)| count).sum();
        let several: usize = self.sizes_of_kinds().filter(|(n, _)| *n > 1).map(|(n, count)| n * count).sum();
        let wanted = threads.map(|t| f64::from(t) - single as f64);
        let factor = wanted.map_or(1.0, |w| if several > 0 { (w / several as f64).max(0.0) } else { 1.0 });
        let larger = |bytes: u64| ((bytes as f64 * memory) as u64).max(1 << 20);
        for m in &self.shared {
            out.memory_bytes += larger(m.bytes());
            out.params.push((m.name.clone(), format!("{}B", larger(m.bytes()))));
        }
        for (n, p) in self.processes.iter().enumerate() {
            if total(p) > 0 {
                out.memory_bytes += larger(total(p)) * p.count as u64;
                out.params.push((self.memory(n), format!("{}B", larger(total(p)))));
            }
            for (c, class) in p.classes.iter().enumerate() {
                let own = class.threads.len();
                let scaled = if own > 1 { ((own as f64 * factor).round() as usize).max(1) } else { 1 };
                out.threads += (scaled * p.count) as u32;
                if p.turns.iter().all(|t| t.second != c) {
                    out.params.push((self.threads(n, c), scaled.to_string()));
                }
            }
        }
        if memory_bytes.is_some() {
            out.rules.push(format!(
                "every region is {memory:.3} times as large; a sweep goes over all of it, accesses at random keep \
                 their number"
            ));
        }
        if threads.is_some() {
            let alone = if single > 0 { "; a thread that is alone of its kind stays so" } else { "" };
            out.rules.push(format!("there are {} threads in place of {}{alone}", out.threads, self.thread_count()));
        }
        out
    }

    /// Number of threads of each kind, with the number of its processes.
    fn sizes_of_kinds(&self) -> impl Iterator<Item = (usize, usize)> + '_ {
        self.processes.iter().flat_map(|p| p.classes.iter().map(move |c| (c.threads.len(), p.count)))
    }

    /// About how long the recorded work would take, s, where passes over memory are `longer` times as long; accesses at
    /// random keep their number. Only good for choosing how often it is repeated.
    pub fn seconds(&self, longer: f64) -> f64 {
        let classes = self.processes.iter().flat_map(|p| &p.classes);
        let longest = classes.map(|c| c.phases.iter().map(|p| p.ns(longer)).sum::<f64>()).fold(0.0, f64::max);
        longest / 1e9
    }
}

impl Phase {
    /// About how long a thread takes for it, ns, where passes over memory are `longer` times as long.
    pub(super) fn ns(&self, longer: f64) -> f64 {
        let line = |order: Order| if order == Order::Random { LINE_NS.1 } else { LINE_NS.0 };
        let passes: f64 = self.visits.iter().filter(|v| v.is_pass()).map(|v| v.lines).sum();
        let share = passes / self.lines().max(1.0);
        let times = |v: &Visit| if v.is_pass() { longer } else { 1.0 };
        let lines: f64 = self.visits.iter().map(|v| v.lines * times(v) * line(v.order)).sum();
        self.all_insns() * INSTRUCTION_NS * (share * longer + 1.0 - share)
            + lines
            + self.slept_ns
            + self.awaited * INSTRUCTION_NS
    }
}
