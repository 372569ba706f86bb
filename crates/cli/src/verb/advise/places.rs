//! How a way to run a program is brought about for services, containers, virtual machines and Kubernetes, and undone.
//!
//! Sources: sysctl.d(5); systemd.exec(5), `NUMAPolicy=` and `NUMAMask=`; podman-run(1) and docker's `--cpuset-mems`;
//! libvirt's domain XML, `numatune`; Kubernetes, "Control Topology Management Policies" and "Utilizing the NUMA-aware
//! Memory Manager".

use super::columns::Way;
use serde::Serialize;

/// The commands or lines for one place, and what undoes them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Place {
    /// What runs the program: `sysctl.d`, `systemd`, `docker or podman`, `libvirt` or `Kubernetes`.
    pub name: &'static str,
    /// What brings the way about.
    pub commands: Vec<String>,
    /// What undoes it.
    pub undo: Vec<String>,
}

fn place(name: &'static str, commands: &[&str], undo: &[&str]) -> Place {
    let own = |list: &[&str]| list.iter().map(|s| s.to_string()).collect();
    Place { name, commands: own(commands), undo: own(undo) }
}

/// The places of a way; none for leaving balancing as it is.
pub fn of(way: &Way) -> Vec<Place> {
    match way {
        Way::On => Vec::new(),
        Way::Off => of_sysctl("kernel.numa_balancing=0", "kernel.numa_balancing=1"),
        Way::Extra(extra) if extra.sysctl.is_some() => {
            extra.sysctl.map_or_else(Vec::new, |(on, off)| of_sysctl(on, off))
        }
        Way::Extra(extra) if extra.numactl.is_none() => vec![place(
            "systemd, at boot",
            &[&format!(
                "printf 'w {} - - - - {}\\n' > /etc/tmpfiles.d/60-numa-balancing.conf",
                extra.file.0, extra.file.1
            )],
            &["rm /etc/tmpfiles.d/60-numa-balancing.conf", &format!("echo {} > {}", extra.file.2, extra.file.0)],
        )],
        Way::Interleave => with_policy("interleave", "all", "numactl --interleave=all", None),
        Way::Bind(options) => with_policy("bind", "0", &format!("numactl {options}"), Some("0")),
        Way::Extra(extra) => {
            let numactl = format!("numactl {}", extra.numactl.unwrap_or_default());
            wrapped(&numactl)
        }
    }
}

/// A switch of the whole machine. Pods cannot turn it, as it has no namespace of its own.
fn of_sysctl(on: &str, off: &str) -> Vec<Place> {
    const FILE: &str = "/etc/sysctl.d/60-numa-balancing.conf";
    vec![
        place("sysctl.d", &[&format!("echo {on} > {FILE}")], &[&format!("rm {FILE}"), &format!("sysctl -w {off}")]),
        place(
            "Kubernetes",
            &[&format!("on each node, or by a privileged DaemonSet: sysctl -w {on}")],
            &[&format!("sysctl -w {off}")],
        ),
    ]
}

/// A memory policy that starts the program under numactl, where the place has no word of its own.
fn wrapped(numactl: &str) -> Vec<Place> {
    let unit = format!("ExecStart={numactl} PROGRAM");
    let entry = format!("docker run --cap-add SYS_NICE --entrypoint sh IMAGE -c 'exec {numactl} PROGRAM'");
    let pod = format!("command: [sh, -c, \"exec {numactl} PROGRAM\"]");
    vec![
        place("systemd", &["systemctl edit UNIT", "[Service]", "ExecStart=", &unit], &["systemctl revert UNIT"]),
        place("docker or podman", &[&entry], &["docker run IMAGE"]),
        place("Kubernetes", &[&pod], &["command: [PROGRAM]"]),
    ]
}

/// A memory policy that systemd and libvirt have words for. `node` is the node of one that binds.
fn with_policy(word: &str, mask: &str, numactl: &str, node: Option<&str>) -> Vec<Place> {
    let affinity = node.map_or("", |_| "CPUAffinity=numa");
    let unit: Vec<String> = ["[Service]", &format!("NUMAPolicy={word}"), &format!("NUMAMask={mask}"), affinity]
        .iter()
        .filter(|l| !l.is_empty())
        .map(|l| l.to_string())
        .collect();
    let mode = if node.is_some() { "strict" } else { "interleave" };
    let set = node.unwrap_or("0-N");
    let guest = format!("<numatune><memory mode='{mode}' nodeset='{set}'/></numatune>");
    let container = match node {
        Some(node) => format!("docker run --cpuset-mems={node} --cpuset-cpus=CPUS-OF-NODE-{node} IMAGE"),
        None => format!("docker run --cap-add SYS_NICE --entrypoint sh IMAGE -c 'exec {numactl} PROGRAM'"),
    };
    let pod: Vec<String> = match node {
        Some(_) => vec![
            "kubelet: cpuManagerPolicy: static, memoryManagerPolicy: Static, topologyManagerPolicy: single-numa-node"
                .into(),
            "pod: whole CPUs, and limits equal to requests (QoS class Guaranteed)".into(),
        ],
        None => vec![format!("command: [sh, -c, \"exec {numactl} PROGRAM\"]")],
    };
    let back = match node {
        Some(_) => "kubelet: cpuManagerPolicy: none, memoryManagerPolicy: None, topologyManagerPolicy: none",
        None => "command: [PROGRAM]",
    };
    let strs = |list: &[String]| list.to_vec();
    vec![
        Place {
            name: "systemd",
            commands: std::iter::once("systemctl edit UNIT".to_string()).chain(strs(&unit)).collect(),
            undo: vec!["systemctl revert UNIT".into()],
        },
        place("docker or podman", &[&container], &["docker run IMAGE"]),
        place("libvirt", &["virsh edit DOMAIN", &guest], &["virsh edit DOMAIN, without <numatune>"]),
        Place { name: "Kubernetes", commands: strs(&pod), undo: vec![back.into()] },
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verb::advise::columns::EXTRAS;

    #[test]
    fn every_way_but_leaving_it_on_has_places_that_undo_what_they_do() {
        let bind = Way::Bind("--cpunodebind=0 --membind=0".into());
        let ways = [Way::Off, Way::Interleave, bind].into_iter().chain(EXTRAS.iter().map(|e| Way::Extra(*e)));
        for way in ways {
            let places = of(&way);
            assert!(!places.is_empty(), "{}", way.name());
            assert!(places.iter().all(|p| !p.commands.is_empty() && !p.undo.is_empty()), "{}: {places:?}", way.name());
        }
        assert!(of(&Way::On).is_empty());
        let named: Vec<&str> = of(&Way::Interleave).iter().map(|p| p.name).collect();
        assert_eq!(named, ["systemd", "docker or podman", "libvirt", "Kubernetes"]);
    }
}
