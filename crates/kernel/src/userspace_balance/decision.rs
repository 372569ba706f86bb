//! What is decided, and why.

use super::look::Hold;
use std::fmt;

/// What the daemon is to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Let a thread run on the CPUs of a node.
    MoveTask {
        /// Id of the thread.
        task: u64,
        /// Id of its group.
        group: u64,
        /// Node that it runs on.
        from: usize,
        /// Node that it is to run on.
        to: usize,
    },
    /// Let a thread run on the CPUs of the node that it is on and no others, because threads of its group move.
    KeepTask {
        /// Id of the thread.
        task: u64,
        /// Id of its group.
        group: u64,
        /// Node that it runs on.
        node: usize,
    },
    /// Move pages of a mapping.
    MovePages {
        /// Id of the group.
        group: u64,
        /// First address of the mapping.
        start: u64,
        /// Node of the pages.
        from: usize,
        /// Node that they move to.
        to: usize,
        /// Number of pages, at least 1.
        pages: u64,
    },
}

/// Why an action is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// The group runs on fewer nodes afterwards, with more of its memory local.
    Gather {
        /// Expected local accesses of the group without the change, in thousandths.
        before_permille: u64,
        /// The same with it.
        after_permille: u64,
    },
    /// Another group gains more by the threads' present nodes than this one loses.
    MakeRoom {
        /// Expected local accesses of the group without the change, in thousandths.
        before_permille: u64,
        /// The same with it, not more.
        after_permille: u64,
    },
    /// No thread of the group runs on the pages' node.
    NobodyThere {
        /// Share of the group's CPU time on the destination, in thousandths.
        cpu_permille: u64,
    },
    /// Only CPUs of the destination use the pages.
    UsedThere,
    /// The group's memory is not distributed as its CPU time is.
    Follow {
        /// Share of the group's CPU time on the source, in thousandths.
        cpu_src_permille: u64,
        /// Share of the group's CPU time on the destination, in thousandths.
        cpu_dst_permille: u64,
    },
}

impl Reason {
    /// Why threads of a group move, by its expected local accesses without and with the move, in thousandths.
    pub(super) fn of_threads(before_permille: u64, after_permille: u64) -> Self {
        if after_permille > before_permille {
            Self::Gather { before_permille, after_permille }
        } else {
            Self::MakeRoom { before_permille, after_permille }
        }
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let percent = |permille: u64| format!("{}.{} %", permille / 10, permille % 10);
        match *self {
            Self::Gather { before_permille, after_permille } => {
                write!(f, "expected local accesses {} to {}", percent(before_permille), percent(after_permille))
            }
            Self::MakeRoom { before_permille, after_permille } => write!(
                f,
                "makes room for a process that gains more, expected local accesses {} to {}",
                percent(before_permille),
                percent(after_permille)
            ),
            Self::NobodyThere { cpu_permille } => {
                write!(
                    f,
                    "no thread of the process runs where its pages are, {} of its CPU time is spent there",
                    percent(cpu_permille)
                )
            }
            Self::UsedThere => write!(f, "only CPUs of the node that they move to use them"),
            Self::Follow { cpu_src_permille, cpu_dst_permille } => write!(
                f,
                "CPU time of the process is {} against {}, and its memory is not",
                percent(cpu_dst_permille),
                percent(cpu_src_permille)
            ),
        }
    }
}

/// An action with its reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Decision {
    /// What to do.
    pub action: Action,
    /// Why.
    pub reason: Reason,
}

/// Something that stays where it is although the rules would move it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Left {
    /// Id of the group.
    pub group: u64,
    /// First address of the mapping; `None` for the group's threads.
    pub start: Option<u64>,
    /// Pages that stay on a wrong node; the number of threads if `start` is `None`.
    pub count: u64,
    /// Why.
    pub hold: Hold,
}

/// The answer to a look.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Verdict {
    /// What to do, most useful first.
    pub decisions: Vec<Decision>,
    /// What is left alone.
    pub left: Vec<Left>,
    /// Pages that would move with a larger budget.
    pub over_budget_pages: u64,
    /// Share of memory local to the CPU time of its group, over all groups that are busy, in thousandths of pages.
    /// 1000 without any.
    pub local_permille: u64,
}
