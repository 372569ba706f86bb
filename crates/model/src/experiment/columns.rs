//! The columns of an experiment with their kernels resolved.

use super::axes::Column;
use super::instances::Instances;
use super::numactl::Numactl;
use super::{unique, Experiment, Sources};
use crate::kernel::{Kernel, Setting};
use crate::plan::{
    Backend, PlanInput, END, EXACT, INSTANCES, MACHINE, NUMACTL, PAGES, PARAMS, QUIET, SETTLED, WORKLOAD,
};
use crate::spec::{SpecError, Spot};
use crate::workload::Workload;
use std::sync::Arc;

/// A column with its kernel resolved.
pub(super) struct Resolved<'a> {
    /// The kernel as the experiment names it.
    pub source: &'a Spot<String>,
    /// The kernel, under the name of the column.
    pub kernel: Arc<Kernel>,
    /// How the workload is started.
    pub numactl: Option<&'a Numactl>,
    /// How many instances of it run, if several do.
    pub instances: Option<&'a Instances>,
    /// Parameters of its own.
    pub params: &'a [Setting],
}

/// A column as written: a kernel of the list, or a column of its own.
#[derive(Clone, Copy)]
struct Written<'a> {
    kernel: &'a Spot<String>,
    column: Option<&'a Column>,
}

impl Experiment {
    /// Names of the columns as written: the kernels of the list, then the columns of their own.
    pub fn column_names(&self) -> impl Iterator<Item = &Spot<String>> {
        self.kernels.iter().chain(self.axes.columns.iter().map(|c| &c.name))
    }

    /// Every kernel that the experiment names, each once.
    pub fn kernel_sources(&self) -> Vec<Spot<String>> {
        let mut out: Vec<Spot<String>> = Vec::new();
        for name in self.kernels.iter().chain(self.axes.columns.iter().map(|c| &c.kernel)) {
            if !out.iter().any(|o| o.value == name.value) {
                out.push(name.clone());
            }
        }
        out
    }

    /// Every workload of the catalog, or path of a file, that the experiment names, each once.
    pub fn workload_sources(&self) -> Vec<Spot<String>> {
        let mut out: Vec<Spot<String>> = Vec::new();
        for name in self.workloads.iter().map(|w| self.source_of(w)) {
            if !out.iter().any(|o| o.value == name.value) {
                out.push(name.clone());
            }
        }
        out
    }

    /// The workload of the catalog that a name in this experiment stands for.
    pub fn source_of<'a>(&'a self, workload: &'a Spot<String>) -> &'a Spot<String> {
        self.axes.workloads.iter().find(|n| n.name.value == workload.value).map_or(workload, |n| &n.of)
    }

    /// The settings of a kernel, column or workload.
    fn scoped(&self, name: &str) -> Vec<Setting> {
        self.axes.sets.iter().filter(|s| s.0.value == name).flat_map(|s| s.1.clone()).collect()
    }

    /// The columns for each workload.
    ///
    /// # Errors
    /// A wrong kernel or setting, a setting of a column that its kernel never reads, or two columns of one name.
    pub(super) fn kernels_by_workload(&self, sources: &dyn Sources) -> Result<Vec<Vec<Resolved<'_>>>, SpecError> {
        let plain = self.columns(sources, &[])?;
        let names: Vec<String> = plain.iter().map(|c| c.kernel.name.clone()).collect();
        for (i, name) in self.column_names().enumerate() {
            unique(name, &names[i], names[..i].iter().map(String::as_str))?;
        }
        let mut out = Vec::new();
        for workload in &self.workloads {
            let own = self.scoped(&workload.value);
            let mut columns = self.columns(sources, &own)?;
            // The settings of a workload hold for all of its columns, so they are no part of a column's name.
            for (column, name) in columns.iter_mut().zip(&names).filter(|_| !own.is_empty()) {
                let mut kernel = Kernel::clone(&column.kernel);
                kernel.name.clone_from(name);
                let list: Vec<String> = own.iter().map(|s| format!("{} = {}", s.name.value, s.value)).collect();
                kernel.warnings.push(format!("on {} with {}", workload.value, list.join(", ")));
                column.kernel = Arc::new(kernel);
            }
            out.push(columns);
        }
        Ok(out)
    }

    /// All columns under the settings `more` besides their own.
    fn columns(&self, sources: &dyn Sources, more: &[Setting]) -> Result<Vec<Resolved<'_>>, SpecError> {
        let shared = over(&self.sets, more);
        let own = self.axes.columns.iter().map(|c| Written { kernel: &c.kernel, column: Some(c) });
        let written: Vec<Written<'_>> =
            self.kernels.iter().map(|kernel| Written { kernel, column: None }).chain(own).collect();
        let apart = |w: &Written<'_>| w.column.is_some() || !self.scoped(&w.kernel.value).is_empty();
        if !written.iter().any(apart) {
            let kernels = sources.kernels(&self.kernels, &shared)?;
            let one = |(source, kernel)| Resolved {
                source,
                kernel: Arc::new(kernel),
                numactl: None,
                instances: None,
                params: &[],
            };
            return Ok(self.kernels.iter().zip(kernels).map(one).collect());
        }
        let all = self.kernel_sources();
        written.into_iter().map(|w| self.column(sources, w, &shared, &all)).collect()
    }

    /// One column. A setting of all columns may be one that only another kernel of the experiment reads; a setting of
    /// its own must be read by its own.
    fn column<'a>(
        &'a self,
        sources: &dyn Sources,
        w: Written<'a>,
        shared: &[Setting],
        all: &[Spot<String>],
    ) -> Result<Resolved<'a>, SpecError> {
        let named = w.column.map_or(w.kernel, |c| &c.name);
        let own = over(w.column.map_or(&[], |c| &c.sets), &self.scoped(&named.value));
        if !own.is_empty() {
            sources.kernels(std::slice::from_ref(w.kernel), &own)?;
        }
        // The kernel stands first, and the others tell which settings any of them reads.
        let mut names = vec![w.kernel.clone()];
        names.extend(all.iter().filter(|k| k.value != w.kernel.value).cloned());
        let mut kernels = sources.kernels(&names, &over(shared, &own))?;
        let mut kernel = kernels.swap_remove(0);
        if let Some(column) = w.column {
            kernel.name.clone_from(&column.name.value);
        }
        let numactl = w.column.and_then(|c| c.numactl.as_ref());
        // Those for one workload alone stand in the conditions of its plans.
        let for_all = |s: &&Setting| !s.name.value.contains('.');
        let list: Vec<String> = w.column.map_or(Vec::new(), |c| {
            c.params.iter().filter(for_all).map(|s| format!("{} = {}", s.name.value, s.value)).collect()
        });
        if !list.is_empty() {
            kernel.warnings.push(format!("its workloads run with {}", list.join(", ")));
        }
        let instances = w.column.and_then(|c| c.instances.as_ref());
        if let Some(instances) = instances {
            kernel
                .warnings
                .push(format!("its workloads run in several instances beside each other: {}", instances.text()));
        }
        let params = w.column.map_or(&[][..], |c| &c.params);
        Ok(Resolved { source: w.kernel, kernel: Arc::new(kernel), numactl, instances, params })
    }

    /// A plan as its column starts it, with the conditions that tell it from others.
    pub(super) fn started(
        &self,
        mut input: PlanInput,
        (workload, original): (&Spot<String>, &str),
        (column, with): (&Resolved<'_>, Option<(Arc<Workload>, String)>),
        backend: Backend<'_>,
    ) -> Result<PlanInput, SpecError> {
        let mut conditions = Vec::new();
        if self.axes.quiet_machine && backend.name == "sim" {
            conditions.push((MACHINE.to_string(), QUIET.to_string()));
        }
        if self.axes.until_settled == Some(true) && backend.name == "sim" {
            conditions.push((END.to_string(), SETTLED.to_string()));
        }
        if self.axes.exact && backend.name == "sim" {
            conditions.push((PAGES.to_string(), EXACT.to_string()));
        }
        if self.source_of(workload) != workload {
            conditions.push((WORKLOAD.to_string(), original.to_string()));
        }
        // The plan keeps the fingerprint of the program itself, which all columns share.
        if let Some((own, params)) = with {
            input.workload = own;
            conditions.push((PARAMS.to_string(), params));
        }
        if let Some(numactl) = column.numactl {
            input.workload = Arc::new(numactl.start(&input.workload, &input.machine)?);
            conditions.push((NUMACTL.to_string(), numactl.text().to_string()));
        }
        if let Some(instances) = column.instances {
            input.workload = Arc::new(instances.start(&input.workload, &input.machine)?);
            conditions.push((INSTANCES.to_string(), instances.text().to_string()));
        }
        if conditions.is_empty() {
            return Ok(input);
        }
        input.under(conditions).map_err(|e| workload.error(e.to_string(), "a plan that can be written as JSON"))
    }
}

/// Settings, with later ones in place of earlier ones of the same name.
pub(super) fn over(sets: &[Setting], later: &[Setting]) -> Vec<Setting> {
    let replaced = |s: &&Setting| later.iter().any(|l| l.name.value == s.name.value);
    sets.iter().filter(|s| !replaced(s)).chain(later).cloned().collect()
}
