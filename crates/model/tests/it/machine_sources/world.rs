//! A machine as a test states it, and what the tools would print on it.

use numalab_model::machine::cpulist;
use std::fmt::Write;
use std::path::Path;

/// A node: its LLCs, each a list of cores, each a list of CPUs.
#[derive(Clone, Debug, Default)]
pub struct WorldNode {
    pub id: u32,
    pub package: u32,
    pub llcs: Vec<Vec<Vec<u32>>>,
    pub kib: u64,
    /// Subtype as hwloc writes it, for memory without CPUs.
    pub subtype: &'static str,
}

impl WorldNode {
    pub fn cpus(&self) -> Vec<u32> {
        let mut cpus = self.llcs.concat().concat();
        cpus.sort_unstable();
        cpus
    }
}

/// A machine; the caches of a kind are all of one size.
#[derive(Clone, Debug, Default)]
pub struct World {
    pub nodes: Vec<WorldNode>,
    pub distance: Vec<Vec<u8>>,
    pub l2_kib: u64,
    pub llc_kib: u64,
}

/// Two packages of two nodes each with two LLCs of two cores of two threads, threads far apart, and one node without
/// CPUs.
pub fn example() -> World {
    let node = |n: u32| {
        let core = |c: u32| vec![n * 4 + c, n * 4 + c + 16];
        let llcs = vec![vec![core(0), core(1)], vec![core(2), core(3)]];
        WorldNode { id: n, package: n / 2, llcs, kib: (n as u64 + 8) << 20, subtype: "" }
    };
    let mut nodes: Vec<WorldNode> = (0..4).map(node).collect();
    nodes.push(WorldNode { id: 9, package: 1, llcs: vec![], kib: 16 << 20, subtype: "CXL-DRAM" });
    let far = |a: usize, b: usize| match () {
        () if a == b => 10,
        () if a == 4 || b == 4 => {
            if a / 2 == 1 || b / 2 == 1 {
                14
            } else {
                24
            }
        }
        () if a / 2 == b / 2 => 12,
        () => 32,
    };
    let distance = (0..5).map(|a| (0..5).map(|b| far(a, b)).collect()).collect();
    World { nodes, distance, l2_kib: 512, llc_kib: 16384 }
}

/// CPUs in hexadecimal words as hwloc writes them.
pub fn hex(cpus: &[u32], prefix: &str) -> String {
    let words = cpus.iter().max().map_or(1, |m| m / 32 + 1);
    let word = |w: u32| cpus.iter().filter(|c| *c / 32 == w).fold(0_u32, |bits, c| bits | 1 << (c % 32));
    (0..words).rev().map(|w| format!("{prefix}{:08x}", word(w))).collect::<Vec<_>>().join(",")
}

impl World {
    pub fn cpus(&self) -> Vec<u32> {
        let mut all: Vec<u32> = self.nodes.iter().flat_map(WorldNode::cpus).collect();
        all.sort_unstable();
        all
    }
    pub fn packages(&self) -> Vec<u32> {
        let mut all: Vec<u32> = self.nodes.iter().filter(|n| !n.llcs.is_empty()).map(|n| n.package).collect();
        all.sort_unstable();
        all.dedup();
        all
    }
    pub fn threads(&self) -> usize {
        self.nodes.iter().flat_map(|n| n.llcs.iter().flatten()).map(Vec::len).max().unwrap_or(1)
    }
    fn llc_count(&self) -> usize {
        self.nodes.iter().map(|n| n.llcs.len()).sum()
    }

    pub fn numactl(&self) -> String {
        let ids: Vec<u32> = self.nodes.iter().map(|n| n.id).collect();
        let mut out = format!("available: {} nodes ({})\n", ids.len(), cpulist::format(&ids));
        for n in &self.nodes {
            let cpus: Vec<String> = n.cpus().iter().map(u32::to_string).collect();
            let (id, mb) = (n.id, n.kib >> 10);
            let _ = writeln!(out, "node {id} cpus: {}\nnode {id} size: {mb} MB\nnode {id} free: 1 MB", cpus.join(" "));
        }
        out += "node distances:\nnode  ";
        ids.iter().for_each(|id| out += &format!(" {id:>3} "));
        for (id, row) in ids.iter().zip(&self.distance) {
            let row: Vec<String> = row.iter().map(|d| format!(" {d:>3} ")).collect();
            let _ = write!(out, "\n{id:>3}: {}", row.concat());
        }
        out + "\n"
    }

    pub fn lscpu_fields(&self) -> Vec<(String, String)> {
        let all = self.cpus();
        let cores = self.nodes.iter().map(|n| n.llcs.concat().len()).sum::<usize>();
        let mut fields = vec![
            ("Architecture".into(), "x86_64".into()),
            ("CPU(s)".into(), all.len().to_string()),
            ("On-line CPU(s) list".into(), cpulist::format(&all)),
            ("Model name".into(), "Example CPU".into()),
            ("Thread(s) per core".into(), self.threads().to_string()),
            ("Socket(s)".into(), self.packages().len().to_string()),
            ("L2 cache".into(), format!("{} KiB ({cores} instances)", self.l2_kib * cores as u64)),
            (
                "L3 cache".into(),
                format!("{} KiB ({} instances)", self.llc_kib * self.llc_count() as u64, self.llc_count()),
            ),
            ("NUMA node(s)".into(), self.nodes.len().to_string()),
        ];
        let nodes = self.nodes.iter().map(|n| (format!("NUMA node{} CPU(s)", n.id), cpulist::format(&n.cpus())));
        fields.extend(nodes);
        fields
    }
    pub fn lscpu(&self) -> String {
        self.lscpu_fields().iter().map(|(k, v)| format!("{:<22} {v}\n", format!("{k}:"))).collect()
    }
    /// `lscpu` on a terminal, which puts fields under heads.
    pub fn lscpu_terminal(&self) -> String {
        let mut out = String::new();
        for (key, value) in self.lscpu_fields() {
            match key.as_str() {
                "L2 cache" => out += "Caches (sum of all):      \n",
                "NUMA node(s)" => out += "NUMA:                     \n",
                _ => {}
            }
            let _ = writeln!(out, "  {:<24}{value}", format!("{}:", key.trim_end_matches(" cache")));
        }
        out
    }
    pub fn lscpu_json(&self) -> String {
        let entry = |(k, v): &(String, String)| serde_json::json!({"field": format!("{k}:"), "data": v});
        let fields = self.lscpu_fields();
        // Newer versions nest most fields below others.
        let (first, rest) = fields.split_at(2);
        let rest: Vec<_> = rest.iter().map(entry).collect();
        let mut top: Vec<_> = first.iter().map(entry).collect();
        top[1]["children"] = rest.into();
        serde_json::json!({ "lscpu": top }).to_string()
    }
    /// `lscpu -p`.
    pub fn lscpu_table(&self) -> String {
        let mut out = "# The following is the parsable format\n# CPU,Core,Socket,Node,,L1d,L1i,L2,L3\n".to_string();
        let mut rows = Vec::new();
        let (mut core, mut llc) = (0, 0);
        for n in &self.nodes {
            for l in &n.llcs {
                for c in l {
                    rows.extend(
                        c.iter().map(|cpu| {
                            (*cpu, format!("{cpu},{core},{},{},,{core},{core},{core},{llc}", n.package, n.id))
                        }),
                    );
                    core += 1;
                }
                llc += 1;
            }
        }
        rows.sort_unstable();
        rows.iter().for_each(|(_, row)| out += &format!("{row}\n"));
        out
    }

    pub fn hwloc_xml(&self) -> String {
        let mut gp = 1;
        let mut next = || {
            gp += 1;
            gp
        };
        let all = self.cpus();
        let mut out = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<!DOCTYPE topology SYSTEM \"hwloc2.dtd\">\n<topology version=\"2.0\">\n".to_string();
        let _ =
            writeln!(out, " <object type=\"Machine\" os_index=\"0\" cpuset=\"{}\" gp_index=\"1\">", hex(&all, "0x"));
        let mut packages: Vec<u32> = self.nodes.iter().map(|n| n.package).collect();
        packages.sort_unstable();
        packages.dedup();
        for p in packages {
            let own: Vec<&WorldNode> = self.nodes.iter().filter(|n| n.package == p).collect();
            let _ = writeln!(out, "  <object type=\"Package\" os_index=\"{p}\" gp_index=\"{}\">", next());
            for n in own {
                let cpus = n.cpus();
                let set = if cpus.is_empty() { "0x0".to_string() } else { hex(&cpus, "0x") };
                let subtype = if n.subtype.is_empty() { String::new() } else { format!(" subtype=\"{}\"", n.subtype) };
                let memory = if n.kib == 0 { String::new() } else { format!(" local_memory=\"{}\"", n.kib << 10) };
                let _ = writeln!(out, "  <object type=\"Group\" gp_index=\"{}\">", next());
                let _ = writeln!(
                    out,
                    "   <object type=\"NUMANode\"{subtype} os_index=\"{}\" cpuset=\"{set}\" complete_cpuset=\"{set}\" gp_index=\"{}\"{memory}/>",
                    n.id,
                    next()
                );
                for l in &n.llcs {
                    let _ = writeln!(
                        out,
                        "   <object type=\"L3Cache\" gp_index=\"{}\" cache_size=\"{}\" cache_type=\"0\">",
                        next(),
                        self.llc_kib << 10
                    );
                    for c in l {
                        let _ = writeln!(out, "    <object type=\"L2Cache\" gp_index=\"{}\" cache_size=\"{}\" cache_type=\"0\"><object type=\"Core\" os_index=\"0\" gp_index=\"{}\">", next(), self.l2_kib << 10, next());
                        for cpu in c {
                            let _ =
                                writeln!(out, "     <object type=\"PU\" os_index=\"{cpu}\" gp_index=\"{}\"/>", next());
                        }
                        out += "    </object></object>\n";
                    }
                    out += "   </object>\n";
                }
                out += "  </object>\n";
            }
            out += "  </object>\n";
        }
        out += " </object>\n";
        let n = self.nodes.len();
        let ids: Vec<String> = self.nodes.iter().map(|n| n.id.to_string()).collect();
        let values: Vec<String> = self.distance.concat().iter().map(u8::to_string).collect();
        let _ = writeln!(
            out,
            " <distances2 type=\"NUMANode\" nbobjs=\"{n}\" kind=\"5\" name=\"NUMALatency\" indexing=\"os\">\n  <indexes>{} </indexes>\n  <u64values>{} </u64values>\n </distances2>\n</topology>",
            ids.join(" "),
            values.join(" ")
        );
        out
    }

    /// The text of `lstopo -v`, which has exact sizes.
    pub fn lstopo(&self) -> String {
        let mut out = "Machine (P#0 total=1KB)\n".to_string();
        let mut packages = self.packages();
        packages.dedup();
        for p in packages {
            let _ = writeln!(out, "  Package L#{p} (P#{p} CPUModel=\"Example CPU\")");
            for n in self.nodes.iter().filter(|n| n.package == p) {
                let subtype = if n.subtype.is_empty() { String::new() } else { format!("({})", n.subtype) };
                let (indent, group) = if n.llcs.is_empty() { ("    ", "") } else { ("      ", "    Group0 L#0\n") };
                let _ = writeln!(
                    out,
                    "{group}{indent}NUMANode{subtype} L#{} (P#{} local={}KB total={}KB)",
                    n.id, n.id, n.kib, n.kib
                );
                for l in &n.llcs {
                    let _ = writeln!(out, "      L3Cache L#0 (size={}KB linesize=64 ways=16)", self.llc_kib);
                    for c in l {
                        let _ = writeln!(out, "        L2Cache L#0 (size={}KB) + L1dCache L#0 (size=32KB) + L1iCache L#0 (size=32KB) + Core L#0 (P#0)", self.l2_kib);
                        c.iter().for_each(|cpu| out += &format!("          PU L#0 (P#{cpu})\n"));
                    }
                }
            }
        }
        out + "    HostBridge L#0 (buses=0000:[00-00])\n      PCI L#0 (busid=0000:00:02.0 class=0300(VGA))\ndepth 0: 1 Machine (type #0)\n"
    }

    /// The files of sysfs: path below `devices/system` and text.
    pub fn sysfs_files(&self, masks: bool) -> Vec<(String, String)> {
        let list = |cpus: &[u32]| if masks { hex(cpus, "") } else { cpulist::format(cpus) };
        let suffix = if masks { "" } else { "_list" };
        let mut files = vec![
            ("cpu/online".to_string(), cpulist::format(&self.cpus())),
            ("node/online".to_string(), cpulist::format(&self.nodes.iter().map(|n| n.id).collect::<Vec<_>>())),
        ];
        for (n, row) in self.nodes.iter().zip(&self.distance) {
            let at = |f: &str| format!("node/node{}/{f}", n.id);
            let row: Vec<String> = row.iter().map(u8::to_string).collect();
            files.push((at(if masks { "cpumap" } else { "cpulist" }), list(&n.cpus())));
            files.push((at("distance"), row.join(" ")));
            files.push((at("meminfo"), format!("Node {} MemTotal:  {} kB\nNode {} MemFree: 1 kB", n.id, n.kib, n.id)));
            for l in &n.llcs {
                let mut llc = l.concat();
                llc.sort_unstable();
                for c in l {
                    for cpu in c {
                        let at = |f: &str| format!("cpu/cpu{cpu}/{f}");
                        let core = if masks { "thread_siblings".into() } else { "core_cpus_list".to_string() };
                        files.push((at(&format!("topology/{core}")), list(c)));
                        files.push((at("topology/physical_package_id"), n.package.to_string()));
                        for (index, level, kib, shared) in [(2, 2, self.l2_kib, c), (3, 3, self.llc_kib, &llc)] {
                            let at = |f: &str| at(&format!("cache/index{index}/{f}"));
                            let shared_file =
                                if masks { "shared_cpu_map".into() } else { format!("shared_cpu{suffix}") };
                            files.push((at("level"), level.to_string()));
                            files.push((at("type"), "Unified".into()));
                            files.push((at("size"), format!("{kib}K")));
                            files.push((at(&shared_file), list(shared)));
                        }
                    }
                }
            }
        }
        files
    }
    pub fn write_sysfs(&self, root: &Path, masks: bool) {
        for (path, text) in self.sysfs_files(masks) {
            let path = root.join("sys/devices/system").join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text + "\n").unwrap();
        }
    }
}
