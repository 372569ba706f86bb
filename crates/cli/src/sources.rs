//! The names of an experiment, resolved with the catalog.

use crate::context::{Context, HOST};
use crate::failure::Failure;
use crate::real_kernels;
use numalab_accesses::histograms;
use numalab_kernel::mm::thp::Locality;
use numalab_kernel::registry;
use numalab_kernel::sched::{Domains, SchedConfig};
use numalab_model::catalog::{is_path, Catalog, File, Kind};
use numalab_model::counters;
use numalab_model::experiment::Sources;
use numalab_model::files::input;
use numalab_model::kernel::{self, Kernel, Lookup, Setting};
use numalab_model::machine::{self, Machine};
use numalab_model::plan::SourceFile;
use numalab_model::spec::{SpecError, Spot};
use numalab_model::workload::{self, Workload, WorkloadSpec};
use std::cell::RefCell;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Loads a machine by catalog name, shorthand or path; `host` is this host.
///
/// # Errors
/// The machine is unknown, unreadable or invalid.
pub fn machine(context: &Context, name: &Spot<String>) -> Result<Machine, SpecError> {
    context.read_host(&name.value)?;
    let names: Vec<&str> = context.catalog.names(Kind::Machine).chain([HOST]).collect();
    let find = |n: &str| context.machine_text(n);
    // The loader does not know which option or which line of a file named the machine.
    let place = |e: SpecError| match e.file.as_str() {
        "machine" | "command line" if e.line == 0 => {
            SpecError { file: name.file.clone(), line: name.line, column: name.column, ..e }
        }
        _ => e,
    };
    let machine = machine::load(&name.value, &find, &names).map_err(place)?;
    check_own_name(context, Kind::Machine, name, &machine.name)?;
    Ok(machine)
}

/// Scheduling domains of a machine.
///
/// # Errors
/// Node distances from which no tower of domains follows, although a kernel accepts them.
pub fn domains(machine: &Machine, name: &Spot<String>, config: &SchedConfig) -> Result<Domains, SpecError> {
    Domains::build(machine, config).map_err(|e| {
        let (what, expected) = e.parts();
        name.error(format!("{}: {what}", machine.name), expected)
    })
}

/// Parses a workload by catalog name or path.
///
/// # Errors
/// The workload is unknown, unreadable or invalid, or one of its scores has the name of another figure.
pub fn workload(context: &Context, name: &Spot<String>) -> Result<WorkloadSpec, SpecError> {
    let file = context.catalog.find(Kind::Workload, name)?;
    let spec = with_histograms(workload::parse(&file.label, &file.text)?, name)?;
    check_own_name(context, Kind::Workload, name, spec.name())?;
    spec.score_names().try_for_each(|score| check_score(context, score))?;
    Ok(spec)
}

/// The workload with the histograms that it names, if it is a file of its own. Those of a catalog stand in no folder.
fn with_histograms(spec: WorkloadSpec, name: &Spot<String>) -> Result<WorkloadSpec, SpecError> {
    let Some(file) = spec.histograms_file().cloned().filter(|_| is_path(&name.value)) else { return Ok(spec) };
    let (path, bytes) = histograms_beside(&name.value, &file)?;
    let read = histograms::read(&bytes).map_err(|e| {
        let what = format!("`histograms`: {}: {e}", path.display());
        file.error(what, "the file that `numalab fit --exact` wrote beside the workload; fit the record again")
    })?;
    Ok(spec.with_histograms(read.into()))
}

/// Path and content of a file of histograms, which stands beside the workload at `workload`.
fn histograms_beside(workload: &str, file: &Spot<String>) -> Result<(PathBuf, Vec<u8>), SpecError> {
    let path = Path::new(workload).parent().unwrap_or(Path::new("")).join(&file.value);
    let bytes = input::bytes(&path, histograms::BYTES_MAX).map_err(|e| {
        let expected = "the file that `numalab fit --exact` wrote, beside the workload: copy both, or fit again";
        file.error(format!("`histograms`: {}", e.message()), expected)
    })?;
    Ok((path, bytes))
}

/// Refuses a score with the name of a counter or a derived column. Reports find figures by name, so bounds, selections
/// and formulas could mean either of the two.
fn check_score(context: &Context, score: &Spot<String>) -> Result<(), SpecError> {
    let name = score.value.as_str();
    let taken = if counters::find(name).is_some() {
        "a counter"
    } else if context.columns.iter().any(|c| c.name == name) {
        "a derived column"
    } else {
        return Ok(());
    };
    let what = format!("the score `{name}` has the name of {taken} of every report");
    Err(score.error(what, "another name (`numalab counters` lists those that are taken)"))
}

/// Kernels by name or path, with overrides.
///
/// # Errors
/// See [`kernel::resolve`]; an image or the running kernel, which the simulator cannot run.
pub fn kernels(context: &Context, names: &[Spot<String>], sets: &[Setting]) -> Result<Vec<Kernel>, SpecError> {
    // The catalog may have a kernel of such a name, as `debian-12`.
    let known = |n: &Spot<String>| context.catalog.get(Kind::Kernel, &n.value).is_some();
    if let Some(name) = names.iter().find(|n| real_kernels::is_image(&n.value) && !known(n)) {
        let what = format!("`{}` is the image of a real kernel", name.value);
        return Err(name.error(what, "a kernel of the catalog (`numalab list kernels`), or --backend vm"));
    }
    if let Some(name) = names.iter().find(|n| n.value == real_kernels::HOST && !known(n)) {
        let what = format!("`{}` is the kernel that this machine runs", name.value);
        return Err(name.error(what, "a kernel of the catalog (`numalab list kernels`), or --backend host"));
    }
    kernel::resolve(names, &context.catalog, &context.vocabulary, sets)
}

/// Refuses a catalog file whose `name` differs from its file name.
fn check_own_name(context: &Context, kind: Kind, name: &Spot<String>, own: &str) -> Result<(), SpecError> {
    match context.catalog.get(kind, &name.value) {
        Some(File { label, .. }) if !is_path(&name.value) && name.value != own => {
            let what = format!("`name` is {own:?}");
            Err(SpecError::plain(label, what, format!("{:?}, as the file is called", name.value)))
        }
        _ => Ok(()),
    }
}

/// The catalog as the sources of an experiment. Parsed workloads are kept, since an experiment resolves each of them
/// once per machine and seed.
pub struct CatalogSources<'a> {
    context: &'a Context,
    workloads: Vec<(String, Arc<WorkloadSpec>)>,
}

impl<'a> CatalogSources<'a> {
    /// Parses the workloads that an experiment names.
    ///
    /// # Errors
    /// See [`workload`].
    pub fn new(context: &'a Context, names: &[Spot<String>]) -> Result<Self, Failure> {
        let mut workloads = Vec::new();
        for name in names {
            workloads.push((name.value.clone(), Arc::new(workload(context, name)?)));
        }
        Ok(Self { context, workloads })
    }

    /// Takes workloads that were parsed before, by the names that an experiment gives them.
    pub fn with(context: &'a Context, workloads: Vec<(String, Arc<WorkloadSpec>)>) -> Self {
        Self { context, workloads }
    }

    /// The files that a machine and a kernel are read from.
    ///
    /// # Errors
    /// One of them cannot be found.
    pub fn machine_and_kernel_files(
        &self,
        machine: &Spot<String>,
        kernel: (&Spot<String>, &Kernel),
    ) -> Result<Vec<SourceFile>, SpecError> {
        let mut out = machine_files(self.context, machine)?;
        out.extend(kernel_files(&self.context.catalog, kernel.0, kernel.1)?);
        Ok(out)
    }

    fn spec(&self, name: &Spot<String>) -> Result<&WorkloadSpec, SpecError> {
        let found = self.workloads.iter().find(|w| w.0 == name.value).map(|w| &*w.1);
        found.ok_or_else(|| self.context.catalog.unknown(Kind::Workload, name))
    }
}

impl Sources for CatalogSources<'_> {
    fn machine(&self, name: &Spot<String>) -> Result<Arc<Machine>, SpecError> {
        let machine = machine(self.context, name)?;
        domains(&machine, name, &SchedConfig::default())?;
        Ok(Arc::new(machine))
    }
    fn kernels(&self, names: &[Spot<String>], sets: &[Setting]) -> Result<Vec<Kernel>, SpecError> {
        let kernels = kernels(self.context, names, sets)?;
        for (kernel, name) in kernels.iter().zip(names) {
            let thp = registry::mm_config(kernel).thp;
            if thp.locality == Locality::LadderCustom && thp.ladder.is_none() {
                let set = sets.iter().find(|s| s.name.value == "thp_locality").map_or(name, |s| &s.name);
                let what = format!("`thp_locality` of kernel {} is ladder_custom, which has no list", kernel.name);
                return Err(set.error(what, "a list beside it: --set \"thp.ladder=D0 THP | D1 THP | D0 4k\""));
            }
        }
        Ok(kernels)
    }
    fn params_of(&self, workload: &Spot<String>) -> Result<Vec<String>, SpecError> {
        Ok(self.spec(workload)?.params().iter().map(|p| p.name.clone()).collect())
    }
    fn files(
        &self,
        machine: &Spot<String>,
        kernel: (&Spot<String>, &Kernel),
        workload: &Spot<String>,
    ) -> Result<Vec<SourceFile>, SpecError> {
        let mut out = self.machine_and_kernel_files(machine, kernel)?;
        let catalog = &self.context.catalog;
        let name = self.spec(workload)?.name();
        out.push(source(Kind::Workload.folder(), name, &catalog.find(Kind::Workload, workload)?.text));
        if let Some(file) = self.spec(workload)?.histograms_file().filter(|_| is_path(&workload.value)) {
            let place = format!("{}/{}", Kind::Workload.folder(), histograms::name_of(&file.value));
            out.push(SourceFile { place, bytes: histograms_beside(&workload.value, file)?.1.into() });
        }
        Ok(out)
    }
    fn workload(
        &self,
        name: &Spot<String>,
        machine: &Machine,
        seed: u64,
        settings: &[Setting],
    ) -> Result<Workload, SpecError> {
        let params: Vec<(String, String)> = settings.iter().map(|p| (p.name.value.clone(), p.value.clone())).collect();
        self.spec(name)?.resolve(machine, seed, &params).map_err(|e| placed(e, settings))
    }
}

/// The files that a machine is read from: its own, those it extends, and its cost class. A shorthand has none.
fn machine_files(context: &Context, name: &Spot<String>) -> Result<Vec<SourceFile>, SpecError> {
    let found = RefCell::new(Vec::new());
    let find = |n: &str| {
        let (label, text) = context.machine_text(n)?;
        // Cost classes are asked for with their folder.
        let place = if n.starts_with("classes/") { n.to_string() } else { machine::file_name(n) };
        found.borrow_mut().push(source(Kind::Machine.folder(), &place, &text));
        Some((label, text))
    };
    let own = machine::load(&name.value, &find, &[])?.name;
    let mut out = found.take();
    if is_path(&name.value) {
        out.push(source(Kind::Machine.folder(), &own, &context.catalog.find(Kind::Machine, name)?.text));
    }
    Ok(out)
}

/// The files that a kernel is read from: its own, those it extends, by name or by path, and the table of releases if
/// one of these is a release. For an image, they are the files of the catalog kernels that describe its settings.
fn kernel_files(catalog: &Catalog, name: &Spot<String>, kernel: &Kernel) -> Result<Vec<SourceFile>, SpecError> {
    let text = |file: &File| source(Kind::Kernel.folder(), &file.name, &file.text);
    let mut out = Vec::new();
    let known = catalog.names(Kind::Kernel).any(|k| k == name.value);
    if !known && (real_kernels::is_image(&name.value) || name.value == real_kernels::HOST) {
        out.extend(kernel.chain.iter().filter_map(|n| catalog.get(Kind::Kernel, n)).map(text));
    } else {
        let mut next = Some(name.value.clone());
        while let Some(name) = next {
            out.extend(catalog.kernel_file(&name)?.map(|file| text(&file)));
            let spec = catalog.kernel_spec(&name)?;
            next = spec.and_then(|s| s.alias_of.or(s.extends)).map(|s| s.value);
        }
    }
    if kernel.chain.iter().any(|name| catalog.release(name).is_some()) {
        let (place, text) = catalog.release_table()?;
        out.push(SourceFile { place: place.into(), bytes: text.as_bytes().into() });
    }
    Ok(out)
}

/// A source file under its place in a catalog.
fn source(folder: &str, name: &str, text: &str) -> SourceFile {
    SourceFile { place: format!("{folder}/{name}.toml"), bytes: text.as_bytes().into() }
}

/// Adds to an error about a parameter where the parameter was set. The workload does not know the place; the settings
/// do.
fn placed(e: SpecError, settings: &[Setting]) -> SpecError {
    let about = |s: &&Setting| e.what.starts_with(&format!("parameter `{}`", s.name.value));
    match settings.iter().find(about).filter(|_| e.file == "command line") {
        Some(Setting { name, .. }) => SpecError { file: name.file.clone(), line: name.line, column: name.column, ..e },
        None => e,
    }
}
