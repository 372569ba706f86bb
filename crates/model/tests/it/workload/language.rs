//! The forms of the language and their meaning.

use crate::workload::machines::machine;
use crate::workload::sums::check_invariants;
use numalab_model::expr::Value;
use numalab_model::machine::Fill;
use numalab_model::workload::{
    parse, Bound, ForkPoint, HugeAdvice, IoDirection, Op, Pattern, PolicyMode, RegionKind, Workload, VARIABLES,
};

const HEAD: &str = "name = \"w\"\ntitle = \"t\"\nabout = \"a\"\nsource = \"s\"\n";

fn run(body: &str) -> Workload {
    on("e7-4807-4s", body, &[])
}

fn on(machine_name: &str, body: &str, overrides: &[(&str, &str)]) -> Workload {
    let overrides: Vec<(String, String)> = overrides.iter().map(|(k, v)| ((*k).into(), (*v).into())).collect();
    let spec = parse("w.toml", &format!("{HEAD}{body}")).unwrap_or_else(|e| panic!("{e}"));
    let w = spec.resolve(&machine(machine_name), 5, &overrides).unwrap_or_else(|e| panic!("{e}"));
    check_invariants(&w);
    w
}

/// Ops of the only thread of a process with a 1 MiB region `m` and these phases.
fn ops(phases: &str) -> Vec<Op> {
    let body = format!("[[process]]\nname = \"p\"\n[[process.region]]\nname = \"m\"\nsize = \"1MiB\"\n{phases}");
    run(&body).processes[0].threads[0].ops.to_vec()
}

#[test]
fn variables_of_the_machine_are_those_of_its_shape() {
    let expect = |name: &str, values: [f64; 13]| {
        let m = machine(name);
        let names = [
            "cpus",
            "cores",
            "threads_per_core",
            "nodes",
            "cpu_nodes",
            "sockets",
            "llcs",
            "cpus_per_node",
            "cpus_per_llc",
            "llc_bytes",
            "llc_total",
            "memory_bytes",
            "node_memory_bytes",
        ];
        for (n, v) in names.iter().zip(values) {
            let variable = VARIABLES.iter().find(|x| x.name == *n).expect(n);
            assert_eq!(variable.value(&m).number, v, "{n} on {name}");
        }
        assert_eq!(VARIABLES.len(), names.len());
    };
    let (mib, gib) = (1_048_576.0, 1_073_741_824.0);
    expect(
        "milan-2s-nps1",
        [256.0, 128.0, 2.0, 2.0, 2.0, 2.0, 16.0, 128.0, 16.0, 32.0 * mib, 512.0 * mib, 512.0 * gib, 256.0 * gib],
    );
    expect(
        "cxl-2s",
        [128.0, 64.0, 2.0, 4.0, 2.0, 2.0, 2.0, 64.0, 64.0, 60.0 * mib, 120.0 * mib, 512.0 * gib, 128.0 * gib],
    );
    expect("laptop", [8.0, 4.0, 2.0, 1.0, 1.0, 1.0, 1.0, 8.0, 8.0, 8.0 * mib, 8.0 * mib, 16.0 * gib, 16.0 * gib]);
    assert_eq!(VARIABLES[9].value(&machine("laptop")), Value::bytes(8.0 * mib));
}

#[test]
fn parameters_see_earlier_ones_and_can_be_replaced() {
    let body = "[params]\na = \"cpus // 4\"\nb = { value = \"a * 2\", about = \"twice\" }\nt = \"1s\"\n\
                [[process]]\nname = \"p\"\nthreads = \"b\"\n[[process.phase]]\nsleep = \"t\"\n";
    let spec = parse("w.toml", &format!("{HEAD}{body}")).expect("a spec");
    let shown: Vec<(&str, &str, &str)> =
        spec.params().iter().map(|p| (p.name.as_str(), p.default_text(), p.about.as_str())).collect();
    assert_eq!(shown, [("a", "cpus // 4", ""), ("b", "a * 2", "twice"), ("t", "1s", "")]);
    let w = run(body);
    assert_eq!(w.processes[0].threads.len(), 24);
    let text = |w: &Workload| w.params.iter().map(|(k, v)| format!("{k}={v}")).collect::<Vec<_>>().join(" ");
    assert_eq!(text(&w), "a=12 b=24 t=1s");
    // Overrides are evaluated in the order of declaration, not in the order in which they are given.
    let w = on("e7-4807-4s", body, &[("b", "a + 1"), ("a", "cpus_per_node // 4")]);
    assert_eq!(text(&w), "a=3 b=4 t=1s");
    assert_eq!(w.processes[0].threads.len(), 4);
}

#[test]
fn steps_become_ops() {
    assert_eq!(ops("[[process.phase]]\ncompute = \"5us\"\n"), [Op::Compute { ns: 5000 }]);
    assert_eq!(
        ops("[[process.phase]]\nsleep = \"2ms\"\nexponential = true\n"),
        [Op::Sleep { ns: 2_000_000, exponential: true }]
    );
    let list = ops("[[process.phase]]\ncount = 3\nsteps = [{ discard = \"m\", offset = \"4KiB\", len = \"8KiB\" }, \
         { time = \"6s\", steps = [{ compute = \"1us\" }] }]\n");
    assert!(matches!(list[0], Op::LoopStart(Bound::Count(3))));
    let Op::Discard(span) = list[1] else { panic!("{list:?}") };
    assert_eq!((span.region, span.offset_bytes, span.len_bytes), (0, 4096, 8192));
    assert_eq!(list[2], Op::LoopStart(Bound::Time { ns: 6_000_000_000 }));
    assert_eq!(list[3..], [Op::Compute { ns: 1000 }, Op::LoopEnd, Op::LoopEnd]);
}

#[test]
fn direct_io_becomes_transfers() {
    let one = |keys: &str| {
        let list = ops(&format!("[[process.phase]]\ndirect_io = \"m\"\nlatency = \"80us\"\n{keys}"));
        let [Op::DirectIo(io)] = list[..] else { panic!("{list:?}") };
        io
    };
    let plain = one("");
    assert_eq!((plain.direction, plain.random, plain.latency_ns), (IoDirection::Read, false, 80_000));
    assert_eq!((plain.bytes, plain.ios, plain.places()), (64 << 10, 16, 16), "one pass over 1 MiB");
    let last = one("bytes = \"768KiB\"\nio = \"write\"\norder = \"random\"\n");
    assert_eq!((last.direction, last.random, last.ios), (IoDirection::Write, true, 2));
    assert_eq!(
        (last.transfer(0), last.transfer(1), last.transfer(2)),
        ((0, 768 << 10), (768 << 10, 256 << 10), (0, 768 << 10))
    );
    let part = one("offset = \"4KiB\"\nlen = \"10000B\"\nbytes = \"4KiB\"\nios = 9\n");
    assert_eq!((part.span.offset_bytes, part.span.len_bytes, part.ios), (4096, 8192, 9), "whole pages");
    assert!(
        ops("[[process.phase]]\nsteps = [{ direct_io = \"m\", latency = \"1us\", ios = 0 }, { compute = \"1us\" }]\n")
            .len()
            == 1
    );
}

#[test]
fn pages_move_to_nodes_in_the_order_of_the_list() {
    let one = |keys: &str| {
        let list = ops(&format!("[[process.phase]]\nmove_pages = \"m\"\n{keys}"));
        let [Op::MovePages(m)] = &list[..] else { panic!("{list:?}") };
        m.clone()
    };
    let plain = one("to = 2\n");
    assert_eq!((plain.span.offset_bytes, plain.span.len_bytes, plain.nodes), (0, 1 << 20, vec![2]));
    let part = one("to = [\"nodes - 1\", 0]\noffset = \"8KiB\"\nlen = \"4KiB\"\n");
    assert_eq!((part.span.offset_bytes, part.span.len_bytes), (8192, 4096));
    assert_eq!((part.node(0), part.node(1), part.node(2)), (3, 0, 3));
}

/// What a workload without pins reads the same as before is what names its plan.
#[test]
fn a_region_without_a_pin_shows_none() {
    let region = |more: &str| {
        let region = format!("[[process.region]]\nname = \"r\"\nsize = \"1MiB\"\n{more}\n");
        let text = format!("[[process]]\nname = \"p\"\n{region}[[process.phase]]\naccess = \"r\"\n");
        format!("{:?}", run(&text).processes[0].regions[0])
    };
    assert!(region("").ends_with("second_level_fault_ns: 0 }"), "{}", region(""));
    assert!(region("pinned = true").ends_with("second_level_fault_ns: 0, pinned: true }"));
}

#[test]
fn access_patterns_become_patterns() {
    let one = |keys: &str| {
        let list = ops(&format!("[[process.phase]]\naccess = \"m\"\n{keys}"));
        let [Op::Access(a)] = list[..] else { panic!("{list:?}") };
        a
    };
    let plain = one("");
    assert_eq!((plain.pattern, plain.write, plain.compute_ns), (Pattern::sequential(), 0.0, 0.0));
    assert_eq!((plain.span.offset_bytes, plain.span.len_bytes, plain.accesses), (0, 1 << 20, 1 << 14));
    let strided = one("pattern = \"strided\"\nstride = \"4KiB\"\nwrite = 1\ncost = \"1.5ns\"\n");
    assert_eq!((strided.pattern, strided.accesses), (Pattern::strided(4096), 256));
    assert_eq!((strided.write, strided.compute_ns), (1.0, 1.5));
    let zipf = one("pattern = \"zipf\"\ntheta = 0.99\naccesses = \"1e6\"\nwrite = 0.5\n");
    assert_eq!((zipf.pattern, zipf.accesses, zipf.write), (Pattern::zipf(0.99), 1_000_000, 0.5));
    assert_eq!(one("pattern = \"random\"\naccesses = 7\n").pattern, Pattern::random());
    let chase = one("pattern = \"chase\"\naccesses = 7\noffset = \"512KiB\"\n");
    assert_eq!((chase.pattern, chase.span.offset_bytes, chase.span.len_bytes), (Pattern::chase(), 1 << 19, 1 << 19));
    let reuse = one("pattern = \"reuse\"\nalpha = 0.5\naccesses = 7\n");
    assert_eq!((reuse.pattern, reuse.accesses), (Pattern::reuse(0.5), 7));
    let blocks = |bytes: &str| one(&format!("pattern = \"blocks\"\naccesses = 9\nblock = \"{bytes}\"\n"));
    assert_eq!((blocks("64KiB").pattern, blocks("64KiB").accesses), (Pattern::blocks(1 << 16), 9));
    assert_eq!(blocks("100B").pattern, Pattern::blocks(64), "whole lines");
    assert_eq!(blocks("1GiB").pattern, Pattern::blocks(1 << 20), "no longer than the span");
    let fill = one("pattern = \"fill\"\n");
    assert_eq!((fill.pattern, fill.write, fill.bypass), (Pattern::sequential(), 1.0, false));
}

/// Only long fills bypass the caches, and only if the machine's file says so. The text of a workload without one does
/// not mention them, so its plan keeps its id.
#[test]
fn a_long_fill_bypasses_the_caches_of_a_machine_that_says_so() {
    let mut m = machine("milan-2s-nps1");
    m.cache.fill = Some(Fill { bypass_bytes: 1 << 20, gbps: 40.0 });
    let region = "[[process]]\nname = \"p\"\n[[process.region]]\nname = \"m\"\nsize = \"1MiB\"\n";
    let of = |lines: &str| {
        let spec = parse("w.toml", &format!("{HEAD}{region}[[process.phase]]\naccess = \"m\"\n{lines}"));
        spec.expect("a spec").resolve(&m, 1, &[]).map(|w| match &w.processes[0].threads[0].ops[..] {
            [Op::Access(a)] => *a,
            other => panic!("{other:?}"),
        })
    };
    let long = of("pattern = \"fill\"\n").expect("a workload");
    assert!(long.bypass && format!("{long:?}").contains("bypass: true"));
    for ordinary in ["pattern = \"fill\"\nlen = \"1020KiB\"\n", "write = 1\n"] {
        let a = of(ordinary).expect("a workload");
        assert!(!a.bypass && !format!("{a:?}").contains("bypass"), "{ordinary}");
    }
    let e = of("pattern = \"fill\"\nwrite = 0.5\n").expect_err("reads").to_string();
    assert!(e.contains("a fill only writes"), "{e}");
}

#[test]
fn steps_that_do_nothing_become_no_ops() {
    let list =
        ops("[[process.phase]]\nsteps = [{ count = 0, access = \"m\" }, { when = \"cpus == 1\", access = \"m\" }, \
         { compute = \"0s\" }, { sleep = 0 }, { time = 0, access = \"m\" }, { count = 9, compute = 0 }, \
         { access = \"m\", pattern = \"random\", accesses = 0 }, { count = 1, compute = \"1ns\" }]\n");
    assert_eq!(list, [Op::Compute { ns: 1 }]);
}

#[test]
fn for_unrolls_and_let_names_values() {
    let list = ops("[[process.phase]]\nfor = \"i\"\nin = [\"0..2\", 10, \"20..30 by 5\"]\nlet.twice = \"2 * i\"\n\
         let.more = \"twice + 1\"\nwhen = \"i != 10\"\ncompute = \"more * 1ns\"\n");
    let times: Vec<u64> = list.iter().map(|op| if let Op::Compute { ns } = op { *ns } else { 0 }).collect();
    assert_eq!(times, [1, 3, 5, 41, 51, 61]);
}

#[test]
fn a_policy_holds_for_its_step_and_then_the_outer_policy_returns() {
    let body = "[[policy]]\nname = \"outer\"\nmode = \"interleave\"\nnodes = \"all\"\n\
        [[policy]]\nname = \"inner\"\nmode = \"bind\"\nnodes = \"(thread + 1) % nodes\"\nnuma_balancing = true\n\
        [[policy]]\nname = \"weighted\"\nmode = \"weighted_interleave\"\nnodes = [2, 0]\nweights = [3, 1]\n\
        [[process]]\nname = \"p\"\nthreads = 2\npolicy = \"outer\"\n\
        [[process.region]]\nname = \"m\"\nsize = \"1MiB\"\npolicy = \"weighted\"\n\
        [[process.prologue]]\naccess = \"m\"\n\
        [[process.phase]]\npolicy = \"inner\"\naccess = \"m\"\n[[process.phase]]\naccess = \"m\"\n";
    let w = run(body);
    let p = &w.processes[0];
    let weighted = p.regions[0].policy.clone().expect("a policy");
    assert_eq!((weighted.nodes, weighted.weights), (vec![0, 2], vec![1, 3]), "weights stay with their nodes");
    let policies = |ops: &[Op]| -> Vec<(PolicyMode, Vec<u32>, bool)> {
        ops.iter()
            .filter_map(|op| match op {
                Op::SetPolicy(p) => Some((p.mode, p.nodes.clone(), p.numa_balancing)),
                _ => None,
            })
            .collect()
    };
    let outer = (PolicyMode::Interleave, vec![0, 1, 2, 3], false);
    assert_eq!(policies(&p.prologue), std::slice::from_ref(&outer));
    for (i, t) in p.threads.iter().enumerate() {
        let inner = (PolicyMode::Bind, vec![i as u32 + 1], true);
        assert_eq!(policies(&t.ops), [outer.clone(), inner, outer.clone()]);
    }
}

#[test]
fn affinity_is_a_list_of_cpus_or_larger_units() {
    let cpus = |affinity: &str, threads: usize| -> Vec<Option<Vec<u32>>> {
        let body = format!(
            "[[process]]\nname = \"p\"\nthreads = {threads}\naffinity = {affinity}\n[[process.phase]]\n\
             compute = \"1us\"\n"
        );
        on("guest-2n", &body, &[]).processes[0]
            .threads
            .iter()
            .map(|t| t.affinity.as_ref().map(|a| a.to_vec()))
            .collect()
    };
    // guest-2n: CPUs 0 and 1 on node 0, 2 and 3 on node 1.
    assert_eq!(cpus("{ cpus = [3, \"0..1\"] }", 1), [Some(vec![0, 1, 3])]);
    assert_eq!(cpus("{ nodes = \"thread % nodes\" }", 3), [Some(vec![0, 1]), Some(vec![2, 3]), Some(vec![0, 1])]);
    assert_eq!(cpus("{ llcs = 1 }", 1), [Some(vec![2, 3])]);
    assert_eq!(cpus("{ cores = 2 }", 1), [Some(vec![2])]);
    assert_eq!(cpus("{ sockets = 0 }", 1), [Some(vec![0, 1])]);
    assert_eq!(cpus("{ nodes = \"0..nodes - 1\" }", 1), [None], "all CPUs are no affinity");
}

#[test]
fn forked_children_inherit_what_existed_at_the_fork() {
    let body = "[[channel]]\nname = \"c\"\n[[process]]\nname = \"a\"\n[[process.region]]\nname = \"x\"\n\
     size = \"4KiB\"\n\
        [[process.prologue]]\naccess = \"x\"\nwrite = 1\n[[process.phase]]\nsignal = \"c\"\n\
        [[process]]\nname = \"b\"\ncount = 2\nparent = \"a\"\n[[process.region]]\nname = \"y\"\nsize = \"8KiB\"\n\
        [[process.phase]]\nsteps = [{ access = \"x\" }, { access = \"y\" }]\n\
        [[process]]\nname = \"c\"\nparent = \"b\"\nparent_index = 1\nfork = \"before\"\n\
        [[process.region]]\nname = \"z\"\nsize = \"12KiB\"\n[[process.phase]]\n\
         steps = [{ access = \"x\" }, { access = \"z\" }]\n\
        [[process]]\nname = \"d\"\nparent = \"c\"\n[[process.phase]]\n\
         steps = [{ access = \"z\" }, { wait = \"c\" }]\n";
    let w = run(body);
    let names: Vec<&str> = w.processes.iter().map(|p| p.name.as_str()).collect();
    assert_eq!(names, ["a.0", "b.0", "b.1", "c.0", "d.0"]);
    assert_eq!(w.processes.iter().map(|p| p.parent).collect::<Vec<_>>(), [None, Some(0), Some(0), Some(2), Some(3)]);
    assert_eq!(w.processes[2].fork, ForkPoint::AfterPrologue);
    let spans = |p: usize| -> Vec<u32> {
        w.processes[p].threads[0]
            .ops
            .iter()
            .filter_map(|o| if let Op::Access(a) = o { Some(a.span.region) } else { None })
            .collect()
    };
    assert_eq!(spans(2), [0, 1], "x of the parent, then its own y");
    assert_eq!(spans(3), [0, 1], "forked before b's prologue: x, but not y");
    assert_eq!(spans(4), [1], "x, then z");
}

#[test]
fn regions_come_in_kinds_and_lists() {
    let body = "[[process]]\nname = \"p\"\nthreads = 3\n\
        [[process.region]]\nname = \"arena\"\nover = \"0..threads - 1\"\nsize = \"1MiB / threads\"\n\
         advice = \"nohuge\"\n\
        [[process.region]]\nname = \"f\"\nkind = \"file\"\nsize = \"5000B\"\n\
        [[process.region]]\nname = \"g\"\nkind = \"file_shared\"\nsize = \"4KiB\"\nmisalign = \"8KiB\"\n\
        [[process.region]]\nname = \"absent\"\nwhen = \"nodes == 1\"\nsize = \"4KiB\"\n\
        [[process.phase]]\n\
         steps = [{ access = \"arena[thread]\", write = 1 }, { access = \"f\" }, { access = \"g\", write = 0.5 }]\n";
    let w = run(body);
    let p = &w.processes[0];
    let shown: Vec<(&str, RegionKind, u64, bool)> =
        p.regions.iter().map(|r| (r.name.as_str(), r.kind, r.size_bytes, r.write)).collect();
    assert_eq!(
        shown,
        [
            ("arena-0", RegionKind::PrivateAnon, 352_256, true),
            ("arena-1", RegionKind::PrivateAnon, 352_256, true),
            ("arena-2", RegionKind::PrivateAnon, 352_256, true),
            ("f", RegionKind::FileRead, 8192, false),
            ("g", RegionKind::FileShared, 4096, true),
        ]
    );
    assert_eq!((p.regions[0].advice, p.regions[4].misalign_bytes), (HugeAdvice::NoHuge, 8192));
    let Op::Access(a) = p.threads[2].ops[0] else { panic!() };
    assert_eq!((a.span.region, a.span.len_bytes), (2, 349_525), "the bytes asked for, not the rounded mapping");
    assert_eq!(w.warnings.len(), 1, "{:?}", w.warnings);
    assert!(w.warnings[0].contains("fraction of a byte"));
}

#[test]
fn groups_barriers_and_clocks() {
    let body = "[[barrier]]\nname = \"b\"\nover = \"0..processes_wanted - 1\"\nspin = true\n[[barrier]]\n\
     name = \"all\"\n\
        [[score]]\nname = \"ops\"\nover = [1, 4]\nunit = \"ops/s\"\nbetter = \"higher\"\nper_second = true\n\
        [[process]]\nname = \"p\"\ncount = \"processes_wanted\"\n\
        [[process.group]]\nname = \"fast\"\nthreads = 3\n[[process.group.phase]]\ncount = 4\n\
         steps = [{ barrier = \"b[process]\" }]\n\
        [[process.group.phase]]\nbarrier = \"all\"\n\
        [[process.group]]\nname = \"slow\"\ninitial = 0\n";
    let e = parse("w.toml", &format!("{HEAD}[params]\nprocesses_wanted = 2\n{body}")).expect_err("an unknown key");
    assert!(e.to_string().contains("unknown key `process[0].group[1].initial`"), "{e}");
    let body = body.replace("initial = 0\n", "")
        + "[[process.group.phase]]\n\
         steps = [{ count = 4, barrier = \"b[process]\" }, { timed = \"ops[4]\", compute = \"1ms\" }, \
           { score = \"ops[4]\", amount = 2.5 }]\n";
    let w = run(&format!("[params]\nprocesses_wanted = 2\n{body}"));
    assert_eq!(w.barrier_widths, [4, 6, 4]);
    assert_eq!(w.scores.iter().map(|s| s.name.as_str()).collect::<Vec<_>>(), ["ops-1", "ops-4"]);
    let slow = &w.processes[1].threads[3].ops;
    assert_eq!(slow[1], Op::Barrier { id: 2, spin: true });
    assert_eq!(
        slow[3..],
        [
            Op::ScoreClock { id: 1, run: true },
            Op::Compute { ns: 1_000_000 },
            Op::ScoreClock { id: 1, run: false },
            Op::Score { id: 1, amount: 2.5 }
        ]
    );
    // The initial thread works too, and waits for the others at the end. Equal lists are shared.
    assert_eq!(w.processes[0].threads[0].ops.last(), Some(&Op::Join));
    assert!(std::sync::Arc::ptr_eq(&w.processes[0].threads[1].ops, &w.processes[0].threads[2].ops));
    assert_eq!(
        w.processes[0].threads[1].ops[..],
        w.processes[0].threads[0].ops[..w.processes[0].threads[0].ops.len() - 1]
    );
}

/// The best interval is that of a rate, and its name is not another score's.
#[test]
fn the_best_interval_needs_a_rate_and_its_name() {
    let body = |rate: bool, other: &str| {
        format!(
            "{HEAD}[[score]]\nname = \"{other}\"\nunit = \"1\"\nbetter = \"lower\"\n\
             [[score]]\nname = \"ops\"\nunit = \"ops/s\"\nbetter = \"higher\"\nper_second = {rate}\nbest = true\n\
             [[process]]\nname = \"p\"\n[[process.phase]]\nsteps = [{{ timed = \"ops\", score = \"ops\" }}, {{ score = \"{other}\" }}]\n"
        )
    };
    parse("w.toml", &body(true, "late")).expect("a rate");
    let e = parse("w.toml", &body(false, "late")).expect_err("not a rate").to_string();
    assert!(e.contains("is not a rate") && e.contains("per_second = true"), "{e}");
    let e = parse("w.toml", &body(true, "ops_best")).expect_err("a name twice").to_string();
    assert!(e.contains("`ops_best` is the best interval of `ops`"), "{e}");
}

/// A latency, and a step that is its request.
fn latency(score: &str, step: &str) -> String {
    format!(
        "[[score]]\nname = \"late\"\nlatency = true\n{score}\n[[process]]\nname = \"p\"\n\
         [[process.phase]]\n{step}\n"
    )
}

#[test]
fn each_pass_of_a_step_is_a_request() {
    let us = "unit = \"us\"\nbetter = \"lower\"";
    let w = run(&latency(us, "request = \"late\"\ncount = 200\ncompute = \"1us\""));
    assert!(w.scores[0].latency);
    assert_eq!(
        w.processes[0].threads[0].ops[..],
        [
            Op::LoopStart(Bound::Count(200)),
            Op::Request { id: 0, begin: true },
            Op::Compute { ns: 1000 },
            Op::Request { id: 0, begin: false },
            Op::LoopEnd
        ]
    );
    assert!(format!("{:?}", w.scores[0]).ends_with("best: false, latency: true }"));
    // A step that does nothing here is no request.
    let nothing = "steps = [{ compute = \"1us\" }, { request = \"late\", compute = \"0us\" }]";
    assert_eq!(run(&latency(us, nothing)).processes[0].threads[0].ops[..], [Op::Compute { ns: 1000 }]);
}

#[test]
fn a_latency_is_a_time_that_requests_alone_count() {
    let refused = |text: String| parse("w.toml", &format!("{HEAD}{text}")).expect_err("refused").to_string();
    let (us, request) = ("unit = \"us\"\nbetter = \"lower\"", "request = \"late\"\ncompute = \"1us\"");
    let e = refused(latency("unit = \"requests\"\nbetter = \"lower\"", request));
    assert!(e.contains("the unit of a latency is \"requests\"") && e.contains("one of ns, us, ms, s"), "{e}");
    let e = refused(latency("unit = \"us\"\nbetter = \"higher\"", request));
    assert!(e.contains("of which less is better"), "{e}");
    for step in ["score = \"late\"", "timed = \"late\"\ncompute = \"1us\""] {
        let e = refused(latency(us, step));
        assert!(e.contains("`late` is a latency, to which nothing is counted"), "{e}");
    }
    let e = refused(latency(us, request).replace("latency = true\n", ""));
    assert!(e.contains("`late` is no latency") && e.contains("`latency = true`"), "{e}");
    assert!(refused(latency(us, "compute = \"1us\"")).contains("score `late` is used by nothing"));
    let other = "[[score]]\nname = \"late_p99\"\nunit = \"1\"\nbetter = \"lower\"\n";
    assert!(refused(format!("{other}{}", latency(us, request))).contains("`late_p99` is a percentile of `late`"));
    let e = refused(latency(us, request).replace("\"late\"", "\"wakeup\""));
    assert!(e.contains("`wakeup_p50` is a figure of every run"), "{e}");
}

#[test]
fn channels_are_pipes_or_futexes() {
    let body = |kind: &str| {
        format!(
            "[[channel]]\nname = \"plain\"\n[[channel]]\nname = \"lock\"\nover = \"0..1\"\nkind = \"{kind}\"\n\
             [[process]]\nname = \"p\"\nthreads = 2\n[[process.phase]]\nwhen = \"thread == 0\"\n\
             steps = [{{ compute = \"1us\" }}, {{ signal = \"plain\" }}, {{ signal = \"lock[1]\" }}, {{ signal = \"lock[0]\" }}]\n\
             [[process.phase]]\nwhen = \"thread == 1\"\nsteps = [{{ wait = \"plain\" }}, {{ wait = \"lock[0]\" }}, {{ wait = \"lock[1]\" }}]\n"
        )
    };
    let w = run(&body("futex"));
    assert_eq!((w.channels, &w.futexes[..]), (3, &[1, 2][..]));
    assert!(run(&body("pipe")).futexes.is_empty());
    let e = parse("w.toml", &format!("{HEAD}{}", body("futexes"))).expect_err("no such kind");
    assert!(e.to_string().contains("did you mean `futex`?"), "{e}");
}

#[test]
fn equal_op_lists_are_shared_between_threads_and_processes() {
    let body = "[[process]]\nname = \"p\"\ncount = 50\nthreads = 50\ninitial = \"joins\"\n\
                [[process.phase]]\ncompute = \"1us\"\n";
    let w = run(body);
    let first = &w.processes[0].threads[1].ops;
    for p in &w.processes {
        assert!(p.threads[1..].iter().all(|t| std::sync::Arc::ptr_eq(&t.ops, first)), "{}", p.name);
    }
}

#[test]
fn short_runs_and_overcommitted_memory_are_warned_about() {
    let short = "[[process]]\nname = \"p\"\n[[process.phase]]\ntime = \"2s\"\ncompute = \"1ms\"\n";
    assert_eq!(run(short).warnings.len(), 1);
    assert!(run(short).warnings[0].contains("last 2s: too short to tell"));
    let twice =
        "[[process]]\nname = \"p\"\n[[process.phase]]\ncount = 3\nsteps = [{ time = \"2s\", compute = \"1ms\" }]\n";
    assert!(run(twice).warnings.is_empty(), "three times 2 s");
    assert!(run(&short.replace("time = \"2s\"", "count = 2")).warnings.is_empty(), "not bounded by time");
    let big = "[[process]]\nname = \"p\"\ncount = 3\n[[process.region]]\nname = \"m\"\nsize = \"memory_bytes / 2\"\n\
               [[process.phase]]\naccess = \"m\"\n";
    assert!(run(big).warnings[0].contains("the regions come to 96GiB and the machine has 64GiB"));
}

#[test]
fn a_spec_lists_the_parts_of_its_workload() {
    let body = "[[score]]\nname = \"n\"\nunit = \"u\"\nbetter = \"lower\"\n[[process]]\nname = \"p\"\n\
                [[process.phase]]\nsteps = [{ compute = \"1us\" }, { score = \"n\" }]\n";
    let spec = parse("w.toml", &format!("{HEAD}{body}")).expect("a spec");
    assert_eq!((spec.name(), spec.title(), spec.about(), spec.source()), ("w", "t", "a", "s"));
    assert_eq!(spec.scores().collect::<Vec<_>>(), [("n", "u", false)]);
}
