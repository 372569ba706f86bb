//! A frame on a terminal.

use super::frame::{Frame, ProcessFrame};
use super::text::{bytes, kernel_line, longest, memory, percent, rate};
use numalab_base::visible_text::visible;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::Line;
use ratatui::widgets::{Cell, Paragraph, Row, Table, TableState};

/// What the user has chosen to see.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct View {
    /// Threads are shown below the chosen process.
    pub threads: bool,
    /// Place of the chosen process in the list.
    pub chosen: usize,
    /// The list is ordered by memory instead of CPU time.
    pub by_memory: bool,
    /// The display stands still.
    pub paused: bool,
}

/// What a key asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Key {
    /// The next process.
    Down,
    /// The process before.
    Up,
    /// Threads of the chosen process, or no more.
    Threads,
    /// Another order.
    Order,
    /// Stand still, or go on.
    Pause,
}

impl View {
    /// Carries out a key. `processes` is the length of the list.
    pub fn press(&mut self, key: Key, processes: usize) {
        match key {
            Key::Down => self.chosen = (self.chosen + 1).min(processes.saturating_sub(1)),
            Key::Up => self.chosen = self.chosen.saturating_sub(1),
            Key::Threads => self.threads = !self.threads,
            Key::Order => self.by_memory = !self.by_memory,
            Key::Pause => self.paused = !self.paused,
        }
    }
}

const HELP: &str = "q quit  up/down choose  t threads  m order by memory  space pause";

/// Draws a frame.
pub fn draw(screen: &mut ratatui::Frame<'_>, f: &Frame, view: &View) {
    let missing = f.missing.len().min(3) as u16;
    let [nodes, kernel, list, lacks, help] = Layout::vertical([
        Constraint::Length(f.nodes.len().min(16) as u16 + 1),
        Constraint::Length(1),
        Constraint::Min(3),
        Constraint::Length(missing),
        Constraint::Length(1),
    ])
    .areas(screen.area());
    screen.render_widget(node_table(f), nodes);
    screen.render_widget(Paragraph::new(kernel_line(f)).style(Style::new().add_modifier(Modifier::DIM)), kernel);
    process_table(screen, list, f, view);
    let lines: Vec<Line<'_>> = f.missing.iter().take(3).map(|m| Line::from(format!("missing: {m}"))).collect();
    screen.render_widget(Paragraph::new(lines).style(Style::new().fg(Color::Yellow)), lacks);
    let state = if view.paused { "paused  " } else { "" };
    let cost = format!("{state}{HELP}  ({:.1} % of a CPU)", f.cost_s / f.interval_s * 100.0);
    screen.render_widget(Paragraph::new(cost).style(Style::new().add_modifier(Modifier::REVERSED)), help);
}

fn header<'a>(words: impl IntoIterator<Item = String>) -> Row<'a> {
    Row::new(words.into_iter().map(Cell::from)).style(Style::new().add_modifier(Modifier::BOLD))
}

/// Colour of a share of local memory: red where most is remote.
fn colour(share: Option<f64>) -> Style {
    match share {
        Some(s) if s < 0.5 => Style::new().fg(Color::Red),
        Some(s) if s < 0.8 => Style::new().fg(Color::Yellow),
        Some(_) => Style::new().fg(Color::Green),
        None => Style::new(),
    }
}

fn node_table(f: &Frame) -> Table<'_> {
    let rows = f.nodes.iter().take(16).map(|n| {
        Row::new(vec![
            Cell::from(n.id.to_string()),
            Cell::from(n.cpus.to_string()),
            Cell::from(format!("{:.2}", n.busy_cpus)),
            Cell::from(bytes(n.total_bytes)),
            Cell::from(bytes(n.free_bytes)),
            Cell::from(bytes(n.scope_bytes)),
            Cell::from(rate(Some(n.allocations_per_s))),
            Cell::from(percent(n.local_share)).style(colour(n.local_share)),
            Cell::from(rate(n.traffic_gbps)),
            Cell::from(percent(n.local_traffic_share)).style(colour(n.local_traffic_share)),
        ])
    });
    let words = ["NODE", "CPUS", "BUSY", "TOTAL", "FREE", "SCOPE", "ALLOC/s", "LOCAL", "GB/s", "NEAR"];
    let words = words.map(String::from);
    Table::new(rows, [5, 5, 7, 7, 7, 7, 8, 6, 6, 5].map(Constraint::Length)).header(header(words))
}

fn process_table(screen: &mut ratatui::Frame<'_>, area: Rect, f: &Frame, view: &View) {
    let mut processes: Vec<&ProcessFrame> = f.processes.iter().collect();
    if view.by_memory {
        let memory = |p: &&ProcessFrame| p.bytes_by_node.as_ref().map_or(0, |b| b.iter().sum::<u64>());
        processes.sort_by_key(|p| std::cmp::Reverse(memory(p)));
    }
    let chosen = view.chosen.min(processes.len().saturating_sub(1));
    let mut rows = Vec::new();
    for (i, p) in processes.iter().enumerate() {
        let mut cells = vec![
            Cell::from(p.pid.to_string()),
            Cell::from(format!("{:.2}", p.busy_cpus)),
            Cell::from(p.threads.to_string()),
            Cell::from(percent(p.local_share)).style(colour(p.local_share)),
            Cell::from(longest(p.numa_work)),
        ];
        cells.extend(memory(p, f.nodes.len()).into_iter().map(Cell::from));
        cells.push(Cell::from(visible(&p.command)));
        rows.push(Row::new(cells));
        if view.threads && i == chosen {
            rows.extend(p.tasks.iter().take(32).map(|t| thread_row(t, f.nodes.len())));
        }
    }
    let mut words: Vec<String> = ["PID", "BUSY", "THREADS", "LOCAL", "SCAN"].map(String::from).to_vec();
    words.extend(f.nodes.iter().map(|n| format!("MEM{}", n.id)));
    words.push("COMMAND".into());
    let mut widths: Vec<Constraint> = [8, 6, 8, 6, 7].map(Constraint::Length).to_vec();
    widths.extend(f.nodes.iter().map(|_| Constraint::Length(7)));
    widths.push(Constraint::Min(10));
    let table = Table::new(rows, widths)
        .header(header(words))
        .row_highlight_style(Style::new().add_modifier(Modifier::REVERSED));
    let mut state = TableState::new().with_selected(Some(chosen));
    screen.render_stateful_widget(table, area, &mut state);
}

fn thread_row<'a>(t: &super::ThreadFrame, nodes: usize) -> Row<'a> {
    let node = |n: Option<u32>| n.map_or("-".into(), |n| n.to_string());
    let mut cells = vec![
        Cell::from(format!("  {}", t.tid)),
        Cell::from(format!("{:.2}", t.busy_cpus)),
        Cell::from(format!("node {}", node(t.node))),
        Cell::from(percent(t.local_share)).style(colour(t.local_share)),
        Cell::from(longest(t.numa_work)),
    ];
    cells.extend((0..nodes).map(|_| Cell::from("")));
    let faults = format!(
        "prefers {}, {} faults/s, {} moved/s",
        node(t.preferred_node),
        rate(t.faults_per_s),
        rate(t.migrated_per_s)
    );
    cells.push(Cell::from(format!("{} ({faults})", visible(&t.name))));
    Row::new(cells)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::super::frame::tests::frame;
    use super::*;
    use ratatui::backend::TestBackend;
    use ratatui::Terminal;

    fn drawn(f: &Frame, view: &View, width: u16, height: u16) -> Vec<String> {
        let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
        terminal.draw(|screen| draw(screen, f, view)).unwrap();
        let buffer = terminal.backend().buffer().clone();
        let row = |y| (0..width).map(|x| buffer[(x, y)].symbol()).collect::<String>().trim_end().to_string();
        (0..height).map(row).collect()
    }

    #[test]
    fn the_screen_of_a_frame() {
        let view = View { threads: true, ..View::default() };
        let got = drawn(&frame(), &view, 100, 12);
        let want = [
            "NODE  CPUS  BUSY    TOTAL   FREE    SCOPE   ALLOC/s  LOCAL  GB/s   NEAR",
            "0     1     0.25    1.0G    512M    3.0M    0        -      2      25%",
            "1     1     0.75    1.0G    512M    1.1M    400      75%    1.5    -",
            "kernel balancing on: 0 entries marked, 40 faults (25% local), 30 pages moved per second; 0 moved by",
            "PID      BUSY   THREADS  LOCAL  SCAN    MEM0    MEM1    COMMAND",
            "7        1.00   2        38%    2.4ms   3.0M    1.0M    /bin/db -x",
            "  8      0.75   node 1   25%    2.4ms                   db (prefers 1, 75 faults/s, 0 moved/s)",
            "  7      0.25   node 0   75%    0                       db (prefers 1, 25 faults/s, 0 moved/s)",
            "9        0.00   1        -      0       0B      64K     /bin/idle -x",
            "missing: sampled accesses: not measured",
            "missing: bandwidth: resctrl is not mounted (mount -t resctrl resctrl /sys/fs/resctrl, where the proc",
            "q quit  up/down choose  t threads  m order by memory  space pause  (0.3 % of a CPU)",
        ];
        assert_eq!(got, want);
    }

    #[test]
    fn any_size_and_any_frame_can_be_drawn() {
        let empty = Frame { nodes: vec![], processes: vec![], missing: vec![], ..frame() };
        for (width, height) in [(1, 1), (5, 3), (40, 4), (200, 60)] {
            for f in [&frame(), &empty] {
                drawn(f, &View { chosen: 99, threads: true, by_memory: true, paused: true }, width, height);
            }
        }
    }

    #[test]
    fn keys_stay_inside_the_list() {
        let mut view = View::default();
        view.press(Key::Up, 2);
        assert_eq!(view.chosen, 0);
        (0..5).for_each(|_| view.press(Key::Down, 2));
        assert_eq!(view.chosen, 1);
        view.press(Key::Down, 0);
        assert_eq!(view.chosen, 0);
        for key in [Key::Threads, Key::Order, Key::Pause] {
            view.press(key, 2);
        }
        assert!(view.threads && view.by_memory && view.paused);
        assert!(drawn(&frame(), &view, 60, 8)[7].starts_with("paused  q quit"));
    }
}
