//! How a way to run a program is brought about for services, containers, virtual machines and Kubernetes, and undone.
//!
//! Sources: sysctl.d(5); systemd.exec(5), `NUMAPolicy=` and `NUMAMask=`; podman-run(1) and docker's `--cpuset-mems`;
//! libvirt's domain XML, `numatune`; Kubernetes, "Control Topology Management Policies" and "Utilizing the NUMA-aware
//! Memory Manager"; systemd.service(5), prefix `+` of commands; tmpfiles.d(5).

use super::columns::Way;
use super::extras::Extra;
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
        Way::Interleave => with_policy("interleave", "all", "numactl --interleave=all", None),
        Way::Bind(options) => with_policy("bind", "0", &format!("numactl {options}"), Some("0")),
        Way::Extra(extra) => of_extra(extra),
    }
}

/// The places of a further way.
fn of_extra(extra: &Extra) -> Vec<Place> {
    if extra.instances.is_some() {
        return of_instances();
    }
    if let Some(numactl) = extra.numactl {
        return wrapped(&format!("numactl {numactl}"), extra.word);
    }
    match extra.sysctl {
        Some((on, off)) if extra.param.is_some() => of_hugetlb(on, off),
        Some((on, off)) => of_sysctl(on, off),
        None => of_file(extra.file),
    }
}

/// A switch of the whole machine: it has no namespace, so it is turned on the host for all that runs there.
fn on_host(commands: &str, undo: &str) -> Vec<Place> {
    let host = format!("on the host, for all containers (it has no namespace of its own): {commands}");
    let guests = format!("on the host, for all guests (the kernel of a guest has a switch of its own): {commands}");
    let nodes = format!("on each node, or by a privileged DaemonSet: {commands}");
    vec![
        place("docker or podman", &[&host], &[undo]),
        place("libvirt", &[&guests], &[undo]),
        place("Kubernetes", &[&nodes], &[undo]),
    ]
}

/// A sysctl. A unit can turn it while it runs, with full privileges (`+`).
fn of_sysctl(on: &str, off: &str) -> Vec<Place> {
    const FILE: &str = "/etc/sysctl.d/60-numa-balancing.conf";
    let lines = on.replace(' ', "\\n");
    let start = format!("ExecStartPre=+/usr/sbin/sysctl -w {on}");
    let stop = format!("ExecStopPost=+/usr/sbin/sysctl -w {off}");
    let do_it = format!("printf '{lines}\\n' > {FILE}");
    let (commands, undo) = (format!("sysctl -w {on}"), format!("sysctl -w {off}"));
    let own = [
        place("sysctl.d", &[&do_it, &commands], &[&format!("rm {FILE}"), &undo]),
        place("systemd", &["systemctl edit UNIT", "[Service]", &start, &stop], &["systemctl revert UNIT", &undo]),
    ];
    own.into_iter().chain(on_host(&commands, &undo)).collect()
}

/// A file of the kernel that is no sysctl.
fn of_file((file, value, usual): (&str, &str, &str)) -> Vec<Place> {
    const CONF: &str = "/etc/tmpfiles.d/60-numa-balancing.conf";
    let (commands, undo) = (format!("echo {value} > {file}"), format!("echo {usual} > {file}"));
    let do_it = format!("printf 'w {file} - - - - {value}\\n' > {CONF}");
    let own = place("systemd", &[&do_it, "systemd-tmpfiles --create"], &[&format!("rm {CONF}"), &undo]);
    std::iter::once(own).chain(on_host(&commands, &undo)).collect()
}

/// Hugetlb pages: the host sets them aside, and the program is told to use them.
fn of_hugetlb(on: &str, off: &str) -> Vec<Place> {
    let mut out = of_sysctl(on, off);
    for place in &mut out {
        let (more, less) = match place.name {
            "docker or podman" => ("docker run --ulimit memlock=-1 --cap-add IPC_LOCK IMAGE", "docker run IMAGE"),
            "libvirt" => (
                "virsh edit DOMAIN: <memoryBacking><hugepages/></memoryBacking>",
                "virsh edit DOMAIN, without <memoryBacking>",
            ),
            "Kubernetes" => ("limits: { hugepages-2Mi: SIZE-OF-THE-POOL }", "no hugepages-2Mi in limits"),
            _ => continue,
        };
        place.commands.push(more.into());
        place.undo.insert(0, less.into());
    }
    out
}

/// One instance for each node, or for a share of the nodes.
fn of_instances() -> Vec<Place> {
    let kubelet =
        "kubelet: cpuManagerPolicy: static, memoryManagerPolicy: Static, topologyManagerPolicy: single-numa-node";
    let pods = "replicas: one for each node of the machine, each with whole CPUs, and limits equal to requests";
    vec![
        place(
            "systemd",
            &[
                "systemctl edit --force --full UNIT@.service",
                "[Service]",
                "ExecStart=numactl --cpunodebind=%i --membind=%i PROGRAM",
                "systemctl disable --now UNIT; systemctl enable --now UNIT@0 UNIT@1",
            ],
            &["systemctl disable --now UNIT@0 UNIT@1", "systemctl enable --now UNIT"],
        ),
        place(
            "docker or podman",
            &["docker run --cpuset-mems=0 --cpuset-cpus=CPUS-OF-NODE-0 IMAGE, and so on for each node"],
            &["docker run IMAGE"],
        ),
        place(
            "libvirt",
            &[
                "a domain for each node, with its share of CPUs and memory: virsh edit DOMAIN",
                "<vcpu placement='static' cpuset='CPUS-OF-NODE'>N</vcpu>",
                "<numatune><memory mode='strict' nodeset='NODE'/></numatune>",
            ],
            &["one domain, without <numatune>"],
        ),
        place("Kubernetes", &[kubelet, pods], &["replicas: 1"]),
    ]
}

/// A memory policy that starts the program under numactl, where the place has no word of its own.
fn wrapped(numactl: &str, word: &str) -> Vec<Place> {
    let unit = format!("ExecStart={numactl} PROGRAM");
    let entry = format!("docker run --cap-add SYS_NICE --entrypoint sh IMAGE -c 'exec {numactl} PROGRAM'");
    let pod = format!("command: [sh, -c, \"exec {numactl} PROGRAM\"]");
    let guest = match word {
        "preferred" => "<numatune><memory mode='preferred' nodeset='0'/></numatune>".to_string(),
        _ => format!("<emulator>WRAPPER</emulator>, a script: exec {numactl} qemu-system-x86_64 \"$@\""),
    };
    vec![
        place("systemd", &["systemctl edit UNIT", "[Service]", "ExecStart=", &unit], &["systemctl revert UNIT"]),
        place("docker or podman", &[&entry], &["docker run IMAGE"]),
        place("libvirt", &["virsh edit DOMAIN", &guest], &["virsh edit DOMAIN, without it"]),
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
    use crate::verb::advise::extras::EXTRAS;

    #[test]
    fn every_way_but_leaving_it_on_has_places_that_undo_what_they_do() {
        let bind = Way::Bind("--cpunodebind=0 --membind=0".into());
        let ways = [Way::Off, Way::Interleave, bind].into_iter().chain(EXTRAS.iter().map(|e| Way::Extra(*e)));
        for way in ways {
            let places = of(&way);
            assert!(!places.is_empty(), "{}", way.name());
            assert!(places.iter().all(|p| !p.commands.is_empty() && !p.undo.is_empty()), "{}: {places:?}", way.name());
            for name in ["systemd", "docker or podman", "libvirt", "Kubernetes"] {
                assert!(places.iter().any(|p| p.name == name), "{} says nothing for {name}", way.name());
            }
            let all: Vec<String> = places.iter().flat_map(|p| p.commands.iter().chain(&p.undo).cloned()).collect();
            assert!(all.iter().all(|line| !line.is_empty()), "{}: {places:?}", way.name());
        }
        assert!(of(&Way::On).is_empty());
        let named: Vec<&str> = of(&Way::Interleave).iter().map(|p| p.name).collect();
        assert_eq!(named, ["systemd", "docker or podman", "libvirt", "Kubernetes"]);
    }
}
