//! The vector files of `linux/vectors`, which the kernel patches are tested with too, against the simulator.

use crate::hw::machines;
use crate::mm::setup::config;
use numalab_base::node_mask::NodeMask;
use numalab_kernel::mm::policy::{MemPolicy, PolicyNodes};
use numalab_kernel::mm::thp::{explain_ladder, ladder_text, FaultContext, HugeRules, LadderQuery, Ladders, Locality};
use numalab_kernel::mm::Gfp;
use numalab_kernel::numa::autonuma::balance::Diffs;
use numalab_kernel::numa::autonuma::first_fault;
use numalab_kernel::numa::page::PageFacts;
use numalab_kernel::numa::page_filter::{PageFilter, PageFilterKind, PageFilterTunables, Verdict};
use numalab_kernel::numa::schednuma::misplaced::Verdict as Misplaced;
use numalab_kernel::numa::schednuma::{SchedNuma, SchedNumaTunables};
use numalab_kernel::numa::state::VmaNuma;
use numalab_kernel::numa::vma_filter::{Access, FilterContext, VmaFilter, VmaFilterTunables, VmaRules};
use numalab_kernel::sched::imbalance::{ForkSides, NodeShape, PlacementLoad, PullSides, Rule, Scale};
use std::collections::BTreeMap;
use std::path::Path;
use std::str::FromStr;

/// A row of a vector file, by the names of its columns.
struct Row {
    file: String,
    line: usize,
    cells: BTreeMap<String, String>,
}

impl Row {
    fn word(&self, column: &str) -> &str {
        &self.cells[column]
    }
    fn number<T: FromStr>(&self, column: &str) -> T {
        self.word(column).parse().unwrap_or_else(|_| panic!("{self}: {column} is no number"))
    }
    fn flag(&self, column: &str) -> bool {
        self.number::<u8>(column) == 1
    }
    fn expect<T: ToString>(&self, column: &str, got: T) {
        assert_eq!(got.to_string(), self.word(column), "{self}: {column}");
    }
}

impl std::fmt::Display for Row {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:{}", self.file, self.line)
    }
}

/// Rows of a vector file. The first line that is no comment has the names of the columns.
fn rows(name: &str) -> Vec<Row> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../linux/vectors").join(format!("{name}.tsv"));
    let text = std::fs::read_to_string(&path).unwrap();
    let mut lines = text.lines().enumerate().filter(|(_, l)| !l.starts_with('#'));
    let columns: Vec<&str> = lines.next().unwrap().1.split('\t').collect();
    let rows: Vec<Row> = lines
        .map(|(i, l)| {
            let cells: Vec<&str> = l.split('\t').collect();
            assert_eq!(cells.len(), columns.len(), "{name}:{}", i + 1);
            let cells = columns.iter().map(|c| (*c).to_string()).zip(cells.iter().map(|c| (*c).to_string()));
            Row { file: name.to_string(), line: i + 1, cells: cells.collect() }
        })
        .collect();
    assert!(rows.len() > 10, "{name} has {} rows", rows.len());
    rows
}

/// Words of a knob of the patches (`linux/series.toml`). The simulator may have others, which no kernel has.
fn words(knob: &str) -> Vec<String> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../linux/series.toml");
    let text = std::fs::read_to_string(path).unwrap();
    let of = text.split("[[knob]]").find(|t| t.contains(&format!("\nname = \"{knob}\"\n"))).unwrap();
    let line = of.lines().find_map(|l| l.strip_prefix("values = [")).unwrap();
    line.trim_end_matches(']').split(',').map(|w| w.trim().trim_matches('"').to_string()).collect()
}

/// Every word of a knob but `others` is in its vectors.
fn covers(rows: &[Row], column: &str, knob: &str, others: &[&str]) {
    let words = words(knob);
    assert!(words.len() > 2, "{knob}: {words:?}");
    for word in words.iter().filter(|w| !others.contains(&w.as_str())) {
        assert!(rows.iter().any(|r| r.word(column) == *word), "no vector of {word}");
    }
}

#[test]
fn vma_filters_answer_as_the_vectors_say() {
    let rows = rows("vma_filter");
    covers(&rows, "filter", "vma_filter", &[]);
    for row in &rows {
        let mut vma = VmaNuma {
            start_scan_seq: row.number("start_seq"),
            prev_scan_seq: row.number("prev_seq"),
            scan_counter: row.number("visits"),
            ..VmaNuma::default()
        };
        let tid = 5;
        if row.flag("accessed") {
            vma.record(tid);
        }
        let start = 1 << 30;
        let context = FilterContext {
            seq: row.number("seq"),
            tid,
            scan_offset: start + u64::from(row.flag("partial")),
            nr_threads: row.number("threads"),
            scan_size_mb: row.number("scan_size_mb"),
            start,
            end: start + (row.number::<u64>("size_kb") << 10),
        };
        let rules = VmaRules::new(VmaFilter::parse(row.word("filter")).unwrap(), &VmaFilterTunables::default());
        let answer = match rules.access(&vma, &context) {
            Access::Allow => "allow",
            Access::AllowPartial => "partial",
            Access::Deny => "deny",
        };
        row.expect("answer", answer);
    }
}

#[test]
fn page_filters_answer_as_the_vectors_say() {
    let rows = rows("page_filter");
    covers(&rows, "filter", "page_filter", &[]);
    for row in &rows {
        let set = PageFilterTunables {
            mapcount_limit: row.number("limit"),
            mapcount_limit_cow_only: row.flag("cow_only"),
            mapcount_limit_refuses_migration: row.flag("refuses"),
        };
        let page = PageFacts {
            shared_mapping: !row.flag("cow"),
            mapcount: row.number("mapcount"),
            refcount: row.number("refcount"),
            ..PageFacts::private_anon(0)
        };
        assert_eq!(page.maybe_dma_pinned(), row.flag("pinned"), "{row}");
        let filter = PageFilter::new(PageFilterKind::parse(row.word("filter")).unwrap(), &set);
        let verdict = match filter.verdict(&page) {
            Verdict::Mark => "mark",
            Verdict::Skip => "skip",
            Verdict::SkipVma => "skip_vma",
        };
        row.expect("spared", verdict);
        row.expect("refused", u8::from(filter.refusal(&page).is_some()));
    }
}

fn rule(row: &Row) -> Rule {
    Rule::parse(row.word("rule")).unwrap()
}

#[test]
fn imbalance_thresholds_are_those_of_the_vectors() {
    let rows = rows("imbalance_threshold");
    covers(&rows, "rule", "imbalance", &[]);
    for row in &rows {
        let shape = NodeShape { llc: row.number("llc"), node: row.number("node"), nodes: row.number("nodes") };
        let threshold = rule(row).threshold(shape);
        let scale = match threshold.map(|t| t.scale) {
            None => "none",
            Some(Scale::Same) => "same",
            Some(Scale::ByNode) => "by_node",
            Some(Scale::ByFirstNuma) => "by_first_numa",
        };
        row.expect("base", threshold.map_or(0, |t| t.base));
        row.expect("scale", scale);
    }
}

#[test]
fn forks_stay_as_the_vectors_say() {
    let rows = rows("imbalance_fork");
    covers(&rows, "rule", "imbalance", &[]);
    for row in &rows {
        let sides = ForkSides {
            local_nr: row.number("local_nr"),
            local_idle: row.number("local_idle"),
            idlest_idle: row.number("idlest_idle"),
            local_weight: row.number("local_weight"),
            local_allowed: row.number("local_allowed"),
            span_weight: row.number("span_weight"),
            imb_numa_nr: row.number("imb_numa_nr"),
        };
        row.expect("stays", u8::from(rule(row).fork_stays(&sides)));
    }
}

#[test]
fn the_balancer_moves_what_the_vectors_say() {
    let rows = rows("imbalance_pull");
    covers(&rows, "rule", "imbalance", &[]);
    for row in &rows {
        let sides = PullSides {
            local_nr: row.number("local_nr"),
            local_weight: row.number("local_weight"),
            busiest_nr: row.number("busiest_nr"),
            busiest_weight: row.number("busiest_weight"),
            span_weight: row.number("span_weight"),
            imbalance_pct: row.number("imbalance_pct"),
            imb_numa_nr: row.number("imb_numa_nr"),
        };
        row.expect("moves", rule(row).tasks_to_move(row.number("raw"), &sides));
    }
}

#[test]
fn placement_counts_what_the_vectors_say() {
    let rows = rows("imbalance_placement");
    covers(&rows, "rule", "imbalance", &[]);
    for row in &rows {
        let load = PlacementLoad {
            imbalance: row.number("imbalance"),
            dst_running: row.number("dst_running"),
            src_running: row.number("src_running"),
            dst_weight: row.number("dst_weight"),
            imb_numa_nr: row.number("imb_numa_nr"),
        };
        let counts = rule(row).placement(&load).map_or("by_load".to_string(), |n| n.to_string());
        row.expect("counts", counts);
    }
}

#[test]
fn huge_faults_attempt_what_the_vectors_say() {
    let rows = rows("thp_attempt");
    // Ladders have vectors of their own.
    covers(&rows, "rule", "thp_locality", &["ladder_sorted", "ladder_custom"]);
    let machine = machines::naples();
    let (ladders, all) = (Ladders::classes_of(&machine), NodeMask::of(0..machine.nodes.len()));
    for row in &rows {
        let rule = Locality::parse(row.word("rule")).unwrap();
        let policy_nodes = PolicyNodes {
            mask: row.flag("masked").then_some(all),
            interleaved: !row.flag("local_step"),
            ..PolicyNodes::local(0)
        };
        let gfp = if row.flag("reclaim") { Gfp::TRANSHUGE } else { Gfp::TRANSHUGE_LIGHT };
        let context = FaultContext {
            here: 0,
            policy_nodes,
            huge_rules: None,
            gfp,
            mems: all,
            span: row.flag("span"),
            span_max_class: 0,
            ladders: &ladders,
        };
        let attempt = rule.attempt(&context, row.number("number"));
        let place = match attempt {
            None => "none",
            Some(a) if a.gfp.has(Gfp::THISNODE) => "local",
            Some(a) if a.policy_nodes == policy_nodes => "anywhere",
            Some(_) => "near",
        };
        row.expect("place", place);
        row.expect("noretry", u8::from(attempt.is_some_and(|a| a.gfp.has(Gfp::NORETRY))));
    }
}

#[test]
fn ranges_with_a_policy_of_huge_pages_attempt_what_the_vectors_say() {
    let machine = machines::naples();
    let (ladders, all) = (Ladders::classes_of(&machine), NodeMask::of(0..machine.nodes.len()));
    for row in &rows("thp_mpol_huge") {
        let policy_nodes = PolicyNodes {
            mask: row.flag("masked").then_some(all),
            interleaved: !row.flag("local_step"),
            ..PolicyNodes::local(0)
        };
        let gfp = if row.flag("reclaim") { Gfp::TRANSHUGE } else { Gfp::TRANSHUGE_LIGHT };
        let context = FaultContext {
            here: 1,
            policy_nodes,
            huge_rules: Some(HugeRules { strict: row.flag("strict"), noretry: row.flag("noretry") }),
            gfp,
            mems: all,
            span: true,
            span_max_class: 0,
            ladders: &ladders,
        };
        let attempt = Locality::MpolHuge.attempt(&context, row.number("number"));
        let place = match attempt {
            None => "none",
            Some(a) if a.gfp.has(Gfp::THISNODE) => "local",
            Some(a) if a.policy_nodes == policy_nodes => "anywhere",
            Some(_) => "near",
        };
        row.expect("place", place);
        row.expect("without_retries", u8::from(attempt.is_some_and(|a| a.gfp.has(Gfp::NORETRY))));
    }
}

#[test]
fn ladders_by_latency_are_those_of_the_vectors() {
    let known = rows("thp_ladder").into_iter().filter(|row| row.word("machine") != "-").collect::<Vec<_>>();
    assert!(known.len() > 1);
    for row in &known {
        let machine = match row.word("machine") {
            "naples" => machines::naples(),
            "threadripper" => machines::threadripper(),
            other => panic!("{row}: no machine {other}"),
        };
        let classes: std::collections::BTreeSet<u8> = machine.distance[0].iter().copied().collect();
        row.expect("distances", classes.iter().map(u8::to_string).collect::<Vec<_>>().join(" "));
        let query = LadderQuery { guest: row.flag("guest"), ..LadderQuery::advised(MemPolicy::system()) };
        row.expect(
            "ladder",
            ladder_text(&explain_ladder(&machine, &config(&["thp.locality=ladder_sorted"]), &query), false),
        );
    }
}

#[test]
fn pages_move_as_the_vectors_of_2012_say() {
    let rows = rows("page_migrate");
    // What this release does is not pure.
    covers(&rows, "rule", "page_migrate", &["v420"]);
    for row in &rows {
        let here: u32 = row.number("here");
        let last = u32::try_from(row.number::<i64>("last")).ok();
        let moves = match row.word("rule") {
            "autonuma" => first_fault::filter(last, here, true).0,
            _ => {
                let mut design = SchedNuma::new(SchedNumaTunables::default(), 4, 1);
                design.fork(0);
                design.tasks[0].home = row.flag("home").then_some(2);
                design.misplaced(0, false, last, 2, here as usize).0 == Misplaced::Misplaced
            }
        };
        row.expect("moves", u8::from(moves));
    }
}

#[test]
fn exchanges_are_worth_what_the_vectors_say() {
    for row in &rows("exchange") {
        let (there, here, other): (i64, i64, i64) = (row.number("there"), row.number("here"), row.number("other"));
        row.expect("score", Diffs { this: there - here, other: there - other }.score().unwrap_or(0));
    }
}

#[test]
fn words_of_knobs_are_words_of_roles() {
    type Has = fn(&str) -> bool;
    let roles: [(&str, Has, &str); 4] = [
        ("vma_filter", |w| VmaFilter::parse(w).is_some(), "v612"),
        ("page_filter", |w| PageFilterKind::parse(w).is_some(), "cow_shared_or_pinned"),
        ("imbalance", |w| Rule::parse(w).is_some(), "imb_6_0"),
        ("thp_locality", |w| Locality::parse(w).is_some(), "thp_two_step"),
    ];
    for (knob, has, default) in roles {
        let words = words(knob);
        assert!(words.iter().all(|w| has(w)), "{knob}: {words:?}");
        assert!(words.iter().any(|w| w == default), "{knob} has no {default}");
    }
}

/// The rules in C that the patches carry, compiled in user space.
#[test]
fn rules_of_the_patches_answer_as_the_vectors_say() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let run = std::process::Command::new("bash").arg("scripts/linux-rules.sh").current_dir(root).output();
    let run = run.unwrap_or_else(|e| panic!("bash: {e}"));
    let said = format!("{}{}", String::from_utf8_lossy(&run.stdout), String::from_utf8_lossy(&run.stderr));
    if run.status.code() == Some(3) {
        eprintln!("skipped: {said}");
        return;
    }
    assert!(run.status.success() && said.contains(" vectors, 0 failures"), "{said}");
}
