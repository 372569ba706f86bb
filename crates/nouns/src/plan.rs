//! A plan: one machine × kernel × workload × seed on one backend.
//!
//! Problem: a record must say exactly what was run.
//! Approach: [`Plan`] is the description that a record keeps. Machine and workload enter it by the fingerprint of their
//! *resolved* values, so a changed number changes the plan and a changed comment does not.
//! Invariant: everything in a record's manifest besides measurements is part of the plan.

use crate::kernel::{RoleChoice, TunableChoice};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// The description of a run, which tells it from every other run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// Name of the backend: `sim`, `vm` or `host`.
    pub backend: String,
    /// Version of the backend.
    pub version: String,
    /// Machine.
    pub machine: MachinePlan,
    /// Kernel.
    pub kernel: Arc<KernelPlan>,
    /// Workload.
    pub workload: WorkloadPlan,
    /// Seed of every random stream of the run.
    pub seed: u64,
    /// Other conditions that decide the figures, each a name and a value; empty in plans of experiments.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<(String, String)>,
}

/// The machine of a plan.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MachinePlan {
    /// Name.
    pub name: String,
    /// Fingerprint of the resolved machine.
    pub sha256: String,
    /// Warnings from loading the machine.
    pub warnings: Vec<String>,
}

/// The kernel of a plan.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KernelPlan {
    /// Name, overrides included.
    pub name: String,
    /// The kernel of which this one is only another name.
    pub alias_of: Option<String>,
    /// Image for the `vm` backend.
    pub image: Option<String>,
    /// Names of the catalog files of which it is composed.
    pub chain: Vec<String>,
    /// Implementation of each role.
    pub roles: Vec<RoleChoice>,
    /// Effective value of every tunable.
    pub tunables: Vec<TunableChoice>,
    /// Warnings for the reader.
    pub warnings: Vec<String>,
}

/// The workload of a plan.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WorkloadPlan {
    /// Name.
    pub name: String,
    /// Fingerprint of the resolved workload.
    pub sha256: String,
    /// Parameter values used: name and value as text.
    pub params: Vec<(String, String)>,
    /// Warnings for the reader.
    pub warnings: Vec<String>,
}

impl Plan {
    /// The warnings of machine, kernel and workload, which are known before the run.
    pub fn warnings(&self) -> impl Iterator<Item = &String> {
        self.machine.warnings.iter().chain(&self.kernel.warnings).chain(&self.workload.warnings)
    }
}

/// A file from which a part of a plan was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceFile {
    /// Its place in a catalog, such as `machines/milan-2s-nps1.toml`: letters, digits and `._+-` between slashes.
    pub place: String,
    /// Its content.
    pub bytes: Arc<[u8]>,
}

/// Name and version of a backend.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Backend<'a> {
    /// `sim`, `vm` or `host`.
    pub name: &'a str,
    /// Version of everything that decides its figures.
    pub version: &'a str,
}
