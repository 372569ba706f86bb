//! The terminal: its width, and whether it takes colour.

use comfy_table::{ColumnConstraint, ContentArrangement, Table, Width};
use console::style;
use textwrap::WordSplitter;

/// Width where nothing is known, characters.
const DEFAULT_WIDTH: usize = 80;
/// Narrowest and widest text, characters. Longer lines are hard to read.
const NARROWEST: usize = 20;
const WIDEST: usize = 200;
/// Narrowest column of texts beside their names, characters. In a narrower terminal they stand below the names.
const BESIDE: usize = 40;
/// Characters between two columns of a table.
const GAP: usize = 2;

/// Width of the text on standard output: that of the terminal, else `COLUMNS`, else 80 characters.
pub fn width() -> usize {
    let of_terminal = || terminal_size::terminal_size_of(std::io::stdout()).map(|(w, _)| usize::from(w.0));
    let stated = || std::env::var("COLUMNS").ok().and_then(|text| text.trim().parse().ok());
    of_terminal().filter(|w| *w > 0).or_else(stated).unwrap_or(DEFAULT_WIDTH).clamp(NARROWEST, WIDEST)
}

/// A heading or label: bold where standard output is a terminal that takes colour. `NO_COLOR` turns it off.
pub fn strong(text: &str) -> String {
    style(text).bold().to_string()
}

/// A name that can be typed: cyan where standard output is a terminal that takes colour.
pub fn name(text: &str) -> String {
    style(text).cyan().to_string()
}

/// Names and texts, a line each. A text that does not fit `width` is cut and ends with an ellipsis; a name never is.
pub fn lines(rows: &[(String, String)], indent: usize, width: usize) -> String {
    let widest = rows.iter().map(|(name, _)| console::measure_text_width(name)).max().unwrap_or(0);
    // In a narrow terminal a long name would leave no room for the texts of the others.
    let column = widest.min(width.saturating_sub(indent + GAP) / 2);
    let pad = " ".repeat(indent);
    let one = |(label, text): &(String, String)| {
        let own = console::measure_text_width(label);
        let gap = " ".repeat(column.saturating_sub(own) + GAP);
        let room = width.saturating_sub(indent + own + gap.len());
        // A letter and an ellipsis say nothing.
        let text = if room < 4 { "".into() } else { console::truncate_str(text, room, "…") };
        format!("{}\n", format!("{pad}{}{gap}{text}", name(label)).trim_end())
    };
    rows.iter().map(one).collect()
}

/// A table of names and texts that fits `width`. Names are never broken where they fit into the whole width.
pub fn table(rows: &[Vec<String>], indent: usize, width: usize) -> String {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = width.saturating_sub(indent).max(NARROWEST - 2);
    let widest = |i: usize| rows.iter().filter_map(|r| r.get(i)).map(|c| console::measure_text_width(c)).max();
    let names: usize = (0..columns.saturating_sub(1)).map(|i| widest(i).unwrap_or(0) + GAP).sum();
    let pad = " ".repeat(indent);
    if columns < 2 || names + BESIDE.min(widest(columns - 1).unwrap_or(0)) > width {
        return stacked(rows, &pad, width);
    }
    let mut table = Table::new();
    table.load_preset(comfy_table::presets::NOTHING).set_content_arrangement(ContentArrangement::Dynamic);
    // The table pads the last column, too.
    table.set_width((width + GAP).min(u16::MAX.into()) as u16);
    for row in rows {
        table.add_row(row);
    }
    for (i, column) in table.column_iter_mut().enumerate() {
        column.set_padding((0, GAP as u16));
        if i + 1 < columns {
            let fixed = (widest(i).unwrap_or(0) + GAP) as u16;
            column.set_constraint(ColumnConstraint::Absolute(Width::Fixed(fixed)));
        }
    }
    table.lines().map(|line| format!("{pad}{}", line.trim_end()).trim_end().to_string() + "\n").collect()
}

/// Rows whose names leave no room beside them: each name on a line, its text wrapped below it.
fn stacked(rows: &[Vec<String>], pad: &str, width: usize) -> String {
    let mut out = String::new();
    let below = format!("{pad}    ");
    for row in rows {
        let Some((last, names)) = row.split_last() else { continue };
        let names = names.join("  ");
        let options = |indent| {
            let options = textwrap::Options::new(width + pad.len()).initial_indent(indent).subsequent_indent(&below);
            options.word_splitter(WordSplitter::NoHyphenation)
        };
        for line in textwrap::wrap(&names, options(pad)).iter().chain(&textwrap::wrap(last, options(&below))) {
            if !line.trim().is_empty() {
                out.push_str(&format!("{}\n", line.trim_end()));
            }
        }
    }
    out
}

/// A text beside a heading, wrapped to `width`; further lines begin below the text.
pub fn hanging(head: &str, text: &str, width: usize) -> String {
    let below = " ".repeat(console::measure_text_width(head));
    let options = textwrap::Options::new(width.max(below.len() + NARROWEST)).initial_indent(head);
    let options = options.subsequent_indent(&below).break_words(false).word_splitter(WordSplitter::NoHyphenation);
    textwrap::wrap(text, options).iter().map(|line| format!("{}\n", line.trim_end())).collect()
}

/// Text wrapped to `width`, line by line. Lines that are indented keep their indent.
pub fn wrapped(text: &str, width: usize) -> String {
    let mut out = String::new();
    for line in text.lines() {
        if line.trim().is_empty() {
            out.push('\n');
            continue;
        }
        let indent: String = line.chars().take_while(|c| *c == ' ').collect();
        let options = textwrap::Options::new(width).initial_indent(&indent).subsequent_indent(&indent);
        for part in textwrap::wrap(line.trim(), options.break_words(false).word_splitter(WordSplitter::NoHyphenation)) {
            out.push_str(part.trim_end());
            out.push('\n');
        }
    }
    out
}

/// A text whose lines fit `width`, as far as words do. Lines that fit already stay as they are.
pub fn fit(text: &str, width: usize) -> String {
    let one = |line: &str| match console::measure_text_width(line) > width && !line.starts_with(['|', '+']) {
        true => wrapped(line, width),
        false => format!("{line}\n"),
    };
    text.lines().map(one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows() -> Vec<Vec<String>> {
        let row = |a: &str, b: &str| vec![a.to_string(), b.to_string()];
        vec![row("numa01", "Two processes, each with memory of its own"), row("a-long-name-of-a-kernel", "Short")]
    }

    #[test]
    fn a_table_fits_the_terminal_and_breaks_no_name() {
        for width in [40, 60, 80, 200] {
            let text = table(&rows(), 2, width);
            assert!(text.lines().all(|l| l.chars().count() <= width), "{width}: {text}");
            assert!(text.contains("a-long-name-of-a-kernel"), "{text}");
        }
        let want = "  numa01                   Two processes, each with memory of its own\n  \
                    a-long-name-of-a-kernel  Short\n";
        assert_eq!(table(&rows(), 2, 80), want);
        let narrow = table(&rows(), 0, 40);
        assert!(narrow.starts_with("numa01\n    Two processes, each with memory of\n    its own\na-long"), "{narrow}");
    }

    #[test]
    fn an_entry_has_one_line_that_is_cut_at_the_width() {
        let rows: Vec<(String, String)> = rows().into_iter().map(|r| (r[0].clone(), r[1].clone())).collect();
        let want = "  numa01                   Two processes, each with…\n  a-long-name-of-a-kernel  Short\n";
        assert_eq!(lines(&rows, 2, 52), want);
        assert_eq!(lines(&rows, 0, 24), "numa01       Two proces…\na-long-name-of-a-kernel\n");
        assert_eq!(lines(&[], 0, 24), "");
    }

    #[test]
    fn text_is_wrapped_and_keeps_its_indent() {
        assert_eq!(wrapped("a b\n\n  one two three\n", 10), "a b\n\n  one two\n  three\n");
        assert_eq!(wrapped("", 10), "");
    }
}
