//! `lscpu` as its versions print it: to a terminal or a file, before and after sums of caches, hybrid cores, and tables
//! with empty columns.

use super::world::example;
use super::{cpus, machine, warns};
use numalab_model::machine::{import, Machine};

fn of(text: &str) -> Machine {
    machine(import::bytes("l.txt", text.as_bytes(), "m"))
}

/// LLCs with the size of each in MiB, and the size of an L2 in KiB.
fn caches(m: &Machine) -> (usize, u64, u64) {
    (m.llcs.len(), m.llcs[0].size_bytes >> 20, m.cache.l2_bytes >> 10)
}

const HEAD: &str =
    "CPU(s): 32\nOn-line CPU(s) list: 0-31\nThread(s) per core: 2\nCore(s) per socket: 8\nSocket(s): 2\n\
                    NUMA node(s): 2\nNUMA node0 CPU(s): 0-7,16-23\nNUMA node1 CPU(s): 8-15,24-31\n";

#[test]
fn caches_are_read_as_every_version_writes_them() {
    for (form, text, want) in [
        ("one of each", "L2 cache:              256K\nL3 cache:              20480K\n", (2, 20, 256)),
        ("a file", "L2 cache:    16 MiB (16 instances)\nL3 cache:    128 MiB (4 instances)\n", (4, 32, 1024)),
        (
            "a terminal",
            "Caches (sum of all):      \n  L1d:    512 KiB (16 instances)\n  L2:     16 MiB (16 instances)\n  L3:     128 MiB (4 \
             instances)\n",
            (4, 32, 1024),
        ),
        ("bytes", "L2 cache: 16777216 (16 instances)\nL3 cache: 134217728 (4 instances)\n", (4, 32, 1024)),
        ("decimals", "L2 cache: 2.5 MiB (5 instances)\nL3 cache: 3 MiB (2 instances)\n", (2, 1, 512)),
        ("sums", "L2 cache:                        16 MiB\nL3 cache:                        128 MiB\n", (2, 64, 1024)),
        ("data and instructions apart", "L2d cache: 4096K\nL3 cache: 131072K\nL4 cache: 688128K\n", (2, 672, 4096)),
    ] {
        let m = of(&format!("{HEAD}{text}"));
        assert_eq!(caches(&m), want, "{form}");
        let toml = import::lscpu("l.txt", &format!("{HEAD}{text}"), "m").unwrap();
        let size = toml.lines().find(|l| l.starts_with("size = ")).unwrap();
        assert_eq!(size.ends_with("# assumed"), form == "sums", "{form}: {size}");
        assert_eq!(m.warnings.iter().any(|w| w.contains("the sum of each level alone")), form == "sums", "{form}");
    }
    // Fewer caches than nodes, as with sub-NUMA clusters: each node has its part.
    let text = HEAD.replace("Socket(s): 2", "Socket(s): 1");
    let m = of(&format!("{text}L2 cache: 16 MiB (16 instances)\nL3 cache: 96 MiB (1 instance)\n"));
    assert_eq!((m.sockets, caches(&m)), (1, (2, 48, 1024)));
    warns(&m, "last-level caches across nodes, cut at the border");
}

#[test]
fn text_and_json_of_any_nesting_agree() {
    let json = |caches: &str| {
        format!(
            "{{\"lscpu\": [{{\"field\": \"CPU(s):\", \"data\": \"8\", \"children\": [{{\"field\": \"On-line CPU(s) list:\", \
             \"data\": \"0-7\"}}]}},\n{{\"field\": \"Vendor ID:\", \"data\": \"ARM\", \"children\": [{{\"field\": \"Model name:\", \
             \"data\": \"small\", \"children\": [{{\"field\": \"Core(s) per socket:\", \"data\": \"5\"}},{{\"field\": \
             \"Socket(s):\", \"data\": \"1\"}},{{\"field\": \"CPU max MHz:\", \"data\": \"1800.0\"}}]}}, {{\"field\": \"Model \
             name:\", \"data\": \"big\", \"children\": [{{\"field\": \"Core(s) per socket:\", \"data\": \"3\"}}, {{\"field\": \
             \"Socket(s):\", \"data\": \"2\"}}, {{\"field\": \"CPU max MHz:\", \"data\": \"2400.0\"}}]}}]}}, {caches}]}}"
        )
    };
    let text = "CPU(s):                 8\n  On-line CPU(s) list:  0-7\nVendor ID:              ARM\n  Model name:           small\n    \
                Thread(s) per core: 1\n    Core(s) per socket: 5\n    Socket(s):          1\n    CPU max MHz:        1800.0\n  \
                Model name:           big\n    Thread(s) per core: 1\n    Core(s) per socket: 3\n    Socket(s):          2\n    \
                CPU max MHz:        2400.0\nCaches (sum of all):\n  L2:                   4 MiB (8 instances)\n  L3:                   \
                3 MiB (1 instance)\n";
    let nested = "{\"field\": \"Caches (sum of all):\", \"data\": null, \"children\": [{\"field\": \"L2:\", \"data\": \"4 MiB (8 \
                  instances)\"}, {\"field\": \"L3:\", \"data\": \"3 MiB (1 instance)\"}]}";
    let flat = "{\"field\": \"L2 cache:\", \"data\": \"4 MiB (8 instances)\"}, {\"field\": \"L3 cache:\", \"data\": \"3 MiB (1 \
                instance)\"}";
    let m = of(text);
    assert_eq!((m.cpus.len(), m.cores, caches(&m), m.clock.single_ghz), (8, 8, (1, 3, 512), 1.8));
    assert!(m.title.ends_with("small"), "{}", m.title);
    for caches in [nested, flat] {
        let same = |text: &str| {
            assert_eq!((of(text).llcs, of(text).cores, of(text).title), (m.llcs.clone(), 8, m.title.clone()))
        };
        same(&json(caches));
        same(&format!("user@host:~$ lscpu -J\n{}\nuser@host:~$ ", json(caches)));
    }
    let e = import::text("l.json", "$ lscpu -J\n{\"lscpu\": [\n{]}\n", "m").unwrap_err();
    assert_eq!((e.line, e.what.as_str()), (3, "no JSON"), "{e}");
}

#[test]
fn hybrid_cores_are_told_by_their_number() {
    for threads in [1, 2] {
        let text = format!(
            "CPU(s): 24\nOn-line CPU(s) list: 0-23\nThread(s) per core: {threads}\nCore(s) per socket: 16\nSocket(s): 1\n\
             NUMA node0 CPU(s): 0-23\n"
        );
        let m = of(&text);
        assert_eq!((m.cpus.len(), m.cores), (24, 16), "{threads}");
        assert!(
            m.cpus[0].core == m.cpus[1].core
                && m.cpus[14].core == m.cpus[15].core
                && m.cpus[16].core != m.cpus[17].core
        );
        warns(&m, "hybrid cores: 8 of two threads, which are neighbours by number, then 8 of one");
    }
}

#[test]
fn threads_of_a_single_run_are_neighbours_on_power_and_s390_only() {
    let text = |architecture: &str| {
        format!(
            "Architecture: {architecture}\nCPU(s): 12\nOn-line CPU(s) list: 0-11\nThread(s) per core: 2\nSocket(s) per book: 1\n\
             Book(s) per drawer: 1\nDrawer(s): 2\nNUMA node0 CPU(s): 0-11\n"
        )
    };
    let m = of(&text("s390x"));
    assert_eq!((m.sockets, m.cores, m.cpus[0].core == m.cpus[1].core), (2, 6, true));
    warns(&m, "2 threads per core, neighbours by number");
    let m = of(&text("s390x").replace("er book: 1", "er book: 8192").replace("(s): 2\nNUMA", "(s): 8192\nNUMA"));
    assert_eq!((m.sockets, m.cores), (1, 6), "no machine has so many sockets");
    let m = of(&text("x86_64"));
    assert_eq!(m.cpus[0].core, m.cpus[6].core);
    warns(&m, "two threads per core, CPU c and c + 6, (the source does not tell)");
}

#[test]
fn tables_with_empty_columns_offline_cpus_and_physical_numbers() {
    let head = "# The following is the parsable format\n# CPU,Core,Socket,Node,,L1d,L1i,L2,L3\n";
    // A kernel without NUMA: the column of the node is empty.
    let rows: String = (0..8).map(|c| format!("{c},{},0,,,{},{},{},0\n", c % 4, c % 4, c % 4, c % 4)).collect();
    let m = of(&format!("{head}{rows}"));
    assert_eq!((m.nodes.len(), m.cores, m.llcs.len(), cpus(&m, 0)), (1, 4, 1, (0..8).collect()));
    // `lscpu -p -a` has empty rows for offline CPUs.
    let m = of(&format!("{head}0,0,0,0,,0,0,0,0\n1,1,1,1,,1,1,1,1\n2,,,,,,,,\n3,,,,,,,,\n"));
    assert_eq!((m.nodes.len(), m.cpus.len()), (2, 2));
    warns(&m, "CPU 2-3 is offline and left out");
    // `lscpu -e -y` numbers cores inside their socket.
    let m = of("CPU SOCKET CORE ONLINE\n0 0 0 yes\n1 0 1 yes\n2 1 0 yes\n3 1 1 no\n");
    assert_eq!((m.sockets, m.cores, m.cpus.len()), (2, 3, 3));
    // `lscpu -e -J`, of two versions.
    let w = example();
    let table = of(&w.lscpu_table());
    let rows: Vec<_> = w
        .lscpu_table()
        .lines()
        .filter(|l| !l.starts_with('#'))
        .map(|l| {
            let c: Vec<&str> = l.split(',').collect();
            let caches = c[5..].join(":");
            serde_json::json!({"cpu": c[0].parse::<u32>().unwrap(), "core": c[1], "socket": c[2], "node": c[3], "l1d:l1i:l2:l3": caches, "online": true})
        })
        .collect();
    assert_eq!(of(&serde_json::json!({ "cpus": rows }).to_string()), table);
    let e = import::text("l.json", "{\"cpus\": [{\"cpu\": 0, \"core\": \"x\"}]}", "m").unwrap_err();
    assert!(e.to_string().contains("`x` in a table of CPUs"), "{e}");
}
