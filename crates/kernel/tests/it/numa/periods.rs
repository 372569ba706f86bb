//! §19.1: windows and periods.

use super::mock::{config, mib_pages, settings};
use numalab_kernel::numa::period::{scan_max, scan_min, scan_start, windows, GroupScale};
use numalab_kernel::numa::{NumaConfig, NumaSettings};

fn with_size(scan_size_mb: u32) -> NumaConfig {
    let mut s: NumaSettings = settings("6.12");
    s.scan.scan_size_mb = scan_size_mb;
    s.resolve(250).unwrap()
}

#[test]
fn p1_to_p12_windows_and_bounds() {
    let rows: [(&str, u32, u64, u64, u32, u32); 12] = [
        ("P1", 256, 0, 1, 1000, 60000),
        ("P2", 256, mib_pages(100), 1, 1000, 60000),
        ("P3", 256, mib_pages(257), 2, 500, 30000),
        ("P4", 256, mib_pages(1024), 4, 250, 15000),
        ("P5", 256, mib_pages(2560), 10, 100, 6000),
        ("P6", 256, mib_pages(4096), 16, 100, 3750),
        ("P7", 256, mib_pages(65536), 256, 100, 234),
        ("P8", 256, mib_pages(1_048_576), 4096, 100, 100),
        ("P9", 64, mib_pages(1024), 16, 62, 3750),
        ("P10", 4096, mib_pages(1024), 1, 1000, 60000),
        ("P11", 1, mib_pages(1024), 1024, 0, 58),
        ("P12", 100, 30_000, 1, 1000, 60000),
    ];
    for (id, size, rss, w, min, max) in rows {
        let cfg = with_size(size);
        assert_eq!(windows(&cfg.scan, rss), w, "{id} windows");
        assert_eq!(scan_min(&cfg, rss), min, "{id} scan_min");
        assert_eq!(scan_max(&cfg, rss, None), max, "{id} scan_max");
        assert_eq!(scan_start(&cfg, rss, None), min, "{id} scan_start without group");
    }
}

#[test]
fn p13_to_p16_group_factor() {
    let rows = [
        ("P13", 4, 300, 99, 250, 15000),
        ("P14", 8, 0, 1000, 2000, 120_000),
        ("P15", 2, 1000, 0, 250, 15000),
        ("P16", 3, 10, 6, 308, 18529),
    ];
    let cfg = config("6.12", 250);
    for (id, members, private, shared, start, max) in rows {
        let group = Some(GroupScale { members, private, shared });
        assert_eq!(scan_start(&cfg, mib_pages(1024), group), start, "{id} scan_start");
        assert_eq!(scan_max(&cfg, mib_pages(1024), group), max, "{id} scan_max");
        assert_eq!(scan_min(&cfg, mib_pages(1024)), 250, "{id}: scan_min knows no group");
    }
}

#[test]
fn group_scaling_starts_with_4_14() {
    let group = Some(GroupScale { members: 8, private: 0, shared: 1000 });
    for (release, start, max) in [("3.13", 250, 15000), ("3.17", 250, 15000), ("4.14", 2000, 120_000)] {
        let cfg = config(release, 250);
        assert_eq!(scan_start(&cfg, mib_pages(1024), group), start, "{release}");
        assert_eq!(scan_max(&cfg, mib_pages(1024), group), max, "{release}");
    }
}

#[test]
fn the_3_8_period_ignores_the_resident_set() {
    let cfg = config("3.8", 250);
    for rss in [0, mib_pages(100), mib_pages(65536)] {
        assert_eq!((scan_min(&cfg, rss), scan_max(&cfg, rss, None)), (100, 5000));
    }
}
