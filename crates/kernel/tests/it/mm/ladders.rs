//! Sections 8.1 and 15: the ladders of the rules, and the ladder by latency.

use crate::mm::machines;
use crate::mm::setup::{config, naples, put, small_page, thp, Faulting, State};
use numalab_kernel::mm::policy::MemPolicy;
use numalab_kernel::mm::thp::{explain_ladder, ladder_text, LadderQuery, Locality};
use numalab_kernel::mm::Gfp;
use numalab_model::machine::Machine;

fn ladder(settings: &[&str], advised: bool) -> String {
    let q = LadderQuery { advised, ..LadderQuery::advised(MemPolicy::system()) };
    ladder_text(&explain_ladder(&machines::naples(), &config(settings), &q), true)
}

const BASE: &str = "D0 4k free | D1 4k free | D2 4k free | D0-D2 4k min | D0-D2 4k reclaim";

fn advised(rule: &str) -> String {
    ladder(&[&format!("thp.locality={rule}")], true)
}

#[test]
fn ladders_by_era() {
    let zonelist = "D0 THP free | D1 THP free | D2 THP free | D0-D2 THP compact async | D0-D2 THP reclaim once | \
                    D0-D2 THP compact";
    assert_eq!(advised("thp_zonelist"), format!("{zonelist} | {BASE}"));
    assert_eq!(advised("thp_relaxed"), format!("{zonelist} | {BASE}"));
    let thisnode = "D0 THP free | D0 THP compact async | D0 THP reclaim once | D0 THP compact";
    assert_eq!(advised("thp_thisnode"), format!("{thisnode} | {BASE}"));
    let old = "D0 THP free | D0 THP compact async | D0 THP reclaim once unless deferred";
    assert_eq!(ladder(&["thp.locality=thp_thisnode", "thp.advised_noretry=true"], true), format!("{old} | {BASE}"));
    let two_step_54 = "D0 THP free | D0 THP compact async | D0 THP reclaim once after failure | D0 THP compact | \
                       D1 THP free | D2 THP free | D0-D2 THP compact async | D0-D2 THP reclaim once after failure";
    assert_eq!(advised("thp_two_step_54"), format!("{two_step_54} | {BASE}"));
    let two_step = "D0 THP free | D0 THP compact async | D1 THP free | D2 THP free | D0-D2 THP compact async | \
                    D0-D2 THP reclaim once | D0-D2 THP compact";
    assert_eq!(advised("thp_two_step"), format!("{two_step} | {BASE}"));
}

#[test]
fn ladders_of_plain_mappings() {
    for rule in ["thp_thisnode", "thp_relaxed", "thp_two_step"] {
        for defrag in ["madvise", "never", "defer", "defer+madvise"] {
            let settings = [format!("thp.locality={rule}"), format!("thp.defrag={defrag}")];
            let text = ladder(&settings.each_ref().map(String::as_str), false);
            assert_eq!(text, format!("D0 THP free | {BASE}"), "{rule} {defrag}");
        }
    }
    let always = |rule: &str| ladder(&[&format!("thp.locality={rule}"), "thp.defrag=always"], false);
    let thisnode = "D0 THP free | D0 THP compact async | D0 THP reclaim once unless deferred";
    assert_eq!(always("thp_thisnode"), format!("{thisnode} | {BASE}"));
    let two_step = "D0 THP free | D0 THP compact async | D1 THP free | D2 THP free | D0-D2 THP compact async | \
                    D0-D2 THP reclaim once after failure";
    assert_eq!(always("thp_two_step"), format!("{two_step} | {BASE}"), "section 7, second row");
    let relaxed = "D0 THP free | D1 THP free | D2 THP free | D0-D2 THP compact async | \
                   D0-D2 THP reclaim once unless deferred";
    assert_eq!(always("thp_relaxed"), format!("{relaxed} | {BASE}"));
}

#[test]
fn span_without_direct_reclaim() {
    let q = LadderQuery { span: true, ..LadderQuery::advised(MemPolicy::system()) };
    let cfg = config(&["thp.locality=prctl_span", "thp.defrag=never"]);
    let steps = explain_ladder(&machines::naples(), &cfg, &q);
    assert_eq!(ladder_text(&steps, false), "D0 THP | D1 THP | D2 THP | D0 4k | D1 4k | D2 4k");
}

fn sorted(machine: &Machine, guest: bool) -> (String, Vec<f64>) {
    let q = LadderQuery { guest, ..LadderQuery::advised(MemPolicy::system()) };
    let steps = explain_ladder(machine, &config(&["thp.locality=ladder_sorted"]), &q);
    let rungs = machine.distance[0].iter().collect::<std::collections::BTreeSet<_>>().len() * 2;
    (ladder_text(&steps, false), steps[..rungs].iter().map(|s| s.ratio).collect())
}

fn near(got: &[f64], expected: &[f64]) {
    assert!(got.iter().zip(expected).all(|(g, e)| (g / e - 1.0).abs() < 0.005), "{got:?} {expected:?}");
}

#[test]
fn vector_31_sorted_ladders() {
    let (text, ratios) = sorted(&machines::naples(), false);
    assert_eq!(text, "D0 THP | D0 4k | D1 THP | D1 4k | D2 THP | D2 4k");
    near(&ratios, &[1.0, 1.42, 1.45, 2.06, 2.30, 3.27]);
    let (text, ratios) = sorted(&machines::threadripper(), true);
    assert_eq!(text, "D0 THP | D1 THP | D0 4k | D1 4k");
    near(&ratios, &[1.0, 1.58, 2.02, 3.19]);
    let with_k = |k: f64| {
        let mut m = machines::naples();
        (m.tlb.walk_4k_ns, m.tlb.leaf_miss) = (k * m.tlb.base_ns, k);
        sorted(&m, false).0
    };
    assert!(with_k(0.30).starts_with("D0 THP | D0 4k | D1 THP"));
    assert!(with_k(0.46).starts_with("D0 THP | D1 THP | D0 4k"));
}

#[test]
fn acceptance_table_15_on_the_machine_model() {
    let (_, ratios) = sorted(&machines::naples(), false);
    for (got, mail) in ratios.iter().zip([1.0, 1.43, 1.45, 2.06, 2.31, 3.24]) {
        assert!((got / mail - 1.0).abs() < 0.025, "{got} {mail}");
    }
    let (_, ratios) = sorted(&machines::threadripper(), true);
    for (got, mail) in ratios.iter().zip([1.0, 1.58, 2.01, 3.22]) {
        assert!((got / mail - 1.0).abs() < 0.025, "{got} {mail}");
    }
}

#[test]
fn sorted_ladder_in_action() {
    let lands = |bad: &[usize]| {
        let mut m = naples(&["thp.locality=ladder_sorted"]);
        bad.iter().for_each(|n| put(&mut m, *n, State::C));
        Faulting::new(Locality::LadderSorted, Gfp::TRANSHUGE).run(&mut m).unwrap()
    };
    assert_eq!(lands(&[]), thp(0));
    assert_eq!(lands(&[0]), small_page(0), "a local base page before a remote huge one");
    let mut m = naples(&["thp.locality=ladder_sorted"]);
    put(&mut m, 0, State::Stuck);
    assert_eq!(Faulting::new(Locality::LadderSorted, Gfp::TRANSHUGE).run(&mut m), Ok(thp(1)));
}

#[test]
fn custom_ladders_leave_out_what_a_machine_lacks() {
    let settings = ["thp.locality=ladder_custom", "thp.ladder=D1 THP | D0 THP | D7 THP | D0 4k"];
    let q = LadderQuery::advised(MemPolicy::system());
    let steps = explain_ladder(&machines::naples(), &config(&settings), &q);
    assert_eq!(ladder_text(&steps, false), "D1 THP | D0 THP | D0 4k | D1 4k | D2 4k");
    assert_eq!((steps[0].nodes.as_slice(), steps[1].nodes.as_slice()), ([1, 2, 3].as_slice(), [0].as_slice()));
}
