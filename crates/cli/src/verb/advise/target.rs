//! The machine and the kernel that the advice is for.

use crate::context::{named, Context, HOST};
use crate::failure::Failure;
use crate::sources;
use numalab_model::machine::Machine;
use numalab_model::spec::Spot;

/// Kernel of a prediction for another machine than this one, unless one is named.
const DEFAULT_KERNEL: &str = "6.12";

/// A machine to give advice for.
pub struct Target {
    /// The machine.
    pub machine: Machine,
}

impl Target {
    /// The machine that `name` means: this host, a name of the catalog, a shorthand or a file.
    ///
    /// # Errors
    /// There is no such machine, or this host cannot be read.
    pub fn load(context: &Context, name: &str) -> Result<Self, Failure> {
        Ok(Self { machine: sources::machine(context, &named("--machine", name))? })
    }

    /// Nodes that have memory.
    pub fn memory_nodes(&self) -> usize {
        self.machine.nodes.iter().filter(|n| n.memory_bytes > 0).count()
    }

    /// Whether a program of that size fits on node 0 alone.
    pub fn fits_first_node(&self, memory_bytes: u64, threads: u32) -> bool {
        let first = self.machine.nodes.first().filter(|n| n.id == 0);
        first.is_some_and(|n| memory_bytes <= n.memory_bytes && threads as usize <= n.cpus.len())
    }
}

/// The kernel that `asked` means; without a wish the running one on this host, and a recent one elsewhere.
///
/// # Errors
/// The name of the running kernel cannot be read; the kernel has no balancing to judge.
pub fn kernel(asked: Option<&str>, machine: &str) -> Result<Spot<String>, Failure> {
    let name = match asked {
        Some(name) => name.to_string(),
        None if machine == HOST => {
            const FILE: &str = "/proc/sys/kernel/osrelease";
            let text = std::fs::read_to_string(FILE);
            text.map_err(|e| Failure::environment(format!("{FILE}: {e}; --kernel names the kernel")))?.trim().into()
        }
        None => DEFAULT_KERNEL.to_string(),
    };
    if name == "off" || name == "oracle" {
        let what = format!("command line: `--kernel` is {name:?}; expected a kernel that balances, such as 6.12");
        return Err(Failure::usage(format!("{what}: off is compared with it in any case")));
    }
    Ok(named("--kernel", &name))
}
