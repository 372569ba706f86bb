//! Machines, kernels and workloads that a catalog has resolved before.
//!
//! Problem: a sweep resolves a point after the other. Neighbours have the same machine, the same workload file and
//! often the same kernel; reading these anew took three quarters of the time of a point.
//! Approach: what has a name in the catalog is kept until the catalog changes. Files are read each time, since they may
//! change. The number of things kept is bounded.

use numalab_cli::context::Context;
use numalab_cli::sources::{self, CatalogSources};
use numalab_model::catalog::is_path;
use numalab_model::experiment::Sources;
use numalab_model::kernel::{Kernel, Setting};
use numalab_model::machine::Machine;
use numalab_model::spec::{SpecError, Spot};
use numalab_model::workload::{Workload, WorkloadSpec};
use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Arc, Mutex, PoisonError};

/// How many things of a kind are kept.
const MOST: usize = 64;

/// Names of kernels, and settings of all of them by name and value.
type KernelsKey = (Vec<String>, Vec<(String, String)>);

/// What a catalog has resolved.
#[derive(Default)]
pub struct Kept {
    machines: Shelf<String, Arc<Machine>>,
    kernels: Shelf<KernelsKey, Arc<Vec<Kernel>>>,
    workloads: Shelf<String, Arc<WorkloadSpec>>,
}

/// Things by key.
struct Shelf<K, V>(Mutex<HashMap<K, V>>);

impl<K, V> Default for Shelf<K, V> {
    fn default() -> Self {
        Self(Mutex::new(HashMap::new()))
    }
}

impl<K: Hash + Eq, V: Clone> Shelf<K, V> {
    /// The thing of a key, made if it is not there. Failures are not kept.
    fn get<E>(&self, key: K, make: impl FnOnce() -> Result<V, E>) -> Result<V, E> {
        let there = || self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(found) = there().get(&key) {
            return Ok(found.clone());
        }
        let made = make()?;
        let mut all = there();
        if all.len() >= MOST {
            all.clear();
        }
        all.insert(key, made.clone());
        Ok(made)
    }
}

impl Kept {
    /// The workloads of these names, parsed.
    pub fn workloads(
        &self,
        context: &Context,
        names: &[Spot<String>],
    ) -> Result<Vec<(String, Arc<WorkloadSpec>)>, SpecError> {
        let parsed = |name: &Spot<String>| sources::workload(context, name).map(Arc::new);
        let one = |name: &Spot<String>| {
            let spec = match is_path(&name.value) {
                true => parsed(name)?,
                false => self.workloads.get(name.value.clone(), || parsed(name))?,
            };
            Ok((name.value.clone(), spec))
        };
        names.iter().map(one).collect()
    }
}

/// The sources of an experiment, with what was kept, and without the files that a record keeps: these take as long as
/// everything else to resolve.
pub struct KeptSources<'a> {
    pub kept: &'a Kept,
    pub sources: CatalogSources<'a>,
}

impl Sources for KeptSources<'_> {
    fn machine(&self, name: &Spot<String>) -> Result<Arc<Machine>, SpecError> {
        if is_path(&name.value) {
            return self.sources.machine(name);
        }
        self.kept.machines.get(name.value.clone(), || self.sources.machine(name))
    }
    fn kernels(&self, names: &[Spot<String>], sets: &[Setting]) -> Result<Vec<Kernel>, SpecError> {
        if names.iter().any(|n| is_path(&n.value)) {
            return self.sources.kernels(names, sets);
        }
        let sets_of = sets.iter().map(|s| (s.name.value.clone(), s.value.clone())).collect();
        let key = (names.iter().map(|n| n.value.clone()).collect(), sets_of);
        let found = self.kept.kernels.get(key, || self.sources.kernels(names, sets).map(Arc::new))?;
        Ok(Vec::clone(&found))
    }
    fn params_of(&self, workload: &Spot<String>) -> Result<Vec<String>, SpecError> {
        self.sources.params_of(workload)
    }
    fn workload(
        &self,
        name: &Spot<String>,
        machine: &Machine,
        seed: u64,
        params: &[Setting],
    ) -> Result<Workload, SpecError> {
        self.sources.workload(name, machine, seed, params)
    }
}
