//! A frame on a terminal.

use super::frame::{Frame, ProcessFrame};
use super::line::{cut, piece, row, whole, Line};
use super::text::{bytes, kernel_line, longest, memory, percent, rate};
use crossterm::style::{ContentStyle, StyledContent, Stylize};
use numalab_base::visible_text::visible;

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

/// Most nodes that are shown.
const NODES: usize = 16;
/// Most threads that are shown of the chosen process.
const THREADS: usize = 32;
/// Lines that the list of processes has if the screen has them.
const LIST: usize = 3;

/// Draws a frame: `height` lines of at most `width` columns.
pub fn draw(f: &Frame, view: &View, width: usize, height: usize) -> Vec<Line> {
    let above = height.saturating_sub(1);
    let mut top = node_table(f);
    top.push(vec![piece(kernel_line(f), plain().dim())]);
    top.truncate(above.saturating_sub(LIST));
    let lacks = f.missing.len().min(3).min((above - top.len()).saturating_sub(LIST));
    let list = above - top.len() - lacks;
    top.extend(process_table(f, view, width, list));
    top.resize(above - lacks, Line::new());
    top.extend(f.missing.iter().take(lacks).map(|m| vec![piece(format!("missing: {m}"), plain().yellow())]));
    let state = if view.paused { "paused  " } else { "" };
    let cost = format!("{state}{HELP}  ({:.1} % of a CPU)", f.cost_s / f.interval_s * 100.0);
    if height > 0 {
        top.push(whole(&vec![piece(cost, plain())], plain().reverse(), width));
    }
    top.iter().map(|line| cut(line, width)).collect()
}

fn plain() -> ContentStyle {
    ContentStyle::new()
}

fn cell(text: impl Into<String>) -> StyledContent<String> {
    piece(text, plain())
}

fn header(words: Vec<String>, widths: &[usize]) -> Line {
    row(words.into_iter().map(|w| piece(w, plain().bold())).collect(), widths)
}

/// A share of local memory, in red where most is remote.
fn coloured(share: Option<f64>) -> StyledContent<String> {
    let style = match share {
        Some(s) if s < 0.5 => plain().red(),
        Some(s) if s < 0.8 => plain().yellow(),
        Some(_) => plain().green(),
        None => plain(),
    };
    piece(percent(share), style)
}

fn node_table(f: &Frame) -> Vec<Line> {
    let widths = [5, 5, 7, 7, 7, 7, 8, 6, 6, 5];
    let words = ["NODE", "CPUS", "BUSY", "TOTAL", "FREE", "SCOPE", "ALLOC/s", "LOCAL", "GB/s", "NEAR"];
    let mut lines = vec![header(words.map(String::from).to_vec(), &widths)];
    lines.extend(f.nodes.iter().take(NODES).map(|n| {
        let cells = vec![
            cell(n.id.to_string()),
            cell(n.cpus.to_string()),
            cell(format!("{:.2}", n.busy_cpus)),
            cell(bytes(n.total_bytes)),
            cell(bytes(n.free_bytes)),
            cell(bytes(n.scope_bytes)),
            cell(rate(Some(n.allocations_per_s))),
            coloured(n.local_share),
            cell(rate(n.traffic_gbps)),
            coloured(n.local_traffic_share),
        ];
        row(cells, &widths)
    }));
    lines
}

/// At most `height` lines of processes, with the chosen one among them.
fn process_table(f: &Frame, view: &View, width: usize, height: usize) -> Vec<Line> {
    let mut processes: Vec<&ProcessFrame> = f.processes.iter().collect();
    if view.by_memory {
        let memory = |p: &&ProcessFrame| p.bytes_by_node.as_ref().map_or(0, |b| b.iter().sum::<u64>());
        processes.sort_by_key(|p| std::cmp::Reverse(memory(p)));
    }
    let chosen = view.chosen.min(processes.len().saturating_sub(1));
    let mut widths: Vec<usize> = vec![8, 6, 8, 6, 7];
    widths.extend(f.nodes.iter().map(|_| 7));
    let mut rows = Vec::new();
    for (i, p) in processes.iter().enumerate() {
        let line = row(process_row(p, f.nodes.len()), &widths);
        rows.push(if i == chosen { whole(&line, plain().reverse(), width) } else { line });
        if view.threads && i == chosen {
            rows.extend(p.tasks.iter().take(THREADS).map(|t| row(thread_row(t, f.nodes.len()), &widths)));
        }
    }
    let mut words: Vec<String> = ["PID", "BUSY", "THREADS", "LOCAL", "SCAN"].map(String::from).to_vec();
    words.extend(f.nodes.iter().map(|n| format!("MEM{}", n.id)));
    words.push("COMMAND".into());
    // The row of the chosen process has the number of the process: threads come behind it.
    let first = (chosen + 2).saturating_sub(height);
    let mut lines = vec![header(words, &widths)];
    lines.extend(rows.into_iter().skip(first));
    lines.truncate(height);
    lines
}

fn process_row(p: &ProcessFrame, nodes: usize) -> Vec<StyledContent<String>> {
    let mut cells = vec![
        cell(p.pid.to_string()),
        cell(format!("{:.2}", p.busy_cpus)),
        cell(p.threads.to_string()),
        coloured(p.local_share),
        cell(longest(p.numa_work)),
    ];
    cells.extend(memory(p, nodes).into_iter().map(cell));
    cells.push(cell(visible(&p.command)));
    cells
}

fn thread_row(t: &super::ThreadFrame, nodes: usize) -> Vec<StyledContent<String>> {
    let node = |n: Option<u32>| n.map_or("-".into(), |n| n.to_string());
    let mut cells = vec![
        cell(format!("  {}", t.tid)),
        cell(format!("{:.2}", t.busy_cpus)),
        cell(format!("node {}", node(t.node))),
        coloured(t.local_share),
        cell(longest(t.numa_work)),
    ];
    cells.extend((0..nodes).map(|_| cell("")));
    let faults = format!(
        "prefers {}, {} faults/s, {} moved/s",
        node(t.preferred_node),
        rate(t.faults_per_s),
        rate(t.migrated_per_s)
    );
    cells.push(cell(format!("{} ({faults})", visible(&t.name))));
    cells
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::super::frame::tests::frame;
    use super::*;

    fn drawn(f: &Frame, view: &View, width: usize, height: usize) -> Vec<String> {
        let lines = draw(f, view, width, height);
        assert_eq!(lines.len(), height);
        let text = |line: &Line| line.iter().map(|p| p.content().as_str()).collect::<String>();
        assert!(lines.iter().all(|l| text(l).chars().count() <= width));
        lines.iter().map(|l| text(l).trim_end().to_string()).collect()
    }

    #[test]
    fn the_chosen_process_stays_on_the_screen_and_stands_out() {
        let many = Frame { processes: (0..40).map(|_| frame().processes[0].clone()).collect(), ..frame() };
        let numbered = |mut f: Frame| {
            f.processes.iter_mut().zip(100..).for_each(|(p, pid)| p.pid = pid);
            f
        };
        let f = numbered(many);
        for chosen in [0, 5, 39] {
            let view = View { chosen, ..View::default() };
            let pid = (100 + chosen).to_string();
            let at = drawn(&f, &view, 80, 14).iter().position(|l| l.starts_with(&pid)).unwrap();
            let line = &draw(&f, &view, 80, 14)[at];
            assert_eq!((line.len(), *line[0].style()), (1, plain().reverse()), "{chosen}");
        }
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
        for (width, height) in [(0, 0), (1, 1), (5, 3), (40, 4), (200, 60)] {
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
