//! On which nodes a program's pages lie at its end.

use numalab_model::record::{Outcome, Series};

/// Pages of the workload on each node at the end of each process: the kernel's own placement if it was read, else the
/// last sample of the process that has pages.
pub fn pages_on_nodes(o: &Outcome) -> Vec<(String, f64)> {
    let find = |name: &str| o.series.iter().find(|s| s.name == name);
    let Some(series) = find("placement").or_else(|| find("process_pages")) else { return Vec::new() };
    let mut sums: Vec<(String, f64)> = Vec::new();
    for (node, last) in last_by_node(series) {
        let name = format!("pages on {node}");
        match sums.iter_mut().find(|s| s.0 == name) {
            Some(s) => s.1 += last,
            None => sums.push((name, last)),
        }
    }
    sums.sort_by(|a, b| a.0.cmp(&b.0));
    sums
}

/// Pages of the workload at the end, with the fullest node first, since chance decides which node that is.
pub fn by_fullness(o: &Outcome) -> Vec<(String, f64)> {
    let mut pages: Vec<f64> = pages_on_nodes(o).into_iter().map(|p| p.1).collect();
    pages.sort_by(|a, b| b.total_cmp(a));
    pages.into_iter().enumerate().map(|(i, p)| (format!("{}", i + 1), p)).collect()
}

/// Node and last value of every column that counts pages on a node. The columns of one owner (a process, or a region of
/// one) are adjacent. They are read at the last sample in which one of them has pages, since an ended process has none.
fn last_by_node(series: &Series) -> Vec<(&str, f64)> {
    let of_nodes = series.columns.iter().zip(&series.values).filter_map(|(name, values)| {
        let (owner, node) = name.rsplit_once('/').filter(|n| n.1.starts_with("node"))?;
        Some((owner, node, values))
    });
    let columns: Vec<_> = of_nodes.collect();
    let at_end = |of_owner: &[(&str, &str, &Vec<f64>)]| -> Vec<f64> {
        let last = of_owner.iter().filter_map(|(.., v)| v.iter().rposition(|pages| *pages > 0.0)).max();
        of_owner.iter().map(|(.., v)| last.and_then(|i| v.get(i)).map_or(0.0, |pages| *pages)).collect()
    };
    let values = columns.chunk_by(|a, b| a.0 == b.0).flat_map(at_end);
    columns.iter().map(|c| c.1).zip(values).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_are_summed_over_processes_and_regions() {
        let series = Series {
            name: "placement".into(),
            columns: ["a/x/node0", "a/x/absent", "b/x/node0", "b/x/node1"].map(String::from).to_vec(),
            values: vec![vec![1.0], vec![9.0], vec![2.0], vec![4.0]],
            ..Series::default()
        };
        let o = Outcome { series: vec![series], ..Outcome::default() };
        assert_eq!(pages_on_nodes(&o), [("pages on node0".to_string(), 3.0), ("pages on node1".into(), 4.0)]);
    }

    /// A worker counts the pages of a process when that process ends. The last sample of a run has only the pages of
    /// the last process.
    #[test]
    fn pages_of_a_process_that_ends_early_count() {
        let series = Series {
            name: "process_pages".into(),
            columns: ["first/node0", "first/node1", "last/node0", "last/node1", "idle/node0"]
                .map(String::from)
                .to_vec(),
            values: vec![
                vec![8.0, 3.0, 0.0, 0.0],
                vec![0.0, 5.0, 0.0, 0.0],
                vec![2.0, 2.0, 2.0, 0.0],
                vec![0.0, 0.0, 0.0, 2.0],
                vec![0.0, 0.0, 0.0, 0.0],
            ],
            ..Series::default()
        };
        let o = Outcome { series: vec![series], ..Outcome::default() };
        assert_eq!(pages_on_nodes(&o), [("pages on node0".to_string(), 3.0), ("pages on node1".into(), 7.0)]);
        assert_eq!(by_fullness(&o), [("1".to_string(), 7.0), ("2".into(), 3.0)]);
    }
}
