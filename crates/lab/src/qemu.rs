//! QEMU's command line for a NUMA topology, a kernel and a timing mode.
//!
//! Choices that were measured: the Intel vendor id and `tsc=reliable` halve the boot time and make two LLCs per node
//! visible. Instruction counting (`-icount`) with a fixed seed and clock gives the same bytes in every run. A guest
//! gets nothing of the host but the kernel, the RAM disk and two output files.

use crate::topology::{GuestTopology, Smp};
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// How time passes in a guest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Timing {
    /// CPUs run on several host threads or under KVM: counters and page placement are valid, times are not.
    Counters,
    /// CPUs run on one host thread, and instructions are counted: virtual time is deterministic, memory latency
    /// modelled.
    Modelled,
}

impl Timing {
    /// Name on the command line and in records.
    pub fn name(self) -> &'static str {
        match self {
            Timing::Counters => "counters",
            Timing::Modelled => "modelled",
        }
    }

    /// The mode with this name, if any.
    pub fn parse(name: &str) -> Option<Self> {
        [Timing::Counters, Timing::Modelled].into_iter().find(|t| t.name() == name)
    }
}

/// Default log2 of the ns per guest instruction in `modelled`: 8 ns, which is 125 million instructions per second.
pub const DEFAULT_SHIFT: u32 = 3;

/// Everything that the command line depends on.
#[derive(Clone, Debug)]
pub struct Launch<'a> {
    /// QEMU program.
    pub qemu: &'a Path,
    /// NUMA topology of the guest.
    pub topology: &'a GuestTopology,
    /// Kernel image.
    pub kernel: &'a Path,
    /// Initial RAM disk.
    pub initrd: &'a Path,
    /// File for the console's output.
    pub console: &'a Path,
    /// File for the frames of the report.
    pub report: &'a Path,
    /// Timing mode.
    pub timing: Timing,
    /// Use KVM (only in [`Timing::Counters`]).
    pub kvm: bool,
    /// Seed of everything random in the virtual machine.
    pub seed: u64,
    /// log2 of ns per instruction in [`Timing::Modelled`].
    pub shift: u32,
    /// Value of `-plugin` (`file.so,key=value,…`), if a plugin is loaded.
    pub plugin: Option<String>,
    /// Further words for the kernel's command line.
    pub boot_options: &'a [String],
}

/// Words of the kernel command line that every guest gets.
const BOOT: [&str; 12] = [
    "console=ttyS0",
    "quiet",
    "panic=-1",
    "oops=panic",
    "tsc=reliable",
    // The kernel's test of the timer interrupt panics on a busy host, where the CPU of the guest has to wait.
    "no_timer_check",
    "nokaslr",
    "norandmaps",
    "mitigations=off",
    "audit=0",
    "apparmor=0",
    // Packaged kernels test their ciphers in the background, which takes one CPU ten seconds during the measurement.
    "cryptomgr.notests",
];

/// The kernel's command line, with further words `options`.
pub fn boot_line(options: &[String]) -> String {
    let own = options.iter().map(String::as_str);
    BOOT.into_iter().chain(own).collect::<Vec<_>>().join(" ")
}

/// Processor of an emulated guest. Without `monitor`, idle CPUs halt instead of spinning. Without `erms`, the kernel
/// clears and copies pages by the word instead of by the byte, which takes fewer counted instructions.
const TCG_CPU: &str = "max,vendor=GenuineIntel,l3-cache=on,-monitor,-erms";

/// The arguments of QEMU.
pub fn arguments(launch: &Launch<'_>) -> Vec<OsString> {
    let mut out = Arguments::default();
    for word in ["-nodefaults", "-no-user-config", "-no-reboot"] {
        out.word(word);
    }
    out.pair("-display", "none");
    out.pair("-monitor", "none");
    out.pair("-nic", "none");
    out.pair("-machine", if launch.topology.hmat.is_some() { "pc,hmat=on" } else { "pc" });
    accelerator(launch, &mut out);
    let Smp { sockets, dies, cores, threads } = launch.topology.smp;
    let smp = format!("{},sockets={sockets},dies={dies},cores={cores},threads={threads}", launch.topology.smp.cpus());
    out.pair("-smp", &smp);
    out.pair("-m", &format!("{}M", launch.topology.memory_bytes() >> 20));
    memory(launch.topology, &mut out);
    out.word("-kernel").path(launch.kernel);
    out.word("-initrd").path(launch.initrd);
    out.pair("-append", &boot_line(launch.boot_options));
    // The first serial line is the console, the second one carries the report.
    for (id, path) in [("console", launch.console), ("report", launch.report)] {
        out.pair("-chardev", &format!("file,id={id},path={}", escape(path)));
        out.pair("-serial", &format!("chardev:{id}"));
    }
    let port = numalab_worker::frame::EXIT_PORT;
    out.pair("-device", &format!("isa-debug-exit,iobase={port:#x},iosize=0x04"));
    if let Some(plugin) = &launch.plugin {
        out.pair("-plugin", plugin);
    }
    out.words
}

fn accelerator(launch: &Launch<'_>, out: &mut Arguments) {
    match launch.timing {
        Timing::Modelled => {
            out.pair("-accel", "tcg,thread=single");
            out.pair("-icount", &format!("shift={},sleep=off", launch.shift));
            out.pair("-rtc", "base=2025-01-01,clock=vm");
        }
        Timing::Counters if launch.kvm => {
            out.pair("-accel", "kvm");
        }
        Timing::Counters => {
            out.pair("-accel", "tcg,thread=multi");
        }
    }
    out.pair("-cpu", if launch.kvm { "host,l3-cache=on" } else { TCG_CPU });
    out.pair("-seed", &launch.seed.to_string());
}

fn memory(topology: &GuestTopology, out: &mut Arguments) {
    for (n, node) in topology.nodes.iter().enumerate() {
        let mut option = format!("node,nodeid={n}");
        if node.memory_bytes > 0 {
            out.pair("-object", &format!("memory-backend-ram,id=m{n},size={}M", node.memory_bytes >> 20));
            option.push_str(&format!(",memdev=m{n}"));
        }
        for (first, last) in ranges(&node.cpus) {
            option.push_str(&format!(",cpus={first}-{last}"));
        }
        if topology.hmat.is_some() {
            option.push_str(&format!(",initiator={}", node.initiator));
        }
        out.pair("-numa", &option);
    }
    for (i, row) in topology.distance.iter().enumerate() {
        for (j, d) in row.iter().enumerate().filter(|(j, _)| *j != i) {
            out.pair("-numa", &format!("dist,src={i},dst={j},val={d}"));
        }
    }
    let Some(hmat) = &topology.hmat else { return };
    for (i, node) in topology.nodes.iter().enumerate() {
        for (j, target) in topology.nodes.iter().enumerate() {
            if node.cpus.is_empty() || target.memory_bytes == 0 {
                continue;
            }
            let common = format!("hmat-lb,initiator={i},target={j},hierarchy=memory");
            let (ns, mbps) = (hmat.latency_ns[i][j], hmat.bandwidth_mbps[i][j]);
            out.pair("-numa", &format!("{common},data-type=access-latency,latency={ns}"));
            out.pair("-numa", &format!("{common},data-type=access-bandwidth,bandwidth={mbps}M"));
        }
    }
}

/// Ascending numbers as ranges of consecutive numbers.
fn ranges(numbers: &[u32]) -> Vec<(u32, u32)> {
    let mut out: Vec<(u32, u32)> = Vec::new();
    for &n in numbers {
        match out.last_mut() {
            Some((_, last)) if *last + 1 == n => *last = n,
            _ => out.push((n, n)),
        }
    }
    out
}

/// A path as part of an option's value: QEMU reads a doubled comma as one comma.
pub fn escape(path: &Path) -> String {
    path.to_string_lossy().replace(',', ",,")
}

#[derive(Default)]
struct Arguments {
    words: Vec<OsString>,
}

impl Arguments {
    fn word(&mut self, word: &str) -> &mut Self {
        self.words.push(word.into());
        self
    }
    fn path(&mut self, path: &Path) -> &mut Self {
        self.words.push(path.into());
        self
    }
    fn pair(&mut self, option: &str, value: &str) -> &mut Self {
        self.word(option).word(value)
    }
}

/// Default QEMU program, found on the search path.
pub fn default_program() -> PathBuf {
    "qemu-system-x86_64".into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::topology::tests::machine;

    fn line(topology: &GuestTopology, timing: Timing) -> String {
        let launch = Launch {
            qemu: Path::new("qemu"),
            topology,
            kernel: Path::new("k"),
            initrd: Path::new("i"),
            console: Path::new("c"),
            report: Path::new("a,b"),
            timing,
            kvm: false,
            seed: 7,
            shift: DEFAULT_SHIFT,
            plugin: Some("p.so,x=1".into()),
            boot_options: &["numa_balancing=disable".into()],
        };
        let words: Vec<String> = arguments(&launch).iter().map(|w| w.to_string_lossy().into_owned()).collect();
        words.join(" ")
    }

    #[test]
    fn distances_that_differ_by_direction_are_passed_both_ways() {
        let mut odd = machine(2, 1, 2, 1, false);
        odd.distance = vec![vec![10, 20], vec![31, 10]];
        let text = line(&GuestTopology::of(&odd).unwrap(), Timing::Modelled);
        assert!(text.contains("dist,src=0,dst=1,val=20") && text.contains("dist,src=1,dst=0,val=31"), "{text}");
    }

    #[test]
    fn nodes_distances_and_cpus_are_passed() {
        let topology = GuestTopology::of(&machine(2, 2, 2, 2, false)).unwrap();
        let text = line(&topology, Timing::Modelled);
        for part in [
            "-smp 16,sockets=2,dies=2,cores=2,threads=2",
            "-m 8192M",
            "memory-backend-ram,id=m1,size=4096M",
            "-numa node,nodeid=1,memdev=m1,cpus=8-15",
            "-numa dist,src=0,dst=1,val=21",
            "-accel tcg,thread=single -icount shift=3,sleep=off -rtc base=2025-01-01,clock=vm",
            "-seed 7",
            "-nic none",
            "path=a,,b",
            "-plugin p.so,x=1",
            "norandmaps mitigations=off audit=0 apparmor=0 cryptomgr.notests numa_balancing=disable",
        ] {
            assert!(text.contains(part), "{part} is not in {text}");
        }
        assert!(!text.contains("hmat"));
        let counters = line(&topology, Timing::Counters);
        assert!(counters.contains("thread=multi") && !counters.contains("icount"));
    }

    #[test]
    fn a_node_without_memory_or_cpus_has_no_such_option() {
        let mut topology = GuestTopology::of(&machine(2, 1, 1, 1, false)).unwrap();
        topology.nodes[1].memory_bytes = 0;
        topology.nodes[1].cpus.clear();
        let text = line(&topology, Timing::Counters);
        assert!(text.contains("-numa node,nodeid=1 "), "{text}");
        assert!(!text.contains("m1"));
    }

    #[test]
    fn ranges_and_mode_names_are_read() {
        assert_eq!(ranges(&[0, 1, 2, 5, 7, 8]), vec![(0, 2), (5, 5), (7, 8)]);
        assert_eq!(Timing::parse("modelled"), Some(Timing::Modelled));
        assert_eq!(Timing::parse("fast"), None);
    }
}
