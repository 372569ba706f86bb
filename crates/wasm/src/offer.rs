//! What the catalog offers: names and titles of machines, kernels and workloads, and what can be changed of them.

use numalab_kernel::registry;
use numalab_model::catalog::{Catalog, Kind};
use numalab_model::kernel;
use numalab_model::spec::{SpecError, Spot};
use numalab_model::workload;
use serde_json::{json, Value};

/// Names and titles of a kind; kernels include the releases.
fn names(catalog: &Catalog, kind: Kind) -> Vec<Value> {
    let title = |name: &str| {
        let own = catalog.get(kind, name).and_then(|f| f.heading_as_built()).map(|h| h.title);
        own.or_else(|| catalog.release(name).map(|r| r.spec.title.clone())).unwrap_or_default()
    };
    catalog.names(kind).map(|n| json!({ "name": n, "title": title(n) })).collect()
}

/// Everything that a page offers for choice.
///
/// # Errors
/// None in practice: the built-in catalog is valid.
pub fn offer() -> Result<Value, SpecError> {
    let catalog = Catalog::embedded();
    let workload = |name: &str| -> Result<Value, SpecError> {
        let at = Spot { value: name.to_string(), file: "workload".into(), line: 0, column: 0 };
        let file = catalog.find(Kind::Workload, &at)?;
        let spec = workload::parse(&file.label, &file.text)?;
        let params = spec.params().iter().map(|p| json!([p.name, p.default_text(), p.about])).collect::<Vec<_>>();
        Ok(json!({ "name": name, "title": spec.title(), "about": spec.about(), "params": params }))
    };
    let workloads: Vec<&str> = catalog.names(Kind::Workload).collect();
    Ok(json!({
        "version": env!("CARGO_PKG_VERSION"),
        "simulator": numalab_sim::VERSION,
        "machines": names(&catalog, Kind::Machine),
        "kernels": names(&catalog, Kind::Kernel),
        "workloads": workloads.into_iter().map(workload).collect::<Result<Vec<_>, _>>()?,
    }))
}

/// The file of a workload, for editing; `None` if there is no such workload.
pub fn workload_text(name: &str) -> Option<String> {
    Catalog::embedded().get(Kind::Workload, name).map(|f| f.text.to_string())
}

/// Values of all tunables of a kernel: name, value, unit and the kernel's own name.
///
/// # Errors
/// There is no such kernel.
pub fn tunables(name: &str) -> Result<Value, SpecError> {
    let at = Spot { value: name.to_string(), file: "--kernel".into(), line: 0, column: 0 };
    let kernels = kernel::resolve(std::slice::from_ref(&at), &Catalog::embedded(), &registry::vocabulary(), &[])?;
    let all = kernels.iter().flat_map(registry::effective);
    Ok(all.map(|t| json!([t.name, t.value, t.unit, t.kernel_name])).collect())
}
