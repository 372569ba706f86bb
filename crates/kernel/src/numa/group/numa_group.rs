//! A NUMA group and the list of groups (kernel: `struct numa_group`).

use crate::numa::period::GroupScale;
use crate::numa::state::{fault_index, CPU, MEM, PRIVATE, SHARED};
use crate::numa::topology::NumaTopology;

/// A node is active if its CPU faults exceed those of the busiest node divided by this.
pub const ACTIVE_NODE_FRACTION: u64 = 3;

/// A NUMA group. Its references equal its members (kernel-numa-balancing.md §17.1).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NumaGroup {
    /// Creation order, which stands for the kernel's address order.
    pub order: u64,
    /// Pid of the creator.
    pub gid: u32,
    /// Number of members.
    pub nr_tasks: u32,
    /// Number of nodes on which the group is active.
    pub active_nodes: u32,
    /// Sum of all faults.
    pub total_faults: u64,
    /// CPU faults of the busiest node when active nodes were last counted.
    pub max_faults_cpu: u64,
    /// The nodes that the last count called active, one bit per node (`active_nodes` up to 4.5).
    pub active_mask: Vec<bool>,
    /// MEM and CPU averages, at the same positions as in a task's array.
    pub faults: Vec<u64>,
}

impl NumaGroup {
    /// Faults on memory of a node, both types.
    #[inline]
    pub fn mem(&self, nodes: usize, nid: usize) -> u64 {
        self.pair(MEM, nodes, nid)
    }
    /// Normalised faults from CPUs of a node, both types (`group_faults_cpu`).
    #[inline]
    pub fn cpu(&self, nodes: usize, nid: usize) -> u64 {
        self.pair(CPU, nodes, nid)
    }
    #[inline]
    fn pair(&self, stat: usize, nodes: usize, nid: usize) -> u64 {
        let i = fault_index(stat, nodes, nid, SHARED);
        self.faults[i].wrapping_add(self.faults[i + 1])
    }
    /// Whether a node is active, by the last count (`numa_is_active_node`).
    #[inline]
    pub fn is_active(&self, nodes: usize, nid: usize) -> bool {
        self.cpu(nodes, nid).wrapping_mul(ACTIVE_NODE_FRACTION) > self.max_faults_cpu
    }
    /// Whether a node is in the mask of active nodes.
    #[inline]
    pub fn in_active_mask(&self, nid: usize) -> bool {
        self.active_mask.get(nid).copied().unwrap_or(false)
    }
    /// Starts the mask of a new group with the node of its creator. Another group's mask stays as it is.
    pub(in crate::numa) fn start_active_mask(&mut self, nid: usize, nodes: usize) {
        if self.active_mask.is_empty() {
            self.active_mask.resize(nodes, false);
            self.active_mask[nid] = true;
        }
    }
    /// Renews the mask of active nodes (3.15 to 4.5, `update_numa_active_node_mask`). A node gets in with more than
    /// 6/16 of the CPU faults of the busiest node, and out with less than 3/16.
    pub fn update_numa_active_node_mask(&mut self, topo: &NumaTopology) {
        let nodes = topo.nodes();
        let max = topo.cpu_nodes().iter().map(|n| self.cpu(nodes, n)).max().unwrap_or(0);
        self.active_mask.resize(nodes, false);
        for n in topo.cpu_nodes().iter() {
            let faults = self.cpu(nodes, n);
            self.active_mask[n] = match self.active_mask[n] {
                false => faults > max.wrapping_mul(6) / 16,
                true => faults >= max.wrapping_mul(3) / 16,
            };
        }
        self.active_nodes = self.active_mask.iter().filter(|a| **a).count() as u32;
        self.max_faults_cpu = max;
    }
    /// Counts the active nodes again.
    pub fn numa_group_count_active_nodes(&mut self, topo: &NumaTopology) {
        let nodes = topo.nodes();
        let max = topo.cpu_nodes().iter().map(|n| self.cpu(nodes, n)).max().unwrap_or(0);
        let active = |n: &usize| self.cpu(nodes, *n).wrapping_mul(ACTIVE_NODE_FRACTION) > max;
        self.active_nodes = topo.cpu_nodes().iter().filter(active).count() as u32;
        self.max_faults_cpu = max;
    }
    /// The group's share in the scan periods of its members.
    pub fn scale(&self, nodes: usize) -> GroupScale {
        let sum =
            |private| (0..nodes).fold(0u64, |s, n| s.wrapping_add(self.faults[fault_index(MEM, nodes, n, private)]));
        GroupScale { members: u64::from(self.nr_tasks), private: sum(PRIVATE), shared: sum(SHARED) }
    }
}

/// All groups. Slots and their arrays are reused.
#[derive(Clone, Debug, Default)]
pub struct Groups {
    slots: Vec<NumaGroup>,
    free: Vec<u32>,
    created: u64,
}

impl Groups {
    /// The live group with index `id`.
    #[inline]
    pub fn get(&self, id: u32) -> &NumaGroup {
        &self.slots[id as usize]
    }
    /// The live group with index `id`, to change.
    #[inline]
    pub fn get_mut(&mut self, id: u32) -> &mut NumaGroup {
        &mut self.slots[id as usize]
    }
    /// Number of live groups.
    pub fn live(&self) -> usize {
        self.slots.len() - self.free.len()
    }
    /// Creates a group of one, with a copy of its creator's averages.
    pub(super) fn create(&mut self, gid: u32, faults: &[u64], total_faults: u64) -> u32 {
        let id = self.free.pop().unwrap_or_else(|| {
            self.slots.push(NumaGroup::default());
            self.slots.len() as u32 - 1
        });
        self.created += 1;
        let g = &mut self.slots[id as usize];
        g.faults.clear();
        g.faults.extend_from_slice(faults);
        g.order = self.created;
        g.gid = gid;
        g.nr_tasks = 1;
        g.active_nodes = 1;
        g.max_faults_cpu = 0;
        g.active_mask.clear();
        g.total_faults = total_faults;
        id
    }
    /// Removes a member's averages. The last member frees the group.
    pub(super) fn remove(&mut self, id: u32, faults: &[u64], total: u64) {
        let g = &mut self.slots[id as usize];
        g.faults.iter_mut().zip(faults).for_each(|(sum, f)| *sum = sum.wrapping_sub(*f));
        g.total_faults = g.total_faults.wrapping_sub(total);
        g.nr_tasks -= 1;
        if g.nr_tasks == 0 {
            self.free.push(id);
        }
    }
    /// Adds a member's averages.
    pub(super) fn add(&mut self, id: u32, faults: &[u64], total: u64) {
        let g = &mut self.slots[id as usize];
        g.faults.iter_mut().zip(faults).for_each(|(sum, f)| *sum = sum.wrapping_add(*f));
        g.total_faults = g.total_faults.wrapping_add(total);
        g.nr_tasks += 1;
    }
}
