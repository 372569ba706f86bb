//! The identity of a plan, and a plan with all that it names.
//!
//! Problem: an interrupted experiment must know which records it already has. Two plans that could differ in any figure
//! must have different ids.
//! Approach: the compact JSON of a [`Plan`] is its canonical form, and the SHA-256 of that is the [`PlanId`]. Machine
//! and workload enter it by the fingerprint of their *resolved* values, so a changed number changes the id and a
//! changed comment does not.

use crate::kernel::Kernel;
use crate::machine::Machine;
use crate::workload::{Op, Workload};
pub use numalab_nouns::plan::{Backend, KernelPlan, MachinePlan, Plan, SourceFile, WorkloadPlan};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::fmt::{self, Write as _};
use std::sync::Arc;

/// Name of the condition of a plan that says how the workload was started.
pub const NUMACTL: &str = "numactl";
/// Name of the condition of a plan that says how many instances of the workload ran beside each other.
pub const INSTANCES: &str = "instances";
/// Name of the condition of a plan that says which parameters of the workload its column sets, beside those of the
/// plan: `name = value` with semicolons between.
pub const PARAMS: &str = "params";
/// Name of the condition of a plan that says that its machine does nothing beside the workload: [`QUIET`].
pub const MACHINE: &str = "machine";
/// The value of [`MACHINE`].
pub const QUIET: &str = "quiet";
/// Name of the condition of a plan that says how its simulated run handles pages side by side: [`EXACT`].
pub const PAGES: &str = "pages";
/// The value of [`PAGES`]: each page is a step of its own.
pub const EXACT: &str = "exact";
/// Name of the condition of a plan that says when its simulated run ends: [`SETTLED`].
pub const END: &str = "end";
/// The value of [`END`]: what is left of a run that has settled is not simulated.
pub const SETTLED: &str = "settled";
/// Name of the condition of a plan that says which workload runs under another name.
pub const WORKLOAD: &str = "workload";

/// Identity of a plan: the SHA-256 of its canonical form.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct PlanId(String);

/// The canonical form of a plan: compact JSON with the fields in the order of their declaration. It has no maps and no
/// floats, so equal plans have equal text.
///
/// # Errors
/// None in practice: every field is text, a number or a list of those.
pub fn canonical(plan: &Plan) -> Result<String, serde_json::Error> {
    serde_json::to_string(plan)
}

impl PlanId {
    /// Identity of a plan.
    ///
    /// # Errors
    /// Those of [`canonical`].
    pub fn of(plan: &Plan) -> Result<Self, serde_json::Error> {
        Ok(Self(hex(&Sha256::digest(canonical(plan)?.as_bytes()))))
    }
    /// All 64 hexadecimal digits.
    pub fn full(&self) -> &str {
        &self.0
    }
    /// The first 16 digits: name of the record's directory.
    pub fn short(&self) -> &str {
        self.0.get(..16).unwrap_or(&self.0)
    }
}

impl fmt::Display for PlanId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.short())
    }
}

/// A plan with everything that it names resolved, as a backend needs it.
#[derive(Clone, Debug)]
pub struct PlanInput {
    /// Description and identity.
    pub plan: Plan,
    /// Identity of the plan.
    pub id: PlanId,
    /// Machine.
    pub machine: Arc<Machine>,
    /// Kernel.
    pub kernel: Arc<Kernel>,
    /// Workload, resolved for this machine and seed.
    pub workload: Arc<Workload>,
    /// Seed.
    pub seed: u64,
    /// Files from which machine, kernel and workload were read; they are kept beside the record. They are no part of
    /// the identity, which has the resolved values.
    pub sources: Arc<[SourceFile]>,
}

impl PlanInput {
    /// The plan of a run of resolved parts on `backend`. The kernel is taken as it boots on the machine
    /// ([`Kernel::booted_on`]).
    ///
    /// # Errors
    /// Those of [`canonical`].
    pub fn new(
        backend: Backend<'_>,
        machine: Arc<Machine>,
        kernel: Arc<Kernel>,
        workload: Arc<Workload>,
        seed: u64,
    ) -> Result<Self, serde_json::Error> {
        let kernel = kernel.booted_on(&machine);
        let plan = Plan {
            backend: backend.name.into(),
            version: backend.version.into(),
            machine: MachinePlan {
                name: machine.name.clone(),
                sha256: of_machine(&machine),
                warnings: machine.warnings.clone(),
            },
            kernel: Arc::new(KernelPlan {
                name: kernel.name.clone(),
                alias_of: kernel.alias_of.clone(),
                image: kernel.image.clone(),
                chain: kernel.chain.clone(),
                roles: kernel.roles.clone(),
                tunables: kernel.tunables.clone(),
                warnings: kernel.warnings.clone(),
            }),
            workload: of(&workload),
            seed,
            conditions: Vec::new(),
        };
        let id = PlanId::of(&plan)?;
        Ok(Self { plan, id, machine, kernel, workload, seed, sources: Arc::new([]) })
    }

    /// The plan of another run on the same machine and kernel. What both have in common is held once.
    ///
    /// # Errors
    /// Those of [`canonical`].
    pub fn again(&self, workload: Arc<Workload>, seed: u64) -> Result<Self, serde_json::Error> {
        let mut plan = Plan { seed, ..self.plan.clone() };
        if !Arc::ptr_eq(&workload, &self.workload) {
            plan.workload = of(&workload);
        }
        let id = PlanId::of(&plan)?;
        Ok(Self { plan, id, workload, seed, ..self.clone() })
    }

    /// The same run under other `conditions`, which is another plan.
    ///
    /// # Errors
    /// Those of [`canonical`].
    pub fn under(mut self, conditions: Vec<(String, String)>) -> Result<Self, serde_json::Error> {
        self.plan.conditions = conditions;
        self.id = PlanId::of(&self.plan)?;
        Ok(self)
    }

    /// Whether the machine does nothing beside the workload.
    pub fn on_quiet_machine(&self) -> bool {
        self.plan.conditions.iter().any(|(name, value)| name == MACHINE && value == QUIET)
    }

    /// Whether what is left of the run once it has settled is not simulated.
    pub fn ends_settled(&self) -> bool {
        self.plan.conditions.iter().any(|(name, value)| name == END && value == SETTLED)
    }

    /// Whether each page is a step of its own.
    pub fn is_exact(&self) -> bool {
        self.plan.conditions.iter().any(|(name, value)| name == PAGES && value == EXACT)
    }

    /// The same plan with the files from which it was read.
    #[must_use]
    pub fn with_sources(self, sources: Arc<[SourceFile]>) -> Self {
        Self { sources, ..self }
    }
}

/// The fingerprint of a machine: all of it but its title, which decides no figure.
pub fn of_machine(machine: &Machine) -> String {
    fingerprint(&Machine { title: String::new(), ..machine.clone() })
}

/// The fingerprint of a workload: all of it but its title, which decides no figure.
///
/// Threads share lists of ops. Each list is written once, and its fingerprint stands for it wherever it is used:
/// thousands of threads with thousands of steps took minutes otherwise.
pub fn of_workload(workload: &Workload) -> String {
    let mut lists: BTreeMap<*const Op, String> = BTreeMap::new();
    let nothing: Arc<[Op]> = Arc::new([]);
    let mut bare = Workload { title: String::new(), ..workload.clone() };
    let mut used = Vec::new();
    for process in &mut bare.processes {
        let threads = process.threads.iter_mut().map(|t| &mut t.ops);
        for ops in std::iter::once(&mut process.prologue).chain(threads) {
            used.push(lists.entry(ops.as_ptr()).or_insert_with(|| fingerprint(ops)).clone());
            *ops = nothing.clone();
        }
    }
    fingerprint(&(bare, used))
}

/// What a plan says of its workload.
fn of(workload: &Workload) -> WorkloadPlan {
    WorkloadPlan {
        name: workload.name.clone(),
        sha256: of_workload(workload),
        params: workload.params.clone(),
        warnings: workload.warnings.clone(),
    }
}

/// SHA-256 of a value's `Debug` text, hexadecimal.
///
/// Derived `Debug` writes every field with its name, floats in their shortest exact form and collections in order. It
/// is the one complete text form that every resolved type has. The text is hashed while it is written, so it is never
/// held in memory.
pub fn fingerprint<T: fmt::Debug>(value: &T) -> String {
    struct Hasher(Sha256);
    impl fmt::Write for Hasher {
        fn write_str(&mut self, s: &str) -> fmt::Result {
            self.0.update(s.as_bytes());
            Ok(())
        }
    }
    let mut hasher = Hasher(Sha256::new());
    // Writing to the hasher cannot fail, and derived Debug has no errors of its own.
    let _ = write!(hasher, "{value:?}");
    hex(&hasher.0.finalize())
}

/// Bytes as lower-case hexadecimal digits.
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(bytes.len() * 2), |mut out, b| {
        let _ = write!(out, "{b:02x}");
        out
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A small valid plan.
    fn plan() -> Plan {
        Plan {
            backend: "sim".into(),
            version: "1".into(),
            machine: MachinePlan { name: "m".into(), sha256: "00".into(), warnings: vec![] },
            kernel: Arc::new(KernelPlan {
                name: "k".into(),
                alias_of: None,
                image: None,
                chain: vec!["k".into()],
                roles: vec![],
                tunables: vec![],
                warnings: vec![],
            }),
            workload: WorkloadPlan {
                name: "w".into(),
                sha256: "11".into(),
                params: vec![("loops".into(), "5".into())],
                warnings: vec![],
            },
            seed: 7,
            conditions: vec![],
        }
    }

    #[test]
    fn the_id_is_the_sha256_of_the_canonical_form() {
        let text = canonical(&plan()).unwrap();
        assert!(text.starts_with(r#"{"backend":"sim","version":"1","machine":{"name":"m","#), "{text}");
        assert!(text.ends_with(r#""params":[["loops","5"]],"warnings":[]},"seed":7}"#), "{text}");
        assert_eq!(PlanId::of(&plan()).unwrap().full(), hex(&Sha256::digest(&text)));
        assert_eq!(PlanId::of(&plan()).unwrap().short().len(), 16);
        assert_eq!(serde_json::from_str::<Plan>(&text).unwrap(), plan());
    }

    #[test]
    fn everything_that_determines_a_result_changes_the_id() {
        let base = PlanId::of(&plan()).unwrap();
        let changes: [fn(&mut Plan); 8] = [
            |p| p.backend = "vm".into(),
            |p| p.version = "2".into(),
            |p| p.machine.sha256 = "01".into(),
            |p| Arc::make_mut(&mut p.kernel).chain.push("base".into()),
            |p| p.workload.sha256 = "12".into(),
            |p| p.workload.params[0].1 = "6".into(),
            |p| p.seed = 8,
            |p| p.conditions.push(("harness".into(), "worker".into())),
        ];
        for change in changes {
            let mut p = plan();
            change(&mut p);
            assert_ne!(PlanId::of(&p).unwrap(), base);
        }
    }

    #[test]
    fn a_title_is_no_part_of_the_identity_and_a_figure_is() {
        let machine = crate::machine::from_shorthand("2x1x2x1").unwrap();
        let titled = Machine { title: "another".into(), ..machine.clone() };
        assert_eq!(of_machine(&titled), of_machine(&machine));
        let mut slower = machine.clone();
        slower.costs.tick_ns += 1.0;
        assert_ne!(of_machine(&slower), of_machine(&machine));

        let catalog = crate::catalog::Catalog::embedded();
        let text = catalog.get(crate::catalog::Kind::Workload, "coremark").unwrap().text.clone();
        let read = |text: &str| crate::workload::parse("w.toml", text).unwrap().resolve(&machine, 1, &[]).unwrap();
        let (workload, titled) = (read(&text), read(&text.replacen("title = \"", "title = \"Another ", 1)));
        assert_ne!(workload.title, titled.title);
        assert_eq!(of_workload(&workload), of_workload(&titled));
        let longer = Workload { limit_ns: workload.limit_ns + 1, ..workload.clone() };
        assert_ne!(of_workload(&longer), of_workload(&workload));
    }

    /// What threads share is written once, and whether they share it or have copies is no part of the identity.
    #[test]
    fn a_list_of_ops_that_threads_share_counts_as_their_copies_do() {
        let machine = crate::machine::from_shorthand("2x1x2x1").unwrap();
        let catalog = crate::catalog::Catalog::embedded();
        let text = catalog.get(crate::catalog::Kind::Workload, "coremark").unwrap().text.clone();
        let shared = crate::workload::parse("w.toml", &text).unwrap().resolve(&machine, 1, &[]).unwrap();
        let mut copied = shared.clone();
        for thread in copied.processes.iter_mut().flat_map(|p| &mut p.threads) {
            thread.ops = thread.ops.to_vec().into();
        }
        assert_eq!(of_workload(&copied), of_workload(&shared));
        let last = copied.processes.last_mut().and_then(|p| p.threads.last_mut()).unwrap();
        last.ops = last.ops.iter().skip(1).cloned().collect();
        assert_ne!(of_workload(&copied), of_workload(&shared));
    }

    #[test]
    fn fingerprints_see_every_bit_of_a_float() {
        // The SHA-256 of the three characters "1.5" was checked with an independent tool.
        assert_eq!(fingerprint(&1.5), "9f29a130438b81170b92a42650f9a94291ecad60bd47af2a3886e75f7f728725");
        assert_ne!(fingerprint(&0.1), fingerprint(&(0.1 + f64::EPSILON / 8.0)));
        assert_ne!(fingerprint(&vec![1, 2]), fingerprint(&vec![2, 1]));
    }
}
