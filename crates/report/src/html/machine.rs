//! The machine as a drawing: sockets hold nodes, nodes hold LLCs, LLCs hold CPUs. Distances and latencies stand beside
//! it.
//!
//! Nested boxes are used instead of a picture: they wrap on a narrow screen and can be read aloud. Large machines show
//! ranges of CPUs.

use super::markup::Html;
use numalab_model::machine::{cpulist, size, Machine};

/// Most CPUs that are drawn one by one.
const MAX_SQUARES: usize = 640;
/// Most nodes for which matrices are shown.
const MAX_MATRIX: usize = 64;
/// Number of colours of nodes in the style (`--n0` and on), as in `web/src/colors.ts`. Later nodes use them again from
/// the first.
const COLORS: usize = 32;
/// Number of shades of a matrix, from near to far.
const SHADES: usize = 6;

/// The section of the machines; empty if none is known.
pub fn render(machines: &[&Machine]) -> Html {
    let mut h = Html::new();
    if machines.is_empty() {
        return h;
    }
    h.raw("<section id=\"machine\"><h2>").raw(if machines.len() == 1 { "Machine" } else { "Machines" }).raw("</h2>");
    for m in machines {
        one(&mut h, m);
    }
    h.raw("</section>");
    h
}

fn one(h: &mut Html, m: &Machine) {
    h.raw("<article class=\"card\"><h3>").text(&m.name).raw("</h3><p class=\"note\">").text(&m.title).raw(" · ");
    let counts = [
        (m.sockets, "socket"),
        (m.nodes.len(), "node"),
        (m.llcs.len(), "LLC"),
        (m.cores, "core"),
        (m.cpus.len(), "CPU"),
    ];
    for (n, what) in counts {
        h.count(n, what).raw(", ");
    }
    h.text(&size::short(m.memory_bytes())).raw("</p><div class=\"sockets\">");
    let squares = m.cpus.len() <= MAX_SQUARES;
    for group in m.socket_groups() {
        let ids = cpulist::format(&group.iter().map(|&s| s as u32).collect::<Vec<u32>>());
        h.raw("<div class=\"socket\"><h4>socket").raw(if group.len() == 1 { " " } else { "s " }).text(&ids);
        h.raw("</h4><div class=\"nodes\">");
        for (i, _) in m.nodes.iter().enumerate().filter(|(_, n)| group.contains(&n.socket)) {
            node(h, m, i, squares);
        }
        h.raw("</div></div>");
    }
    h.raw("</div>");
    if m.nodes.len() > 1 && m.nodes.len() <= MAX_MATRIX {
        matrices(h, m);
    }
    links(h, m);
    for w in &m.warnings {
        h.element("p", &[("class", "warning")], w);
    }
    h.raw("</article>");
}

fn node(h: &mut Html, m: &Machine, i: usize, squares: bool) {
    let n = &m.nodes[i];
    let color = format!("--node:var(--n{})", i % COLORS);
    h.open("div", &[("class", "node"), ("style", &color)])
        .raw("<h5><i class=\"swatch\"></i>node ")
        .show(n.id)
        .raw("</h5>");
    h.raw("<p>");
    if n.memory_bytes == 0 {
        h.raw("no memory");
    } else {
        h.text(&size::short(n.memory_bytes))
            .raw(" ")
            .raw(n.kind.label())
            .raw(", ")
            .show(n.dram_sustained_gbps)
            .raw(" GB/s");
    }
    if n.tier > 0 {
        h.raw(", tier ").show(n.tier);
    }
    if n.cpus.is_empty() {
        h.raw(", no CPUs");
    }
    h.raw("</p><div class=\"llcs\">");
    for (l, llc) in m.llcs.iter().enumerate().filter(|(_, llc)| llc.node == i) {
        let ids = cpulist::format(&llc.cpus.iter().map(|&c| m.cpus[c].id).collect::<Vec<u32>>());
        let socket = m.socket_of_llc(l);
        let place = if socket == n.socket { String::new() } else { format!(" on socket {socket}") };
        let label = format!("LLC {l}: {}{place}, CPUs {ids}", size::short(llc.size_bytes));
        h.open("div", &[("class", "llc"), ("title", &label)])
            .raw("<span>")
            .text(&size::short(llc.size_bytes))
            .raw("</span>");
        if squares {
            h.raw("<span class=\"cpus\" aria-hidden=\"true\">");
            for _ in &llc.cpus {
                h.raw("<i></i>");
            }
            h.raw("</span>");
        }
        h.raw("<small>CPU");
        // Lines wrap between ranges, not inside one.
        for range in ids.split_inclusive(',') {
            h.raw(" ").element("span", &[], range);
        }
        h.raw("</small></div>");
    }
    h.raw("</div></div>");
}

fn matrices(h: &mut Html, m: &Machine) {
    h.raw("<div class=\"matrices\">");
    let distance: Vec<Vec<f64>> = m.distance.iter().map(|r| r.iter().map(|d| f64::from(*d)).collect()).collect();
    matrix(h, m, "distance", "Distance", "firmware (SLIT); 10 is local", &distance);
    matrix(
        h,
        m,
        "latency",
        "Latency",
        "ns, idle, from a CPU of the row's node to memory of the column's",
        &m.latency_ns,
    );
    h.raw("</div>");
}

fn matrix(h: &mut Html, m: &Machine, word: &'static str, title: &'static str, unit: &'static str, values: &[Vec<f64>]) {
    let mut levels: Vec<f64> = values.iter().flatten().copied().filter(|v| v.is_finite()).collect();
    levels.sort_by(f64::total_cmp);
    levels.dedup();
    let shade = |v: f64| levels.partition_point(|l| *l < v) * (SHADES - 1) / levels.len().saturating_sub(1).max(1);
    h.raw("<div><h4><a class=\"term\" href=\"#def-").raw(word).raw("\">").raw(title).raw("</a> <small>").raw(unit);
    h.raw("</small></h4><div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"").raw(title).raw("\">");
    h.raw("<table class=\"matrix\"><thead><tr><td></td>");
    for n in &m.nodes {
        h.open("th", &[("scope", "col")]).show(n.id).close("th");
    }
    h.raw("</tr></thead><tbody>");
    for (i, row) in values.iter().enumerate() {
        h.raw("<tr>").open("th", &[("scope", "row")]).show(m.nodes.get(i).map_or(0, |n| n.id)).close("th");
        for v in row {
            h.open("td", &[("class", &format!("s{}", shade(*v).min(SHADES - 1)))])
                .show((v * 10.0).round() / 10.0)
                .close("td");
        }
        h.raw("</tr>");
    }
    h.raw("</tbody></table></div></div>");
}

fn links(h: &mut Html, m: &Machine) {
    if m.links.is_empty() {
        return;
    }
    h.raw("<details class=\"more\"><summary>").count(m.links.len(), "link").raw("</summary><ul class=\"links\">");
    for l in &m.links {
        h.raw("<li>").element("b", &[], &l.name).raw(" ").show(l.sustained_gbps).raw(" GB/s sustained each way (peak ");
        h.show(l.peak_gbps).raw("), +").show(l.hop_latency_ns).raw(" ns</li>");
    }
    h.raw("</ul></details>");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_node_cache_and_cpu_is_drawn() {
        let m = numalab_model::machine::from_shorthand("2x2x4x2").unwrap();
        let text = render(&[&m]).into_string();
        assert_eq!(text.matches("class=\"node\"").count(), 2);
        assert_eq!(text.matches("class=\"llc\"").count(), 4);
        assert_eq!(text.matches("<i></i>").count(), 2 * 2 * 4 * 2);
        // There are two matrices of 2 x 2. Local has the nearest shade, remote the farthest.
        assert_eq!((text.matches("class=\"s0\"").count(), text.matches("class=\"s5\"").count()), (4, 4));
        assert_eq!(render(&[]).into_string(), "");
    }

    #[test]
    fn nodes_have_colours_of_their_own_as_far_as_the_style_has_them() {
        let m = numalab_model::machine::from_shorthand("34x1x1x1").unwrap();
        let text = render(&[&m]).into_string();
        for (node, color) in [(0, 0), (8, 8), (31, 31), (32, 0), (33, 1)] {
            let want = format!("style=\"--node:var(--n{color})\"><h5><i class=\"swatch\"></i>node {node}</h5>");
            assert!(text.contains(&want), "{want}");
        }
        let known = (0..).take_while(|n| super::super::STYLE.contains(&format!("--n{n}:"))).count();
        assert_eq!(known, COLORS);
    }

    #[test]
    fn a_huge_machine_shows_ranges() {
        let m = numalab_model::machine::from_shorthand("32x4x8x2").unwrap();
        let text = render(&[&m]).into_string();
        assert!(!text.contains("<i></i>") && text.contains("CPU "));
    }
}
