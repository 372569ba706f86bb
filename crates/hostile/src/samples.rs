//! Small inputs of forms that the project has no files of, written for this purpose.

use numalab_job::frame::{encode, Kind};

pub(crate) const LSCPU_TABLE: &str = "CPU NODE SOCKET CORE L1d:L1i:L2:L3 ONLINE\n0 0 0 0 0:0:0:0 yes\n1 0 0 1 1:1:1:0 yes\n2 1 1 2 2:2:2:1 yes\n3 1 1 3 3:3:3:1 no\n";

pub(crate) const LSCPU_JSON: &str = r#"{"lscpu": [{"field": "CPU(s):", "data": "4"}, {"field": "NUMA node(s):", "data": "2"},
{"field": "NUMA node0 CPU(s):", "data": "0,1"}, {"field": "NUMA node1 CPU(s):", "data": "2,3"}]}"#;

pub(crate) const NUMASTAT: &str = "\nPer-node system memory usage (in MBs):\n                          Node 0          Node 1           Total\n                 --------------- --------------- ---------------\nMemTotal                32000.00        32000.00        64000.00\nMemFree                 30000.00        10000.00        40000.00\n";

pub(crate) const ZONEINFO: &str = "Node 0, zone      DMA\n  pages free     3840\n        min      8\n        managed  3840\nNode 0, zone   Normal\n  pages free     100000\n        managed  8000000\nNode 1, zone   Normal\n  pages free     5\n        managed  8000000\n";

pub(crate) const NUMA_MAPS: &str = "7f0000000000 default anon=512 dirty=512 N0=256 N1=256 kernelpagesize_kB=4\n7f0000400000 bind:0-1 file=/lib/libc.so mapped=40 mapmax=9 N0=40 kernelpagesize_kB=4\n7ffc00000000 interleave=relative:0,2-3 stack anon=3 N1=3\n";

pub(crate) const MAPS: &str = "00400000-00452000 r-xp 00000000 08:02 173521 /usr/bin/a b\n7f0000000000-7f0000200000 rw-p 00000000 00:00 0 \n7ffc00000000-7ffc00021000 rw-p 00000000 00:00 0 [stack]\n";

pub(crate) const STAT: &str = "42 (a (b) c) S 1 42 42 0 -1 4194560 10 0 0 0 7 3 1 1 20 0 8 0 12345 1000000 500 18446744073709551615 1 1 0 0 0 0 0 0 0 0 0 0 17 3 0 0 0 0 0\nName:\tab\nState:\tS\nCpus_allowed_list:\t0-3\nMems_allowed_list:\t0-1\nVmRSS:\t 100 kB\n";

pub(crate) const METRICS: &str = "queries_total{db=\"a\",kind=\"read\"}\n# HELP queries_total All.\n# TYPE queries_total counter\nqueries_total{db=\"a\",kind=\"read\"} 12\nqueries_total{db=\"a\\\"b\",kind=\"write\"} 1.5e3 1700000000\n";

pub(crate) const PLUGIN: &str = "charge off\nmark 1\n0 100 20 3\n1 90 10 2\nend\n";

pub(crate) const RECORD: &str = "manifest.json\n{\"format\": \"numalab record\", \"format_version\": 1, \"id\": \"00\", \"plan\": {}, \"status\": \"completed\", \"warnings\": [], \"tunables\": [], \"series\": [], \"files\": []}\n=== scalars.json\n{\"scalars\": [], \"counters\": {}, \"reasons\": {}}\n=== series/score.csv\ntime_ns,a\n0,1\n1000,2.5\n";

pub(crate) const EVENTS: &str = "{\"format\": \"numalab events\", \"format_version\": 1, \"record\": \"00\", \"machine\": \"m\", \"nodes\": [0], \"cpus\": [{\"id\": 0, \"node\": 0, \"socket\": 0, \"llc\": 0}], \"processes\": [{\"name\": \"p\", \"threads\": 1}], \"skips\": [], \"denials\": [], \"refusals\": [], \"placements\": []}\n0123456789012345678901234567890123456789";

pub(crate) const STATE: &str = r#"{"format": "numalab balance state 1", "entries": [{"pid": 7, "tid": 8, "start": 99,
"before": [0, 1], "set": [1]}], "damon": [7]}"#;

pub(crate) const VMSTAT: &str =
    "nr_free_pages 100\nnuma_hint_faults 12\nnuma_pages_migrated 7\ncpu  100 0 50 1000 0 0 0 0 0 0\nctxt 5\n";

/// A report of a guest.
pub(crate) fn frames() -> Vec<u8> {
    let all = [(Kind::Hello, &b"6.12.0"[..]), (Kind::Beat, b"1000"), (Kind::Outcome, b"{}"), (Kind::End, b"")];
    all.iter().flat_map(|(kind, payload)| encode(*kind, payload)).collect()
}

/// What a worker is told.
pub(crate) fn job() -> Vec<u8> {
    let region = numalab_job::samples::region("r", 1 << 20);
    let op = numalab_model::workload::Op::Access(numalab_job::samples::access(0, 0, 1 << 20, 0.5));
    let process = numalab_job::samples::process("p", vec![region], vec![op]);
    numalab_job::samples::job(vec![process]).to_bytes().unwrap_or_default()
}

/// A package in the form of Debian's: an `ar` archive with an empty, uncompressed `data.tar`.
pub(crate) fn deb() -> Vec<u8> {
    let mut out = b"!<arch>\n".to_vec();
    for (name, size) in [("debian-binary", 4_usize), ("data.tar", 1_024)] {
        out.extend(format!("{name:<16}{:<12}{:<6}{:<6}{:<8}{size:<10}`\n", 0, 0, 0, 644).bytes());
        out.extend(if size == 4 { b"2.0\n".to_vec() } else { vec![0; size] });
    }
    out
}

/// A record of accesses: manifest, control file and an image of zeros.
pub(crate) fn accesses() -> Vec<u8> {
    let mark = [0xff, 0, 0xff, 0];
    let manifest =
        br#"{"format": 1, "numalab": "0", "command": ["a"], "name": "a", "qemu": "8", "near_bytes": 1, "far_bytes": 1,
        "slice_insns": 1, "began_unix_ms": 1, "wall_s": 1.0, "cpu_s": 1.0, "ending": {"exit": 0}}"#;
    let mut control = vec![0; numalab_accesses::format::CONTROL_BYTES];
    for (field, value) in [numalab_accesses::format::MAGIC, 1 << 20, 0, 1, 1].into_iter().enumerate() {
        control[8 * field..8 * field + 8].copy_from_slice(&value.to_le_bytes());
    }
    [&manifest[..], &mark, &control, &mark, &[0; 256]].concat()
}
