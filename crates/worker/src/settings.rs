//! Settings of the running system: a run makes them and undoes them at its end.
//!
//! Every file is read before it is first written. Its value is restored in reverse order when the run is over: at the
//! regular end, on an error, on a panic, and on a signal that ends the run ([`crate::sys::stop_signal`]). In a guest
//! (process 1) nothing is restored, because the guest is powered off.

use crate::job::{Job, Knob};
use crate::knob;
use numalab_job::setting::{Problem, SettingError};
use numalab_nouns::record::EffectiveTunable;
use numalab_nouns::workload::{Op, Policy};
use std::fs;
use std::path::{Path, PathBuf};

/// Folder of the system-wide weights of weighted interleaving, one file per node (Linux 6.9 and later).
pub const WEIGHTS: &str = "/sys/kernel/mm/mempolicy/weighted_interleave";

/// Folder of the nodes, which have the pools of hugetlb pages.
pub const NODES: &str = "/sys/devices/system/node";

/// File of a node's pool of hugetlb pages of 2 MiB.
const POOL: &str = "hugepages/hugepages-2048kB/nr_hugepages";
const HUGE_BYTES: u64 = 2 << 20;

/// Settings made so far. Dropping it undoes them.
#[derive(Debug, Default)]
pub struct Settings {
    /// Files and their previous values, in the order of writing.
    before: Vec<(PathBuf, String)>,
}

impl Settings {
    /// Sets the knobs of a job and returns the kernel's values. A knob that is not required and cannot be set becomes a
    /// warning. A knob that is only reported is left out if the kernel lacks it.
    ///
    /// # Errors
    /// A required knob that the kernel lacks, refuses or changes.
    pub fn knobs(&mut self, knobs: &[Knob], warnings: &mut Vec<String>) -> Result<Vec<EffectiveTunable>, SettingError> {
        let mut tunables = Vec::new();
        for knob in knobs {
            match self.knob(knob) {
                Ok(effective) => tunables.push(effective),
                // A knob without a value is only reported; this kernel may lack it.
                Err(_) if knob.value.is_empty() => {}
                Err(e) if !knob.required => warnings.push(format!("not set: {e}")),
                Err(e) => return Err(e),
            }
        }
        Ok(tunables)
    }

    /// Sets a knob, unless its value is empty, and returns the kernel's value.
    fn knob(&mut self, knob: &Knob) -> Result<EffectiveTunable, SettingError> {
        let wrong = |problem| SettingError { name: knob.kernel_name.clone(), problem };
        let path = knob::path(&knob.kernel_name).ok_or_else(|| wrong(Problem::NoName))?;
        let text = || {
            fs::read_to_string(&path).map_err(|e| match e.kind() {
                std::io::ErrorKind::NotFound => wrong(missing(&path)),
                _ => wrong(Problem::Unreadable(e.to_string())),
            })
        };
        let (shown, value) = (text()?, knob.value.clone());
        if !value.is_empty() {
            fs::write(&path, &value).map_err(|e| {
                let shown = shown.trim().to_string();
                wrong(Problem::Refused { value: value.clone(), reason: e.to_string(), shown })
            })?;
            self.before.push((path.clone(), knob::value_of(&shown)));
        }
        let now = knob::value_of(&text()?);
        if !value.is_empty() && now != value {
            return Err(wrong(Problem::Changed { value, now }));
        }
        Ok(EffectiveTunable {
            name: knob.name.clone(),
            value: now,
            unit: knob.unit.clone(),
            kernel_name: knob.kernel_name.clone(),
        })
    }

    /// Sets the interleave weights of the job's policies; `directory` is [`WEIGHTS`].
    ///
    /// # Errors
    /// A node that the job does not map, a kernel without these weights, or a weight that it refuses.
    pub fn weights(&mut self, job: &Job, directory: &Path) -> Result<(), String> {
        // Since 6.16 the kernel derives the weights itself until one is written. This setting is restored last.
        let auto = directory.join("auto");
        let mut derived = read(&auto).ok();
        for (id, weight) in weights_of(job)? {
            let path = directory.join(format!("node{id}"));
            let fail = |e| format!("weighted interleave (Linux 6.9 and later) {}: {e}", path.display());
            let before = read(&path).map_err(fail)?;
            fs::write(&path, weight.to_string()).map_err(fail)?;
            self.before.extend(derived.take().map(|d| (auto.clone(), d)));
            self.before.push((path, before));
        }
        Ok(())
    }

    /// Sets aside, on each node with a pool, the hugetlb pages that the job's regions need beside those that are there;
    /// `directory` is [`NODES`].
    ///
    /// # Errors
    /// A kernel without hugetlb, no right to set pages aside, or a node without room for them.
    pub fn hugetlb(&mut self, job: &Job, directory: &Path) -> Result<(), String> {
        let regions = job.workload.processes.iter().flat_map(|p| &p.regions);
        let pages = regions.map(|r| r.pool_bytes / HUGE_BYTES).sum::<u64>();
        let pools = job.node_ids.iter().map(|id| directory.join(format!("node{id}")).join(POOL));
        // A node without memory has no pool.
        let pools: Vec<PathBuf> = pools.filter(|p| pages > 0 && p.exists()).collect();
        if pages > 0 && pools.is_empty() {
            return Err("hugetlb regions: no node has a pool of 2 MiB pages; this kernel lacks CONFIG_HUGETLBFS".into());
        }
        for path in pools {
            let fail = |e: &dyn std::fmt::Display| format!("{pages} hugetlb pages in {}: {e}", path.display());
            let count = || -> Result<u64, String> {
                read(&path).map_err(|e| fail(&e))?.parse().map_err(|e: std::num::ParseIntError| fail(&e))
            };
            let before = count()?;
            fs::write(&path, (before + pages).to_string()).map_err(|e| fail(&e))?;
            self.before.push((path.clone(), before.to_string()));
            let now = count()?;
            if now < before + pages {
                let got = now.saturating_sub(before);
                return Err(fail(&format!("the node has room for {got}; free memory, or smaller regions")));
            }
        }
        Ok(())
    }

    /// Restores the previous values; returns a line for each file that could not be written.
    pub fn restore(&mut self) -> Vec<String> {
        let mut lost = Vec::new();
        if std::process::id() == 1 {
            return lost;
        }
        for (path, before) in self.before.drain(..).rev() {
            if let Err(e) = fs::write(&path, &before) {
                lost.push(format!("{} is not back at `{before}`: {e}", path.display()));
            }
        }
        lost
    }
}

impl Drop for Settings {
    fn drop(&mut self) {
        for line in self.restore() {
            crate::say(&format!("numalab-worker: {line}"));
        }
    }
}

/// Value in a file of the kernel.
fn read(path: &Path) -> std::io::Result<String> {
    fs::read_to_string(path).map(|t| knob::value_of(&t))
}

/// Node ids of the running system and their weights, from every policy of the job.
fn weights_of(job: &Job) -> Result<Vec<(u32, u32)>, String> {
    let mut policies: Vec<&Policy> = Vec::new();
    for process in &job.workload.processes {
        policies.extend(process.regions.iter().flat_map(|r| r.policy.iter().chain(&r.huge_policy)));
        let ops = process.prologue.iter().chain(process.threads.iter().flat_map(|t| t.ops.iter()));
        policies.extend(ops.filter_map(|o| if let Op::SetPolicy(p) = o { Some(p) } else { None }));
    }
    let mut out = Vec::new();
    for policy in policies {
        for (node, &weight) in policy.nodes.iter().zip(&policy.weights) {
            let id = job.node_ids.get(*node as usize).ok_or_else(|| format!("policy names node {node}"))?;
            out.push((*id, weight.into()));
        }
    }
    Ok(out)
}

/// What there is in place of a file that is missing.
fn missing(path: &Path) -> Problem {
    let folder = path.ancestors().skip(1).find(|f| f.is_dir()).unwrap_or(Path::new("/"));
    let files = fs::read_dir(folder).into_iter().flatten().filter_map(Result::ok);
    let mut has: Vec<String> = files.map(|f| f.file_name().to_string_lossy().into_owned()).collect();
    has.sort_unstable();
    Problem::NoFile { folder: folder.display().to_string(), own_folder: path.parent() == Some(folder), has }
}

#[cfg(test)]
mod tests {
    use super::*;
    use numalab_job::samples::{job, process, region};
    use numalab_nouns::workload::PolicyMode;

    /// A directory of one test; dropping it removes it.
    struct Files(PathBuf);

    impl Files {
        fn new(name: &str, files: &[(&str, &str)]) -> Self {
            let directory = std::env::temp_dir().join(format!("numalab-{name}-{}", std::process::id()));
            fs::create_dir_all(&directory).unwrap();
            files.iter().for_each(|(file, text)| fs::write(directory.join(file), text).unwrap());
            Self(directory)
        }
        fn text(&self, file: &str) -> String {
            fs::read_to_string(self.0.join(file)).unwrap()
        }
        fn knob(&self, file: &str, required: bool) -> Knob {
            let kernel_name = self.0.join(file).to_string_lossy().into_owned();
            Knob { name: "a.b".into(), kernel_name, value: "7".into(), unit: "ms".into(), required }
        }
    }

    impl Drop for Files {
        fn drop(&mut self) {
            fs::remove_dir_all(&self.0).unwrap();
        }
    }

    #[test]
    fn knobs_are_set_checked_and_undone() {
        let files = Files::new("knobs", &[("x", "5\n"), ("y", "always [madvise] never\n")]);
        let mut settings = Settings::default();
        let mut warnings = Vec::new();
        let knobs = [files.knob("x", true), files.knob("y", true), files.knob("none/at/all", false)];
        let set = settings.knobs(&knobs, &mut warnings).unwrap();
        assert_eq!(set.iter().map(|t| t.value.as_str()).collect::<Vec<_>>(), ["7", "7"]);
        assert!(warnings.len() == 1 && warnings[0].contains("none/at/all"), "{warnings:?}");
        assert_eq!(settings.restore(), Vec::<String>::new());
        assert_eq!((files.text("x").as_str(), files.text("y").as_str()), ("5", "madvise"));
    }

    #[test]
    fn a_refused_knob_undoes_those_before_it() {
        let files = Files::new("refused", &[("x", "5\n")]);
        let mut settings = Settings::default();
        let knobs = [files.knob("x", true), files.knob("none/at/all", true)];
        let error = settings.knobs(&knobs, &mut Vec::new()).unwrap_err();
        let Problem::NoFile { own_folder: false, has, .. } = &error.problem else { panic!("{error}") };
        assert!(error.name.ends_with("none/at/all") && has == &["x"], "{error}");
        let Err(SettingError { problem: Problem::NoFile { own_folder: true, .. }, .. }) =
            settings.knobs(&[files.knob("y", true)], &mut Vec::new())
        else {
            panic!("a missing file of a folder that is there")
        };
        assert_eq!(files.text("x"), "7");
        drop(settings);
        assert_eq!(files.text("x"), "5");
    }

    /// A job on nodes 0 and 4 whose region is interleaved by the weights 3 and 9.
    fn weighted() -> Job {
        let mut r = region("r", 8192);
        let mode = PolicyMode::WeightedInterleave;
        r.policy = Some(Policy { mode, nodes: vec![0, 1], weights: vec![3, 9], numa_balancing: false });
        let mut j = job(vec![process("a", vec![r], vec![])]);
        (j.cpu_ids, j.cpu_nodes, j.node_ids) = (vec![0, 1], vec![0, 1], vec![0, 4]);
        j
    }

    #[test]
    fn interleave_weights_and_their_derivation_are_restored() {
        let files = Files::new("weights", &[("node0", "1\n"), ("node4", "2\n"), ("auto", "true\n")]);
        let mut settings = Settings::default();
        settings.weights(&weighted(), &files.0).unwrap();
        assert_eq!((files.text("node0").as_str(), files.text("node4").as_str()), ("3", "9"));
        assert_eq!(settings.before[0].0, files.0.join("auto"), "undone last, because a weight turns it off");
        // The kernel does this when a weight is written.
        fs::write(files.0.join("auto"), "false\n").unwrap();
        drop(settings);
        let now = ["node0", "node4", "auto"].map(|f| files.text(f));
        assert_eq!(now, ["1", "2", "true"]);
    }

    /// A job on nodes 0 and 4 whose region needs three hugetlb pages on each.
    fn pooled() -> Job {
        let mut j = weighted();
        j.workload.processes[0].regions[0].policy = None;
        j.workload.processes[0].regions[0].pool_bytes = 3 * HUGE_BYTES;
        j
    }

    #[test]
    fn hugetlb_pages_are_set_aside_beside_those_that_are_there_and_given_back() {
        let files = Files::new("pools", &[]);
        let e = Settings::default().hugetlb(&pooled(), &files.0).unwrap_err();
        assert!(e.contains("CONFIG_HUGETLBFS"), "{e}");
        let pool = |node: u32| format!("node{node}/{POOL}");
        for node in [0, 4] {
            fs::create_dir_all(files.0.join(pool(node)).parent().unwrap()).unwrap();
            fs::write(files.0.join(pool(node)), "7\n").unwrap();
        }
        let mut settings = Settings::default();
        settings.hugetlb(&pooled(), &files.0).unwrap();
        assert_eq!((files.text(&pool(0)).as_str(), files.text(&pool(4)).as_str()), ("10", "10"));
        drop(settings);
        assert_eq!((files.text(&pool(0)).as_str(), files.text(&pool(4)).as_str()), ("7", "7"));
        // A job without such regions writes nothing.
        Settings::default().hugetlb(&weighted(), Path::new("/none")).unwrap();
    }

    #[test]
    fn a_weight_that_cannot_be_set_undoes_those_before_it() {
        let files = Files::new("weightless", &[("node0", "1\n")]);
        let mut settings = Settings::default();
        let e = settings.weights(&weighted(), &files.0).unwrap_err();
        assert!(e.contains("node4") && e.contains("6.9"), "{e}");
        drop(settings);
        assert_eq!(files.text("node0"), "1");
    }
}
