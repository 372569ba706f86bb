//! The page is complete, self-contained and small, and no name can break it.
#![allow(clippy::unwrap_used)]

use crate::support::synthetic;

use numalab_report::data::{Comparison, Kernel};
use numalab_report::html::{self, Input};
use numalab_report::json;

/// Largest file for ten runs of a minute, bytes.
const LIMIT: usize = 3_000_000;

/// The data embedded in a page.
fn data(page: &str) -> serde_json::Value {
    let start = "<script type=\"application/json\" id=\"data\">";
    let text = page.split(start).nth(1).unwrap().split("</script>").next().unwrap();
    serde_json::from_str(text).unwrap()
}

#[test]
fn the_page_is_complete_and_the_same_twice() {
    let made = synthetic::make(&synthetic::demo());
    let page = html::render(&made.input());
    assert_eq!(page, html::render(&made.input()));
    for id in ["answer", "cost", "sure", "time", "tables", "machine", "config", "definitions"] {
        assert_eq!(page.matches(&format!("<section id=\"{id}\"")).count(), 1, "{id}");
        assert!(page.contains(&format!("href=\"#{id}\"")), "{id} is in the navigation");
    }
    assert!(page.contains("<h1>Is 6.4-rc2 or 6.4-rc2+rfc-v3 better than 6.3 on 3 workloads?</h1>"));
    // stream is judged by its scores; the single runs of cow-counter cannot be judged.
    let order = ["answer", "picture", "cost", "sure", "time", "tables", "machine", "config", "definitions"];
    let at = order.map(|id| page.find(&format!("<section id=\"{id}\"")).unwrap());
    assert!(at.is_sorted(), "the answer first: {at:?}");
    assert_eq!(data(&page)["picture"], serde_json::json!({"workload": "numa01_THREAD_ALLOC", "kernels": [0, 1]}));
    // Clear to a test over seeds, and within what the model itself is off by.
    assert!(page.contains("That is below what this model can tell (about ±"));
    assert!(page.contains("Cannot tell: 1 run of 6.3 and 1 run of 6.4-rc2 give no spread."));
    assert!(page.contains("<sup aria-hidden=\"true\">*</sup>"));
    assert!(page.contains("class=\"changed\""));
    let d = data(&page);
    assert_eq!(d["workloads"].as_array().unwrap().len(), 3);
    assert_eq!(d["workloads"][0]["runs"].as_array().unwrap().len(), 15);
    let run = &d["workloads"][0]["runs"][0];
    assert_eq!(run["maps"][0]["rows"].as_array().unwrap().len(), 192);
    assert_eq!(run["memory"]["processes"].as_array().unwrap().len(), 2);
}

#[test]
fn nothing_is_loaded_from_elsewhere() {
    let made = synthetic::make(&synthetic::demo());
    let page = html::render(&made.input());
    let script = page.rfind("<script>").unwrap();
    for sign in ["src=", "@import", "url(", "<link", "<iframe", "http://", "https://"] {
        assert!(!page[..script].contains(sign), "{sign}");
    }
    for call in ["fetch(", "XMLHttpRequest", "WebSocket", "import(", "sendBeacon"] {
        assert!(!page[script..].contains(call), "{call}");
    }
    assert!(page.contains("default-src &#39;none&#39;; script-src &#39;sha256-"));
    assert!(page.contains("Permission is hereby granted, free of charge"), "uPlot's licence travels with it");
}

#[test]
fn every_figure_of_the_json_form_is_on_the_page() {
    let made = synthetic::make(&synthetic::demo());
    let page = html::render(&made.input());
    let text = json::report(&made.comparison).unwrap();
    let figures: serde_json::Value = serde_json::from_str(&text).unwrap();
    let mut seen = 0;
    for w in figures["workloads"].as_array().unwrap() {
        let table = page.split(&format!("data-workload=\"{}\"", w["name"].as_str().unwrap())).nth(1).unwrap();
        let table = table.split("</table>").next().unwrap();
        for m in w["metrics"].as_array().unwrap() {
            let row = table.split(&format!("data-metric=\"{}\"", m["name"].as_str().unwrap())).nth(1).unwrap();
            let row = row.split("</tr>").next().unwrap();
            let shown: Vec<f64> =
                row.split("data-mean=\"").skip(1).map(|t| t.split('"').next().unwrap().parse().unwrap()).collect();
            let want: Vec<f64> =
                made.comparison.kernels.iter().map(|k| m["kernels"][&k.name]["mean"].as_f64().unwrap()).collect();
            assert_eq!(shown.len(), want.len(), "{}", m["name"]);
            // The JSON reader is sometimes off by one unit in the last place.
            let close = |(a, b): (&f64, &f64)| (a - b).abs() <= b.abs() * 1e-14;
            assert!(shown.iter().zip(&want).all(close), "{}: {shown:?} {want:?}", m["name"]);
            seen += shown.len();
        }
    }
    assert!(seen > 100, "{seen}");
}

#[test]
fn hostile_names_stay_text() {
    let made = synthetic::hostile();
    let page = html::render(&made.input());
    let script = page.rfind("<script>").unwrap();
    let before = &page[..script];
    assert!(!before.contains("<img") && !before.contains("<script>") && !before.contains("<!--"));
    assert_eq!(before.matches("<script").count(), 1, "only the data");
    // No name ended an attribute: every quote is escaped outside the data, which is no markup.
    let markup = before.split("<script").next().unwrap();
    assert!(!markup.contains("' onfocus=window") && !markup.contains("\" onfocus=window"));
    assert!(before.contains("&lt;/script&gt;&lt;script&gt;window.broken=1"));
    let d = data(&page);
    assert_eq!(d["workloads"][0]["name"], synthetic::HOSTILE);
    assert_eq!(d["kernels"][1], format!("{}-sim", synthetic::HOSTILE));
}

#[test]
fn ten_runs_of_a_minute_stay_small() {
    let made = synthetic::make(&synthetic::large());
    let longest = made.outcomes.iter().map(|o| o.3.series[0].time_ns.last().copied().unwrap()).min().unwrap();
    assert!(made.outcomes.len() == 10 && longest > 55_000_000_000, "{longest}");
    let page = html::render(&made.input());
    assert!(page.len() < LIMIT, "{} bytes", page.len());
    let d = data(&page);
    let w = &d["workloads"][0];
    assert_eq!(w["runs"].as_array().unwrap().len(), 10, "no run is left out");
    assert!(w["points"].as_u64().unwrap() >= 120, "{}", w["points"]);
    // The rates drawn add up to the number counted.
    let step = w["step"].as_f64().unwrap();
    for (run, (_, _, _, outcome)) in w["runs"].as_array().unwrap().iter().zip(&made.outcomes) {
        let rates = run["rates"].as_array().unwrap();
        let faults = rates.iter().find(|l| l["name"] == "numa_hint_faults").unwrap();
        let sum: f64 = faults["values"].as_array().unwrap().iter().map(|v| v.as_f64().unwrap() * step).sum();
        let counted = outcome.counters.iter().find(|c| c.0 == "numa_hint_faults").unwrap().1 as f64;
        assert!((sum / counted - 1.0).abs() < 0.02, "{sum} {counted}");
    }
}

#[test]
fn a_page_without_runs_or_with_one_kernel_is_still_a_page() {
    let empty = Comparison::default();
    let page = html::render(&Input::new("nothing", &empty));
    assert!(page.contains("There") || page.contains("Only"));
    assert!(!page.contains("id=\"time\"") && !page.contains("id=\"data\""));
    assert!(page.contains("The records hold no effective configuration."));
    let one = Comparison { kernels: vec![Kernel::named("6.1")], ..Comparison::default() };
    assert!(html::render(&Input::new("one", &one)).contains("Only 6.1 was run"));
}
