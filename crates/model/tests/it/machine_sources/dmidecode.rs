//! `dmidecode` itself reads a table of firmware, and the import reads what it prints.

use super::{machine, warns};
use numalab_model::machine::import;
use std::process::Command;

const NUMACTL: &str = "available: 2 nodes (0-1)\nnode 0 cpus: 0 1\nnode 0 size: 32000 MB\nnode 1 cpus: 2 3\n\
                       node 1 size: 32000 MB\nnode distances:\nnode 0 1\n0: 10 21\n1: 21 10\n";

/// One structure of an SMBIOS 3.2 table: its bytes, and its strings.
fn structure(bytes: &[u8], strings: &[&str]) -> Vec<u8> {
    let mut out = bytes.to_vec();
    strings.iter().for_each(|s| out.extend([s.as_bytes(), &[0]].concat()));
    out.extend(if strings.is_empty() { &[0, 0][..] } else { &[0] });
    out
}

/// A memory device (type 17, SMBIOS 3.2 section 7.18) of 16 GiB at 2,933 MT/s; 0 MiB is an empty place.
fn memory_device(handle: u8, size_mib: u16, locator: &str) -> Vec<u8> {
    let mut b = vec![0_u8; 0x54];
    (b[0], b[1], b[2]) = (17, 0x54, handle);
    let mut put = |at: usize, value: u16| b[at..at + 2].copy_from_slice(&value.to_le_bytes());
    for (at, value) in [(4, 0x1000), (6, 0xFFFE), (8, 72), (0xA, 64), (0xC, size_mib), (0x15, 3200), (0x20, 2933)] {
        put(at, value);
    }
    // A DIMM of DDR4, whose locator is its first string; its bank has no name.
    (b[0xE], b[0x10], b[0x12], b[0x28]) = (9, 1, 0x1A, 3);
    structure(&b, &[locator])
}

/// A dump as `dmidecode --dump-bin` writes it: the entry point, and the table at byte 32.
fn dump(structures: &[Vec<u8>]) -> Vec<u8> {
    let mut table = structures.concat();
    table.extend(structure(&[127, 4, 0xFF, 0xFF], &[]));
    let mut entry = b"_SM3_\0\x18\x03\x02\0\x01\0".to_vec();
    entry.extend((table.len() as u32).to_le_bytes());
    entry.extend(32_u64.to_le_bytes());
    let sum = entry.iter().fold(0_u8, |sum, b| sum.wrapping_add(*b));
    entry[5] = 0_u8.wrapping_sub(sum);
    entry.resize(32, 0);
    [entry, table].concat()
}

#[test]
fn dmidecode_itself_gives_channels_and_speeds() {
    let places = [("A", 0), ("B", 1), ("C", 2), ("D", 3)];
    let mut devices: Vec<Vec<u8>> =
        places.iter().map(|(c, h)| memory_device(*h, 16_384, &format!("DIMM_{c}1"))).collect();
    devices.push(memory_device(9, 0, "DIMM_E1"));
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("dump");
    std::fs::write(&file, dump(&devices)).unwrap();
    let Ok(out) = Command::new("dmidecode").args(["-t", "memory", "--from-dump"]).arg(&file).output() else {
        println!("skipped: dmidecode is not here");
        return;
    };
    let text = String::from_utf8(out.stdout).unwrap();
    assert!(out.status.success() && text.contains("Configured Memory Speed: 2933 MT/s"), "{text}");
    let m = machine(import::texts(&[("n", NUMACTL), ("d", &text)], "x"));
    // 4 channels x 2,933 MT/s x 8 bytes, for two nodes, in tenths.
    assert_eq!(m.nodes.iter().map(|n| n.dram_peak_gbps).collect::<Vec<_>>(), [46.9, 46.9]);
    warns(&m, "4 channels from `dmidecode -t memory` (d), as many for each of 2 nodes");
}
