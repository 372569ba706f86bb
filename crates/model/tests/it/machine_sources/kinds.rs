//! Which technology memory without CPUs holds.

use super::world::example;
use super::{machine, warns};
use numalab_model::machine::{import, Machine, MemoryKind};

/// Two nodes with CPUs, and one without at `near` and `far` from them, of `gib`.
fn numactl(near: u8, far: u8, gib: u64) -> String {
    format!(
        "available: 3 nodes (0-2)\nnode 0 cpus: 0 1\nnode 0 size: 1000 MB\nnode 1 cpus: 2 3\nnode 1 size: 1000 MB\n\
         node 2 cpus:\nnode 2 size: {} MB\nnode distances:\nnode 0 1 2\n0: 10 21 {near}\n1: 21 10 {far}\n2: {near} {far} 10\n",
        gib << 10
    )
}

fn kind(text: &str) -> (MemoryKind, Machine) {
    let m = machine(import::numactl("n.txt", text, "m"));
    (m.nodes[2].kind, m)
}

#[test]
fn distance_and_size_tell_known_machines() {
    for (near, far, gib, want, tier, sustained) in [
        (80, 120, 96, MemoryKind::Gpu, 0, 369.0),
        (13, 23, 64, MemoryKind::Hbm, 0, 335.9),
        (31, 41, 16, MemoryKind::Hbm, 0, 335.9),
        (17, 28, 504, MemoryKind::Optane, 1, 39.4),
    ] {
        let (kind, m) = kind(&numactl(near, far, gib));
        assert_eq!((kind, m.nodes[2].tier, m.nodes[2].dram_sustained_gbps), (want, tier, sustained), "{near}");
        warns(&m, &format!("memory of node 2 is {}", want.label()));
        warns(&m, "--memory-kind 2=KIND");
    }
}

#[test]
fn if_nothing_tells_the_user_is_asked() {
    let (kind, m) = kind(&numactl(14, 24, 128));
    assert_eq!((kind, m.nodes[2].tier, m.latency_ns[0][2]), (MemoryKind::Cxl, 1, 214.0));
    warns(&m, "memory of node 2 has no CPUs and nothing tells what it is: taken for CXL");
    let kinds = [(2, MemoryKind::Hbm)];
    let wish = import::Wish { name: "m", kinds: &kinds };
    let toml = import::numactl("n.txt", &numactl(14, 24, 128), wish).unwrap();
    assert!(toml.lines().any(|l| l.starts_with("kind = \"hbm\"") && l.ends_with("# given")), "{toml}");
    let m = machine(Ok(toml));
    assert_eq!((m.nodes[2].kind, m.nodes[2].tier), (MemoryKind::Hbm, 0));
    assert!(!m.warnings.iter().any(|w| w.contains("nothing tells")), "{:?}", m.warnings);
    let kinds = [(7, MemoryKind::Hbm)];
    let e = import::numactl("n.txt", &numactl(14, 24, 128), import::Wish { name: "m", kinds: &kinds }).unwrap_err();
    assert!(e.to_string().contains("--memory-kind: n.txt has no node 7; expected one of the nodes 0-2"), "{e}");
}

#[test]
fn subtypes_of_hwloc_tell() {
    for (subtype, want) in [
        ("HBM", MemoryKind::Hbm),
        ("MCDRAM", MemoryKind::Hbm),
        ("GPUMemory", MemoryKind::Gpu),
        ("NVM", MemoryKind::Optane),
        ("CXL-DRAM", MemoryKind::Cxl),
        ("DRAM", MemoryKind::Dram),
    ] {
        let mut w = example();
        w.nodes[4].subtype = subtype;
        for text in [w.hwloc_xml(), w.lstopo()] {
            assert_eq!(machine(import::text("m", &text, "m")).nodes[4].kind, want, "{subtype}");
        }
    }
}

#[test]
fn bandwidth_and_latency_tell() {
    let mut w = example();
    w.nodes[4].subtype = "";
    let attribute = |name: &str, own: u64, other: u64| {
        let value = |gp: u64, value: u64| {
            format!("<memattr_value target_obj_gp_index=\"{gp}\" target_obj_type=\"NUMANode\" value=\"{value}\" initiator_cpuset=\"0xffffffff\"/>")
        };
        // Nodes 0 and 9 by their `gp_index`.
        let xml = w.hwloc_xml();
        let gp = |id: u32| -> u64 {
            let line =
                xml.lines().find(|l| l.contains("NUMANode") && l.contains(&format!("os_index=\"{id}\""))).unwrap();
            line.split("gp_index=\"").nth(1).unwrap().split('"').next().unwrap().parse().unwrap()
        };
        format!("<memattr name=\"{name}\">{}{}</memattr>", value(gp(0), own), value(gp(9), other))
    };
    let with = |attributes: &[String]| {
        let xml = w.hwloc_xml().replace("</topology>", &format!("{}</topology>", attributes.concat()));
        machine(import::hwloc_xml("h.xml", &xml, "m")).nodes[4].kind
    };
    let (dram, near) = (attribute("Bandwidth", 100_000, 400_000), attribute("Latency", 90, 100));
    assert_eq!(with(&[dram, near]), MemoryKind::Hbm);
    let reads = attribute("ReadBandwidth", 100_000, 37_000);
    assert_eq!(with(&[reads.clone(), attribute("WriteBandwidth", 90_000, 13_000)]), MemoryKind::Optane);
    assert_eq!(with(&[reads, attribute("WriteBandwidth", 90_000, 36_000)]), MemoryKind::Cxl);
    assert_eq!(with(&[attribute("Latency", 90, 250)]), MemoryKind::Cxl);
}

#[test]
fn drivers_of_memory_devices_tell() {
    let mut w = example();
    w.nodes[4].subtype = "";
    for (target, want) in [
        ("../../../devices/pci0000:00/cxl/dax0.0", MemoryKind::Cxl),
        ("../../../devices/LNXSYSTM:00/ACPI0012:00/ndbus0/region0/dax0.0", MemoryKind::Optane),
    ] {
        let dir = tempfile::tempdir().unwrap();
        w.write_sysfs(dir.path(), false);
        let real = dir.path().join("sys/bus/dax/devices").join(target);
        std::fs::create_dir_all(dir.path().join("sys/bus/dax/devices")).unwrap();
        std::fs::create_dir_all(&real).unwrap();
        std::fs::write(real.join("target_node"), "9\n").unwrap();
        std::os::unix::fs::symlink(target, dir.path().join("sys/bus/dax/devices/dax0.0")).unwrap();
        let m = machine(import::sysfs(dir.path(), "m"));
        assert_eq!(m.nodes[4].kind, want);
        assert!(!m.warnings.iter().any(|w| w.contains("memory-kind")), "{:?}", m.warnings);
    }
}
