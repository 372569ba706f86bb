//! §16: releases have the behaviour of their rows in the version table.

use super::mock::settings;
use numalab_base::tunable::SetError;
use numalab_kernel::numa::counters::{NumaCounters, NumaReasons};
use numalab_kernel::numa::page_filter::PageFilterKind;
use numalab_kernel::numa::rate_limit::RateLimit;
use numalab_kernel::numa::rules::MigrateRule;
use numalab_kernel::numa::vma_filter::VmaFilter;
use numalab_kernel::numa::NumaSettings;
use numalab_kernel::sched::imbalance::Rule;

#[test]
fn the_defaults_are_6_12() {
    assert_eq!(settings("6.12"), NumaSettings::default());
}

#[test]
fn words_and_variants_agree() {
    for (word, filter) in VmaFilter::WORDS.iter().zip(VmaFilter::ALL) {
        assert_eq!((VmaFilter::parse(word), filter.word()), (Some(*filter), *word));
    }
    assert_eq!(VmaFilter::parse("v65"), None);
    let settings = NumaSettings::default();
    let decl = settings.effective().into_iter().map(|(_, d, _)| d).find(|d| d.key == "rate_limit").unwrap();
    assert_eq!(decl.choices, RateLimit::WORDS);
}

#[test]
fn bad_settings_are_errors() {
    let mut s = NumaSettings::default();
    assert!(matches!(s.set("scan", "scan_size_mb", "0"), Err(SetError::Expected(_))), "would divide by zero");
    assert!(matches!(s.set("numa", "search", "v418"), Err(SetError::Expected(_))));
    assert_eq!(s.set("numa", "serch", "v419"), Err(SetError::Unknown));
    assert_eq!(s.set("nuna", "search", "v419"), Err(SetError::Unknown));
    s.scan.scan_size_mb = 0;
    let error = s.resolve(250).unwrap_err();
    assert_eq!((error.group, error.key), ("scan", "scan_size_mb"));
    assert!(NumaSettings::default().resolve(0).is_err());
    let expected = "one of off, legacy, legacy_and_marking".to_string();
    assert_eq!(NumaSettings::default().set("numa", "rate_limit", "nothing"), Err(SetError::Expected(expected)));
}

#[test]
fn rows_of_the_version_table() {
    let cfg = |r: &str| settings(r).resolve(250).unwrap();
    let filter = |r| cfg(r).page_filter.kind;
    assert_eq!(filter("3.8"), PageFilterKind::Mapcount1Any);
    assert_eq!((filter("3.13"), filter("4.15")), (PageFilterKind::None, PageFilterKind::None));
    assert_eq!((filter("4.16"), filter("5.16")), (PageFilterKind::CowMapcount1, PageFilterKind::CowMapcount1));
    assert_eq!((filter("5.17"), filter("6.8")), (PageFilterKind::CowRefcount1, PageFilterKind::CowRefcount1));
    assert_eq!(filter("6.10"), PageFilterKind::CowSharedOrPinned);
    let vma = |r| cfg(r).vma_filter.role;
    assert_eq!((vma("6.3"), vma("6.4"), vma("6.4-rc2+rfc-v3")), (VmaFilter::Off, VmaFilter::V64, VmaFilter::RfcV3));
    assert_eq!((vma("6.7"), vma("6.8"), vma("6.12")), (VmaFilter::V67, VmaFilter::V68, VmaFilter::V612));
    let imb = |r| cfg(r).imbalance.role();
    assert_eq!((imb("5.7"), imb("5.16"), imb("5.16+imb-v3")), (Rule::Fixed2, Rule::Quarter511, Rule::ImbV3));
    assert_eq!((imb("5.18"), imb("6.1")), (Rule::Imb518, Rule::Imb60));
    assert_eq!((cfg("4.18").switches.rate_limit, cfg("4.19").switches.rate_limit), (RateLimit::Legacy, RateLimit::Off));
    let s = |r: &str| cfg(r).switches;
    assert!(!s("6.1").migration_drops_write && s("6.2").migration_drops_write);
    let dropped = ["3.19", "4.0-rc1", "4.0-rc1+slowscan", "4.0", "6.12"].map(|r| s(r).hint_fault_drops_write);
    assert_eq!(dropped, [false, true, true, false, false]);
    let refused = ["6.1", "6.2", "6.10", "6.11", "6.12"].map(|r| s(r).refusal_drops_write);
    assert_eq!(refused, [false, true, true, false, false]);
    let lost = ["6.0", "6.1", "6.2", "6.10", "6.11"].map(|r| s(r).changed_entry_drops_fault);
    assert_eq!(lost, [false, true, false, false, true]);
    assert!(!s("5.11").second_hint_faults && s("5.13").second_hint_faults && s("6.12").second_hint_faults);
    let reset = ["3.13", "4.0", "6.1", "6.12", "6.12.117", "6.18", "7.2"].map(|r| s(r).locality_reset_on_backoff);
    assert_eq!(reset, [false; 7], "the fix of September 2026 is in no release (kernel-after-6.12.md section 2.8)");
    assert!(s("6.12+locality-reset").locality_reset_on_backoff);
    assert!(s("5.11").local_fault_updates_cpupid && !s("6.1").local_fault_updates_cpupid);
    assert_eq!((cfg("4.18").migrate_rule, cfg("4.19").migrate_rule), (MigrateRule::V46, MigrateRule::V420));
    assert!(!s("4.4").overhead_guard && s("4.5").overhead_guard);
    assert!(!s("5.18").no_swap_with_spare && s("6.0").no_swap_with_spare);
}

#[test]
fn counters_and_reasons_have_names() {
    let c = NumaCounters { numa_pte_updates: 7, pgpromote_success: 9, ..NumaCounters::default() };
    assert_eq!(NumaCounters::TABLE[0].0, "numa_pte_updates");
    assert_eq!((c.values()[0], *c.values().last().unwrap()), (7, 9));
    assert!(NumaCounters::TABLE.iter().all(|(_, doc)| !doc.is_empty()));
    let mut r = NumaReasons::default();
    r.skip[3] = 5;
    assert!(r.named().any(|n| n == ("skip", "scan_delay", 5)));
    assert!(r.named().any(|n| n == ("refused", "nearly_full", 0)));
}
