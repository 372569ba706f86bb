//! The page of a record of accesses: a map of heat for each of the largest processes, as one file of HTML without
//! scripts.

use crate::heat::{self, Heat, STEPS};
use crate::record::AccessRecord;
use std::fmt::{Result, Write};

/// Most processes that the page shows.
const MOST_PROCESSES: usize = 4;
/// Levels of colour.
const LEVELS: usize = 6;
/// Width of a step of time and height of a band, in pixels of the drawing.
const STEP: usize = 10;
const BAND: usize = 4;
/// Room for names at the left.
const LEFT: usize = 330;
/// Room for the name above each thread.
const ABOVE: usize = 18;

/// The page of a record.
pub fn html(record: &AccessRecord) -> String {
    let mut out = String::new();
    // Writing to a string cannot fail.
    let _ = write(&mut out, record);
    out
}

fn write(out: &mut String, record: &AccessRecord) -> Result {
    let m = &record.manifest;
    let name = escaped(&m.name);
    writeln!(
        out,
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width\">\n<title>Accesses of {name}</title>\n<style>\n\
         :root {{ color-scheme: light dark; }}\nbody {{ font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; \
         max-width: 66rem; padding: 0 1rem; }}\nsvg {{ width: 100%; height: auto; }}\ntext {{ font: 11px system-ui, \
         sans-serif; fill: currentColor; }}\n.grid {{ stroke: currentColor; stroke-opacity: 0.25; fill: none; }}"
    )?;
    for (n, colour) in ["#9ecae1", "#6baed6", "#e6b800", "#f08c00", "#d94801", "#a50026"].iter().enumerate() {
        writeln!(out, ".h{n} {{ fill: {colour}; }}")?;
    }
    writeln!(out, "</style>\n</head>\n<body>\n<h1>What {name} does with memory</h1>")?;
    writeln!(
        out,
        "<p><code>{}</code>, recorded under {}: {:.1} M instructions, {:.2} M lines visited.</p>",
        escaped(&m.command.join(" ")),
        escaped(m.qemu.split(" (").next().unwrap_or_default()),
        record.control.insns as f64 / 1e6,
        record.control.lines as f64 / 1e6
    )?;
    let maps = heat::maps(record, MOST_PROCESSES);
    if maps.is_empty() {
        writeln!(out, "<p>No process visited any memory.</p>")?;
    }
    maps.iter().try_for_each(|map| process(out, map))?;
    writeln!(
        out,
        "<p>Each strip is a thread. From left to right: model time, in instructions. From top to bottom: memory, by \
         mapping. A colour is four times the lines of the one before; no colour means no visit.</p>\n</body>\n</html>"
    )
}

fn process(out: &mut String, map: &Heat) -> Result {
    writeln!(out, "<h2>{}, process {}</h2>", escaped(&map.process), map.pid)?;
    if map.left_out > 0 {
        writeln!(out, "<p>{} threads with fewer lines are left out.</p>", map.left_out)?;
    }
    let strip = ABOVE + map.bands.len() * BAND;
    let height = strip * map.threads.len() + 22;
    let width = LEFT + STEPS * STEP + 10;
    writeln!(
        out,
        "<svg viewBox=\"0 0 {width} {height}\" role=\"img\" aria-label=\"Lines by thread, memory and time\">"
    )?;
    let most = map.lines.iter().flatten().flatten().copied().fold(1.0, f64::max);
    for (t, thread) in map.threads.iter().enumerate() {
        let top = t * strip + ABOVE;
        writeln!(out, "<text x=\"{LEFT}\" y=\"{}\">thread {thread}</text>", top - 4)?;
        names(out, map, top)?;
        cells(out, &map.lines[t], top, most)?;
    }
    let (begin, end) = map.time;
    let bottom = height - 6;
    writeln!(out, "<text x=\"{LEFT}\" y=\"{bottom}\">{:.1} M</text>", begin as f64 / 1e6)?;
    writeln!(
        out,
        "<text x=\"{}\" y=\"{bottom}\" text-anchor=\"end\">{:.1} M instructions</text>\n</svg>",
        LEFT + STEPS * STEP,
        end as f64 / 1e6
    )
}

/// Names and outlines of the mappings of a strip.
fn names(out: &mut String, map: &Heat, top: usize) -> Result {
    let mut at = 0;
    let mut last = 0;
    while at < map.bands.len() {
        let band = &map.bands[at];
        let same = map.bands[at..].iter().take_while(|b| b.mapping == band.mapping && b.place == band.place).count();
        let y = top + at * BAND;
        writeln!(
            out,
            "<rect class=\"grid\" x=\"{LEFT}\" y=\"{y}\" width=\"{}\" height=\"{}\"/>",
            STEPS * STEP,
            same * BAND
        )?;
        let place = if band.place.is_empty() { String::new() } else { format!(" ({})", band.place) };
        let bytes: u64 = map.bands[at..at + same].iter().map(|b| b.bytes).sum();
        let title = format!("{}{place}, {:.1} MiB", band.mapping, bytes as f64 / f64::from(1 << 20));
        // Names of small mappings would lie over each other; the title of the outline has them all.
        let middle = y + same * BAND / 2 + 4;
        if middle >= last + 11 || last == 0 {
            let short: String = title.chars().take(54).collect();
            writeln!(out, "<text x=\"{}\" y=\"{middle}\" text-anchor=\"end\">{}</text>", LEFT - 6, escaped(&short))?;
            last = middle;
        }
        at += same;
    }
    Ok(())
}

/// The coloured cells of a strip: a path for each level.
fn cells(out: &mut String, lines: &[Vec<f64>], top: usize, most: f64) -> Result {
    for level in 0..LEVELS {
        let mut path = String::new();
        for (b, of) in lines.iter().enumerate() {
            for (s, n) in of.iter().enumerate().filter(|(_, n)| **n > 0.0 && level_of(**n, most) == level) {
                let _ = n;
                write!(path, "M{} {}h{STEP}v{BAND}h-{STEP}z", LEFT + s * STEP, top + b * BAND)?;
            }
        }
        if !path.is_empty() {
            writeln!(out, "<path class=\"h{level}\" d=\"{path}\"/>")?;
        }
    }
    Ok(())
}

/// The colour of so many lines: each level stands for four times the one before, the last one for the most.
fn level_of(lines: f64, most: f64) -> usize {
    let below = ((most / lines).log2() / 2.0).floor().max(0.0) as usize;
    (LEVELS - 1).saturating_sub(below)
}

fn escaped(text: &str) -> String {
    let one = |c: char| match c {
        '<' => "&lt;".into(),
        '>' => "&gt;".into(),
        '&' => "&amp;".into(),
        '"' => "&quot;".into(),
        c if c.is_control() => " ".into(),
        c => c.to_string(),
    };
    text.chars().map(one).collect::<Vec<String>>().concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_and_hostile_names() {
        assert_eq!((level_of(64.0, 64.0), level_of(16.0, 64.0), level_of(1e-9, 64.0)), (LEVELS - 1, LEVELS - 2, 0));
        assert_eq!(escaped("<b>&\"\u{7}"), "&lt;b&gt;&amp;&quot; ");
    }
}
