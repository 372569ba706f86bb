//! Which of the designs of 2012 fills which role (designs-2012.md).
//!
//! The kernels of 3.8 and later differ by switches of one mechanism. AutoNUMA and schednuma are mechanisms of their
//! own. Each fills four roles: scanning, fault statistics, page migration and task migration. Scanning and task
//! migration can be exchanged between the two designs, which shows how much each part matters.

use super::autonuma::AutoNumaTunables;
use super::schednuma::SchedNumaTunables;
use numalab_base::tunable::Word;
use numalab_base::words;

numalab_base::tunables! {
    /// The four roles as the designs of 2012 see them; `task_work` and `kernel` are the kernels of 3.8 and later.
    pub struct DesignWords: "design" {
        /// Who scans.
        scan: Word = "task_work", "", "model", choices ["task_work", "none", "autonuma", "schednuma"];
        /// What is kept of faults.
        fault_stats: Word = "kernel", "", "model", choices ["kernel", "autonuma", "schednuma"];
        /// Whether and how a page moves.
        page_migrate: Word = "kernel", "", "model", choices ["kernel", "autonuma", "schednuma", "oracle"];
        /// Whether and how a task moves.
        task_migrate: Word = "kernel", "", "model", choices ["kernel", "exchange", "home_node"];
    }
}

words! {
    /// Which mechanism scans address spaces.
    pub enum Scanner {
        /// Task work of 3.8 and later.
        TaskWork = "task_work",
        /// No scanning.
        None = "none",
        /// knuma_scand, one daemon for the machine.
        Scand = "autonuma",
        /// Task work of schednuma, a rate per process.
        PerProcess = "schednuma",
    }
}

words! {
    /// Which design's fault path and statistics are in use.
    pub enum Faults {
        /// The kernels of 3.8 and later.
        Kernel = "kernel",
        /// AutoNUMA.
        AutoNuma = "autonuma",
        /// schednuma.
        SchedNuma = "schednuma",
    }
}

words! {
    /// How tasks are moved.
    pub enum TaskMoves {
        /// As in 3.8 and later; settings may turn it off.
        Kernel = "kernel",
        /// AutoNUMA's exchange.
        Exchange = "exchange",
        /// schednuma's home node, pulled by the load balancer.
        HomeNode = "home_node",
    }
}

/// The roles of a kernel and the tunables of both designs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Design {
    /// Which mechanism scans.
    pub scan: Scanner,
    /// Which design's fault path and statistics are in use.
    pub faults: Faults,
    /// How tasks are moved.
    pub moves: TaskMoves,
    /// Every access finds its page on its own node, at no cost. This is a bound that no kernel reaches.
    pub oracle: bool,
    /// AutoNUMA's tunables.
    pub autonuma: AutoNumaTunables,
    /// schednuma's tunables.
    pub schednuma: SchedNumaTunables,
}

impl Default for Design {
    fn default() -> Self {
        Self {
            scan: Scanner::TaskWork,
            faults: Faults::Kernel,
            moves: TaskMoves::Kernel,
            oracle: false,
            autonuma: AutoNumaTunables::default(),
            schednuma: SchedNumaTunables::default(),
        }
    }
}

impl Design {
    /// The design with these roles.
    ///
    /// # Errors
    /// A sentence, if the roles cannot work together. Statistics and page migration must be of one design. An exchange
    /// needs AutoNUMA's statistics, home nodes need schednuma's, and the scanner must belong to the statistics.
    pub fn new(words: &DesignWords, autonuma: AutoNumaTunables, schednuma: SchedNumaTunables) -> Result<Self, String> {
        let unknown = |role: &str, word: &str| format!("role {role} cannot be `{word}`");
        let scan = Scanner::parse(words.scan).ok_or_else(|| unknown("scan", words.scan))?;
        let faults = Faults::parse(words.fault_stats).ok_or_else(|| unknown("fault_stats", words.fault_stats))?;
        let oracle = words.page_migrate == "oracle";
        let page_migrate = if oracle { Faults::Kernel.word() } else { words.page_migrate };
        let pages = Faults::parse(page_migrate).ok_or_else(|| unknown("page_migrate", words.page_migrate))?;
        let moves = TaskMoves::parse(words.task_migrate).ok_or_else(|| unknown("task_migrate", words.task_migrate))?;
        if faults != pages {
            return Err(format!(
                "roles fault_stats `{}` and page_migrate `{}` do not work together; expected both of one design",
                words.fault_stats, words.page_migrate
            ));
        }
        let needs = match moves {
            TaskMoves::Kernel => None,
            TaskMoves::Exchange => Some(Faults::AutoNuma),
            TaskMoves::HomeNode => Some(Faults::SchedNuma),
        };
        if needs.is_some_and(|f| f != faults) {
            return Err(format!(
                "role task_migrate `{}` needs the fault statistics of its own design, not `{}`",
                words.task_migrate, words.fault_stats
            ));
        }
        let own = matches!(scan, Scanner::Scand | Scanner::PerProcess);
        if own != (faults != Faults::Kernel) && scan != Scanner::None {
            return Err(format!(
                "role scan `{}` does not go with fault_stats `{}`; expected a scanner of the designs of 2012 with \
                 their statistics, and task work with the others",
                words.scan, words.fault_stats
            ));
        }
        Ok(Self { scan, faults, moves, oracle, autonuma, schednuma })
    }
    /// Whether one of the designs of 2012 handles hint faults.
    #[inline]
    pub fn active(&self) -> bool {
        self.faults != Faults::Kernel
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(scan: Word, faults: Word, pages: Word, tasks: Word) -> Result<Design, String> {
        let w = DesignWords { scan, fault_stats: faults, page_migrate: pages, task_migrate: tasks };
        Design::new(&w, AutoNumaTunables::default(), SchedNumaTunables::default())
    }

    #[test]
    fn the_designs_and_their_mixtures() {
        assert!(words("autonuma", "autonuma", "autonuma", "exchange").is_ok());
        assert!(words("schednuma", "schednuma", "schednuma", "home_node").is_ok());
        assert!(words("schednuma", "autonuma", "autonuma", "exchange").is_ok(), "pace swapped");
        assert!(words("autonuma", "autonuma", "autonuma", "kernel").is_ok(), "exchange off");
        assert!(!words("none", "kernel", "kernel", "kernel").unwrap().active());
        let oracle = words("none", "kernel", "oracle", "kernel").unwrap();
        assert!(oracle.oracle && !oracle.active());
    }

    #[test]
    fn what_cannot_work_is_refused() {
        assert!(words("autonuma", "autonuma", "schednuma", "exchange").unwrap_err().contains("page_migrate"));
        assert!(words("autonuma", "autonuma", "autonuma", "home_node").unwrap_err().contains("task_migrate"));
        assert!(words("autonuma", "kernel", "kernel", "kernel").unwrap_err().contains("scan"));
        assert!(words("task_work", "autonuma", "autonuma", "exchange").unwrap_err().contains("scan"));
    }
}
