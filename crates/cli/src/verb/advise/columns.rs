//! The ways to run a program that are compared, and the commands for each.

use crate::context::named;
use crate::failure::Failure;
use numalab_model::experiment::{Column, Numactl};
use numalab_model::kernel::Setting;
use numalab_model::spec::Spot;

/// A way to run the program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Way {
    /// Balancing as the kernel does it; what the others are compared with.
    On,
    /// Balancing turned off.
    Off,
    /// Balancing on, and the memory of the program spread over all nodes.
    Interleave,
    /// Balancing on, and the program kept to a node, by these options of numactl(8).
    Bind(String),
}

impl Way {
    /// Name of its column.
    pub fn name(&self) -> &'static str {
        match self {
            Way::On => "on",
            Way::Off => "off",
            Way::Interleave => "interleave",
            Way::Bind(_) => "bind",
        }
    }

    /// The advice to run the program in this way, as a sentence.
    pub fn advice(&self) -> &'static str {
        match self {
            Way::On => "Leave it on.",
            Way::Off => "Turn it off.",
            Way::Interleave => "Interleave the memory of the program.",
            Way::Bind(_) => "Bind the program to a node.",
        }
    }

    fn numactl(&self) -> Option<&str> {
        match self {
            Way::On | Way::Off => None,
            Way::Interleave => Some("--interleave=all"),
            Way::Bind(options) => Some(options),
        }
    }

    /// The column of an experiment.
    ///
    /// # Errors
    /// The table of programs has wrong options.
    pub fn column(&self, kernel: &Spot<String>) -> Result<Column, Failure> {
        let off = || Setting::from_argument("--set", "system.numa_balancing=0");
        let sets = if *self == Way::Off { vec![off()?] } else { Vec::new() };
        let numactl = self.numactl().map(|o| Numactl::parse(named("numactl", o))).transpose()?;
        Ok(Column { name: named("advise", self.name()), kernel: kernel.clone(), sets, numactl })
    }

    /// The commands that bring it about, and those that undo them.
    pub fn commands(&self) -> (Vec<String>, Vec<String>) {
        match self {
            Way::On => (Vec::new(), Vec::new()),
            Way::Off => (vec!["sysctl kernel.numa_balancing=0".into()], vec!["sysctl kernel.numa_balancing=1".into()]),
            Way::Interleave | Way::Bind(_) => {
                let options = self.numactl().unwrap_or_default();
                (vec![format!("numactl {options} PROGRAM")], vec!["PROGRAM".into()])
            }
        }
    }
}
