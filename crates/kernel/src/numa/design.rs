//! Which of the designs of 2012 fills which role (designs-2012.md).
//!
//! The kernels of 3.8 and later differ by switches of one mechanism. AutoNUMA and schednuma are mechanisms of their
//! own. Each fills four roles: scanning, fault statistics, page migration and task migration. Scanning and task
//! migration can be exchanged between the two designs, which shows how much each part matters.

use super::autonuma::AutoNumaTunables;
use super::config::NumaRoles;
use super::rules::{FaultStatsRole, PageMigrateRole, ScanRole, TaskMigrateRole};
use super::schednuma::SchedNumaTunables;

/// Which mechanism scans address spaces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scanner {
    /// Task work of 3.8 and later.
    TaskWork,
    /// No scanning.
    None,
    /// knuma_scand, one daemon for the machine.
    Scand,
    /// Task work of schednuma, a rate per process.
    PerProcess,
}

/// Which design's fault path and statistics are in use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Faults {
    /// The kernels of 3.8 and later.
    Kernel,
    /// AutoNUMA.
    AutoNuma,
    /// schednuma.
    SchedNuma,
}

/// How tasks are moved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TaskMoves {
    /// As in 3.8 and later; settings may turn it off.
    Kernel,
    /// AutoNUMA's exchange.
    Exchange,
    /// schednuma's home node, pulled by the load balancer.
    HomeNode,
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
    pub fn new(roles: &NumaRoles, autonuma: AutoNumaTunables, schednuma: SchedNumaTunables) -> Result<Self, String> {
        let scan = match roles.scan {
            ScanRole::None => Scanner::None,
            ScanRole::AutoNuma => Scanner::Scand,
            ScanRole::SchedNuma => Scanner::PerProcess,
            _ => Scanner::TaskWork,
        };
        let faults = match roles.fault_stats {
            FaultStatsRole::AutoNuma => Faults::AutoNuma,
            FaultStatsRole::SchedNuma => Faults::SchedNuma,
            _ => Faults::Kernel,
        };
        let pages = match roles.page_migrate {
            PageMigrateRole::AutoNuma => Faults::AutoNuma,
            PageMigrateRole::SchedNuma => Faults::SchedNuma,
            _ => Faults::Kernel,
        };
        let moves = match roles.task_migrate {
            TaskMigrateRole::Exchange => TaskMoves::Exchange,
            TaskMigrateRole::HomeNode => TaskMoves::HomeNode,
            TaskMigrateRole::None | TaskMigrateRole::Preferred => TaskMoves::Kernel,
        };
        let oracle = roles.page_migrate == PageMigrateRole::Oracle;
        let (scan_word, faults_word) = (roles.scan.word(), roles.fault_stats.word());
        if faults != pages {
            return Err(format!(
                "roles fault_stats `{faults_word}` and page_migrate `{}` do not work together; expected both of one design",
                roles.page_migrate.word()
            ));
        }
        let needs = match moves {
            TaskMoves::Kernel => None,
            TaskMoves::Exchange => Some(Faults::AutoNuma),
            TaskMoves::HomeNode => Some(Faults::SchedNuma),
        };
        if needs.is_some_and(|f| f != faults) {
            return Err(format!(
                "role task_migrate `{}` needs the fault statistics of its own design, not `{faults_word}`",
                roles.task_migrate.word()
            ));
        }
        let own = matches!(scan, Scanner::Scand | Scanner::PerProcess);
        if own != (faults != Faults::Kernel) && scan != Scanner::None {
            return Err(format!(
                "role scan `{scan_word}` does not go with fault_stats `{faults_word}`; expected a scanner of the designs \
                 of 2012 with their statistics, and task work with the others"
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

    fn words(scan: &str, faults: &str, pages: &str, tasks: &str) -> Result<Design, String> {
        let roles = NumaRoles {
            scan: ScanRole::parse(scan).unwrap(),
            fault_stats: FaultStatsRole::parse(faults).unwrap(),
            page_migrate: PageMigrateRole::parse(pages).unwrap(),
            task_migrate: TaskMigrateRole::parse(tasks).unwrap(),
            ..NumaRoles::default()
        };
        Design::new(&roles, AutoNumaTunables::default(), SchedNumaTunables::default())
    }

    #[test]
    fn the_designs_and_their_mixtures() {
        assert!(words("autonuma", "autonuma", "autonuma", "exchange").is_ok());
        assert!(words("schednuma", "schednuma", "schednuma", "home_node").is_ok());
        assert!(words("schednuma", "autonuma", "autonuma", "exchange").is_ok(), "pace swapped");
        assert!(words("autonuma", "autonuma", "autonuma", "none").is_ok(), "exchange off");
        assert!(!words("none", "none", "v38", "none").unwrap().active());
        let oracle = words("none", "v315", "oracle", "preferred").unwrap();
        assert!(oracle.oracle && !oracle.active());
    }

    #[test]
    fn what_cannot_work_is_refused() {
        assert!(words("autonuma", "autonuma", "schednuma", "exchange").unwrap_err().contains("page_migrate"));
        assert!(words("autonuma", "autonuma", "autonuma", "home_node").unwrap_err().contains("task_migrate"));
        assert!(words("autonuma", "v315", "v420", "preferred").unwrap_err().contains("scan"));
        assert!(words("v414", "autonuma", "autonuma", "exchange").unwrap_err().contains("scan"));
    }
}
