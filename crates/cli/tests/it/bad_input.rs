//! Wrong input ends with exit code 2 and one message: where, what, what was expected, and the nearest name. Nothing
//! runs.
#![allow(clippy::unwrap_used)]

use crate::common;
use common::{Lab, QUICK, SWEEP};

#[test]
fn a_wrong_key_in_any_kind_of_file() {
    let lab = Lab::with_sweep();
    lab.write("bad.toml", &SWEEP.replace("\nsize = \"size\"", "\nsise = \"size\""));
    lab.refused(
        "run --machine 2x1x2x1 --kernel 6.3 --workload bad.toml",
        &["bad.toml:16:1: `process[0].region[0].size` is missing (there is `sise`); expected a number or an expression"],
    );
    lab.write("bad.toml", &SWEEP.replace("\nwrite = 1", "\nwrites = 1"));
    lab.refused(
        "run --machine 2x1x2x1 --kernel 6.3 --workload bad.toml",
        &["bad.toml:", "unknown key `process[0].phase[0].writes`; expected one of", "did you mean `write`?"],
    );
    lab.write("k.toml", "name = \"k\"\ntitle = \"t\"\nextend = \"6.3\"\n");
    lab.refused(&format!("{QUICK} --kernel k.toml"), &["k.toml:3:1: unknown key `extend`", "did you mean `extends`?"]);
    lab.write("m.toml", "name = \"m\"\ntitle = \"t\"\nextends = \"milan-2s-nps1\"\n[memory]\nper_nod = \"1 GiB\"\n");
    lab.refused(
        "run --machine m.toml --kernel 6.3 --workload sweep.toml",
        &["m.toml:5:1: unknown key `memory.per_nod`", "did you mean `per_node`?"],
    );
    lab.write("e.toml", "name = \"e\"\ntitle = \"t\"\nmachine = [\"2x1x2x1\"]\n");
    lab.refused("run e.toml", &["e.toml:1:1: `machines` is missing", "expected a list of at least one name"]);
    lab.write("e.toml", "name = \"e\"\ntitle = 1\n");
    lab.refused("run e.toml", &["e.toml:2:9: `title` is a whole number; expected a string"]);
    lab.write("e.toml", "name = \"e\"\ntitle = \"t\n");
    lab.refused("run e.toml", &["e.toml:2:", "expected valid TOML"]);
    lab.refused("run nowhere.toml", &["nowhere.toml: no such file; expected a TOML file"]);
    lab.write("folder.toml/x", "");
    lab.refused("run folder.toml", &["folder.toml: not a regular file (a folder)"]);
}

#[test]
fn unknown_names() {
    let lab = Lab::with_sweep();
    for (line, parts) in [
        (
            "run --machine 2x1x2x1 --workload sweep.toml --kernel 6.4-rc3",
            ["unknown kernel `6.4-rc3`", "did you mean `6.4-rc1`?"],
        ),
        ("run --machine 2x1x2x1 --workload numa1 --kernel 6.3", ["unknown workload `numa1`", "did you mean `numa01`?"]),
        (
            "run --machine milan-2s --workload sweep.toml --kernel 6.3",
            ["no machine `milan-2s`", "did you mean `milan-2s-nps1`?"],
        ),
        (
            "run --machine 2x1x2x1 --workload sweep.toml --kernel host,off",
            ["`host` is the kernel that this machine runs", "or --backend host"],
        ),
        ("machine import --host --name MyBox", ["--name: name `MyBox`; expected 1 to 64 of a-z", "letter or digit"]),
        ("run first-step", ["unknown experiment `first-step`; expected an experiment", "did you mean `first-steps`?"]),
        ("reproduce 0000", ["unknown published table `0000`", "did you mean `000`?"]),
        ("show kernels 6.33", ["unknown kernel `6.33`", "did you mean `6.19`?"]),
        ("show roles vma_filtr", ["unknown role `vma_filtr`", "did you mean `vma_filter`?"]),
        ("show nope", ["there is no `nope`", "(`numalab list`)"]),
        ("show tunables lc_balancing", ["unknown tunable `lc_balancing`", "(`numalab list tunables`)"]),
        ("show tunables system.hzz", ["unknown tunable `system.hzz`", "did you mean `system.hz`?"]),
        ("kernel diff 6.3 6.44", ["unknown kernel `6.44`", "did you mean `6.19`?"]),
        ("rnu", ["unknown command `rnu`", "did you mean `run`?"]),
        ("list kernel_s", ["is \"kernel_s\"; expected one of machines, kernels", "did you mean `kernels`?"]),
        ("comapre x", ["unknown command `comapre`", "did you mean `compare`?"]),
    ] {
        lab.refused(line, &parts);
    }
    lab.refused("run --machine 2x1x2x1 --workload sweep.toml --kernel 6.3,6.3", &["kernel `6.3` is named twice"]);
    lab.refused("run --machine 2x1x2x1 --workload sweep.toml,sweep.toml --kernel 6.3", &["is named twice"]);
}

#[test]
fn memory_policies_that_a_release_does_not_have() {
    let lab = Lab::with_sweep();
    let workload = |policy: &str| {
        let policy = format!("[[policy]]\nname = \"p\"\nnodes = \"all\"\n{policy}\n");
        let process = "[[process]]\nname = \"main\"\npolicy = \"p\"\n[[process.phase]]\ncompute = \"1ms\"\n";
        format!("name = \"spread\"\ntitle = \"t\"\nabout = \"a\"\nsource = \"s\"\n{policy}{process}")
    };
    lab.write("spread.toml", &workload("mode = \"weighted_interleave\"\nweights = [1, 2]"));
    let run = |kernel: &str| format!("run --machine 2x1x2x1 --workload spread.toml --kernel {kernel} --out {kernel}");
    lab.refused(
        &run("6.8"),
        &["sets the memory policy weighted_interleave, which kernel 6.8 does not have", "expected Linux 6.9 or later"],
    );
    lab.ok(&run("6.9"));
    lab.ok(&format!("{} --set mempolicy.weighted_interleave=true", run("6.8")));
    lab.write("spread.toml", &workload("mode = \"bind\"\nnuma_balancing = true"));
    lab.refused(
        &run("5.11"),
        &["bind with the NUMA-balancing flag, which kernel 5.11", "expected Linux 5.12 or later"],
    );
    lab.ok(&run("5.12"));
}

#[test]
fn overrides() {
    let lab = Lab::with_sweep();
    for (set, parts) in [
        ("roles.vma_filtr=off", ["unknown tunable `roles.vma_filtr`", "did you mean `vma_filter`?"]),
        ("swap.size_mb=16777216", ["`swap.size_mb` is 16777216", "expected a whole number from 0 to 1048576"]),
        ("scan.scan_size=9", ["unknown tunable `scan.scan_size`", "did you mean `scan.scan_size_mb`?"]),
        ("scan.scan_size_mb=0", ["`scan.scan_size_mb` is 0", "expected a whole number from 1 to"]),
        ("system.hz=fast", ["`system.hz` is fast", "expected a whole number from 100 to 1000"]),
        ("system.thp=alway", ["`system.thp` is alway", "expected one of always, madvise, never"]),
        ("vma_filter=rfc_v33", ["role `vma_filter` has no implementation `rfc_v33`", "did you mean `rfc_v3`?"]),
        ("vma_filtr=off", ["unknown role `vma_filtr`", "did you mean `vma_filter`?"]),
        (
            "page_filter.mapcount_limit=3",
            ["has no effect here", "`page_filter` to be mapcount_threshold (it is cow_refcount1)"],
        ),
        ("sched.hz=100", ["unknown tunable `sched.hz`", "did you mean `system.hz`?"]),
        ("scan.scan_size_mb", ["no name and value", "expected name=value"]),
        ("scan.scan_size_mb=", ["no value for `scan.scan_size_mb`", "expected name=value"]),
        ("swap.read_page_ns=7", ["has no effect here", "`swap.size_mb` to be other than 0 (it is 0)"]),
        ("scan_size_mb=512", ["unknown role `scan_size_mb`", "did you mean `scan.scan_size_mb`?"]),
        ("kernel.numa_balancing_scan_size_mb=512", ["unknown tunable `kernel.", "did you mean `scan.scan_size_mb`?"]),
        ("thp_locality=ladder_custom", ["is ladder_custom, which has no list", "--set \"thp.ladder=D0 THP"]),
    ] {
        let message = lab.refused(&format!("{QUICK} --kernel 6.3 --set {set}"), &parts);
        assert!(message.contains(&format!("--set {set}: ")), "{message}");
    }
    lab.refused(
        &format!("{QUICK} --kernel off --set scan.scan_size_mb=9"),
        &["`scan.scan_size_mb` has no effect here; expected `system.numa_balancing` to be 1 or 2 or 3 or 4 (it is 0)"],
    );
    lab.refused(
        &format!("{QUICK} --kernel 6.3 --set scan=none --set scan.scan_size_mb=9"),
        &[
            "`scan.scan_size_mb` has no effect here",
            "`scan` to be v38 or v313 or v317 or v40 or v414, as Linux has it since 3.8 (it is none)",
        ],
    );
    lab.refused(
        &format!("{QUICK} --kernel 6.3 --set system.hz=100 --set system.hz=250"),
        &["`system.hz` is set twice"],
    );
}

#[test]
fn parameters_and_expressions() {
    let lab = Lab::with_sweep();
    for (param, parts) in [
        (
            "lops=3",
            ["no parameter `lops` in sweep.toml; expected one of loops, size, workers", "did you mean `loops`?"],
        ),
        ("loops=cpus/0", ["division by zero", "expected a divisor other than 0"]),
        ("loops=cpu*2", ["`cpu`", "did you mean `cpus`?"]),
        ("loops=(3", ["loops", "expected"]),
        ("loops=", ["no value for `loops`", "expected name=value"]),
        ("workers=0", ["threads", "(with workers=0)"]),
        ("workers=-3", ["threads", "expected"]),
        ("size=-1MiB", ["`size` is -1MiB", "expected a size above 0"]),
        ("size=0", ["`size`", "expected a size above 0"]),
        ("size=4TiB", ["`size` is 4TiB", "expected at most the machine's memory, 128GiB"]),
    ] {
        lab.refused(&format!("{QUICK} --kernel 6.3 --param {param}"), &parts);
    }
    lab.write("bad.toml", &SWEEP.replace("threads = \"workers\"", "threads = \"workers / (nodes - 2)\""));
    lab.refused(
        "run --machine 2x1x2x1 --kernel 6.3 --workload bad.toml",
        &["bad.toml:13:20: ", "division by zero", "expected a divisor other than 0"],
    );
}

#[test]
fn a_score_has_a_name_of_its_own() {
    let lab = Lab::with_sweep();
    let score = |name: &str| {
        let step = format!("cost = \"1ns\"\n\n[[process.phase]]\nscore = \"{name}\"\n\n[[score]]\nname = \"{name}\"\n");
        let text = SWEEP.replace("cost = \"1ns\"\n", &step);
        lab.write("scored.toml", &(text + "unit = \"n\"\nbetter = \"higher\"\n"));
    };
    for (name, whose) in [
        ("numa_hint_faults", "a counter"),
        ("pgmigrate_success", "a counter"),
        ("remote_misses", "a counter"),
        ("numa_local_percent", "a derived column"),
    ] {
        score(name);
        let what = format!("the score `{name}` has the name of {whose} of every report; expected another name");
        for line in ["run --machine 2x1x2x1 --kernel 6.3 --workload scored.toml", "show workloads scored.toml"] {
            let message = lab.refused(line, &["scored.toml:3", &what]);
            assert!(!message.contains("scored.toml:0"), "{message}");
        }
    }
    score("swept");
    lab.ok("show workloads scored.toml");
}

#[test]
fn command_lines() {
    let lab = Lab::with_sweep();
    for (line, part) in [
        ("run", "`<EXPERIMENT>` is missing"),
        ("run --machine 2x1x2x1", "`<--workload <W,…>|PROGRAM>, <EXPERIMENT>` is missing"),
        ("run first-steps --workload numa02", "together with"),
        ("run first-steps --iterations 0", "is \"0\"; expected a whole number from 1 to 100000"),
        ("run first-steps --iterations 1e9", "is \"1e9\"; expected a whole number"),
        ("run first-steps --jobs 0", "is \"0\"; expected a whole number from 1 to 1024"),
        ("run first-steps --seed -1", "is \"-1\"; expected a whole number from 0"),
        ("run first-steps --seed 18446744073709551616", "expected a whole number from 0"),
        ("run first-steps --job 1", "did you mean `--jobs`?"),
        ("compare A B", "`B` is one argument too many for `compare`; expected at most one, <"),
        ("run X Y", "`Y` is one argument too many for `run`; expected at most one, <EXPERIMENT>"),
        ("validate --run-budget -1", "`--run-budget <S>` is \"-1\"; expected a whole number from 1"),
        ("validate --guest-memory -5GiB", "`--guest-memory <SIZE>` is \"-5GiB\"; expected a size such as 8GiB"),
        ("machine import", "is missing"),
        ("machine import --host --numactl x", "together with"),
        ("list kernels --catalog nowhere", "nowhere: no catalog here; expected a folder with any of machines"),
    ] {
        lab.refused(line, &["command line: ", part][usize::from(line.contains("--catalog"))..]);
    }
}

#[test]
fn a_machine_with_a_node_that_has_no_path() {
    let lab = Lab::with_sweep();
    let text =
        std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../catalog/machines/x5-8.toml")).unwrap();
    // Without its three links, socket 7 is not connected.
    let island = text
        .replace("name = \"x5-8\"", "name = \"island\"")
        .replace("[6, 7], [7, 0],", "")
        .replace("[2, 6], [3, 7],", "[2, 6],");
    assert_ne!(island, text);
    lab.write("island.toml", &island);
    lab.refused(
        "run --machine island.toml --kernel 6.3 --workload sweep.toml",
        &["island.toml:", "has no path to node", "expected a chain of `[[link]]`"],
    );
}

#[test]
fn truncated_and_hostile_imports() {
    let lab = Lab::new();
    let good = include_str!("../../../model/tests/data/hwloc-v2.xml");
    lab.write("good.xml", good);
    lab.ok("machine import --hwloc good.xml");
    let cut = good.len() * 2 / 3;
    let cut = (cut..).find(|&i| good.is_char_boundary(i)).unwrap();
    lab.write("cut.xml", &good[..cut]);
    lab.refused("machine import --hwloc cut.xml", &["cut.xml:", "expected"]);
    lab.write(
        "deep.xml",
        &format!("<?xml version=\"1.0\"?>\n<topology version=\"2.0\">{}", "<object>".repeat(200_000)),
    );
    lab.refused("machine import --hwloc deep.xml", &["deep.xml:"]);
    let laughs =
        "<!DOCTYPE t [<!ENTITY a \"ha\"><!ENTITY b \"&a;&a;&a;&a;\">]>\n<topology version=\"2.0\">&b;</topology>";
    lab.write("laughs.xml", laughs);
    lab.refused("machine import --hwloc laughs.xml", &["laughs.xml:"]);
    let huge = "<object type=\"PU\" os_index=\"0\" cpuset=\"0x1\"/>".repeat(300_000);
    lab.write("huge.xml", &format!("<topology version=\"2.0\"><object type=\"Machine\">{huge}</object></topology>"));
    lab.refused("machine import --hwloc huge.xml", &["huge.xml"]);
    lab.write("n.txt", "available: 2 nodes (0-1)\nnode 0 cpus: 0 1\nnode 0 size: lots MB\n");
    lab.refused("machine import --numactl n.txt", &["n.txt:", "expected"]);
    lab.refused("machine import --numactl absent.txt", &["absent.txt: "]);
    lab.refused("machine import --sysfs absent", &["absent"]);
}

#[test]
fn output_directories_of_other_programs() {
    let lab = Lab::with_sweep();
    lab.write("thesis/chapter1.tex", "precious");
    lab.refused(
        &format!("{QUICK} --kernel 6.3 --out thesis"),
        &["thesis: it holds other files, such as chapter1.tex; expected a new or empty directory"],
    );
    assert_eq!(lab.tree("thesis"), [("chapter1.tex".to_string(), b"precious".to_vec())]);
    lab.refused("compare thesis", &["thesis: not an experiment; expected a directory written by `numalab run`"]);
    lab.refused("compare nowhere", &["nowhere: no such directory"]);
    lab.write("file", "x");
    for out in ["file", "file/d"] {
        let ended = lab.run(&format!("{QUICK} --kernel 6.3 --out {out}"));
        assert_eq!((ended.code, ended.out.as_str()), (3, ""), "{ended:?}");
        assert_eq!(ended.err, "numalab: file: a file; expected a directory\n");
    }
    assert_eq!(std::fs::read_to_string(lab.path("file")).unwrap(), "x");
}

#[test]
fn odd_distances_make_domains_and_wrong_ones_are_refused() {
    let lab = Lab::with_sweep();
    let machine = |matrix: &str| {
        format!(
            "name = \"odd\"\ntitle = \"t\"\nextends = \"e7-4807-4s\"\n[latency]\nmatrix_ns = [[136, 197, 197, 197], [197, 136, 197, 197], \
             [197, 197, 136, 197], [197, 197, 197, 136]]\n[distance]\nmatrix = {matrix}\n"
        )
    };
    // From node 0 to node 3 the distance is short, and back it is long: the domains of node 0 overlap others and have
    // CPUs in no group, as in the kernel.
    lab.write("odd.toml", &machine("[[10, 30, 16, 12], [20, 10, 30, 30], [12, 12, 10, 12], [30, 20, 20, 10]]"));
    assert!(lab.ok("machine show odd.toml --domains").out.contains("NUMA"));
    lab.ok("machine show odd.toml");
    lab.ok("run --machine odd.toml --kernel 3.7-vanilla,6.3,6.12 --workload sweep.toml --out odd");
    lab.write("odd.toml", &machine("[[10, 9, 20, 20], [9, 10, 20, 20], [20, 20, 10, 20], [20, 20, 20, 10]]"));
    lab.refused(
        "machine show odd.toml --domains",
        &["distance from row 0 to 1 is 9; expected whole numbers from 10 to 254, or 255 where nothing is known"],
    );
    lab.write("odd.toml", &machine("[[10, 20, 20], [20, 10, 20], [20, 20, 10]]"));
    lab.refused("machine show odd.toml --domains", &["odd.toml:", "expected"]);
}

#[test]
fn affinity_to_absent_cpus_and_too_many_threads() {
    let lab = Lab::with_sweep();
    let pinned =
        |list: &str| SWEEP.replace("threads = \"workers\"", &format!("threads = \"workers\"\naffinity = {{ {list} }}"));
    for (list, part) in [
        ("cpus = \"thread + 4\"", "affinity to CPU 4, which `2x1x2x1` does not have; expected 0 to 3"),
        ("nodes = \"2\"", "affinity to node 2, which `2x1x2x1` does not have; expected 0 to 1"),
        ("llcs = \"9\"", "affinity to "),
    ] {
        lab.write("pinned.toml", &pinned(list));
        lab.refused("run --machine 2x1x2x1 --kernel 6.3 --workload pinned.toml", &["pinned.toml:14:", part]);
    }
    for (count, part) in [
        (
            "1000001",
            "`threads` is 1000001 (from `workers`) (with workers=1000001); expected a whole number from 1 to 1000000",
        ),
        ("1000000*cpus", "expected a whole number from 1 to 1000000"),
    ] {
        lab.refused(&format!("{QUICK} --kernel 6.3 --param workers={count}"), &[part]);
    }
    lab.refused("machine show 64x16x64x2 --domains", &["at most 1024 nodes and 8192 CPUs are possible"]);
}

#[test]
fn parameters_in_an_experiment_have_their_place_there() {
    let lab = Lab::with_sweep();
    for (value, part) in [("nan", "is not known here"), ("\"1 / 0\"", "division by zero"), ("\"5s\"", "is a time (5s)")]
    {
        let names = "machines = [\"2x1x2x1\"]\nkernels = [\"6.3\"]\nworkloads = [\"sweep.toml\"]";
        lab.write(
            "e.toml",
            &format!("name = \"e\"\ntitle = \"t\"\n{names}\n[params]\nsize = \"8MiB\"\nloops = {value}\n"),
        );
        lab.refused("run e.toml", &["numalab: e.toml:8:1: parameter `loops`", part]);
    }
}

#[test]
fn more_nodes_than_are_modelled() {
    let lab = Lab::with_sweep();
    let line = "run --machine 1025x1x1x1 --workload sweep.toml --kernel 6.3";
    lab.refused(line, &["1025x1x1x1", "at most 1024 nodes and 8192 CPUs are possible"]);
}

#[test]
fn control_characters_of_a_file_do_not_reach_the_terminal() {
    let lab = Lab::with_sweep();
    lab.write("odd.toml", "name = \"a\\u001b[31mb\"\n");
    let message = lab.refused(
        "run --machine 2x1x2x1 --kernel 6.3 --workload odd.toml",
        &["odd.toml:1:8: `name` has a control character in it"],
    );
    assert!(!message.contains('\u{1b}'), "{message:?}");
}

#[test]
fn picking_a_run() {
    let lab = Lab::with_sweep();
    let summary = lab.ok(&format!("{QUICK} --kernel 6.3 --out d --json")).out;
    let summary: serde_json::Value = serde_json::from_str(&summary).unwrap();
    for seed in ["abc", "-1", "1.5"] {
        let part = format!("`--seed <S>` is \"{seed}\"; expected a whole number");
        lab.refused(&format!("trace d --seed {seed} --out x"), &[&part]);
    }
    std::fs::remove_dir_all(lab.path("d").join(summary["runs"][0]["record"].as_str().unwrap())).unwrap();
    lab.refused(
        "explain d --vma",
        &["has no record yet; expected a finished run (`numalab run` with the same arguments"],
    );
}

#[test]
fn options_of_ladders_and_guests() {
    let lab = Lab::with_sweep();
    for (line, part) in [
        (
            "explain ladder --machine 2x1x2x1 --mempolicy bind:9",
            "--mempolicy bind:9: node 9 is not there or has no memory; expected some of 0, 1",
        ),
        (
            "explain ladder --machine 200x1x1x1 --mempolicy bind:0-200",
            "--mempolicy bind:0-200: node 200 is not there or has no memory; expected some of 0, 1",
        ),
        (
            "explain ladder --machine 2x1x2x1 --mempolicy preferred:1,0",
            "--mempolicy preferred:1,0: `preferred` names 2 nodes; expected one node, or `preferred_many`",
        ),
        (
            "explain ladder --machine 2x1x2x1 --mempolicy default:1",
            "`default` takes no nodes; expected `default` alone",
        ),
        ("explain ladder --machine 2x1x2x1 --mempolicy local:1", "`local` takes no nodes"),
        ("explain ladder --machine 2x1x2x1 --mempolicy bind:0,0", "node 0 is named twice; expected each node once"),
        (
            "kernel try --tree nowhere --workload first-touch",
            "--tree nowhere: no kernel source tree; expected a directory with the sources of Linux",
        ),
        (
            "validate --image debian612",
            "--image debian612: kernel image `debian612`; expected debian-6.1, debian-6.12, ",
        ),
    ] {
        lab.refused(line, &[part]);
    }
}

#[test]
fn kernel_files_that_extend_each_other() {
    let lab = Lab::with_sweep();
    let file = |name: &str, line: &str| {
        lab.write(&format!("{name}.toml"), &format!("name = \"{name}\"\ntitle = \"t\"\n{line}\n"))
    };
    for key in ["extends", "alias_of"] {
        file("own", &format!("{key} = \"own.toml\""));
        lab.refused(
            &format!("{QUICK} --kernel own.toml"),
            &["own.toml:3:", "the chain own -> own.toml closes on itself"],
        );
        file("a", &format!("{key} = \"b.toml\""));
        file("b", &format!("{key} = \"a.toml\""));
        lab.refused(&format!("{QUICK} --kernel a.toml"), &["b.toml:3:", "the chain a -> b -> a.toml closes on itself"]);
    }
    // A record could not keep two files of the same name.
    lab.write("base/own.toml", "name = \"own\"\ntitle = \"t\"\nextends = \"6.3\"\n");
    file("own", "extends = \"base/own.toml\"");
    lab.refused(
        "kernel show own.toml",
        &["own.toml:3:11: own.toml and base/own.toml are both called own; expected a name"],
    );
}

#[test]
fn a_misspelt_folder_of_a_catalog() {
    let lab = Lab::with_sweep();
    lab.write("cat/machines/m.toml", "name = \"m\"\ntitle = \"t\"\nextends = \"tr-1950x\"\n");
    lab.ok("list machines --catalog cat");
    lab.write("cat/workload/sweep.toml", SWEEP);
    lab.refused("list workloads --catalog cat", &["cat/workload: no folder of a catalog", "did you mean `workloads`?"]);
}

#[test]
fn seeds_that_grow_above_the_largest() {
    let lab = Lab::with_sweep();
    let line = format!("{QUICK} --kernel 6.3 --seed 9223372036854775807 --iterations 3");
    lab.refused(&line, &["the last of 3 runs", "expected a first seed of at most 9223372036854775805"]);
    lab.ok(&line.replace("--iterations 3", "--out d"));
}

#[test]
fn a_machine_of_an_experiment_is_refused_at_its_place() {
    let lab = Lab::with_sweep();
    let text = |machine: &str| {
        let rest = "kernels = [\"off\"]\nworkloads = [\"numa02\"]\n";
        format!("name = \"e\"\ntitle = \"t\"\nmachines = [\"{machine}\"]\n{rest}")
    };
    lab.write("e.toml", &text("2x1x4"));
    lab.refused("run e.toml", &["e.toml:3:13: `2x1x4` is not four numbers"]);
    lab.write("e.toml", &text("milan-2s"));
    lab.refused("run e.toml", &["e.toml:3:13: no machine `milan-2s`", "did you mean `milan-2s-nps1`?"]);
}

#[test]
fn a_table_is_not_reproduced_into_another_experiment() {
    let lab = Lab::with_sweep();
    lab.ok(&format!("{QUICK} --kernel off --out fs"));
    let before = lab.tree("fs");
    lab.refused("reproduce 003 --out fs", &["fs: it holds the experiment `2x1x2x1_sweep`; expected a new or empty"]);
    lab.refused("reproduce --all --out fs", &["fs: it holds an experiment"]);
    assert_eq!(lab.tree("fs"), before);
    lab.write("mine/thesis.txt", "x");
    lab.refused("reproduce 003 --out mine", &["it holds other files, such as mine/thesis.txt"]);
    assert_eq!(lab.tree("mine").len(), 1);
}

/// Mistakes in an experiment for guests are reported before anything that the host lacks for guests.
#[test]
fn a_bad_spec_comes_before_a_missing_worker() {
    let lab = Lab::with_sweep();
    let code_of = |line: &str| {
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_numalab"));
        let command = command.args(line.split_whitespace()).current_dir(lab.path("."));
        // Without a package tool, the list of packaged kernels is unknown.
        command.env("PATH", lab.path("none"));
        command.env("NUMALAB_WORKER", lab.path("no-worker")).output().unwrap().status.code()
    };
    let run = "run --backend vm --machine 2x1x2x1 --kernel debian-6.12 --out d --workload";
    assert_eq!(code_of(&format!("{run} sweep.toml")), Some(3), "QEMU and the worker are missing");
    assert_eq!(code_of("validate --out d"), Some(3));
    assert_eq!(code_of(&format!("{run} nosuch")), Some(2));
    assert_eq!(code_of("validate --out d --machine nosuch"), Some(2));
}

/// What real backends cannot carry out is refused before anything that the host lacks for guests.
#[test]
fn what_only_the_simulator_can_do_is_refused_by_name() {
    let lab = Lab::with_sweep();
    for (key, value) in [("cpu_weight", "50"), ("mems", "")] {
        let line = if key == "mems" { "cpuset = { mems = 0 }".into() } else { format!("{key} = {value}") };
        let text = common::SWEEP.replacen("[[process]]\n", &format!("[[process]]\n{line}\n"), 1);
        lab.write("weighted.toml", &text);
        lab.ok("run --machine 2x1x2x1 --kernel 6.12 --workload weighted.toml --iterations 1 --out sim");
        lab.refused(
            "run --backend vm --machine 2x1x2x1 --kernel debian-6.12 --out d --workload weighted.toml",
            &["weighted.toml", &format!("`{key}` of process"), "--backend sim"],
        );
    }
}

/// Whether permissions apply to this user; they do not apply to root.
fn must_obey_permissions(dir: &std::path::Path) -> bool {
    std::fs::read_dir(dir).is_err()
}

#[test]
fn a_directory_that_may_not_be_read_or_written_is_named_with_what_to_do() {
    use std::os::unix::fs::PermissionsExt;
    let lab = Lab::with_sweep();
    lab.ok(&format!("{QUICK} --kernel 6.3 --out d"));
    let allow = |mode: u32| {
        std::fs::set_permissions(lab.path("d"), std::fs::Permissions::from_mode(mode)).unwrap();
    };
    allow(0o000);
    if must_obey_permissions(&lab.path("d")) {
        for line in ["compare d", "report d", "explain d --vma", "repeat d"] {
            let ended = lab.run(line);
            assert_eq!((ended.code, ended.err.lines().count()), (3, 1), "{line}: {ended:?}");
            assert!(ended.err.starts_with("numalab: d: permission denied; expected to be allowed"), "{ended:?}");
        }
        for mode in [0o000, 0o500] {
            allow(mode);
            let ended = lab.run(&format!("{QUICK} --kernel off --out d"));
            assert_eq!((ended.code, ended.err.lines().count()), (3, 1), "{ended:?}");
            assert!(ended.err.starts_with("numalab: d: permission denied; expected "), "{ended:?}");
        }
        let ended = lab.run(&format!("{QUICK} --kernel off --out d/new"));
        assert!(
            ended.code == 3 && ended.err.starts_with("numalab: d/new: permission denied; expected a dir"),
            "{ended:?}"
        );
    }
    allow(0o700);
    // Not even root may create this directory.
    let ended = lab.run(&format!("{QUICK} --kernel off --out /proc/numalab"));
    assert!(ended.code == 3 && ended.err.starts_with("numalab: /proc/numalab: "), "{ended:?}");
    assert!(ended.err.contains("expected a directory to write records in (") && ended.err.contains("--out names"));
}
