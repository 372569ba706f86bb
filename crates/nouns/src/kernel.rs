//! A kernel: one implementation per role, and the value of every tunable.
//!
//! Problem: a run must say exactly which behaviour it used, and why.
//! Approach: in a [`Kernel`] every role and tunable has a value and an origin. The crate that implements roles and
//! tunables declares them in a [`Vocabulary`], so names are checked before anything runs.
//! Invariants: roles and tunables stand in the order of the vocabulary, and none is missing. Every value has passed the
//! check of its declaration and is in canonical form.

pub use numalab_base::tunable::{Needs, ReadWhen};

use crate::machine::Machine;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// A kernel ready to run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kernel {
    /// Name in reports: the catalog name, followed by `[key=value,…]` if there were overrides.
    pub name: String,
    /// One line for lists.
    pub title: String,
    /// What distinguishes it, in prose.
    pub about: String,
    /// Release or date that it stands for.
    pub since: String,
    /// Kernel image for the `vm` backend, if it has one.
    pub image: Option<String>,
    /// Name of the kernel that this one is an alias of.
    pub alias_of: Option<String>,
    /// Catalog names from this kernel down to the one that extends nothing.
    pub chain: Vec<String>,
    /// One choice per role, in vocabulary order.
    pub roles: Vec<RoleChoice>,
    /// One value per tunable, in vocabulary order.
    pub tunables: Vec<TunableChoice>,
    /// Warnings for the reader: an alias, an override without effect.
    pub warnings: Vec<String>,
}

/// The implementation that fills a role of a kernel.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RoleChoice {
    /// Role, e.g. `vma_filter`.
    pub role: String,
    /// Implementation, e.g. `rfc_v3`.
    pub implementation: String,
    /// The kernel that chose it, or `--set`.
    pub origin: String,
}

/// The value a kernel has for a tunable.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TunableChoice {
    /// `group.key`.
    pub name: String,
    /// Canonical text of the value.
    pub value: String,
    /// Unit, empty if none.
    pub unit: String,
    /// Kernel name (sysctl, debugfs, boot option), or `model`.
    pub kernel_name: String,
    /// `default`, the kernel that set it, `--set`, or `machine`.
    pub origin: String,
}

/// The tunable whose default depends on the machine ([`Kernel::booted_on`]).
pub const NUMA_BALANCING: &str = "system.numa_balancing";
/// Origin of a value that nothing has set.
pub const DEFAULT: &str = "default";
/// Origin of a value that the kernel takes from the machine it boots on.
const MACHINE: &str = "machine";

impl Kernel {
    /// The kernel as it boots on `machine`. On a machine with a single node NUMA balancing is off unless it was set
    /// (`check_numabalancing_enable`, mm/mempolicy.c: `nr_node_ids > 1` in 3.8, `num_online_nodes() > 1` in later
    /// releases; the boot option `numa_balancing=` comes first).
    pub fn booted_on(self: Arc<Self>, machine: &Machine) -> Arc<Self> {
        let is = |t: &TunableChoice| t.name == NUMA_BALANCING && t.origin == DEFAULT;
        if machine.nodes.len() > 1 || !self.tunables.iter().any(is) {
            return self;
        }
        let mut kernel = Self::clone(&self);
        for t in kernel.tunables.iter_mut().filter(|t| is(t)) {
            (t.value, t.origin) = ("0".into(), MACHINE.into());
        }
        Arc::new(kernel)
    }
    /// Implementation of a role, if the role exists.
    pub fn implementation(&self, role: &str) -> Option<&str> {
        self.roles.iter().find(|r| r.role == role).map(|r| r.implementation.as_str())
    }
    /// Value of the tunable `group.key`, if it exists.
    pub fn tunable(&self, name: &str) -> Option<&str> {
        self.tunables.iter().find(|t| t.name == name).map(|t| t.value.as_str())
    }
}

/// What kernels can be composed of, as declared by the crate that implements it.
#[derive(Clone, Debug)]
pub struct Vocabulary {
    /// Roles, in the order reports use.
    pub roles: Vec<RoleInfo>,
    /// Tunables, in the order reports use.
    pub tunables: Vec<TunableInfo>,
    /// Checks a value: takes a tunable and a text, and returns the canonical text, or what was expected.
    pub check: fn(&str, &str) -> Result<String, String>,
}

impl Vocabulary {
    /// The tunable of that name (`group.key`).
    pub fn tunable(&self, name: &str) -> Option<&TunableInfo> {
        self.tunables.iter().find(|t| t.name == name)
    }
}

/// A role and what can fill it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RoleInfo {
    /// Name.
    pub name: &'static str,
    /// One line.
    pub doc: &'static str,
    /// What can fill it.
    pub implementations: Vec<Implementation>,
}

/// What can fill a role.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Implementation {
    /// Name.
    pub name: &'static str,
    /// Releases that it stands for; empty if it stands for none.
    pub releases: &'static str,
    /// One line.
    pub doc: &'static str,
}

impl Implementation {
    /// The one line, with the releases in parentheses.
    pub fn text(&self) -> String {
        match self.releases {
            "" => self.doc.to_string(),
            releases => format!("{} ({releases}).", self.doc.trim_end_matches('.')),
        }
    }
}

/// A tunable as declared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TunableInfo {
    /// `group.key`.
    pub name: String,
    /// Kernel name, or `model`.
    pub kernel_name: &'static str,
    /// Unit, empty if none.
    pub unit: &'static str,
    /// Default as canonical text.
    pub default: String,
    /// Legal values in words.
    pub legal: String,
    /// Conditions under which it is read at all. Without conditions it always is.
    pub read_when: Vec<ReadWhen>,
    /// No backend reads it yet. An override gets a warning.
    pub unread: bool,
    /// One line.
    pub doc: &'static str,
}
