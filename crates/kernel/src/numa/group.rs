//! NUMA groups: tasks that share memory are placed together (kernel-numa-balancing.md §13).
//!
//! A task that takes a shared fault looks at the task now running on the CPU that faulted before; if that one's
//! group is larger (or equal and older), it joins. Groups never split; tasks leave on exec and exit.
//! The kernel breaks ties by address; here creation order stands for address order.

use super::fault::FaultFlags;
use super::host::TaskHost;
use super::period::GroupScale;
use super::state::{fault_index, LastCpupid, TaskId, CPU, MEM, PRIVATE, SHARED};
use super::topology::{NumaTopology, TopologyKind, LOCAL_DISTANCE};
use super::weights::Whose;
use super::NumaBalancing;

/// A node is active from this fraction of the busiest node's CPU faults.
pub const ACTIVE_NODE_FRACTION: u64 = 3;

/// A group. References equal members (kernel-numa-balancing.md §17.1).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NumaGroup {
    /// Creation order, which stands for the kernel's address order.
    pub order: u64,
    /// Pid of the creator.
    pub gid: u32,
    /// Members.
    pub nr_tasks: u32,
    /// Nodes the group is active on.
    pub active_nodes: u32,
    /// Sum of all faults.
    pub total_faults: u64,
    /// CPU faults of the busiest node when active nodes were last counted.
    pub max_faults_cpu: u64,
    /// MEM and CPU averages; same positions as in a task's array.
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
    /// Whether a node is active, by the count stored last (`numa_is_active_node`).
    #[inline]
    pub fn is_active(&self, nodes: usize, nid: usize) -> bool {
        self.cpu(nodes, nid).wrapping_mul(ACTIVE_NODE_FRACTION) > self.max_faults_cpu
    }
    /// Recounts the active nodes (`numa_group_count_active_nodes`).
    pub fn count_active_nodes(&mut self, topo: &NumaTopology) {
        let nodes = topo.nodes();
        let max = topo.cpu_nodes().iter().map(|n| self.cpu(nodes, n)).max().unwrap_or(0);
        let active = |n: &usize| self.cpu(nodes, *n).wrapping_mul(ACTIVE_NODE_FRACTION) > max;
        self.active_nodes = topo.cpu_nodes().iter().filter(active).count() as u32;
        self.max_faults_cpu = max;
    }
    /// What the group contributes to the scan period of its members.
    pub fn scale(&self, nodes: usize) -> GroupScale {
        let sum =
            |private| (0..nodes).fold(0u64, |s, n| s.wrapping_add(self.faults[fault_index(MEM, nodes, n, private)]));
        GroupScale { members: u64::from(self.nr_tasks), private: sum(PRIVATE), shared: sum(SHARED) }
    }
}

/// All groups; slots and their arrays are reused.
#[derive(Clone, Debug, Default)]
pub struct Groups {
    slots: Vec<NumaGroup>,
    free: Vec<u32>,
    created: u64,
}

impl Groups {
    /// A live group.
    #[inline]
    pub fn get(&self, id: u32) -> &NumaGroup {
        &self.slots[id as usize]
    }
    /// A live group, to change.
    #[inline]
    pub fn get_mut(&mut self, id: u32) -> &mut NumaGroup {
        &mut self.slots[id as usize]
    }
    /// Number of live groups.
    pub fn live(&self) -> usize {
        self.slots.len() - self.free.len()
    }
    /// A group of one: a copy of its creator's averages.
    fn create(&mut self, gid: u32, faults: &[u64], total_faults: u64) -> u32 {
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
        g.total_faults = total_faults;
        id
    }
    /// Takes a member's averages out; the last one frees the group.
    fn remove(&mut self, id: u32, faults: &[u64], total: u64) {
        let g = &mut self.slots[id as usize];
        g.faults.iter_mut().zip(faults).for_each(|(sum, f)| *sum = sum.wrapping_sub(*f));
        g.total_faults = g.total_faults.wrapping_sub(total);
        g.nr_tasks -= 1;
        if g.nr_tasks == 0 {
            self.free.push(id);
        }
    }
    /// Adds a member's averages.
    fn add(&mut self, id: u32, faults: &[u64], total: u64) {
        let g = &mut self.slots[id as usize];
        g.faults.iter_mut().zip(faults).for_each(|(sum, f)| *sum = sum.wrapping_add(*f));
        g.total_faults = g.total_faults.wrapping_add(total);
        g.nr_tasks += 1;
    }
}

impl NumaBalancing {
    /// The group's share in a task's scan period, if it has a group.
    pub(super) fn group_scale(&self, task: TaskId) -> Option<GroupScale> {
        self.tasks[task as usize].numa_group.map(|g| self.groups.get(g).scale(self.topo.nodes()))
    }

    /// Leaves the group, if any.
    pub(super) fn leave_group(&mut self, task: TaskId) {
        let t = &mut self.tasks[task as usize];
        if let Some(g) = t.numa_group.take() {
            self.groups.remove(g, &t.faults[..4 * self.topo.nodes()], t.total_numa_faults);
        }
    }

    /// Creation and join on a shared fault (`task_numa_group`); returns the fault's type, which contact with a
    /// stranger turns private.
    pub(super) fn task_numa_group<H: TaskHost>(
        &mut self,
        task: TaskId,
        last: LastCpupid,
        flags: FaultFlags,
        host: &H,
    ) -> usize {
        let averages = 4 * self.topo.nodes();
        let t = &mut self.tasks[task as usize];
        let mine = match t.numa_group {
            Some(g) => g,
            None => {
                let g = self.groups.create(t.pid, &t.faults[..averages], t.total_numa_faults);
                t.numa_group = Some(g);
                self.reasons.groups_created += 1;
                g
            }
        };
        let mm = t.mm;
        if last.cpu() >= self.topo.cpu_count() {
            return SHARED;
        }
        let Some(other) = host.running_on(last.cpu()).map(|id| &self.tasks[id as usize]) else { return SHARED };
        let Some(theirs) = other.numa_group.filter(|&g| last.matches(other.pid) && g != mine) else { return SHARED };
        let (my, their) = (self.groups.get(mine), self.groups.get(theirs));
        if my.nr_tasks > their.nr_tasks || (my.nr_tasks == their.nr_tasks && my.order > their.order) {
            return SHARED;
        }
        if other.mm != mm && !flags.has(FaultFlags::SHARED) {
            return PRIVATE;
        }
        let t = &mut self.tasks[task as usize];
        t.numa_group = Some(theirs);
        self.groups.remove(mine, &t.faults[..averages], t.total_numa_faults);
        self.groups.add(theirs, &t.faults[..averages], t.total_numa_faults);
        self.reasons.groups_joined += 1;
        SHARED
    }

    /// Node for a grouped task (`preferred_group_nid`), starting from the node with most group faults.
    pub(super) fn preferred_group_nid(&self, task: TaskId, candidate: Option<usize>) -> Option<usize> {
        match self.topo.kind() {
            TopologyKind::Direct => candidate,
            TopologyKind::GluelessMesh => {
                let dist = self.topo.max_distance();
                let mut best = (0, candidate);
                for n in self.topo.cpu_nodes().iter() {
                    let score = self.weight(Whose::Group, task, n, dist);
                    if score > best.0 {
                        best = (score, Some(n));
                    }
                }
                best.1
            }
            TopologyKind::Backplane => self.preferred_backplane_nid(task, candidate),
        }
    }

    /// Descends through the distance levels, keeping the group of nodes with most faults at each.
    fn preferred_backplane_nid(&self, task: TaskId, mut candidate: Option<usize>) -> Option<usize> {
        let mut nodes = self.topo.cpu_nodes();
        for &dist in self.topo.levels().iter().filter(|&&d| d > LOCAL_DISTANCE) {
            let mut max = (0, nodes);
            let mut rest = nodes;
            while let Some(a) = rest.first() {
                let mut near =
                    numalab_base::node_mask::NodeMask::of(rest.iter().filter(|&b| self.topo.distance(a, b) < dist));
                near.insert(a);
                let sum = near.iter().fold(0u64, |s, b| s.wrapping_add(self.faults_of(Whose::Group, task, b)));
                if sum > max.0 {
                    max = (sum, near);
                    candidate = Some(a);
                }
                near.iter().for_each(|b| rest.remove(b));
            }
            if max.0 == 0 {
                break;
            }
            nodes = max.1;
        }
        candidate
    }
}
