//! The plugin for QEMU: compiles it on this host, configures it from the machine file, and reads its log.
//!
//! The C sources beside this file are built into numalab. The library is compiled into the cache, once per source text
//! and compiler. In [`Timing::Modelled`] it charges virtual time: a miss of the last-level cache costs the machine
//! file's latency from the CPU's node to the page's node, plus the wait of a loaded node; a hit costs the cache's
//! latency. A guest instruction takes `2^shift` ns, tens of times longer than on the machine. Node bandwidth is scaled
//! so that a node saturates with as many streaming threads as in the machine file.

pub mod report;

use crate::cache::{self, Cache};
use crate::failure::at_path;
use crate::qemu::Timing;
use crate::topology::{GuestTopology, TopologyError};
use numalab_model::machine::Machine;
use std::fmt::Write as _;
use std::path::PathBuf;
use std::process::Command;

/// File name and text of every source.
const SOURCES: [(&str, &str); 7] = [
    ("api.h", include_str!("api.h")),
    ("numalab.h", include_str!("numalab.h")),
    ("config.c", include_str!("config.c")),
    ("cache.c", include_str!("cache.c")),
    ("charge.c", include_str!("charge.c")),
    ("report.c", include_str!("report.c")),
    ("plugin.c", include_str!("plugin.c")),
];
/// Flags of the compiler.
pub const FLAGS: [&str; 6] = ["-std=gnu11", "-O2", "-fPIC", "-fvisibility=hidden", "-shared", "-Wall"];

/// Most CPUs in the plugin's tables (`numalab.h`), one more than a guest can have.
pub const MAX_CPUS: usize = 256;
/// Most nodes in the plugin's tables (`numalab.h`); a guest without the plugin can have more.
pub const MAX_NODES: usize = 64;

/// Checks that a machine fits the plugin's tables.
///
/// # Errors
/// It has more than [`MAX_CPUS`] or [`MAX_NODES`].
pub fn check_room(machine: &Machine) -> Result<(), TopologyError> {
    let (cpus, nodes) = (machine.cpu_count(), machine.node_count());
    if cpus <= MAX_CPUS && nodes <= MAX_NODES {
        return Ok(());
    }
    let what = format!("{} has {cpus} CPUs and {nodes} nodes", machine.name);
    let possible = format!(
        "timing `modelled` and --count-misses have room for {MAX_CPUS} CPUs and {MAX_NODES} nodes; a larger machine \
         runs with --timing counters"
    );
    Err(TopologyError::new(what, possible))
}

/// A compiled and configured plugin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plugin {
    /// Shared library.
    pub library: PathBuf,
    /// Text of its configuration file, without the line that names the log.
    pub config: String,
}

/// The C compiler: the variable `CC`, or `cc`.
pub fn compiler() -> String {
    std::env::var("CC").ok().filter(|c| !c.is_empty()).unwrap_or_else(|| "cc".into())
}

/// Path of the plugin's shared library, which is compiled unless the cache has it.
///
/// # Errors
/// There is no compiler, or its message.
pub fn library(cache: &Cache) -> Result<PathBuf, String> {
    compiled(cache, "numalab", &SOURCES, &[])
}

/// Path of a plugin's shared library `STEM-DIGEST.so`, which is compiled unless the cache has it. Sources are file
/// names and texts. The compiler is given `faster` beside [`FLAGS`], and does without if it does not know them.
///
/// # Errors
/// There is no compiler, or its message.
pub fn compiled(cache: &Cache, stem: &str, sources: &[(&str, &str)], faster: &[&str]) -> Result<PathBuf, String> {
    let compiler = compiler();
    let version = Command::new(&compiler).arg("--version").output();
    let missing = |e| format!("C compiler `{compiler}`: {e}; `apt-get install gcc libc6-dev`, or name one in CC");
    let version = version.map_err(missing)?.stdout;
    let mut key = version;
    sources.iter().for_each(|(_, text)| key.extend_from_slice(text.as_bytes()));
    FLAGS.iter().chain(faster).for_each(|f| key.extend_from_slice(f.as_bytes()));
    let directory = cache.directory(cache::PLUGIN).map_err(|e| e.to_string())?;
    let library = directory.join(format!("{stem}-{}.so", &cache::sha256(&key)[..16]));
    if library.is_file() {
        return Ok(library);
    }
    let work = cache.work_directory(cache::PLUGIN).map_err(at_path(&directory))?;
    for (name, text) in sources {
        std::fs::write(work.path().join(name), text).map_err(|e| e.to_string())?;
    }
    let names = || sources.iter().map(|(name, _)| *name).filter(|name| name.ends_with(".c"));
    let with = |more: &[&str]| {
        let mut command = Command::new(&compiler);
        command.args(FLAGS).args(more).arg("-o").arg(work.path().join("out.so")).current_dir(work.path());
        let output = crate::child::ends_with_parent(command.args(names()), libc::SIGTERM).output();
        output.map_err(|e| format!("C compiler `{compiler}`: {e}"))
    };
    let mut output = with(faster)?;
    if !output.status.success() && !faster.is_empty() {
        output = with(&[])?;
    }
    if !output.status.success() {
        return Err(format!("the plugin does not compile: {}", String::from_utf8_lossy(&output.stderr).trim()));
    }
    std::fs::rename(work.path().join("out.so"), &library).map_err(|e| e.to_string())?;
    Ok(library)
}

/// Speed of a compute-bound thread while its SMT sibling runs, per thousand (machines.md §7).
const SMT_PERMILLE: u32 = 620;
/// Guest instructions per 64-byte line of a sequential sweep.
const SWEEP_INSNS: f64 = 8.0;
/// Smallest modelled last-level cache, bytes.
const LEAST_LLC_BYTES: u64 = 64 << 10;
/// Smallest modelled private cache, bytes.
const LEAST_L2_BYTES: u64 = 16 << 10;

/// Parameters of the plugin's model, in the order of guest CPUs.
#[derive(Clone, Debug, PartialEq)]
pub struct Model {
    /// Node, core and last-level cache of each guest CPU.
    pub cpus: Vec<(usize, usize, usize)>,
    /// Memory of each node, bytes.
    pub node_bytes: Vec<u64>,
    /// Latency from a CPU of node `i` to memory of node `j`, ns.
    pub latency_ns: Vec<Vec<f64>>,
    /// Latency of the last-level cache, ns.
    pub llc_ns: f64,
    /// Size of a core's private cache, bytes.
    pub l2_bytes: u64,
    /// Size of a last-level cache, bytes.
    pub llc_bytes: u64,
    /// Number of streaming threads that saturate each node; 0 = no limit.
    pub saturation: Vec<f64>,
}

impl Model {
    /// The model of a machine in a guest of `topology`; caches are divided by `divisor`.
    pub fn of(machine: &Machine, topology: &GuestTopology, divisor: u64) -> Self {
        let mut cpus = vec![(0, 0, 0); topology.smp.cpus()];
        for (cpu, &guest) in machine.cpus.iter().zip(&topology.cpu_ids) {
            cpus[guest as usize] = (cpu.node, cpu.core, cpu.llc);
        }
        let llc_bytes = machine.llcs.iter().map(|l| l.size_bytes).max().unwrap_or(1 << 20);
        let saturation = |n: &numalab_model::machine::Node| n.dram_sustained_gbps / machine.stream.cap_gbps.max(1e-3);
        Self {
            cpus,
            node_bytes: topology.nodes.iter().map(|n| n.memory_bytes).collect(),
            latency_ns: machine.latency_ns.clone(),
            llc_ns: machine.cache.llc_latency_ns,
            l2_bytes: (machine.cache.l2_bytes / divisor).max(LEAST_L2_BYTES),
            llc_bytes: (llc_bytes / divisor).max(LEAST_LLC_BYTES),
            saturation: machine.nodes.iter().map(saturation).collect(),
        }
    }

    /// The text of the plugin's configuration file.
    ///
    /// # Errors
    /// More CPUs or nodes than the plugin's tables hold.
    pub fn config(&self, timing: Timing, shift: u32) -> Result<String, String> {
        if self.cpus.len() > MAX_CPUS || self.node_bytes.len() > MAX_NODES {
            return Err(format!("the plugin has room for {MAX_CPUS} CPUs and {MAX_NODES} nodes"));
        }
        let insn_ns = f64::from(1u32 << shift.min(20));
        let ps = |ns: f64| (ns * 1000.0) as u64;
        let of =
            |f: &dyn Fn(&(usize, usize, usize)) -> usize| self.cpus.iter().map(|c| f(c) as u64).collect::<Vec<_>>();
        let mut out = Lines::default();
        out.line("cpus", &[self.cpus.len() as u64]);
        out.line("nodes", &[self.node_bytes.len() as u64]);
        out.line("charge", &[u64::from(timing == Timing::Modelled)]);
        out.line("insn_ps", &[ps(insn_ns)]);
        out.line("smt_permille", &[SMT_PERMILLE.into()]);
        out.line("node_of", &of(&|c| c.0));
        out.line("core_of", &of(&|c| c.1));
        out.line("llc_of", &of(&|c| c.2));
        out.line("node_bytes", &self.node_bytes);
        out.line("llc_bytes", &[self.llc_bytes]);
        out.line("l2_bytes", &[self.l2_bytes]);
        out.line("llc_ps", &[ps(self.llc_ns)]);
        for (i, row) in self.latency_ns.iter().enumerate() {
            let row = row.iter().map(|&ns| ps(ns));
            out.line("latency_ps", &std::iter::once(i as u64).chain(row).collect::<Vec<_>>());
        }
        // Time of a line in one streaming thread of the guest, divided by the number of threads that saturate the node.
        let per_line = |(n, &threads): (usize, &f64)| match threads {
            t if t > 0.0 => ps((SWEEP_INSNS * insn_ns + self.latency_ns[n][n]) / t),
            _ => 0,
        };
        out.line("line_ps", &self.saturation.iter().enumerate().map(per_line).collect::<Vec<_>>());
        out.line("mark_page", &[numalab_worker::mark::ADDRESS >> 12]);
        Ok(out.text)
    }
}

#[derive(Default)]
struct Lines {
    text: String,
}

impl Lines {
    fn line(&mut self, word: &str, values: &[u64]) {
        self.text.push_str(word);
        for v in values {
            // Writing to a string cannot fail.
            let _ = write!(self.text, " {v}");
        }
        self.text.push('\n');
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::topology::tests::machine;

    #[test]
    fn the_limits_are_those_of_the_sources() {
        let header = SOURCES.iter().find(|s| s.0 == "numalab.h").unwrap().1;
        assert!(header.contains(&format!("MAX_CPUS = {MAX_CPUS}, MAX_NODES = {MAX_NODES},")));
        assert_eq!(check_room(&machine(64, 1, 1, 1, false)), Ok(()));
        let e = check_room(&machine(65, 1, 1, 1, false)).unwrap_err().to_string();
        assert!(e.contains("65 nodes") && e.contains("64 nodes") && e.contains("--timing counters"), "{e}");
    }

    #[test]
    fn the_configuration_is_in_guest_order_and_scaled() {
        let m = machine(2, 1, 2, 2, true);
        let topology = GuestTopology::of(&m).unwrap();
        let text = Model::of(&m, &topology, 16).config(Timing::Modelled, 3).unwrap();
        let line = |word: &str| text.lines().find(|l| l.starts_with(&format!("{word} "))).unwrap().to_string();
        assert_eq!(line("node_of"), "node_of 0 0 0 0 1 1 1 1");
        assert_eq!(line("core_of"), "core_of 0 0 1 1 2 2 3 3");
        assert_eq!(line("insn_ps"), "insn_ps 8000");
        assert_eq!(line("llc_bytes"), "llc_bytes 1048576");
        assert!(text.contains("latency_ps 1 240000 80000"));
        // 64 ns of instructions and 80 ns of latency per line; four threads of 10 GB/s saturate 40 GB/s.
        assert_eq!(line("line_ps"), "line_ps 36000 36000");
        assert_eq!(line("mark_page"), format!("mark_page {}", 0x4E55_4D41_0000u64 >> 12));
    }

    /// A directory with all C sources; `None` without a compiler.
    fn unpacked() -> Option<tempfile::TempDir> {
        if !crate::probe::test_has(&[compiler().as_str()]) {
            return None;
        }
        let directory = tempfile::tempdir().unwrap();
        for (name, text) in SOURCES {
            std::fs::write(directory.path().join(name), text).unwrap();
        }
        Some(directory)
    }

    #[test]
    fn caches_and_virtual_time_pass_their_own_tests() {
        let Some(directory) = unpacked() else { return };
        std::fs::write(directory.path().join("test.c"), include_str!("test.c")).unwrap();
        let mut command = Command::new(compiler());
        command.args(["-std=gnu11", "-O1", "-Wall", "-Wextra", "-Werror", "-o", "test"]);
        command.args(["test.c", "cache.c", "charge.c", "config.c", "report.c"]).current_dir(directory.path());
        let output = command.output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let output = Command::new(directory.path().join("test")).current_dir(directory.path()).output().unwrap();
        assert_eq!(String::from_utf8_lossy(&output.stdout), "passed\n");
        // The test made 100010 samples; the plugin has room for 100000 marks.
        let log = std::fs::read_to_string(directory.path().join("marks.log")).unwrap();
        let report = report::PluginReport::parse(&log, 4).unwrap();
        assert_eq!((report.totals().unwrap()[0].local, report.samples()), (100_015, 99_998));
        let times: Vec<u64> = (0..100_010).collect();
        let local = &report.series(&[0, 1, 2, 3], &times, 200_000)[0];
        assert_eq!((local.time_ns.len(), local.time_ns.last()), (99_999, Some(&200_000)));
        assert_eq!((local.values[0].iter().sum::<f64>(), local.values[0].last()), (100_015.0, Some(&17.0)));
    }

    #[test]
    fn the_sources_compile_without_warnings() {
        let Some(directory) = unpacked() else { return };
        for (name, _) in SOURCES.iter().filter(|s| s.0.ends_with(".c")) {
            let mut command = Command::new(compiler());
            command.args(FLAGS).args(["-Wextra", "-Werror", "-c", name]).current_dir(directory.path());
            let output = command.output().unwrap();
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        }
    }
}
