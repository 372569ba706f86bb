//! Machines and states of nodes in the tables.

use crate::mm::machines;
use numalab_base::node_mask::NodeMask;
use numalab_base::tunable::Group;
use numalab_kernel::mm::alloc::{AllocSite, Constraint, Request};
use numalab_kernel::mm::policy::{MemPolicy, PolicyNodes};
use numalab_kernel::mm::reclaim::{AnonReclaim, AnonShrunk, KswapdStep, NoAnonReclaim};
use numalab_kernel::mm::thp::{FaultContext, HugeRules, Ladders, Locality, ThpDefrag, ThpEnabled};
use numalab_kernel::mm::{AllocError, AllocatedPage, Frame, Gfp, MmConfig, PageClass, PhysicalMemory, Work};
use numalab_model::machine::Machine;

/// Naples with these settings, `group.key=value`.
pub fn naples(settings: &[&str]) -> PhysicalMemory {
    PhysicalMemory::with_config(&machines::naples(), &config(settings), 1)
}

/// Naples with nodes of 1 GiB.
pub fn small_naples(settings: &[&str]) -> PhysicalMemory {
    PhysicalMemory::with_config(&small(machines::naples()), &config(settings), 1)
}

/// A machine with nodes of 1 GiB.
pub fn small(mut machine: Machine) -> Machine {
    machine.nodes.iter_mut().for_each(|n| n.memory_bytes = 1 << 30);
    machine
}

/// Settings. Compaction finds no page that it cannot move, unless a setting says otherwise.
pub fn config(settings: &[&str]) -> MmConfig {
    let mut cfg = MmConfig::default();
    cfg.compact.async_unmovable = 0;
    cfg.compact.sync_unmovable = 0;
    for s in settings {
        let (name, value) = s.split_once('=').unwrap();
        let (group, key) = name.split_once('.').unwrap();
        match (group, key) {
            ("thp", "locality") => cfg.thp.locality = Locality::parse(value).unwrap(),
            ("thp", "enabled") => cfg.thp.enabled = ThpEnabled::parse(value).unwrap(),
            ("thp", "defrag") => cfg.thp.defrag = ThpDefrag::parse(value).unwrap(),
            // Both follow from settings of the system.
            ("vm", "zone_reclaim_mode") => cfg.vm.zone_reclaim_mode = value.parse().unwrap(),
            ("vm", "tiering") => cfg.vm.tiering = value.parse().unwrap(),
            ("vm", _) => cfg.vm.set(key, value).unwrap(),
            ("thp", _) => cfg.thp.set(key, value).unwrap(),
            ("compact", _) => cfg.compact.set(key, value).unwrap(),
            ("swap", _) => cfg.swap.set(key, value).unwrap(),
            _ => cfg.khugepaged.set(key, value).unwrap(),
        }
    }
    cfg
}

/// State of a node in the tables of section 16.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// All memory is free.
    E,
    /// No empty block; compaction would succeed.
    C,
    /// Short of memory: free = low, no empty block, and the rest is clean page cache among scattered data.
    S,
    /// As [`State::S`], without anything to reclaim.
    Stuck,
    /// Enough free memory, no empty block; compaction fails.
    X,
}

/// Brings an untouched node into a state.
pub fn put(m: &mut PhysicalMemory, node: usize, state: State) {
    let fill = |m: &mut PhysicalMemory, class| {
        m.fragment(node, 400, 0);
        m.cache_fill(node, u64::MAX, class);
        assert_eq!(m.free(node), m.watermarks(node).low);
    };
    match state {
        State::E => return,
        State::C => m.fragment(node, 400, 0),
        State::X => m.fragment(node, 400, 1000),
        State::S => fill(m, PageClass::FileClean),
        State::Stuck => fill(m, PageClass::FileMapped),
    }
    assert_eq!(m.empty_blocks(node), 0, "{state:?}");
}

/// Result of a fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fault {
    pub huge: bool,
    pub node: usize,
    pub frame: Frame,
}

pub const fn thp(node: usize) -> (bool, usize) {
    (true, node)
}

pub const fn small_page(node: usize) -> (bool, usize) {
    (false, node)
}

/// A huge-page fault under a rule, and the base page that may follow.
pub struct Faulting<'a> {
    pub rule: Locality,
    pub gfp: Gfp,
    pub here: usize,
    pub policy: &'a MemPolicy,
    pub huge: Option<(&'a MemPolicy, HugeRules)>,
    pub span: bool,
    pub span_max_class: u8,
}

impl<'a> Faulting<'a> {
    pub fn new(rule: Locality, gfp: Gfp) -> Self {
        Self { rule, gfp, here: 0, policy: MemPolicy::system(), huge: None, span: false, span_max_class: u8::MAX }
    }
    pub fn policy(self, policy: &'a MemPolicy) -> Self {
        Self { policy, ..self }
    }
    pub fn with<O: AnonReclaim>(
        &self,
        m: &mut PhysicalMemory,
        env: &mut O,
        work: &mut Work,
    ) -> Result<Fault, AllocError> {
        let machine = machines::naples();
        let ladders = if self.rule == Locality::LadderSorted {
            Ladders::sorted(&machine, false)
        } else {
            Ladders::classes_of(&machine)
        };
        let policy_nodes = self.policy.policy_nodes(self.here, 0);
        let ctx = FaultContext {
            here: self.here,
            policy_nodes: self.huge.map_or(policy_nodes, |(p, _)| p.policy_nodes(self.here, 0)),
            huge_rules: self.huge.map(|h| h.1),
            gfp: self.gfp,
            mems: m.memory_nodes(),
            span: self.span,
            span_max_class: self.span_max_class,
            ladders: &ladders,
        };
        if let Some(l) = m.alloc_thp(self.rule, &ctx, env, work) {
            return Ok(Fault { huge: l.huge, node: l.got.node, frame: l.got.frame });
        }
        let got = base_fault(m, self.here, &policy_nodes, env, work)?;
        Ok(Fault { huge: false, node: got.node, frame: got.frame })
    }
    /// Runs the fault without reclaim of anonymous pages; returns size and node.
    pub fn run(&self, m: &mut PhysicalMemory) -> Result<(bool, usize), AllocError> {
        self.with(m, &mut NoAnonReclaim, &mut Work::default()).map(|f| (f.huge, f.node))
    }
}

/// Allocates a base page as a fault does.
pub fn base_fault<O: AnonReclaim>(
    m: &mut PhysicalMemory,
    here: usize,
    policy_nodes: &PolicyNodes,
    env: &mut O,
    work: &mut Work,
) -> Result<AllocatedPage, AllocError> {
    let site = AllocSite { here, policy_nodes: *policy_nodes, mems: m.memory_nodes() };
    m.alloc_anon(Gfp::HIGHUSER_MOVABLE, false, &site, env, work)
}

/// A base-page fault on node 0 under the default policy; returns the node of the page.
pub fn base_on_0(m: &mut PhysicalMemory) -> Result<usize, AllocError> {
    base_fault(m, 0, &PolicyNodes::local(0), &mut NoAnonReclaim, &mut Work::default()).map(|g| g.node)
}

/// An anonymous page of `pages` (1 or 512) for a CPU of node `here`, from that node or the others in `allowed` (a bit
/// mask).
pub fn alloc_near(m: &mut PhysicalMemory, here: usize, allowed: u64, pages: u64) -> Option<usize> {
    let huge = pages > 1;
    let req = Request {
        gfp: if huge { Gfp::TRANSHUGE_LIGHT } else { Gfp::HIGHUSER_MOVABLE },
        huge,
        here,
        preferred: here,
        allowed: NodeMask::from_bits(u128::from(allowed)),
        class: if huge { PageClass::AnonHuge } else { PageClass::Anon },
        constraint: Constraint::None,
        interleaved: false,
    };
    m.alloc_page(&req, &mut NoAnonReclaim, &mut Work::default()).ok().map(|got| got.node)
}

/// Runs the kswapd of a node until it sleeps.
pub fn run_kswapd<O: AnonReclaim>(m: &mut PhysicalMemory, node: usize, owners: &mut O, work: &mut Work) {
    while m.kswapd_step(node, owners, work) == KswapdStep::Running {}
}

/// Huge pages of one process, which are swapped out whole, the oldest first, as in the swap storm.
#[derive(Debug, Default)]
pub struct HugePages {
    pub resident: std::collections::VecDeque<(usize, Frame)>,
    pub swapped_pages: u64,
}

impl AnonReclaim for HugePages {
    fn shrink_anon(
        &mut self,
        memory: &mut PhysicalMemory,
        node: usize,
        scan: u64,
        _demote_to: Option<usize>,
        work: &mut Work,
    ) -> AnonShrunk {
        let mut out = AnonShrunk::default();
        while out.scanned < scan {
            let Some(at) = self.resident.iter().position(|p| p.0 == node) else { break };
            if memory.swap.take_cluster().is_none() {
                break;
            }
            let (_, frame) = self.resident.remove(at).unwrap();
            memory.free_page(node, frame, PageClass::AnonHuge);
            out.scanned += 512;
            out.freed += 512;
        }
        self.swapped_pages += out.freed;
        work.swapped_out += out.freed;
        out
    }
}
