//! `numalab machine import`: a machine file from this host or from what another tool says about a machine.

use crate::failure::{note, Failure};
use crate::options;
use numalab_model::machine::import::{self, Wish};
use numalab_model::machine::{self, MemoryKind};
use numalab_model::spec::{nearest, Spot};
use std::path::{Path, PathBuf};

/// Arguments of `machine import`.
#[derive(Debug, clap::Args)]
pub struct Import {
    #[command(flatten)]
    source: Source,
    /// Name of the new machine [default: host with --host, else imported]
    #[arg(long)]
    name: Option<String>,
    /// What nodes without CPUs hold, as NODE=KIND: dram, hbm, gpu, optane or cxl
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = memory_kind)]
    memory_kind: Vec<(u32, MemoryKind)>,
}

#[derive(Debug, clap::Args)]
#[group(required = true, multiple = false)]
struct Source {
    /// What describes the machine: the output of `numactl -H`, `lscpu`, `lstopo` or `likwid-topology`, an hwloc XML, a
    /// copy of /sys as a folder or a tarball; `-` reads standard input. Further files add to the first, also those of
    /// numastat, dmidecode, turbostat, perf mem and /proc/zoneinfo
    #[arg(value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Import this host
    #[arg(long)]
    host: bool,
    /// Import a copy of another host's sysfs: the folder with sys/devices/system or devices/system in it
    #[arg(long, value_name = "DIR")]
    sysfs: Option<PathBuf>,
    /// Import an XML export of hwloc, version 2 or 3
    #[arg(long, value_name = "FILE")]
    hwloc: Option<PathBuf>,
    /// Import the output of `numactl -H`
    #[arg(long, value_name = "FILE")]
    numactl: Option<PathBuf>,
}

impl Import {
    /// The machine file. Where what was read disagrees with itself, standard error says so.
    ///
    /// # Errors
    /// A name that is none, a source that cannot be read or describes no machine, a kind for a node that is not there.
    pub fn toml(&self) -> Result<String, Failure> {
        if let Some(name) = &self.name {
            machine::check_name(&Spot { value: name.clone(), file: "--name".into(), line: 0, column: 0 })?;
        }
        let source = &self.source;
        let name = self.name.as_deref().unwrap_or(if source.host { "host" } else { "imported" });
        let wish = Wish { name, kinds: &self.memory_kind };
        let place = |file: &Path| file.display().to_string();
        let toml = if let Some(dir) = &source.sysfs {
            import::sysfs(dir, wish)
        } else if let Some(file) = &source.hwloc {
            import::hwloc_xml(&place(file), &options::read(file)?, wish)
        } else if let Some(file) = &source.numactl {
            import::numactl(&place(file), &options::read(file)?, wish)
        } else {
            match &source.files[..] {
                [] => import::sysfs(Path::new("/"), wish),
                [file] if file.as_os_str() == "-" => import::standard_input(wish),
                files => import::paths(files, wish),
            }
        };
        let toml = toml?;
        let machine = machine::from_toml(name, &toml)?;
        machine.warnings.iter().filter(|w| w.starts_with(machine::DOUBT)).for_each(|w| note(w));
        Ok(toml)
    }
}

/// Reads `2=hbm`.
fn memory_kind(text: &str) -> Result<(u32, MemoryKind), String> {
    let expected = || format!("NODE=KIND, such as 2=hbm; kinds are {}", MemoryKind::WORDS.join(", "));
    let (node, word) = text.split_once('=').ok_or_else(expected)?;
    let node = node.trim().parse().map_err(|_| expected())?;
    let kind = MemoryKind::parse(word.trim()).ok_or_else(|| match nearest(word, MemoryKind::WORDS) {
        Some(near) => format!("{}; did you mean `{near}`?", expected()),
        None => expected(),
    })?;
    Ok((node, kind))
}
