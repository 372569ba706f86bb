//! The ways to run a program that are compared, and the commands for each.

use super::extras::Extra;
use crate::context::named;
use crate::failure::Failure;
use numalab_model::experiment::{Column, Instances, Numactl};
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
    /// Balancing on, and something else changed, which is compared only if asked for.
    Extra(Extra),
}

impl Way {
    /// Name of its column.
    pub fn name(&self) -> &'static str {
        match self {
            Way::On => "on",
            Way::Off => "off",
            Way::Interleave => "interleave",
            Way::Bind(_) => "bind",
            Way::Extra(extra) => extra.word,
        }
    }

    /// The advice to run the program in this way, as a sentence.
    pub fn advice(&self) -> &'static str {
        match self {
            Way::On => "Leave it on.",
            Way::Off => "Turn it off.",
            Way::Interleave => "Interleave the memory of the program.",
            Way::Bind(_) => "Bind the program to a node.",
            Way::Extra(extra) => extra.advice,
        }
    }

    fn numactl(&self) -> Option<&str> {
        match self {
            Way::On | Way::Off => None,
            Way::Interleave => Some("--interleave=all"),
            Way::Bind(options) => Some(options),
            Way::Extra(extra) => extra.numactl,
        }
    }

    /// How many instances of the program there are, if several.
    ///
    /// # Errors
    /// The table of ways is wrong.
    pub fn instances(&self) -> Result<Option<Instances>, Failure> {
        let text = if let Way::Extra(extra) = self { extra.instances } else { None };
        Ok(text.map(|t| Instances::parse(named("advise", t))).transpose()?)
    }

    /// The column of an experiment.
    ///
    /// # Errors
    /// The table of programs has wrong options.
    pub fn column(&self, kernel: &Spot<String>) -> Result<Column, Failure> {
        let sets = match self {
            Way::Off => "system.numa_balancing=0",
            Way::Extra(extra) => extra.set.unwrap_or_default(),
            _ => "",
        };
        let each = sets.split(',').filter(|s| !s.is_empty());
        let sets = each.map(|s| Setting::from_argument("--set", s)).collect::<Result<Vec<_>, _>>()?;
        let param = if let Way::Extra(extra) = self { extra.param } else { None };
        let param = param.map(|(name, value)| Setting::from_argument("--param", &format!("{name}={value}")));
        let params = param.transpose()?.into_iter().collect();
        let numactl = self.numactl().map(|o| Numactl::parse(named("numactl", o))).transpose()?;
        let instances = self.instances()?;
        Ok(Column { name: named("advise", self.name()), kernel: kernel.clone(), sets, numactl, instances, params })
    }

    /// The commands that bring it about, and those that undo them.
    pub fn commands(&self) -> (Vec<String>, Vec<String>) {
        match self {
            Way::On => (Vec::new(), Vec::new()),
            Way::Off => (vec!["sysctl kernel.numa_balancing=0".into()], vec!["sysctl kernel.numa_balancing=1".into()]),
            Way::Extra(Extra { sysctl: Some((on, off)), .. }) => {
                (vec![format!("sysctl {on}")], vec![format!("sysctl {off}")])
            }
            Way::Extra(Extra { instances: Some("per_node"), .. }) => {
                let nodes = "$(ls /sys/devices/system/node | sed -n 's/^node//p')";
                let each = "numactl --cpunodebind=$n --membind=$n PROGRAM";
                (vec![format!("for n in {nodes}; do {each} & done")], vec!["PROGRAM".into()])
            }
            Way::Extra(Extra { instances: Some(count), .. }) => {
                let each = "numactl --cpunodebind=NODES --membind=NODES PROGRAM";
                (vec![format!("{each}, {count} times, each with its share of the nodes")], vec!["PROGRAM".into()])
            }
            Way::Extra(Extra { numactl: None, file: (path, value, usual), .. }) => {
                (vec![format!("echo {value} > {path}")], vec![format!("echo {usual} > {path}")])
            }
            Way::Interleave | Way::Bind(_) | Way::Extra(_) => {
                let options = self.numactl().unwrap_or_default();
                (vec![format!("numactl {options} PROGRAM")], vec!["PROGRAM".into()])
            }
        }
    }
}
