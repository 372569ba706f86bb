//! The settings that are compared.

/// A setting of NUMA balancing and of the program's memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Way {
    /// Balancing on.
    On,
    /// Balancing off.
    Off,
    /// The switch as it is, and the memory of the program spread over all nodes.
    Interleave,
    /// The switch as it is, and threads and memory of the program on this node.
    Bind(u32),
}

impl Way {
    /// Word for it in tables and JSON.
    pub fn name(&self) -> &'static str {
        match self {
            Way::On => "on",
            Way::Off => "off",
            Way::Interleave => "interleave",
            Way::Bind(_) => "bind",
        }
    }

    /// Whether it is a state of the switch.
    pub fn is_switch(&self) -> bool {
        matches!(self, Way::On | Way::Off)
    }

    /// Options of numactl(8) that have the same effect; `None` for a state of the switch.
    pub fn numactl(&self) -> Option<String> {
        match self {
            Way::On | Way::Off => None,
            Way::Interleave => Some("--interleave=all".into()),
            Way::Bind(node) => Some(format!("--cpunodebind={node} --membind={node}")),
        }
    }

    /// The advice to take it, as a sentence. `present` is the state of the switch now.
    pub fn advice(&self, present: &Way) -> String {
        match self {
            _ if self == present => format!("Leave it {}.", self.name()),
            Way::On | Way::Off => format!("Turn it {}.", self.name()),
            Way::Interleave => "Interleave the memory of the program.".into(),
            Way::Bind(node) => format!("Bind the program to node {node}."),
        }
    }

    /// The commands that bring it about, and those that undo them. `program` is the user's command line.
    pub fn commands(&self, present: &Way, program: &str) -> (Vec<String>, Vec<String>) {
        let file = "/etc/sysctl.d/60-numa-balancing.conf";
        let switch = |on: bool| format!("sysctl -w kernel.numa_balancing={}", u8::from(on));
        match (self, self.numactl()) {
            _ if self == present => (Vec::new(), Vec::new()),
            (_, Some(options)) => (vec![format!("numactl {options} {program}")], vec![program.to_string()]),
            _ => {
                let on = *self == Way::On;
                let keep = format!("echo kernel.numa_balancing={} > {file}", u8::from(on));
                (vec![switch(on), keep], vec![format!("rm {file}"), switch(!on)])
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn advice_and_commands_start_from_the_present_setting() {
        assert_eq!(Way::Off.advice(&Way::Off), "Leave it off.");
        assert_eq!(Way::Off.advice(&Way::On), "Turn it off.");
        assert_eq!(Way::Off.commands(&Way::Off, "x"), (vec![], vec![]));
        let (doing, undo) = Way::Off.commands(&Way::On, "x");
        assert_eq!(doing[0], "sysctl -w kernel.numa_balancing=0");
        assert_eq!(undo[1], "sysctl -w kernel.numa_balancing=1");
        let (doing, undo) = Way::Bind(1).commands(&Way::On, "bench -t 4");
        assert_eq!(
            (doing[0].as_str(), undo[0].as_str()),
            ("numactl --cpunodebind=1 --membind=1 bench -t 4", "bench -t 4")
        );
    }
}
