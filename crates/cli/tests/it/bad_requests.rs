//! Wrong requests to single verbs: like wrong input, they end with exit code 2 before anything runs.
#![allow(clippy::unwrap_used)]

use crate::common;
use common::{Lab, QUICK};

#[test]
fn mistakes_of_validate_are_reported_before_the_first_guest() {
    let lab = Lab::with_sweep();
    lab.refused(
        "validate --image debian-9.9",
        &["--image debian-9.9: the catalog has no kernel of the 9.9 series", "--kernel"],
    );
    let ended = lab.run("validate --markdown nodir/page.md");
    assert_eq!(ended.code, 3, "{ended:?}");
    assert!(ended.err.contains("nodir/page.md: nodir is not there; expected a directory"), "{}", ended.err);
    lab.refused_args(&["validate", "--boot-option", "a b"], &["one word without blanks"]);
    assert!(!lab.path("out").exists());
}

#[test]
fn messages_about_a_parameter_name_the_option() {
    let lab = Lab::with_sweep();
    let line = format!("{QUICK} --kernel 6.3 --param");
    lab.refused(&format!("{line} size=64"), &["numalab: --param size=64: parameter `size` is a plain number"]);
    lab.refused(&format!("{line} szie=64"), &["numalab: --param szie=64: no parameter `szie`"]);
    let run = "run --machine 2x1x2x1 --kernel 6.3 --workload first-touch --param first_touch.memory=1GiB";
    lab.refused(run, &["did you mean `first-touch.memory`?"]);
}

#[test]
fn the_version_is_the_one_that_records_carry() {
    let lab = Lab::with_sweep();
    let version = lab.ok("--version").out;
    lab.ok(&format!("{QUICK} --kernel off --out d"));
    let compared = lab.ok("compare d --full").out;
    assert!(version.contains('+') && compared.contains(version.trim()), "{version}: {compared}");
}

#[test]
fn a_published_table_of_another_name_is_not_listed() {
    let lab = Lab::with_sweep();
    let text =
        std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../catalog/published/shared-cow-2018.toml"));
    std::fs::create_dir_all(lab.path("p/published")).unwrap();
    let renamed = text.unwrap().replacen("name = \"shared-cow-2018\"", "name = \"x\"", 1);
    lab.write("p/published/shared-cow-2018.toml", &renamed);
    for line in ["list published", "show published 001", "show published shared-cow-2018"] {
        lab.refused(&format!("--catalog p {line}"), &["shared-cow-2018.toml:", "expected \"shared-cow-2018\""]);
    }
}
