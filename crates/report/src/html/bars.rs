//! Bars of the answer: the mean of a measurement on every kernel with a mark for every run, and the thread time per
//! run.

use super::markup::Html;
use crate::data::{Comparison, Metric, Workload};
use crate::format::{human, unit_for};
use crate::verdict::Call;
use numalab_stats::{describe, Better, Mean};

/// Draws a bar from 0 to the mean for every kernel, with a mark for every run.
pub(super) fn bars(h: &mut Html, c: &Comparison, m: &Metric, call: &dyn Fn(usize) -> Option<Call>) {
    let top = m.samples.iter().flatten().copied().fold(0.0, f64::max);
    let (unit, by) = unit_for(&m.unit, top);
    let better = match m.better {
        Better::Higher => "more is better",
        Better::Lower => "less is better",
        Better::Neutral => "neither more nor less is better",
    };
    h.raw("<figure class=\"bars\"><figcaption><b>").text(&m.name).raw("</b> ").text(unit).raw(" · ").raw(better);
    if m.samples.iter().any(|s| s.len() > 1) {
        h.raw(if m.mean == Mean::Harmonic { " · harmonic mean" } else { " · mean" });
        h.raw(" ± standard deviation, <span class=\"key run\">one run</span>");
    }
    h.raw("</figcaption>");
    for (k, kernel) in c.kernels.iter().enumerate() {
        let samples = m.of(k);
        h.raw("<div class=\"bar\"><span class=\"name\">").text(&kernel.run_name()).raw("</span>");
        h.raw("<span class=\"track\" aria-hidden=\"true\">");
        if samples.is_empty() {
            h.raw("</span><span class=\"value\">–</span></div>");
            continue;
        }
        let mean = m.mean_of(k);
        if let Some(mean) = mean {
            let style = format!("width:{}", share(mean, top));
            h.open("i", &[("class", if k == c.baseline { "fill base" } else { "fill" }), ("style", &style)]).close("i");
        }
        for s in samples {
            h.open("i", &[("class", "dot"), ("style", &format!("left:{}", share(*s, top)))]).close("i");
        }
        h.raw("</span><span class=\"value\">").text(&mean.map_or_else(|| "–".to_string(), |x| human(x / by)));
        if let Some(sd) = describe::stddev(samples) {
            h.raw(" <small>± ").text(&human(sd / by)).raw("</small>");
        }
        if let Some(call) = call(k) {
            let (sign, word) = call.badge();
            h.open("span", &[("class", call.class()), ("title", word)]).raw(" ").text(sign).close("span");
            h.element("span", &[("class", "hidden")], word);
        }
        h.raw("</span></div>");
    }
    h.raw("</figure>");
}

fn share(x: f64, top: f64) -> String {
    let percent = if top > 0.0 && x.is_finite() { (100.0 * x / top).clamp(0.0, 100.0) } else { 0.0 };
    format!("{percent:.2}%")
}

/// Draws user, system and blocked time per run as stacked bars, one for every kernel.
pub(super) fn thread_time(h: &mut Html, c: &Comparison, w: &Workload) {
    const PARTS: [&str; 3] = ["user", "system", "blocked"];
    let mean = |name: &str, k: usize| w.metric(name).and_then(|m| describe::amean(m.of(k)));
    let total = |k: usize| PARTS.iter().filter_map(|p| mean(p, k)).sum::<f64>();
    let top = (0..c.kernels.len()).map(total).fold(0.0, f64::max);
    if top <= 0.0 {
        return;
    }
    h.raw("<figure class=\"bars\"><figcaption><b>Thread time</b> s per run, all threads · ");
    h.raw("<span class=\"key user\">user</span> <span class=\"key system\">system</span> ");
    h.raw("<span class=\"key blocked\">blocked</span>");
    h.raw(if w.fixed_duration() {
        " · neither more nor less is better: the duration is fixed</figcaption>"
    } else {
        "</figcaption>"
    });
    for (k, kernel) in c.kernels.iter().enumerate() {
        h.raw("<div class=\"bar\"><span class=\"name\">").text(&kernel.run_name()).raw("</span>");
        h.raw("<span class=\"track stack\" aria-hidden=\"true\">");
        if PARTS.iter().all(|p| mean(p, k).is_none()) {
            h.raw("</span><span class=\"value\">–</span></div>");
            continue;
        }
        for p in PARTS {
            let width = share(mean(p, k).unwrap_or(0.0), top);
            h.open("i", &[("class", p), ("style", &format!("width:{width}"))]).close("i");
        }
        h.raw("</span><span class=\"value\">");
        for (i, p) in PARTS.into_iter().enumerate() {
            h.raw(if i > 0 { " <small>+</small> " } else { "" });
            h.text(&mean(p, k).map_or_else(|| "–".to_string(), human));
            h.open("span", &[("class", "hidden")]).raw(" s ").raw(p).close("span");
        }
        h.raw("</span></div>");
    }
    h.raw("</figure>");
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::Kernel;

    #[test]
    fn the_bar_of_a_rate_is_as_long_as_the_mean_of_the_table() {
        let samples = vec![vec![500.0, 505.0, 495.0], vec![300.0, 420.0, 900.0], vec![0.0, 450.0]];
        let m = Metric::new("accesses", "Maccesses/s", true, samples);
        let c = Comparison { kernels: ["a", "b", "c"].map(Kernel::named).to_vec(), ..Comparison::default() };
        let mut h = Html::new();
        bars(&mut h, &c, &m, &|_| None);
        let got = h.into_string();
        assert!(got.contains(" · harmonic mean ± standard deviation, "), "{got}");
        assert!(got.contains("width:48.84%") && got.contains(">439.5 <small>"), "{got}");
        assert!(got.contains(">– <small>"), "a run at 0: {got}");
    }

    #[test]
    fn what_no_run_measured_is_a_dash_and_never_zero() {
        let m = |name: &str, samples: [Vec<f64>; 2]| Metric::new(name, "s", false, samples.to_vec());
        let metrics = vec![m("user", [vec![3.0], vec![]]), m("system", [vec![0.0], vec![]])];
        let w = Workload { name: "w".into(), metrics, ..Workload::default() };
        let c = Comparison { kernels: ["a", "b"].map(Kernel::named).to_vec(), ..Comparison::default() };
        let values = |h: Html| -> Vec<String> {
            let text = h.into_string();
            text.split("class=\"value\">").skip(1).map(|v| v.split("</div>").next().unwrap().to_string()).collect()
        };
        let mut h = Html::new();
        thread_time(&mut h, &c, &w);
        let got = values(h);
        assert!(got[0].starts_with("3<span") && got[0].contains("> 0<span") && got[0].contains("> –<span"), "{got:?}");
        assert_eq!(got[1], "–</span>");
        let mut h = Html::new();
        bars(&mut h, &c, &w.metrics[0], &|_| None);
        assert_eq!(values(h)[1], "–</span>");
    }
}
