//! A run in steps has the outcome of a run in one go.

use super::asked;
use numalab_kernel::registry;
use numalab_sim::SimConfig;
use numalab_wasm::session::Session;

const REQUESTS: [&str; 4] = [
    r#"{"machine":"4x1x2x1","sides":[{"kernel":"6.12"}],"workload":"numa02",
        "param":[["memory","128MiB"],["loops","200"]]}"#,
    r#"{"machine":"2x1x4x1","sides":[{"kernel":"off"}],"workload":"first-touch","seed":7}"#,
    r#"{"machine":"2x1x4x2","sides":[{"kernel":"4.20"}],"workload":"cow-shared","quiet_machine":true}"#,
    r#"{"machine":"2x1x2x1","sides":[{"kernel":"6.1"}],"set":[["system.thp","never"]],"workload":"random-shared"}"#,
];

#[test]
fn steps_and_looks_change_nothing() {
    for request in REQUESTS {
        let asked = asked(request);
        let input = asked.plan().unwrap();
        let cfg = SimConfig::of(&input.kernel).unwrap().with_machine_background(!input.on_quiet_machine());
        let mut whole = numalab_sim::run(&input.machine, &input.workload, &cfg, input.seed, false).unwrap();
        whole.tunables = registry::effective(&input.kernel);
        let mut session = Session::start(&asked, true).unwrap();
        let mut looks = 0;
        while !session.advance(session.now_ns() + 7_000_001) {
            let look = session.look();
            assert_eq!(look["pages"].as_array().unwrap().len() % input.machine.node_count(), 0);
            looks += 1;
        }
        assert!(looks > 10, "{request}: {looks} looks");
        let stepped = session.finish().unwrap();
        assert_eq!(serde_json::to_string(&stepped).unwrap(), serde_json::to_string(&whole).unwrap(), "{request}");
    }
}

#[test]
fn a_look_tells_where_threads_and_pages_are() {
    let asked = asked(r#"{"machine":"2x1x2x1","sides":[{"kernel":"6.12"}],"workload":"first-touch"}"#);
    let mut session = Session::start(&asked, true).unwrap();
    let opening = session.opening();
    let cells = opening["layout"]["cells"].as_array().unwrap().len();
    let (mut events, mut most, mut marked, mut pages_of) = (0, 0, 0, [0, 0]);
    while !session.advance(session.now_ns() + 20_000_000) {
        let look = session.look();
        let numbers = |key: &str| look[key].as_array().unwrap().iter().map(|n| n.as_u64().unwrap()).collect::<Vec<_>>();
        let pages = numbers("pages");
        assert_eq!(pages.len(), cells * 2);
        most = most.max(pages.iter().sum::<u64>());
        marked += numbers("marked").iter().sum::<u64>();
        pages_of = [pages.iter().step_by(2).sum(), pages.iter().skip(1).step_by(2).sum()];
        events += look["events"].as_array().unwrap().len();
        for thread in look["threads"].as_array().unwrap() {
            assert!(thread[2].as_u64().unwrap() < 4, "a CPU of the machine: {thread}");
        }
    }
    let size: u64 = opening["workload"]["processes"][0]["regions"]
        .as_array()
        .unwrap()
        .iter()
        .map(|r| r["size_bytes"].as_u64().unwrap())
        .sum();
    assert_eq!(most * 4096, size, "every page of the regions was seen");
    assert!(marked > 0 && events > 100, "{marked} marked, {events} events");
    assert!(pages_of[1] > 0, "memory came to both nodes: {pages_of:?}");
}
