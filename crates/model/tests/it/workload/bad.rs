//! Bad input: every error has file, line and column, what is wrong, what was expected, and the nearest name.
//!
//! `^` in a text marks the place at which the error must be reported; it is not part of the text.

use crate::workload::machines::machine;
use numalab_model::spec::{position, SpecError};
use numalab_model::workload::parse;

pub(super) const HEAD: &str = "name = \"w\"\ntitle = \"t\"\nabout = \"a\"\nsource = \"s\"\n";

/// The error of parsing or resolving `text` on the four-node machine; its place must be that of the mark.
pub(super) fn refused(text: &str) -> SpecError {
    let mark = text.find('^').unwrap_or_else(|| panic!("no mark in {text}"));
    let clean = text.replacen('^', "", 1);
    let result = parse("w.toml", &clean).and_then(|s| s.resolve(&machine("e7-4807-4s"), 1, &[]));
    let e = result.expect_err(text);
    assert_eq!(e.file, "w.toml");
    assert_eq!((e.line, e.column), position(&clean, mark), "{e}\nin\n{clean}");
    e
}

/// Checks that `body` after the usual head is refused with a message that has all of `parts`.
pub(super) fn body(body: &str, parts: &[&str]) {
    let e = refused(&format!("{HEAD}{body}"));
    let text = e.to_string();
    for part in parts {
        assert!(text.contains(part), "`{part}` is not in: {text}");
    }
}

/// Checks that a process with a 1 MiB region `buffer` and the given phases is refused.
pub(super) fn phase(phases: &str, parts: &[&str]) {
    let process = "[[process]]\nname = \"p\"\n[[process.region]]\nname = \"buffer\"\nsize = \"1MiB\"\n";
    body(&format!("{process}[[process.phase]]\n{phases}"), parts);
}

pub(super) const WORK: &str = "[[process.phase]]\ncompute = \"1us\"\n";

#[test]
fn the_head_must_be_complete() {
    let e = parse("w.toml", "title = \"t\"\n").expect_err("no name");
    assert!(e.to_string().contains("`name` is missing"), "{e}");
    let e = parse("w.toml", HEAD).expect_err("no process");
    assert!(e.to_string().contains("`process` is missing; expected at least one [[process]] table"), "{e}");
    let e = refused("name = ^\"a b\"\ntitle = \"t\"\nabout = \"a\"\nsource = \"s\"\n");
    assert!(e.to_string().contains("the name is `a b`"), "{e}");
    let e = refused("name = \"w\"\ntitle = \"t\"\nabout = ^\"\"\nsource = \"s\"\n");
    assert!(e.to_string().contains("`about` is empty"), "{e}");
    body(
        &format!("^limt = \"1s\"\n[[process]]\nname = \"p\"\n{WORK}"),
        &["unknown key `limt`", "did you mean `limit`?"],
    );
    body(&format!("limit = \"^0s\"\n[[process]]\nname = \"p\"\n{WORK}"), &["`limit` is 0", "a time above 0"]);
    let e = refused("name = \"w\"\ntitle = ^= 3\n");
    assert!(e.to_string().contains("expected valid TOML"), "{e}");
}

#[test]
fn unknown_names_come_with_the_nearest_one() {
    phase("access = \"^bufer\"\n", &["unknown region `bufer`", "one of buffer", "did you mean `buffer`?"]);
    phase("discard = \"^buffr\"\n", &["unknown region `buffr`", "did you mean `buffer`?"]);
    let declared = "[[barrier]]\nname = \"start\"\n[[channel]]\nname = \"request\"\n[[policy]]\n\
     name = \"home\"\nmode = \"local\"\n\
                    [[score]]\nname = \"reads\"\nunit = \"1\"\nbetter = \"higher\"\n[[process]]\nname = \"parent\"\n";
    let step = |step: &str, parts: &[&str]| body(&format!("{declared}[[process.phase]]\n{step}\n"), parts);
    step("barrier = \"^strat\"", &["unknown barrier `strat`", "did you mean `start`?"]);
    step("signal = \"^reqest\"", &["unknown channel `reqest`", "did you mean `request`?"]);
    step("wait = \"^requests\"", &["unknown channel `requests`", "did you mean `request`?"]);
    step("score = \"^read\"", &["unknown score `read`", "did you mean `reads`?"]);
    step("timed = \"^raeds\"\ncompute = \"1us\"", &["unknown score `raeds`", "did you mean `reads`?"]);
    step("policy = \"^hom\"\ncompute = \"1us\"", &["unknown policy `hom`", "did you mean `home`?"]);
    let child = format!("{declared}{WORK}[[process]]\nname = \"child\"\nparent = \"^parnet\"\n{WORK}");
    body(&child, &["unknown process `parnet`", "did you mean `parent`?"]);
    let region = format!("{declared}[[process.region]]\nname = \"r\"\nsize = \"1MiB\"\npolicy = \"^hme\"\n{WORK}");
    body(&region, &["unknown policy `hme`", "did you mean `home`?"]);
}

#[test]
fn unknown_keys_and_words_come_with_the_nearest_one() {
    phase("access = \"buffer\"\n^patern = \"random\"\n", &["unknown key", "did you mean `pattern`?"]);
    phase(
        "access = \"buffer\"\npattern = \"^sequental\"\n",
        &["`pattern` is `sequental`", "did you mean `sequential`?"],
    );
    phase("access = \"buffer\"\nslice = \"^thraed\"\n", &["`slice` is `thraed`", "did you mean `thread`?"]);
    phase("compute = \"1us\"\n^stride = \"64B\"\n", &["unknown key"]);
    phase("access = \"buffer\"\n^accesses = 5\n", &["unknown key"]);
    let kind = "[[process]]\nname = \"p\"\n[[process.region]]\nname = \"r\"\nsize = \"1MiB\"\n";
    body(&format!("{kind}kind = \"^anno\"\n{WORK}"), &["`kind` is `anno`", "did you mean `anon`?"]);
    body(&format!("{kind}advice = \"^hug\"\n{WORK}"), &["`advice` is `hug`", "did you mean `huge`?"]);
    body("[[policy]]\nname = \"p\"\nmode = \"^interlaeve\"\n", &["did you mean `interleave`?"]);
    body("[[policy]]\nname = \"p\"\nmode = \"local\"\n^nodes = 0\n", &["unknown key"]);
    body("[[score]]\nname = \"s\"\nunit = \"u\"\nbetter = \"^hihger\"\n", &["did you mean `higher`?"]);
    body(&format!("[[process]]\nname = \"p\"\ninitial = \"^join\"\n{WORK}"), &["did you mean `joins`?"]);
    body(&format!("[[process]]\nname = \"p\"\ncount = 2\nfork = \"^befor\"\n{WORK}"), &["did you mean `before`?"]);
    let affinity = format!("[[process]]\nname = \"p\"\naffinity = {{ ^node = 0 }}\n{WORK}");
    let e = parse("w.toml", &format!("{HEAD}{}", affinity.replace('^', ""))).expect_err("no unit");
    assert!(e.to_string().contains("one of cpus, cores, llcs, nodes, sockets"), "{e}");
}

#[test]
fn expressions_are_placed_inside_their_text() {
    phase("count = \"2 * ^cpsu\"\naccess = \"buffer\"\n", &["`cpsu` is not known here", "did you mean `cpus`?"]);
    phase("compute = \"5 * 3^uss\"\n", &["unknown unit `uss`", "did you mean `us`?"]);
    phase("compute = \"5 * 3^mib\"\n", &["unknown unit `mib`", "did you mean `MiB`?"]);
    phase("count = \"cpus ^/ (nodes - 4)\"\naccess = \"buffer\"\n", &["division by zero"]);
    phase("count = ^1.5\naccess = \"buffer\"\n", &["`count` is 1.5", "a whole number", "floor()"]);
    phase("count = ^-3\naccess = \"buffer\"\n", &["`count` is -3", "at least 0"]);
    phase("time = ^10\naccess = \"buffer\"\n", &["`time` is a plain number (10)", "a time such as `10s`"]);
    phase("time = \"^1MiB\"\naccess = \"buffer\"\n", &["`time` is a size in bytes (1MiB)"]);
    phase("compute = \"^-1us\"\n", &["`compute` is -1us", "from 0"]);
    phase("access = \"buffer\"\nlen = ^4096\n", &["`len` is a plain number (4096)", "a size such as"]);
    phase("compute = \"\"\"\n1us +\n  ^wait\"\"\"\n", &["`wait` is not known here"]);
    phase("compute = '''^nodes'''\n", &["`compute` is a plain number (4)"]);
}

#[test]
fn names_are_known_only_where_they_have_a_value() {
    let process = |keys: &str, parts: &[&str]| body(&format!("[[process]]\nname = \"p\"\n{keys}{WORK}"), parts);
    process("count = \"1 + ^process\"\n", &["`process` is not known here"]);
    process("threads = \"^thread\"\n", &["`thread` is not known here"]);
    process("[[process.region]]\nname = \"r\"\nsize = \"^thread * 1MiB\"\n", &["`thread` is not known here"]);
    process("[[process.prologue]]\ncompute = \"^thread * 1us\"\n", &["`thread` is not known here"]);
    body("[params]\na = \"^b\"\nb = 1\n", &["`b` is not known here"]);
    let policy = "[[policy]]\nname = \"n\"\nmode = \"bind\"\nnodes = \"^thread\"\n[[process]]\nname = \"p\"\n";
    body(&format!("{policy}policy = \"n\"\n{WORK}"), &["`thread` is not known here"]);
    body("[params]\n^cpus = 4\n", &["`cpus` is a variable of the machine or the run"]);
    body("[params]\n^thread = 4\n", &["`thread` is a variable"]);
    body("[params]\n^and = 4\n", &["`and` is a variable"]);
    body("[params]\n^a-b = 4\n", &["`a-b` cannot be used in expressions"]);
    phase("for = \"^nodes\"\nin = \"0..3\"\naccess = \"buffer\"\n", &["`nodes` is a variable"]);
    phase(
        "for = \"i\"\nin = \"0..3\"\nsteps = [{ for = \"^i\", in = 0, access = \"buffer\" }]\n",
        &["`i` has a meaning here already"],
    );
}

#[test]
fn declarations_that_nothing_uses_are_refused() {
    let process = format!("[[process]]\nname = \"p\"\n{WORK}");
    body(&format!("[params]\nloops = ^5\n{process}"), &["parameter `loops` is used by nothing"]);
    body(&format!("[[barrier]]\nname = \"^b\"\n{process}"), &["barrier `b` is used by nothing"]);
    body(&format!("[[channel]]\nname = \"^c\"\n{process}"), &["channel `c` is used by nothing"]);
    body(&format!("[[policy]]\nname = \"^l\"\nmode = \"local\"\n{process}"), &["policy `l` is used by nothing"]);
    let score = "[[score]]\nname = \"^s\"\nunit = \"u\"\nbetter = \"higher\"\n";
    body(&format!("{score}{process}"), &["score `s` is used by nothing"]);
    // A clock alone does not count any work.
    let timed = format!("{score}[[process]]\nname = \"p\"\n[[process.phase]]\ntimed = \"s\"\ncompute = \"1us\"\n");
    body(&timed, &["score `s` is used by nothing"]);
}

#[test]
fn names_are_declared_once() {
    let twice =
        |table: &str, keys: &str| format!("[[{table}]]\nname = \"x\"\n{keys}[[{table}]]\nname = \"^x\"\n{keys}");
    body(&twice("barrier", ""), &["a second barrier is named `x` (the first is on line 6)"]);
    body(&twice("policy", "mode = \"local\"\n"), &["a second policy"]);
    body(&twice("process", WORK), &["a second process"]);
    let process = "[[process]]\nname = \"p\"\n[[process.region]]\nname = \"r\"\nsize = \"4KiB\"\n";
    body(&format!("{process}[[process.region]]\nname = \"^r\"\nsize = \"4KiB\"\n"), &["a second region"]);
    let child = "[[process]]\nname = \"c\"\nparent = \"p\"\n[[process.region]]\nname = \"^r\"\nsize = \"4KiB\"\n";
    body(&format!("{process}{WORK}{child}"), &["a second region is named `r`"]);
    body("[[barrier]]\nname = \"^a[1]\"\n", &["letters, digits"]);
    for time in ["elapsed_s", "user"] {
        let score = format!("[[score]]\nname = \"^{time}\"\nunit = \"s\"\nbetter = \"lower\"\n");
        body(
            &format!("{score}{process}{WORK}"),
            &[&format!("`{time}` is a figure of every run; expected another name")],
        );
    }
}

#[test]
fn sizes_must_fit_the_machine() {
    let region = |size: &str, parts: &[&str]| {
        body(&format!("[[process]]\nname = \"p\"\n[[process.region]]\nname = \"r\"\n{size}\n{WORK}"), parts);
    };
    region("size = \"^65GiB\"", &["`size` is 65GiB", "the machine's memory, 64GiB"]);
    region("size = \"^1MiB - 2MiB\"", &["`size` is -1MiB (from `1MiB - 2MiB`)"]);
    region("size = ^0", &["`size` is 0B", "above 0"]);
    region("size = \"^9000TiB\"", &["`size` is 9000TiB", "8 PiB"]);
    region("size = \"1MiB\"\nmisalign = \"^100B\"", &["`misalign` is 100B", "a multiple of 4KiB below 2MiB"]);
    region("size = \"1MiB\"\nmisalign = \"^2MiB\"", &["`misalign` is 2MiB"]);
    region("size = \"1MiB\"\nsecond_level_fault = \"^2s\"", &["`second_level_fault` is 2s", "at most 1s"]);
    phase(
        "access = \"^buffer\"\noffset = \"512KiB\"\nlen = \"513KiB\"\n",
        &["bytes 524288 to 1049600 of a region of 1048576"],
    );
    phase("access = \"^buffer\"\noffset = \"1MiB\"\n", &["inside the region"]);
    phase("access = \"buffer\"\nlen = \"^0B\"\n", &["`len` is 0"]);
    phase("access = \"buffer\"\noffset = \"^-4KiB\"\n", &["`offset` is -4KiB"]);
    phase("access = \"^buffer\"\nslice = \"thread\"\noffset = \"4KiB\"\n", &["both `slice` and `offset`"]);
    // With more threads than bytes some threads have no slice.
    let thin = "[[process]]\nname = \"p\"\nthreads = 9\n[[process.region]]\nname = \"r\"\nsize = \"4B\"\n\
                [[process.phase]]\naccess = \"^r\"\nslice = \"thread\"\n";
    body(thin, &["at least one byte"]);
    let prologue = "[[process]]\nname = \"p\"\n[[process.region]]\nname = \"r\"\nsize = \"4KiB\"\n\
                    [[process.prologue]]\naccess = \"^r\"\nslice = \"thread\"\n";
    body(&format!("{prologue}{WORK}"), &["`slice = \"thread\"` in a prologue"]);
}

#[test]
fn counts_must_be_in_range() {
    let process = |keys: &str, parts: &[&str]| body(&format!("[[process]]\nname = \"p\"\n{keys}\n{WORK}"), parts);
    process("threads = ^0", &["`threads` is 0", "from 1 to 1000000"]);
    process("threads = ^-1", &["`threads` is -1"]);
    process("threads = \"^cpus / 5\"", &["`threads` is 9.6 (from `cpus / 5`)"]);
    process("threads = ^1000001", &["`threads` is 1000001", "from 1 to 1000000"]);
    process("threads = \"^1e18\"", &["from 1 to 1000000"]);
    process("count = 3\nthreads = ^400_000", &["too many threads", "at most 1000000 in all"]);
    process("count = ^100001", &["`count` is 100001"]);
    body(&format!("[[process]]\nname = \"^p\"\ncount = \"nodes - 4\"\n{WORK}"), &["no process on this machine"]);
    let full = format!("[[process]]\nname = \"p\"\n{WORK}[[process]]\nname = \"^q\"\ncount = 100_000\n{WORK}");
    body(&full, &["too many processes"]);
    phase("for = \"i\"\nin = \"^0..2e6\"\naccess = \"buffer\"\n", &["the list is too long"]);
    phase("for = \"i\"\nin = \"0..3 by ^0\"\naccess = \"buffer\"\n", &["`in ... by` is 0", "at least 1"]);
    phase("for = \"i\"\nin = \"^-1..3\"\naccess = \"buffer\"\n", &["`in` is -1"]);
    let inner = "{ for = \"j\", in = \"0..9999\", compute = 0 }";
    let nested = format!(
        "{HEAD}[[process]]\nname = \"p\"\n[[process.region]]\nname = \"buffer\"\nsize = \"1MiB\"\n\
         [[process.phase]]\nfor = \"i\"\nin = \"0..9999\"\nsteps = [{inner}]\n"
    );
    let e = parse("w.toml", &nested).and_then(|s| s.resolve(&machine("laptop"), 0, &[])).expect_err("10^8 steps");
    assert!(e.to_string().contains("too many steps; expected at most 4000000"), "{e}");
}

#[test]
fn too_many_mappings_and_too_deep_files_are_refused_quickly() {
    let process =
        "[[process]]\nname = \"p\"\ncount = 100_000\n[[process.region]]\nname = \"^r\"\nover = \"0..99999\"\n";
    body(&format!("{process}size = \"4KiB\"\n{WORK}"), &["too many steps"]);
    let parent = "[[process]]\nname = \"p\"\n[[process.region]]\nname = \"r\"\nover = \"0..999\"\nsize = \"4KiB\"\n";
    let child = format!("[[process]]\nname = \"^c\"\ncount = 99_999\nparent = \"p\"\n{WORK}");
    body(&format!("{parent}{WORK}{child}"), &["too many steps"]);
    for open in ["[", "{ a = ", "{ steps = ["] {
        let e = parse("w.toml", &format!("{HEAD}x = {}", open.repeat(50_000))).expect_err("not closed");
        assert!(e.to_string().contains("expected valid TOML"), "{e}");
    }
}

#[test]
fn policies_name_nodes_that_exist_and_have_memory() {
    let policy = |keys: &str, parts: &[&str]| {
        let text = format!("[[policy]]\nname = \"n\"\n{keys}\n[[process]]\nname = \"p\"\npolicy = \"n\"\n{WORK}");
        body(&text, parts);
    };
    policy("mode = \"bind\"\nnodes = \"^nodes\"", &["policy `n` names node 4", "nodes 0 to 3 of `e7-4807-4s`"]);
    policy("mode = \"preferred\"\nnodes = [^0, 1]", &["policy `n` names 2 nodes", "one node"]);
    policy("mode = \"interleave\"\nnodes = \"^1..0\"", &["policy `n` names 0 nodes"]);
    policy(
        "mode = \"weighted_interleave\"\nnodes = [0, 1]\nweights = [1, ^256]",
        &["`weights` is 256", "from 1 to 255"],
    );
    policy("mode = \"weighted_interleave\"\nnodes = [^0, 0]\nweights = [1, 2]", &["names a node twice"]);
    let named = "[[policy]]\nname = \"^n\"\nmode = \"weighted_interleave\"\nnodes = \"all\"\nweights = [1]\n\
     [[process]]\nname = \"p\"\npolicy = \"n\"\n";
    body(&format!("{named}{WORK}"), &["policy `n` has 1 weights", "4, one per node"]);
    // A policy cannot name a node without memory.
    let mut m = machine("guest-2n");
    m.nodes[1].memory_bytes = 0;
    let text = format!(
        "{HEAD}[[policy]]\nname = \"n\"\nmode = \"bind\"\nnodes = 1\n[[process]]\nname = \"p\"\n\
         policy = \"n\"\n{WORK}"
    );
    let e = parse("w.toml", &text).and_then(|s| s.resolve(&m, 0, &[])).expect_err("no memory there");
    assert!(e.to_string().contains("node 1 has no memory"), "{e}");
    // `all` means the nodes with memory.
    let text = text.replace("nodes = 1", "nodes = \"all\"");
    let w = parse("w.toml", &text).and_then(|s| s.resolve(&m, 0, &[])).expect("node 0 is left");
    assert!(format!("{:?}", w.processes[0].threads[0].ops).contains("nodes: [0]"));
}

#[test]
fn affinity_names_cpus_that_exist() {
    let affinity = |list: &str, parts: &[&str]| {
        body(&format!("[[process]]\nname = \"p\"\nthreads = 2\naffinity = {{ {list} }}\n{WORK}"), parts);
    };
    affinity("cpus = ^48", &["affinity to CPU 48, which `e7-4807-4s` does not have", "0 to 47"]);
    affinity("nodes = \"^thread + 3\"", &["affinity to node 4", "0 to 3"]);
    affinity("llcs = \"^99\"", &["affinity to LLC 99"]);
    affinity("cores = \"^24\"", &["affinity to core 24"]);
    affinity("sockets = \"^4\"", &["affinity to socket 4"]);
    affinity("nodes = ^0, cpus = 1", &["affinity is given twice"]);
    let text = format!("{HEAD}[[process]]\nname = \"p\"\naffinity = {{ nodes = 2 }}\n{WORK}");
    let e = parse("w.toml", &text).and_then(|s| s.resolve(&machine("cxl-2s"), 0, &[])).expect_err("memory only");
    assert!(e.to_string().contains("the affinity allows no CPU; expected a node that has CPUs"), "{e}");
}

#[test]
fn a_step_has_exactly_one_verb() {
    let process = "[[process]]\nname = \"p\"\n[[process.phase]]\nsteps = [";
    body(&format!("{process}^{{ count = 3 }}]\n"), &["the step does nothing", "exactly one of access, compute, sleep"]);
    body(&format!("{process}^{{ compute = \"1us\", sleep = \"1us\" }}]\n"), &["the step has compute and sleep"]);
    body(&format!("{process}^{{ steps = [] }}]\n"), &["`steps` is empty"]);
    body(&format!("{process}{{ count = 2, time = \"^1s\", compute = \"1us\" }}]\n"), &["both `count` and `time`"]);
    body("[[process]]\nname = \"p\"\n^[[process.phase]]\ncount = 3\n", &["the step does nothing"]);
    phase("access = ^3\n", &["`process[0].phase[0].access` is a whole number", "a string"]);
    let deep = format!("{}compute = \"1us\" {}", "steps = [{ ".repeat(20), "}]".repeat(20));
    let e =
        parse("w.toml", &format!("{HEAD}[[process]]\nname = \"p\"\n[[process.phase]]\n{deep}\n")).expect_err("deep");
    assert!(e.to_string().contains("steps nest too deeply"), "{e}");
}

#[test]
fn lists_are_used_with_a_number_that_they_have() {
    let barrier =
        "[[barrier]]\nname = \"one\"\n[[barrier]]\nname = \"many\"\nover = \"2..4\"\n[[process]]\nname = \"p\"\n\
                   [[process.phase]]\nbarrier = \"one\"\n[[process.phase]]\n";
    body(&format!("{barrier}barrier = \"^many\"\n"), &["`many` is a list", "`many[number]`"]);
    body(&format!("{barrier}barrier = \"^one[0]\"\n"), &["`one` is not a list"]);
    body(&format!("{barrier}barrier = \"^many[5]\"\n"), &["`many` has no member 5", "a member from 2 to 4"]);
    body(&format!("{barrier}barrier = \"^many[2\"\n"), &["does not end in `]`"]);
    body(&format!("{barrier}barrier = \"many[2 + ^nods]\"\n"), &["`nods` is not known here", "did you mean `nodes`?"]);
    body(&format!("{barrier}barrier = \"many[^0.5]\"\n"), &["`barrier` is 0.5"]);
    let region = "[[process]]\nname = \"p\"\nthreads = 3\n[[process.region]]\nname = \"a\"\nover = \"0..1\"\n\
         size = \"4KiB\"\n";
    body(&format!("{region}[[process.phase]]\naccess = \"^a[thread]\"\n"), &["`a` has no member 2", "from 0 to 1"]);
    let absent = "[[process]]\nname = \"p\"\n[[process.region]]\nname = \"a\"\nwhen = 0\nsize = \"4KiB\"\n";
    body(&format!("{absent}[[process.phase]]\naccess = \"^a\"\n"), &["`a` is not mapped here"]);
    let twice = "[[channel]]\nname = \"^c\"\nover = [1, 1]\n[[process]]\nname = \"p\"\n[[process.phase]]\n\
         signal = \"c[1]\"\n";
    body(twice, &["has member 1 twice"]);
    body("[[channel]]\nname = \"c\"\nover = ^[]\n", &["`channel[0].over` is an empty list"]);
}

#[test]
fn runs_that_would_hang_are_refused() {
    let barrier = "[[barrier]]\nname = \"b\"\n[[process]]\nname = \"p\"\nthreads = 2\n";
    body(
        &format!(
            "{barrier}[[process.phase]]\ntime = \"9s\"\nsteps = [{{ compute = \"1us\" }}, {{ barrier = \"^b\" }}]\n"
        ),
        &["a barrier inside a loop bounded by time would hang", "a loop bounded by count"],
    );
    body(
        &format!("{barrier}[[process.phase]]\ncount = \"1 + thread\"\nbarrier = \"^b\"\n"),
        &["barrier `b`: thread 0 of p.0 arrives 1 times, thread 1 of p.0 2 times"],
    );
    let prologue = format!("{barrier}[[process.prologue]]\nbarrier = \"^b\"\n[[process.phase]]\nbarrier = \"b\"\n");
    body(&prologue, &["thread 0 of p.0 arrives 2 times, thread 1 of p.0 1 times"]);
    let channel = "[[channel]]\nname = \"c\"\n[[process]]\nname = \"p\"\n";
    body(
        &format!(
            "{channel}[[process.phase]]\ntime = \"9s\"\n\
         steps = [{{ compute = \"1us\" }}, {{ wait = \"^c\" }}]\n"
        ),
        &["a wait inside a loop bounded by time would hang"],
    );
    body(
        &format!(
            "{channel}[[process.phase]]\ncount = 3\nsignal = \"^c\"\n[[process.phase]]\ncount = 4\nwait = \"c\"\n"
        ),
        &["channel `c`: 4 waits but 3 signals"],
    );
    phase("time = \"^9s\"\nsteps = [{ discard = \"buffer\" }]\n", &["does nothing that takes time"]);
    body(
        "limit = \"^5s\"\n[[process]]\nname = \"p\"\n[[process.phase]]\ntime = \"9s\"\ncompute = \"1us\"\n",
        &["the loops bounded by time last 9s, the limit is 5s"],
    );
    body(
        "limit = \"^9s\"\n[[process]]\nname = \"p\"\n[[process.phase]]\ntime = \"9s\"\ncompute = \"1us\"\n",
        &["the loops bounded by time last 9s, the limit is 9s; expected a longer `limit`"],
    );
}

#[test]
fn threads_must_do_something() {
    body("[[process]]\nname = \"^p\"\n", &["thread 0 of process `p` does nothing"]);
    body(
        "[[process]]\nname = \"p\"\nthreads = ^2\n[[process.phase]]\nwhen = \"thread == 0\"\ncompute = \"1us\"\n",
        &["thread 1 of process `p` does nothing"],
    );
}

#[test]
fn forks_need_a_parent_that_exists() {
    body(&format!("[[process]]\nname = \"p\"\nparent = \"^p\"\n{WORK}"), &["is its own parent"]);
    let missing = |keys: &str, part: &str| {
        let text = format!("{HEAD}[[process]]\nname = \"p\"\n{keys}\n{WORK}");
        let e = parse("w.toml", &text).expect_err(part);
        assert!(e.to_string().contains(part) && e.line == 5, "{e}");
    };
    missing("fork = \"before\"", "`process[0].count` is missing");
    missing("fork = \"after\"", "`process[0].parent` is missing");
    let parent = format!("[[process]]\nname = \"p\"\ncount = \"nodes - 4\"\n{WORK}");
    body(&format!("{parent}[[process]]\nname = \"^c\"\nparent = \"p\"\n{WORK}"), &["its parent has no instance"]);
    let parent = format!("[[process]]\nname = \"p\"\n{WORK}[[process]]\nname = \"c\"\nparent = \"p\"\n");
    body(&format!("{parent}parent_index = ^1\n{WORK}"), &["`parent_index` is 1", "from 0 to 0"]);
}

#[test]
fn requirements_say_why() {
    body(
        &format!(
            "[[require]]\nthat = \"^nodes == 2\"\nbecause = \"two nodes, no more\"\n[[process]]\nname = \"p\"\n{WORK}"
        ),
        &["`nodes == 2` does not hold on machine `e7-4807-4s`; expected two nodes, no more"],
    );
}

#[test]
fn overrides_are_never_ignored() {
    let text = format!(
        "{HEAD}[params]\nloops = 5\nlength = \"1s\"\n[[process]]\nname = \"p\"\n[[process.phase]]\n\
         count = \"loops\"\ncompute = \"length\"\n"
    );
    let spec = parse("w.toml", &text).expect("a spec");
    let refuse = |set: &[(&str, &str)]| {
        let set: Vec<(String, String)> = set.iter().map(|(k, v)| ((*k).into(), (*v).into())).collect();
        spec.resolve(&machine("laptop"), 0, &set).expect_err("refused").to_string()
    };
    assert_eq!(
        refuse(&[("lops", "3")]),
        "command line: workload `w` has no parameter `lops`; expected one of loops, length; did you mean `loops`?"
    );
    assert_eq!(
        refuse(&[("loops", "3"), ("loops", "4")]),
        "command line: parameter `loops` is given twice; expected one value"
    );
    assert_eq!(
        refuse(&[("loops", "2 * cpsu")]).split("; expected").next(),
        Some("command line:1:5: parameter `loops`: `cpsu` is not known here")
    );
    assert!(refuse(&[("loops", "2 *")]).starts_with("command line:1:4: parameter `loops`: unexpected end"));
    assert_eq!(
        refuse(&[("length", "10")]),
        "command line:1:1: parameter `length` is a plain number (10); expected a time, as the default `1s`"
    );
    assert!(refuse(&[("loops", "-1")]).contains("`count` is -1 (from `loops`)"));
}

#[test]
fn an_error_about_a_bound_names_the_bound() {
    let most = "expected a whole number from 0 to 9007199254740992";
    phase(
        "access = \"buffer\"\npattern = \"random\"\naccesses = ^1e18\n",
        &["`accesses` is 1000000000000000000", most],
    );
    phase("count = ^1e300\ncompute = \"1us\"\n", &["`count` is 1e300", most]);
    phase("count = ^-1\ncompute = \"1us\"\n", &["`count` is -1; expected a whole number, at least 0"]);
    phase(
        "for = \"i\"\nin = \"0..10 by ^0\"\ncompute = \"1us\"\n",
        &["`in ... by` is 0; expected a whole number, at least 1"],
    );
}

#[test]
fn true_is_a_condition_and_no_number() {
    phase("when = true\ncount = ^true\ncompute = \"1us\"\n", &["count` is true or false", "a number or an expression"]);
    body(&format!("[params]\nn = ^true\n[[process]]\nname = \"p\"\n{WORK}"), &["`params.n` is true or false"]);
    body(&format!("[[process]]\nname = \"p\"\nthreads = ^true\n{WORK}"), &["threads` is true or false"]);
}

#[test]
fn an_empty_affinity_says_so() {
    body(
        &format!("[[process]]\nname = \"p\"\naffinity = {{ cpus = \"^1..0\" }}\n{WORK}"),
        &["the list of CPUs of the affinity is empty; expected at least one CPU"],
    );
}

#[test]
fn eight_thousand_regions_are_read_at_once() {
    let regions: String =
        (0..8000).map(|i| format!("[[process.region]]\nname = \"r{i}\"\nsize = \"1MiB\"\n")).collect();
    let phases: String = (0..8000).map(|i| format!("[[process.phase]]\naccess = \"r{i}\"\n")).collect();
    let started = std::time::Instant::now();
    parse("w.toml", &format!("{HEAD}[[process]]\nname = \"p\"\n{regions}{phases}")).expect("a spec");
    assert!(started.elapsed() < std::time::Duration::from_secs(20), "{:?}", started.elapsed());
}
