//! Kernel and workload in the plan of a program that ran on this machine, for verbs that keep records of it.

use crate::context::{named, Context};
use crate::failure::Failure;
use crate::real_kernels;
use numalab_host::procfs::{numa_balancing, Roots};
use numalab_model::kernel::Kernel;
use numalab_model::workload::Workload;

/// The running kernel under the name of the setting, or of a `column`.
///
/// # Errors
/// The kernel cannot be told, or the name has characters that a column cannot have.
pub fn running_kernel(context: &Context, roots: &Roots, column: Option<&str>) -> Result<Kernel, Failure> {
    let release = std::fs::read_to_string(roots.proc.join("sys/kernel/osrelease"));
    let release = release.map_err(|e| Failure::environment(format!("/proc/sys/kernel/osrelease: {e}")))?;
    let release = release.trim();
    let mode = numa_balancing::mode(&roots.proc);
    let own = named("record", if mode.unwrap_or(0) > 0 { real_kernels::HOST } else { "off" });
    let mut kernels = real_kernels::kernels_here(context, &[own], &[], release)?;
    let mut kernel = kernels.pop().ok_or_else(|| Failure::environment("record: no kernel"))?;
    let of_mode = match mode {
        None => "no-balancing",
        Some(0) => "balancing-off",
        Some(1) => "balancing-on",
        Some(_) => "tiering",
    };
    kernel.name = column.unwrap_or(of_mode).to_string();
    if kernel.name.is_empty() || kernel.name.contains(|c: char| c.is_control() || c == ',') {
        return Err(Failure::usage(format!("--as {:?}; expected a name without commas", kernel.name)));
    }
    kernel.alias_of = None;
    kernel.image = Some(format!("running {release}"));
    Ok(kernel)
}

/// A workload that stands for a recorded program: it has no description.
pub fn unknown_workload(name: &str) -> Workload {
    Workload {
        name: name.into(),
        title: format!("{name}, as recorded"),
        processes: vec![],
        barrier_widths: vec![],
        channels: 0,
        futexes: vec![],
        scores: vec![],
        limit_ns: 0,
        params: vec![],
        warnings: vec![],
        histograms: Default::default(),
    }
}
