//! Placement is charged page by page: whoever touches only pages of its own node sends nothing to another.

#![allow(clippy::unwrap_used)]

use crate::common;
use common::*;

/// Threads on two sockets fill and read slices that end inside 2 MiB, of base pages.
fn text(access: &str) -> String {
    format!(
        r#"
[params]
size = "64MiB"
passes = 8
[[process]]
name = "p"
threads = 4
affinity = {{ cpus = "32 * thread" }}
[[process.region]]
name = "r"
size = "size"
[[process.phase]]
steps = [{{ access = "r", slice = "thread", write = 1 }}, {{ sleep = "50ms" }}]
[[process.phase]]
count = "passes"
access = "r"
slice = "thread"
{access}
"#
    )
}

/// Bytes between sockets, as the mean of samples, GB/s.
fn between_gbps(size: &str, access: &str) -> f64 {
    let m = machine("zen3-2s-256");
    let k = kernel_set("off", &[("system.thp", "never")]);
    let out = run(&m, &inline(&text(access), &m, 1, &[("size", size)]), &k, 1);
    let links = out.series.iter().find(|s| s.name == "link_bandwidth").unwrap();
    links.values.iter().flatten().copied().fold(0.0, f64::max)
}

#[test]
fn slices_of_any_size_with_local_pages_have_no_remote_byte() {
    // Slices of 48 MiB, of half a MiB more, of 777 pages more, and of one.
    for size in ["192MiB", "194MiB", "214056960B", "201342976B"] {
        for access in
            ["", "write = 1", "pattern = \"strided\"\nstride = \"128B\"", "pattern = \"strided\"\nstride = \"12KiB\""]
        {
            let gbps = between_gbps(size, access);
            assert!(gbps < 1e-9, "{size}, {access}: {gbps} GB/s between sockets");
        }
    }
}
