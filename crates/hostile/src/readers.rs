//! The readers: each with the inputs it starts from and its budget.

use crate::budget::Budget;
use crate::{files, samples, texts};
use std::path::{Path, PathBuf};

/// Where inputs of a reader come from.
#[derive(Clone, Copy, Debug)]
pub enum Seed {
    /// All files of a folder of the project.
    Folder(&'static str),
    /// A file of the project.
    File(&'static str),
    /// A text.
    Text(&'static str),
    /// Bytes that are made.
    Made(fn() -> Vec<u8>),
}

/// Something that reads bytes of strangers.
#[derive(Clone, Copy, Debug)]
pub struct Reader {
    /// Its name, as `make fuzz READER=…` takes it.
    pub name: &'static str,
    /// Reads an input, and keeps nothing of it. It may refuse, and must not panic.
    pub read: fn(&[u8]),
    /// What an input may cost.
    pub budget: Budget,
    seeds: &'static [Seed],
}

/// What most readers may cost.
const SMALL: Budget = Budget { base_ms: 100, base_mib: 8 };
/// Readers that build as much as a limit of theirs allows: machines of 8,192 CPUs, workloads of 100,000 threads.
const LIMITED: Budget = Budget { base_ms: 3_000, base_mib: 768 };

const fn reader(name: &'static str, read: fn(&[u8]), budget: Budget, seeds: &'static [Seed]) -> Reader {
    Reader { name, read, budget, seeds }
}

/// All readers.
pub const READERS: &[Reader] = &[
    reader("experiment", texts::experiment, SMALL, &[Seed::Folder("catalog/experiments"), Seed::Folder("bench")]),
    reader("machine", texts::machine, LIMITED, &[Seed::Folder("catalog/machines"), Seed::Folder("bench/machines")]),
    reader("shorthand", texts::shorthand, LIMITED, &[Seed::Text("2x1x4x2"), Seed::Text("8x1x1x1")]),
    reader(
        "import",
        texts::import,
        LIMITED,
        &[Seed::Folder("crates/model/tests/data"), Seed::Folder("crates/hostile/seeds/import")],
    ),
    reader("workload", texts::workload, LIMITED, &[Seed::Folder("catalog/workloads"), Seed::Folder("bench/workloads")]),
    reader("param", texts::param, LIMITED, &[Seed::Text("64MiB"), Seed::Text("max(4, cpus // 8) * 1MiB")]),
    reader("kernel", texts::kernel, SMALL, &[Seed::Folder("catalog/kernels")]),
    reader("series", texts::series, SMALL, &[Seed::Folder("crates/hostile/seeds/series")]),
    reader("releases", texts::releases, SMALL, &[Seed::File("catalog/releases.toml")]),
    reader("published", texts::published, SMALL, &[Seed::Folder("catalog/published")]),
    reader("columns", texts::columns, SMALL, &[Seed::File("catalog/columns.toml")]),
    reader("trust", texts::trust, SMALL, &[Seed::File("catalog/trust.toml")]),
    reader(
        "expression",
        texts::expression,
        SMALL,
        &[Seed::Text("min(llc_total, memory_bytes / 8)"), Seed::Text("1.5 * 2GiB")],
    ),
    reader("set", texts::set, SMALL, &[Seed::Text("system.thp=never"), Seed::Text("vma_filter=off")]),
    reader("fail-if", texts::fail_if, SMALL, &[Seed::Text("elapsed > +10 %"), Seed::Text("numa_pages_migrated > 2x")]),
    reader("numactl", texts::numactl, SMALL, &[Seed::Text("--interleave=all"), Seed::Text("-N 0-3,8 -m 0")]),
    reader("size", texts::size, SMALL, &[Seed::Text("1.5GiB")]),
    reader("cpulist", texts::cpulist, SMALL, &[Seed::Text("0-3,8,10-30:2/4")]),
    reader("uname", texts::uname, SMALL, &[Seed::Text("6.8.0-45-generic"), Seed::Text("5.14.0-427.13.1.el9_4.x86_64")]),
    reader("procfs", texts::procfs, SMALL, &[Seed::Folder("crates/hostile/seeds/procfs")]),
    reader("metric", texts::metric, SMALL, &[Seed::Folder("crates/hostile/seeds/metric")]),
    reader("image", texts::image, SMALL, &[Seed::Text("debian-6.12"), Seed::Text("test=source:6.12+patch:a.patch")]),
    reader("plugin-report", texts::plugin_report, SMALL, &[Seed::Folder("crates/hostile/seeds/plugin-report")]),
    reader("channel", texts::channel, SMALL, &[Seed::Made(samples::frames)]),
    reader("job", texts::job, SMALL, &[Seed::Made(samples::job)]),
    reader("record", files::record, SMALL, &[Seed::Folder("crates/hostile/seeds/record")]),
    reader("index", files::index, SMALL, &[Seed::Folder("crates/hostile/seeds/index")]),
    reader("events", files::events, SMALL, &[Seed::Folder("crates/hostile/seeds/events")]),
    reader("state", files::state, SMALL, &[Seed::Folder("crates/hostile/seeds/state")]),
    reader("vmstat", files::vmstat, SMALL, &[Seed::Folder("crates/hostile/seeds/vmstat")]),
    reader("deb", files::deb, LIMITED, &[Seed::Made(samples::deb)]),
    reader("accesses", files::accesses, LIMITED, &[Seed::Made(samples::accesses)]),
    reader("histograms", files::histograms, SMALL, &[Seed::Made(samples::histograms)]),
];

/// The folder of the project.
fn project() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Regular files of a folder, by name.
fn regular_files(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut files: Vec<PathBuf> = entries.map(|e| e.path()).filter(|p| p.is_file()).collect();
    files.sort();
    files
}

impl Reader {
    /// The reader of that name.
    pub fn named(name: &str) -> Option<&'static Self> {
        READERS.iter().find(|r| r.name == name)
    }

    /// The inputs that changes begin with.
    pub fn seeds(&self) -> Vec<Vec<u8>> {
        let read = |p: PathBuf| std::fs::read(p).unwrap_or_default();
        let each = |seed: &Seed| match *seed {
            Seed::Folder(name) => regular_files(&project().join(name)).into_iter().map(read).collect(),
            Seed::File(name) => vec![read(project().join(name))],
            Seed::Text(text) => vec![text.as_bytes().to_vec()],
            Seed::Made(make) => vec![make()],
        };
        self.seeds.iter().flat_map(each).collect()
    }

    /// Inputs that broke it once: name and contents of the files in `found/` with its name.
    pub fn found(&self) -> Vec<(String, Vec<u8>)> {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("found").join(self.name);
        let name = |p: &Path| p.file_name().unwrap_or_default().to_string_lossy().into_owned();
        regular_files(&folder).into_iter().map(|p| (name(&p), std::fs::read(p).unwrap_or_default())).collect()
    }
}
