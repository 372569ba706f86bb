//! `/proc/PID/task/TID/sched` and `stat`: figures of a task in the scheduler.

/// NUMA fields of a task (kernel-numa-balancing.md §15.2).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskSched {
    /// `numa_preferred_nid`, -1 = none.
    pub preferred_nid: i64,
    /// `total_numa_faults`.
    pub total_numa_faults: u64,
    /// `numa_pages_migrated`.
    pub pages_migrated: u64,
    /// `numa_group_id`, 0 = none.
    pub group: u64,
    /// `mm->numa_scan_seq`.
    pub scan_seq: u64,
    /// `sum_block_runtime`, ns; 0 if the kernel keeps no statistics.
    pub block_ns: u64,
    /// `block_max`, ns: the longest uninterruptible sleep; 0 if the kernel keeps no statistics.
    pub block_max_ns: u64,
    /// `iowait_count`: sleeps behind pages that move or are locked (`io_schedule`), and behind disks, which a guest
    /// does not have; 0 if the kernel keeps no statistics.
    pub page_waits: u64,
    /// Node ids, each with the task's private plus shared memory faults.
    pub node_faults: Vec<(u32, u64)>,
}

impl Default for TaskSched {
    fn default() -> Self {
        Self {
            preferred_nid: -1,
            total_numa_faults: 0,
            pages_migrated: 0,
            group: 0,
            scan_seq: 0,
            block_ns: 0,
            block_max_ns: 0,
            page_waits: 0,
            node_faults: Vec::new(),
        }
    }
}

/// Reads a task's file.
///
/// # Errors
/// The file cannot be read (the task ended, or the kernel lacks `CONFIG_SCHED_DEBUG`).
pub fn read(path: &str) -> std::io::Result<TaskSched> {
    Ok(parse(&std::fs::read_to_string(path)?))
}

/// Parses the file's text.
pub fn parse(text: &str) -> TaskSched {
    let mut out = TaskSched::default();
    for line in text.lines() {
        if let Some(rest) = line.strip_prefix("numa_faults node=") {
            if let Some(f) = node_faults(rest) {
                out.node_faults.push(f);
            }
            continue;
        }
        // The group id shares a line with others: "current_node=0, numa_group_id=17".
        if let Some(at) = line.find("numa_group_id=") {
            out.group = digits(&line[at + "numa_group_id=".len()..]).unwrap_or(0);
            continue;
        }
        let Some((key, value)) = line.rsplit_once(':') else { continue };
        let (key, value) = (key.trim(), value.trim());
        match key {
            "numa_preferred_nid" => out.preferred_nid = value.parse().unwrap_or(-1),
            "total_numa_faults" => out.total_numa_faults = value.parse().unwrap_or(0),
            "numa_pages_migrated" => out.pages_migrated = value.parse().unwrap_or(0),
            "mm->numa_scan_seq" => out.scan_seq = value.parse().unwrap_or(0),
            "block_max" | "se.statistics.block_max" => out.block_max_ns = milliseconds_ns(value),
            "iowait_count" | "se.statistics.iowait_count" => out.page_waits = value.parse().unwrap_or(0),
            "sum_block_runtime" | "se.statistics.sum_block_runtime" => out.block_ns = milliseconds_ns(value),
            _ => {}
        }
    }
    out
}

fn digits(text: &str) -> Option<u64> {
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    text[..end].parse().ok()
}

/// A text such as `1.234567` in ms, as ns.
fn milliseconds_ns(text: &str) -> u64 {
    text.parse::<f64>().map_or(0, |ms| (ms.max(0.0) * 1e6) as u64)
}

/// Node id and task faults from a text such as `0 task_private=5 task_shared=1 group_private=5 group_shared=1`.
fn node_faults(rest: &str) -> Option<(u32, u64)> {
    let mut words = rest.split_ascii_whitespace();
    let node = words.next()?.parse().ok()?;
    let value =
        |w: &str| w.split_once('=').filter(|(k, _)| k.starts_with("task_")).and_then(|(_, v)| v.parse::<u64>().ok());
    Some((node, words.filter_map(value).sum()))
}

/// CPU on which a task last ran, from its `stat` line.
pub fn cpu_of_stat(text: &str) -> Option<u32> {
    // The CPU is field 39. Fields are counted from the end of the name, which may hold spaces and parentheses.
    let rest = &text[text.rfind(')')? + 1..];
    rest.split_ascii_whitespace().nth(36)?.parse().ok()
}

/// State letter of a process, from its `stat` line.
pub fn state_of_stat(text: &str) -> Option<char> {
    text[text.rfind(')')? + 1..].trim_start().chars().next()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_of_a_6_12_task() {
        let text = "init (77, #threads: 5)\n\
            -------------------------------------------------------------------\n\
            se.exec_start                                :         12345.678901\n\
            sum_block_runtime                            :            12.500000\n\
            iowait_count                                 :                   17\n\
            nr_switches                                  :                  123\n\
            mm->numa_scan_seq                            :                    4\n\
            numa_pages_migrated                          :                  321\n\
            numa_preferred_nid                           :                    2\n\
            total_numa_faults                            :                 6789\n\
            current_node=2, numa_group_id=61\n\
            numa_faults node=0 task_private=3 task_shared=4 group_private=9 group_shared=9\n\
            numa_faults node=2 task_private=100 task_shared=0 group_private=300 group_shared=0\n";
        let t = parse(text);
        assert_eq!((t.preferred_nid, t.total_numa_faults, t.pages_migrated), (2, 6789, 321));
        assert_eq!((t.group, t.scan_seq, t.block_ns, t.page_waits), (61, 4, 12_500_000, 17));
        assert_eq!(t.node_faults, vec![(0, 7), (2, 100)]);
        assert_eq!(parse("numa_preferred_nid : -1\n"), TaskSched::default());
    }

    #[test]
    fn cpu_and_state_of_a_stat_line_with_a_hostile_name() {
        let mut line = String::from("12 (a) b (c)) R 1");
        for i in 5..=52 {
            line.push_str(&format!(" {i}"));
        }
        assert_eq!(cpu_of_stat(&line), Some(39));
        assert_eq!(state_of_stat(&line), Some('R'));
        assert_eq!(cpu_of_stat("12 (x) Z"), None);
    }
}
