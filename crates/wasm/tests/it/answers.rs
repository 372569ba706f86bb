//! The answer of two outcomes.

use super::asked;
use numalab_wasm::answer::{answer, Compared};
use numalab_wasm::session::Session;

#[test]
fn one_run_a_side_is_no_verdict_and_says_what_was_seen() {
    let of = |kernel: &str| {
        let request = r#"{"machine":"2x1x2x1","sides":[{"kernel":"K"}],"workload":"first-touch"}"#.replace('K', kernel);
        Session::start(&asked(&request), false).unwrap().finish().unwrap()
    };
    let compared = Compared {
        machine: "2x1x2x1".into(),
        workload: "first-touch".into(),
        seeds: vec![1],
        kernels: vec![("off".into(), vec![of("off")]), ("6.12".into(), vec![of("6.12")])],
    };
    let lines = answer(&compared).unwrap();
    assert_eq!(lines[0], serde_json::json!(["Question", "Is 6.12 better than off on first-touch?"]));
    let says = lines[1][1].as_str().unwrap();
    assert!(says.starts_with("Cannot tell: 1 run of off and 1 run of 6.12 give no spread."), "{says}");
}
