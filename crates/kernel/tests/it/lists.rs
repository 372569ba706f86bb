//! Each folder of variants against its visible list: a file without a line, or a line without a file, is a mistake.
#![allow(clippy::unwrap_used)]

use numalab_kernel::damon::Destinations;
use numalab_kernel::mm::thp::Locality;
use numalab_kernel::numa::page_filter::PageFilterKind;
use numalab_kernel::numa::vma_filter::VmaFilter;
use numalab_kernel::sched::imbalance::Rule;
use std::collections::BTreeSet;
use std::path::Path;

/// Names of the files of a folder of `src`, without `others`.
fn files(folder: &str, others: &[&str]) -> BTreeSet<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src").join(folder);
    let names = std::fs::read_dir(folder).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap());
    names.filter_map(|n| n.strip_suffix(".rs").map(str::to_string)).filter(|n| !others.contains(&n.as_str())).collect()
}

fn words(list: &[&str]) -> BTreeSet<String> {
    list.iter().map(|w| (*w).to_string()).collect()
}

/// The files of a room that are no variants.
const ROOM: [&str; 5] = ["mod", "parts", "rule", "tunables", "tests"];

#[test]
fn every_variant_has_a_file_of_its_name_and_every_file_a_line() {
    assert_eq!(files("numa/vma_filter", &ROOM), words(VmaFilter::WORDS));
    assert_eq!(files("numa/page_filter", &ROOM), words(PageFilterKind::WORDS));
    assert_eq!(files("sched/imbalance", &ROOM), words(Rule::WORDS));
    // Where nothing migrates there is nothing to decide.
    let some: Vec<&str> = Destinations::WORDS.iter().copied().filter(|w| *w != "none").collect();
    assert_eq!(files("damon/destination", &ROOM), words(&some));
    let rules = Locality::WORDS.iter().map(|w| w.strip_prefix("thp_").unwrap_or(w)).collect::<Vec<_>>();
    assert_eq!(files("mm/thp/locality", &ROOM), words(&rules));
}
