//! Roles and their implementations, by the names that catalog files use.

/// A role: one kind of decision the modelled kernel makes.
#[derive(Clone, Copy, Debug)]
pub struct RoleDecl {
    /// Name in `[roles]`.
    pub name: &'static str,
    /// What the role decides.
    pub doc: &'static str,
    /// What can fill it.
    pub impls: &'static [ImplDecl],
}

/// One implementation of a role.
#[derive(Clone, Copy, Debug)]
pub struct ImplDecl {
    /// Name in `[roles]`.
    pub name: &'static str,
    /// What it does, since when.
    pub doc: &'static str,
}

const fn is(name: &'static str, doc: &'static str) -> ImplDecl {
    ImplDecl { name, doc }
}

/// Every role in the order of the design's table (kernel-numa-balancing.md sections 8, 16 and 17,
/// kernel-scheduler.md section 5, thp-and-allocation.md section 8).
pub const ROLES: &[RoleDecl] = &[
    RoleDecl {
        name: "scan",
        doc: "Who scans address spaces and how fast: the form of the scan period's adaptation.",
        impls: &[
            is("none", "Nobody (before 3.8)."),
            is(
                "autonuma",
                "knuma_scand: one daemon for the machine, 128 MiB per 100 ms, 10 s of sleep after each pass \
                 (AutoNUMA, 2012).",
            ),
            is("schednuma", "Task work at the tick, 256 MB per process and 200 ms (schednuma, October 2012)."),
            is("v38", "Task work at the tick, period per task from 100 ms, longer with every fault that migrates nothing (3.8)."),
            is("v313", "Period scaled by RSS, adapted once per pass; local share threshold 3 of 10 (3.13)."),
            is("v317", "As v313 with threshold 7 of 10 (3.17)."),
            is("v40", "As v317; failed migrations double the period (4.0)."),
            is("v414", "Private share first, then local share, threshold 7 of 10 (4.14 on)."),
        ],
    },
    RoleDecl {
        name: "vma_filter",
        doc: "Which VMAs a thread may scan.",
        impls: &[
            is("off", "Every suitable VMA (up to 6.3)."),
            is("v64", "Only VMAs the thread touched lately, after two free passes of the address space (6.4)."),
            is("rfc_v3", "As v64; the free passes become a budget per VMA, 1 + size/scan size/2 (RFC V3, May 2023)."),
            is("rfc_v3_cover", "As rfc_v3 with the budget as its covering letter words it, size/scan size/2."),
            is("rfc_v2", "As rfc_v3, one visit more, and the count starts again every 16 passes (RFC V2)."),
            is("v67", "As v64; partly scanned VMAs are finished by anyone, one inactive VMA is forced per walk (6.7)."),
            is("v68", "As v67; the two free passes count from the VMA's own first scan (6.8)."),
            is("v612", "As v68; a VMA left alone for as many passes as there are threads is open to all (6.12)."),
            is("v612_budget", "As v612; the free passes become the budget of rfc_v3 (catalog/guest/disjoint-vma-budget.patch)."),
        ],
    },
    RoleDecl {
        name: "page_filter",
        doc: "Which pages a scan leaves unmarked.",
        impls: &[
            is("none", "No page is spared (3.13 to 4.15)."),
            is("mapcount1_any", "Pages not mapped exactly once, in any mapping (3.8)."),
            is("cow_mapcount1", "Pages of copy-on-write mappings not mapped exactly once (4.16 to 5.16)."),
            is("cow_skip_vma", "As cow_mapcount1, and the rest of the VMA too (proposed 2018)."),
            is("mapcount_threshold", "Pages mapped more often than a limit (proposed 2018)."),
            is("cow_refcount1", "Pages of copy-on-write mappings with more than one reference (5.17 to 6.9)."),
            is("cow_shared_or_pinned", "Pages of copy-on-write mappings that are shared or may be pinned (6.10 on)."),
        ],
    },
    RoleDecl {
        name: "fault_stats",
        doc: "What is remembered of hint faults.",
        impls: &[
            is("autonuma", "Per thread at faults and per process at scans, by page node (AutoNUMA, 2012)."),
            is("schednuma", "Per thread by page node; the busiest becomes the home node (schednuma, October 2012)."),
            is("none", "Nothing (3.8)."),
            is("v313", "Faults by page node, private and shared, decay rounding down, groups (3.13)."),
            is("v315", "Also by the faulting CPU's node, decay rounding up (3.15 on)."),
        ],
    },
    RoleDecl {
        name: "page_migrate",
        doc: "Whether a faulting page moves to the faulting CPU's node.",
        impls: &[
            is(
                "autonuma",
                "On its first hinting fault, then after two in a row from one node; huge pages are split (AutoNUMA, \
                 2012).",
            ),
            is(
                "schednuma",
                "After two hinting faults in a row from one node, once the thread has a home; huge pages move whole \
                 (schednuma, October 2012).",
            ),
            is("moron", "With every hint fault from another node (balancenuma before it had a filter, 2012)."),
            is("v38", "If the last hint fault came from this node too (3.8)."),
            is("v313", "Two-stage filter on the last CPU and PID (3.13)."),
            is("v315", "As v313, then private faults, then the group's use of both nodes (3.15)."),
            is("v420", "As v315 with an exception for young tasks (4.19 on)."),
            is("oracle", "With every access, to the node it comes from, at no cost: no kernel, but the bound for all of them."),
        ],
    },
    RoleDecl {
        name: "task_migrate",
        doc: "Whether a task moves to its memory.",
        impls: &[
            is("exchange", "Exchanged with a task that wants its place less, by thread and process weights (AutoNUMA, 2012)."),
            is("home_node", "Pulled to its home node by the load balancer (schednuma, October 2012)."),
            is("none", "Never (3.8)."),
            is("preferred", "To its preferred node, by move or swap (3.13 on); refinements are numa.* switches."),
        ],
    },
    RoleDecl {
        name: "imbalance",
        doc: "How uneven the load balancer lets nodes be.",
        impls: &[
            is("none", "No allowance (before 5.6)."),
            is("fixed_2", "A difference of two tasks (5.6 to 5.10)."),
            is("quarter_5_11", "Up to a quarter of the CPUs, counted at the source (5.11 to 5.17)."),
            is("quarter_5_17s", "Up to a quarter of the CPUs, counted at the destination (stable 5.15.33, 5.16.19, 5.17.2)."),
            is("imb_v3", "imb_numa_nr as posted in v3: half an LLC shared out over the nodes' LLCs."),
            is("imb_5_18", "imb_numa_nr as merged: the LLCs of a node, or a quarter of its CPUs (5.18)."),
            is("imb_6_0", "The LLCs of a node, or an eighth of its CPUs, at least 1 (6.0 on)."),
        ],
    },
    RoleDecl {
        name: "thp_locality",
        doc: "Where a huge page comes from when the local node has none free.",
        impls: &[
            is("thp_zonelist", "Any node by distance (up to 4.0)."),
            is("thp_thisnode", "Only the local node (4.1 to 5.2)."),
            is("thp_relaxed", "Any node if the fault may reclaim (4.20-rc, 5.3)."),
            is("thp_two_step_54", "Local node first, then any node without retry (5.4)."),
            is("thp_two_step", "Local node first without retry, then any node (5.5 on)."),
            is("mpol_huge", "As thp_two_step; a range may have a policy of its own for huge pages (proposed 2019)."),
            is("prctl_span", "As thp_two_step; processes in span mode prefer remote huge pages (proposed 2019)."),
            is("ladder_sorted", "Every distance and size by predicted latency, what is free (the aim of thp-locality-2019)."),
            is("ladder_custom", "A given list of distances and sizes, what is free."),
        ],
    },
    RoleDecl {
        name: "reclaim",
        doc: "Whether an allocation reclaims its own node before using another.",
        impls: &[is("zone_reclaim", "As system.zone_reclaim_mode says.")],
    },
];
