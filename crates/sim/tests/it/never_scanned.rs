//! The warning about large mappings that no scan has marked.

use crate::common::*;

/// Two threads use 1 GiB under a strict bind for six seconds, and for as long without it.
const BOUND_START: &str = r#"
[[policy]]
name = "start"
mode = "bind"
nodes = 0
[[process]]
name = "p"
threads = 2
[[process.region]]
name = "r"
size = "1GiB"
[[process.phase]]
policy = "start"
time = "6s"
access = "r"
write = 1
[[process.phase]]
time = "6s"
access = "r"
write = 1
"#;

/// 6.4 scans a mapping in the first two passes of its address space, and then only where it has seen the thread fault.
/// Passes under the bind use these up (kernel-numa-balancing.md section 17, v64). Later releases count the passes from
/// the first visit that could have scanned.
#[test]
fn a_mapping_that_misses_its_first_passes_is_told() {
    let m = machine("2x1x2x1");
    let of = |release: &str| {
        let k = kernel_set(release, &[("system.thp", "never")]);
        run(&m, &inline(BOUND_START, &m, 3, &[]), &k, 3).warnings
    };
    let (old, new) = (of("6.4"), of("6.12"));
    let told = old.iter().find(|w| w.contains("never scanned")).cloned().unwrap_or_default();
    assert!(told.starts_with("a mapping of 1.0 GiB was never scanned in seed 3: p.0/r; of "), "{old:?}");
    assert!(told.contains("not seen there lately (pid_inactive)"), "{told}");
    assert!(!new.iter().any(|w| w.contains("never scanned")), "{new:?}");
}

/// Memory that stays bound is meant to stay.
#[test]
fn a_bound_mapping_is_not_told() {
    let m = machine("2x1x2x1");
    let text = BOUND_START.replace("size = \"1GiB\"", "size = \"1GiB\"\npolicy = \"start\"");
    let k = kernel_set("6.12", &[("system.thp", "never")]);
    let warnings = run(&m, &inline(&text, &m, 1, &[]), &k, 1).warnings;
    assert!(!warnings.iter().any(|w| w.contains("never scanned")), "{warnings:?}");
}
