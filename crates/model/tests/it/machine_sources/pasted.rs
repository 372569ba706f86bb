//! What people paste: prompts, text around it, quotations, wrapped and cut lines, other line ends and encodings.

use super::world::example;
use super::{machine, warns};
use numalab_model::machine::{import, Machine};

fn same(text: &str, what: &str) {
    let plain = machine(import::text("m.txt", &example().numactl(), "m"));
    assert_eq!(machine(import::bytes("m.txt", text.as_bytes(), "m")), plain, "{what}");
}

#[test]
fn numactl_with_whatever_is_around_it() {
    let plain = example().numactl();
    same(&format!("root@host:~# numactl -H\n{plain}root@host:~# "), "prompt");
    same(&format!("Hi all,\n\nthe machine is:\n\n{plain}\nand node 0 is full.\nnode 3: too\n"), "prose");
    same(&plain.replace('\n', "\r\n"), "CRLF");
    same(&format!("\u{feff}{plain}"), "byte order mark");
    same(&plain.lines().map(|l| format!("> {l}\n")).collect::<String>(), "quoted");
    same(&plain.lines().map(|l| format!("> > {l}\n")).collect::<String>(), "quoted twice");
    same(&plain.lines().map(|l| format!(">>> | {l}\n")).collect::<String>(), "quoted otherwise");
    same(&plain.replace(' ', "\u{a0}"), "no-break spaces");
    same(&plain.lines().map(|l| format!("    {l}   \n")).collect::<String>(), "indented");
    same(&format!("```\n{plain}```\n"), "fenced");
    same(&plain.replacen("node 0 cpus: 0 1 2 3 16", "node 0 cpus: 0 1\n2 3 16", 1), "wrapped");
    same(&plain.replace("node 0 cpus: 0 1 2 3 16 17 18 19", "node 0 cpus: 0-3,16-19"), "ranges");
    same(&plain.replace("node 0 cpus: 0 1 2 3 16 17 18 19", "node 0 cpus: 0-3 16-19"), "ranges with spaces");
    same(&plain.lines().skip(1).map(|l| format!("{l}\n")).collect::<String>(), "without the first line");
    let utf16: Vec<u8> = [0xff, 0xfe].into_iter().chain(plain.encode_utf16().flat_map(u16::to_le_bytes)).collect();
    let m = machine(import::bytes("m.txt", &utf16, "m"));
    assert_eq!(m, machine(import::text("m.txt", &plain, "m")), "UTF-16");
}

/// A matrix whose lines were wrapped at `width` columns between words.
fn wrapped(text: &str, width: usize) -> String {
    let (head, matrix) = text.split_once("node distances:\n").unwrap();
    let mut out = format!("{head}node distances:\n");
    for line in matrix.lines() {
        let mut at = 0;
        for word in line.split_whitespace() {
            if at + word.len() > width {
                out.push('\n');
                at = 0;
            }
            out += &format!("{word} ");
            at += word.len() + 1;
        }
        out.push('\n');
    }
    out
}

#[test]
fn a_wrapped_matrix_is_whole() {
    let plain = example().numactl();
    for width in [8, 12, 16] {
        assert!(wrapped(&plain, width).lines().count() > plain.lines().count());
        same(&wrapped(&plain, width), &format!("wrapped at {width}"));
    }
    // What does not belong to it is not read, and a row that is too short is refused at its place.
    same(&format!("{plain}12 14\n"), "numbers below");
    let cut = wrapped(&plain, 16);
    let last = cut.trim_end().rfind('\n').unwrap();
    let e = import::numactl("m.txt", &cut[..last], "m").unwrap_err();
    assert!(e.line > 0 && e.what.contains("distances for 5 nodes"), "{e}");
    // A line that was broken inside a number does not become another machine.
    let e = import::numactl("m.txt", &plain.replace("node     0    1    2    3    9 ", "node 0 1 2\n3 0"), "m")
        .unwrap_err();
    assert!(e.what.contains("a second column for node 0"), "{e}");
    let wrong = wrapped(&plain, 8).trim_end().rsplit_once(' ').map(|(text, _)| format!("{text} 9\n")).unwrap();
    let e = import::numactl("m.txt", &wrong, "m").unwrap_err();
    assert!(e.line == wrong.lines().count() && e.what.contains("distance 9 from node 9 to 9"), "{e}");
}

#[test]
fn numactl_without_distances() {
    let plain = example().numactl();
    let cut = &plain[..plain.find("node distances").unwrap()];
    for text in
        [cut.to_string(), format!("{cut}node distances:\n"), format!("{cut}No distance information available.\n")]
    {
        let m = machine(import::text("m.txt", &text, "m"));
        assert_eq!((m.distance[0][1], m.nodes.len()), (20, 5));
        warns(&m, "no distances in the source");
    }
}

#[test]
fn wrong_ranges_of_cpus_are_refused_at_their_place() {
    let plain = example().numactl();
    for (list, part) in [
        ("0-3,16-x", "`x` is not a CPU id"),
        ("3-0", "CPUs `3-0`"),
        ("0-65535", "CPUs `0-65535`"),
        ("0-3,2", "CPU 2 is in two nodes"),
    ] {
        let e = import::numactl("m.txt", &plain.replace("0 1 2 3 16 17 18 19", list), "m").unwrap_err();
        assert!(e.to_string().contains(part), "{list}: {e}");
    }
}

#[test]
fn lscpu_as_it_is_pasted() {
    let w = example();
    let shape = |m: &Machine| (m.sockets, m.nodes.len(), m.cores, m.cpus.len(), m.llcs.len());
    let want = (2, 5, 16, 32, 8);
    let m = machine(import::text("l.txt", &format!("$ lscpu\n{}", w.lscpu().replace('\n', "\r\n")), "m"));
    assert_eq!((shape(&m), m.llcs[0].size_bytes), (want, 16 << 20));
    assert_eq!(m.title, "imported from lscpu, Example CPU");
    assert_eq!(m.cpus[0].core, m.cpus[16].core);
    // Older versions print the size of one cache, without the number of caches.
    let old = w.lscpu().lines().filter(|l| !l.contains("cache")).map(|l| format!("{l}\n")).collect::<String>();
    let m = machine(import::text("l.txt", &format!("{old}L2 cache: 256K\nL3 cache: 30720K\n"), "m"));
    assert_eq!((m.llcs.len(), m.llcs[0].size_bytes, m.cache.l2_bytes), (4, 30 << 20, 256 << 10));
    // The table of `lscpu -e`, with an offline CPU.
    let table = "CPU NODE SOCKET CORE L1d:L1i:L2:L3 ONLINE    MAXMHZ    MINMHZ\n  0    0      0    0 0:0:0:0          yes 3700.0000 1200.0000\n  \
                 1    1      1    1 4:4:4:1          yes 3700.0000 1200.0000\n  2    0      0    0 0:0:0:0          yes 3700 1200\n  \
                 3    1      1    1 4:4:4:1          yes 3700.0000 1200.0000\n  4    -      -    - -                 no         -         -\n";
    let m = machine(import::text("l.txt", table, "m"));
    assert_eq!(shape(&m), (2, 2, 2, 4, 2));
    assert_eq!(m.cpus[0].core, m.cpus[2].core);
    let e = import::text("l.txt", &w.lscpu().replace("Thread(s) per core:    2", "Thread(s) per core:    x"), "m")
        .unwrap_err();
    assert!(e.to_string().contains("l.txt:5:1: `Thread(s) per core` is `x`; expected a whole number"), "{e}");
    for bad in ["{}", "{\"lscpu\": 3}", "{\"lscpu\": [", "{\"lscpu\": [{\"field\": \"x:\", \"data\": \"y\"}]}"] {
        assert!(import::text("l.json", bad, "m").is_err(), "{bad}");
    }
}

#[test]
fn lstopo_text_of_versions_1_and_2() {
    let two = "$ lstopo-no-graphics\nMachine (126GB total)\n  Package L#0\n    NUMANode L#0 (P#0 63GB)\n    L3 L#0 (20MB)\n      \
               L2 L#0 (256KB) + L1d L#0 (32KB) + L1i L#0 (32KB) + Core L#0\n        PU L#0 (P#0)\n        PU L#1 (P#2)\n    \
               HostBridge\n      PCI 00:02.0 (VGA)\n        GPU(:0) \"card0\"\n  Package L#1\n    NUMANode L#1 (P#1 63GB)\n    \
               L3 L#1 (20MB) + L2 L#1 (256KB) + L1d L#1 (32KB) + L1i L#1 (32KB) + Core L#1\n      PU L#2 (P#1)\n      PU L#3 (P#3)\n";
    let one = "Machine (126GB)\n  NUMANode L#0 (P#0 63GB) + Socket L#0 + L3 L#0 (20MB) + L2 L#0 (256KB) + L1d L#0 (32KB) + Core L#0\n    \
               PU L#0 (P#0)\n    PU L#1 (P#2)\n  NUMANode L#1 (P#1 63GB) + Socket L#1 + L3 L#1 (20MB) + L2 L#1 (256KB) + Core L#1\n    \
               PU L#2 (P#1)\n    PU L#3 (P#3)\n";
    for text in [two, one] {
        let m = machine(import::text("l.txt", text, "m"));
        assert_eq!((m.sockets, m.nodes.len(), m.cores, m.cpus.len(), m.llcs.len()), (2, 2, 2, 4, 2), "{text}");
        assert_eq!((m.nodes[1].memory_bytes >> 30, m.llcs[1].size_bytes >> 20, m.cache.l2_bytes >> 10), (63, 20, 256));
        assert_eq!(m.cpus[1].node, 1);
        warns(&m, "sizes of memory as rounded by lstopo");
    }
    // A machine without NUMA has no node in version 1.
    let m = machine(import::text(
        "l.txt",
        "Machine (16GB) + Socket L#0\n  Core L#0 + PU L#0 (P#0)\n  Core L#1 + PU L#1 (P#1)\n",
        "m",
    ));
    assert_eq!((m.nodes.len(), m.cpus.len(), m.memory_bytes() >> 30), (1, 2, 16));
    let e = import::text("l.txt", "Machine (16GB)\n  Package L#0\n", "m").unwrap_err();
    assert!(e.to_string().contains("no `PU`"), "{e}");
}

#[test]
fn synthetic_descriptions() {
    let of = |text: &str| import::text("s.txt", text, "m");
    let m = machine(of("node:2 core:4 pu:2"));
    assert_eq!((m.nodes.len(), m.cores, m.cpus.len(), m.nodes[1].cpus[0]), (2, 8, 16, 8));
    let m = machine(of(
        "$ lstopo --of synthetic\nPackage:2 [NUMANode(memory=4GB)] L3Cache:2(size=8MB) Core:2 PU:2(indexes=core:pu)\n",
    ));
    assert_eq!((m.sockets, m.llcs.len(), m.memory_bytes() >> 30, m.llcs[0].size_bytes >> 20), (2, 4, 8, 8));
    let m = machine(of("Package:2 [NUMANode(memory=4GB)] [NUMANode(memory=1GB)] Core:2 PU:1(indexes=0,2,1,3)"));
    assert_eq!((m.nodes.len(), m.nodes[0].cpus.clone(), m.nodes[1].cpus.len()), (4, vec![0, 2], 0));
    // Memory of the whole machine stands before the first level.
    let m = machine(of("[NUMANode(memory=4GB)] Package:4 L3Cache:1(size=8MB) Core:2 PU:1"));
    assert_eq!((m.nodes.len(), m.sockets, m.cpus.len(), m.memory_bytes() >> 30), (1, 4, 8, 4));
    let m = machine(of("(root) [numa(memory=1GB indexes=1,0)] [numa(memory=1GB)] Core:2 PU:1"));
    assert_eq!((m.nodes.len(), m.cpus.len()), (2, 2));
    for (text, part) in [
        ("Package:2 Core PU:2", "s.txt:1:11: no object `Core PU`"),
        ("Package:2 PU:2 Core", "s.txt:1:16: `Core` without a number"),
        ("Package:2 Kore:2 PU:2", "s.txt:1:11: no object `Kore`"),
        ("Package:0 PU:2", "1 to 8192 objects"),
        ("Package:8192 Core:8192 PU:8192", "more than 65536 objects"),
        ("Package:2 PU:2(indexes=1*2:1*2)", "`indexes=1*2:1*2` for 4 objects"),
        ("Package:2 PU:2(indexes=0,1)", "`indexes=0,1` for 4 objects"),
        ("Package:2 PU:8192", "at most 8192 CPUs"),
    ] {
        let e = of(text).unwrap_err().to_string();
        assert!(e.contains(part), "{text}: {e}");
    }
}

#[test]
fn other_texts_are_refused_with_what_is_known() {
    for text in ["", "hello", "CPU(s)", "# Machine", "name = \"x\"", "processor : 0\nmodel name : X\n"] {
        let e = import::text("m.txt", text, "m").unwrap_err();
        assert!(
            e.to_string().contains("m.txt:1:1: no description of a machine") && e.expected.contains("lscpu"),
            "`{text}`: {e}"
        );
    }
    let e =
        import::text("m.txt", "CPU(s): 4\nListe der Online-CPU(s): 0-3\nNUMA-Knoten0 CPU(s): 0-3\n", "m").unwrap_err();
    assert!(e.expected.contains("LC_ALL=C lscpu"), "{e}");
    let e = import::text("m.txt", "$ numactl -H\nNo NUMA available on this system\n", "m").unwrap_err();
    assert!(e.what.contains("no NUMA there") && e.expected.contains("`lscpu`"), "{e}");
    let e = import::bytes("m.bin", &[0xff, 0x00, 0x31], "m").unwrap_err();
    assert!(e.to_string().contains("not a text"), "{e}");
}

/// A description in place of a machine file is refused with the command that makes one of it.
#[test]
fn a_description_is_no_machine_file() {
    let dir = tempfile::tempdir().unwrap();
    let w = example();
    for (text, tool) in [(w.numactl(), "numactl -H"), (w.lscpu_json(), "lscpu -J"), (w.hwloc_xml(), "lstopo FILE.xml")]
    {
        let path = dir.path().join("pasted.txt");
        std::fs::write(&path, text).unwrap();
        let e = numalab_model::machine::load(path.to_str().unwrap(), &|_| None, &[]).unwrap_err();
        assert_eq!(e.what, format!("the output of `{tool}`, which is no machine file"));
        assert!(e.expected.contains("numalab machine import ") && e.expected.contains("pasted.txt"), "{e}");
    }
    // A machine file with a mistake stays one.
    let path = dir.path().join("m.toml");
    std::fs::write(&path, "# CPU core\nname = \"m\"\nnode 0 cpus: 0\n").unwrap();
    let e = numalab_model::machine::load(path.to_str().unwrap(), &|_| None, &[]).unwrap_err();
    assert!(!e.what.contains("machine file"), "{e}");
}
