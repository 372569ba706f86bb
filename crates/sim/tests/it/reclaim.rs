//! What reclaim leaves alone: pages in use get a second chance, pages that are only passed over do not.

#![allow(clippy::unwrap_used)]

use crate::common;
use common::*;
use numalab_base::tunable::Group;
use numalab_kernel::mm::thp::ThpEnabled;
use numalab_kernel::mm::MmConfig;
use numalab_model::record::Outcome;
use numalab_sim::SimConfig;

const MIB: u64 = 256;
/// Size of the set in use, pages.
const HOT: u64 = 96 * MIB;

/// One process has 96 MiB and does `meanwhile` with it while another writes 1200 MiB once; then the first reads its
/// memory.
fn beside_a_stream(meanwhile: &str) -> String {
    format!(
        r#"
[[channel]]
name = "ready"
[[channel]]
name = "streamed"
[[process]]
name = "first"
[[process.region]]
name = "hot"
size = "96MiB"
[[process.prologue]]
access = "hot"
write = 1
[[process.phase]]
steps = [{{ signal = "ready" }}]
[[process.phase]]
time = "10s"
steps = [{meanwhile}]
[[process.phase]]
steps = [{{ wait = "streamed" }}, {{ access = "hot" }}]
[[process]]
name = "stream"
[[process.region]]
name = "a"
size = "400MiB"
[[process.region]]
name = "b"
size = "400MiB"
[[process.region]]
name = "c"
size = "400MiB"
[[process.phase]]
steps = [
    {{ wait = "ready" }},
    {{ for = "i", in = "0..99", steps = [
      {{ access = "a", offset = "i * 4MiB", len = "4MiB", write = 1 }}, {{ sleep = "20ms" }}] }},
    {{ for = "i", in = "0..99", steps = [
      {{ access = "b", offset = "i * 4MiB", len = "4MiB", write = 1 }}, {{ sleep = "20ms" }}] }},
    {{ for = "i", in = "0..99", steps = [
      {{ access = "c", offset = "i * 4MiB", len = "4MiB", write = 1 }}, {{ sleep = "20ms" }}] }},
    {{ signal = "streamed" }},
]
"#
    )
}

const SWEEP: &str = r#"{ access = "hot" }"#;
const RANDOM: &str = r#"{ access = "hot", pattern = "chase", accesses = 1000000 }"#;
const SLEEP: &str = r#"{ sleep = "100ms" }"#;

/// On one node of 512 MiB with a swap device of 4 GiB.
fn go(meanwhile: &str, huge: &str, settings: &[(&str, &str)]) -> Outcome {
    let mut m = machine("1x1x4x1");
    m.nodes.iter_mut().for_each(|n| n.memory_bytes = 512 << 20);
    let mut mm = MmConfig::default();
    mm.swap.set("size_mb", "4096").unwrap();
    mm.thp.enabled = ThpEnabled::parse(huge).unwrap();
    // Room for kswapd to work ahead in, as a large node has by itself.
    mm.vm.set("watermark_scale_factor", "500").unwrap();
    settings.iter().for_each(|(key, value)| mm.vm.set(key, value).unwrap());
    run(&m, &inline(&beside_a_stream(meanwhile), &m, 1, &[]), &SimConfig { mm, ..kernel("off") }, 1)
}

/// The stream reads nothing back, so what comes back is of the first process.
fn came_back(o: &Outcome) -> u64 {
    assert!(counter(o, "pswpout") > 500 * MIB, "the stream does not fit: {}", counter(o, "pswpout"));
    counter(o, "pswpin")
}

#[test]
fn a_set_in_use_stays_while_a_stream_passes() {
    // A list of huge pages is gone round in no time: only what is used all the time counts as used, and a pass of
    // kswapd, which happens at one instant, may look at some twice.
    for (huge, in_use, lost) in [("never", &[SWEEP, RANDOM][..], HOT / 100), ("always", &[RANDOM], HOT / 4)] {
        let idle = came_back(&go(SLEEP, huge, &[]));
        assert!(idle > HOT * 9 / 10, "nobody looks at it, so it goes like the stream: {idle} of {HOT}");
        for meanwhile in in_use {
            let o = go(meanwhile, huge, &[]);
            let back = came_back(&o);
            assert!(back < lost, "{meanwhile}, huge pages {huge}: {back} of {HOT} pages came back");
            let activated = counter(&o, "pgactivate");
            assert!(activated >= HOT * 9 / 10, "found used twice: {activated}");
        }
    }
}

/// Before 5.9 pages start active and go only after they were deactivated, whatever their use; what has gone and come
/// back is at the young end of the active list, so it goes once at most.
#[test]
fn by_the_older_rules_pages_start_active() {
    let o = go(SWEEP, "never", &[("anon_workingset", "false")]);
    let c = |name| counter(&o, name);
    assert!(c("pgdeactivate") >= c("pgsteal_kswapd") + c("pgsteal_direct"), "{}", c("pgdeactivate"));
    assert_eq!(c("pgrefill"), c("pgdeactivate"));
    assert_eq!(c("workingset_refault_anon"), 0, "nothing remembers anonymous pages yet");
    let back = came_back(&o);
    assert!(back <= HOT * 11 / 10, "{back} pages came back");
    // The first look at an inactive page is the last, so each is looked at once where the newer rules need two.
    assert!(c("pgscan_kswapd") + c("pgscan_direct") < 11 * c("pswpout") / 10);
}

/// Each page of the stream is looked at twice: the fault that made it counts as a use.
#[test]
fn a_page_used_once_is_looked_at_twice() {
    let o = go(SLEEP, "never", &[]);
    let (scanned, stolen) = ["kswapd", "direct"].iter().fold((0, 0), |(scan, steal), who| {
        (scan + counter(&o, &format!("pgscan_{who}")), steal + counter(&o, &format!("pgsteal_{who}")))
    });
    assert_eq!(stolen, counter(&o, "pswpout"));
    let looks = scanned as f64 / stolen as f64;
    assert!((1.9..2.6).contains(&looks), "{looks}");
    // Only what the first process reads at the end is looked at while it is young again.
    assert!(counter(&o, "pgactivate") < HOT, "{}", counter(&o, "pgactivate"));
}

/// What comes back knows how long it was away: too long for the little that was active meanwhile.
#[test]
fn refaults_are_measured() {
    let o = go(SLEEP, "never", &[]);
    assert_eq!(counter(&o, "workingset_refault_anon"), counter(&o, "pswpin"));
    assert!(counter(&o, "workingset_activate_anon") * 10 < counter(&o, "pswpin"));
}

/// 600 MiB are written where the fast tier has 512 MiB; the part that did not fit is then read over and over.
const PROMOTION: &str = r#"
[[process]]
name = "p"
[[process.region]]
name = "cold"
size = "450MiB"
[[process.region]]
name = "hot"
size = "150MiB"
[[process.phase]]
steps = [{ access = "cold", write = 1 }, { access = "hot", write = 1 }]
[[process.phase]]
time = "6s"
steps = [{ access = "hot" }]
"#;

fn promote(numa_balancing: u8) -> Outcome {
    let mut m = machine("2x1x4x1");
    // The process starts on node 1.
    (m.nodes[1].memory_bytes, m.nodes[0].memory_bytes, m.nodes[0].tier) = (512 << 20, 1 << 30, 1);
    let mut mm = MmConfig::default();
    mm.thp.enabled = ThpEnabled::Never;
    (mm.vm.demotion, mm.vm.tiering) = (numa_balancing == 2, numa_balancing == 2);
    let mut k = SimConfig { mm, ..kernel("6.12") };
    k.numa.scan.numa_balancing = numa_balancing;
    run(&m, &inline(PROMOTION, &m, 1, &[]), &k, 1)
}

/// migrate_misplaced_folio_prepare(): in tiering mode a fault that finds its target nearly full wakes kswapd there.
#[test]
fn a_full_fast_tier_makes_room_for_promotions() {
    let tiering = promote(2);
    let reason = |o: &Outcome| o.reasons.iter().find(|r| r.0 == "refused.nearly_full").map_or(0, |r| r.1);
    assert!(reason(&tiering) > 0, "the fast tier is full at first");
    assert!(counter(&tiering, "pgdemote_kswapd") > 0 && counter(&tiering, "numa_pages_migrated") > 0);
    let normal = promote(1);
    assert!(reason(&normal) > 0);
    assert_eq!(counter(&normal, "pageoutrun"), 0);
}
