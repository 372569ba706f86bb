//! Machines and node states that the tables speak of.

use crate::machines;
use numalab_base::tunable::Group;
use numalab_kernel::mm::alloc::AllocSite;
use numalab_kernel::mm::policy::{MemPolicy, Placement};
use numalab_kernel::mm::reclaim::{AnonShrunk, NoOwners, Owners};
use numalab_kernel::mm::thp::{FaultContext, HugeRules, Ladders, Locality};
use numalab_kernel::mm::{AllocError, Frame, Gfp, Got, MmConfig, NodeMemory, PageClass, Work};
use numalab_model::machine::Machine;

/// Naples with these settings (`group.key=value`).
pub fn naples(settings: &[&str]) -> NodeMemory {
    NodeMemory::with_config(&machines::naples(), &config(settings), 1)
}

/// Naples with nodes of 1 GiB.
pub fn small_naples(settings: &[&str]) -> NodeMemory {
    NodeMemory::with_config(&small(machines::naples()), &config(settings), 1)
}

/// A machine with nodes of 1 GiB.
pub fn small(mut machine: Machine) -> Machine {
    machine.nodes.iter_mut().for_each(|n| n.memory_bytes = 1 << 30);
    machine
}

/// Settings; compaction meets no page it cannot move unless told otherwise.
pub fn config(settings: &[&str]) -> MmConfig {
    let mut cfg = MmConfig::default();
    cfg.compact.async_unmovable = 0;
    cfg.compact.sync_unmovable = 0;
    for s in settings {
        let (name, value) = s.split_once('=').unwrap();
        let (group, key) = name.split_once('.').unwrap();
        match group {
            "vm" => cfg.vm.set(key, value),
            "thp" => cfg.thp.set(key, value),
            "compact" => cfg.compact.set(key, value),
            "swap" => cfg.swap.set(key, value),
            _ => cfg.khugepaged.set(key, value),
        }
        .unwrap();
    }
    cfg
}

/// State of a node in the tables of section 16.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// Everything free.
    E,
    /// No empty block, compaction would succeed.
    C,
    /// Short of memory: free = low, no empty block; the rest is clean page cache over scattered data.
    S,
    /// The same without anything to reclaim.
    Stuck,
    /// Enough free memory, no empty block, compaction fails.
    X,
}

/// Brings an untouched node into a state.
pub fn put(m: &mut NodeMemory, node: usize, state: State) {
    let fill = |m: &mut NodeMemory, class| {
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

/// Outcome of a fault.
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

/// A huge-page fault under a rule, and what follows for a base page.
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
    pub fn with<O: Owners>(&self, m: &mut NodeMemory, env: &mut O, work: &mut Work) -> Result<Fault, AllocError> {
        let machine = machines::naples();
        let ladders = if self.rule == Locality::LadderSorted {
            Ladders::sorted(&machine, false)
        } else {
            Ladders::classes_of(&machine)
        };
        let place = self.policy.placement(self.here, 0);
        let ctx = FaultContext {
            here: self.here,
            place: self.huge.map_or(place, |(p, _)| p.placement(self.here, 0)),
            huge_rules: self.huge.map(|h| h.1),
            gfp: self.gfp,
            mems: m.memory_nodes(),
            span: self.span,
            span_max_class: self.span_max_class,
            ladders: &ladders,
        };
        if let Some(l) = m.huge_fault(self.rule, &ctx, env, work) {
            return Ok(Fault { huge: l.huge, node: l.got.node, frame: l.got.frame });
        }
        let got = base_fault(m, self.here, &place, env, work)?;
        Ok(Fault { huge: false, node: got.node, frame: got.frame })
    }
    /// Without owners of anonymous pages: size and node.
    pub fn run(&self, m: &mut NodeMemory) -> Result<(bool, usize), AllocError> {
        self.with(m, &mut NoOwners, &mut Work::default()).map(|f| (f.huge, f.node))
    }
}

/// A fault for a base page.
pub fn base_fault<O: Owners>(
    m: &mut NodeMemory,
    here: usize,
    place: &Placement,
    env: &mut O,
    work: &mut Work,
) -> Result<Got, AllocError> {
    let site = AllocSite { here, place: *place, mems: m.memory_nodes() };
    m.alloc_placed(Gfp::HIGHUSER_MOVABLE, false, &site, env, work)
}

/// A base-page fault on node 0 under the default policy.
pub fn base_on_0(m: &mut NodeMemory) -> Result<usize, AllocError> {
    base_fault(m, 0, &Placement::local(0), &mut NoOwners, &mut Work::default()).map(|g| g.node)
}

/// Huge pages of one process, swapped out whole, oldest first: what the swap storm needs.
#[derive(Debug, Default)]
pub struct HugePages {
    pub resident: std::collections::VecDeque<(usize, Frame)>,
    pub swapped_pages: u64,
}

impl Owners for HugePages {
    fn shrink_anon(
        &mut self,
        memory: &mut NodeMemory,
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
