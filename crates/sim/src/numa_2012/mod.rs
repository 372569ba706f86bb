//! NUMA balancing as AutoNUMA and schednuma proposed it in 2012.

pub(crate) mod autonuma_balance;
pub(crate) mod autonuma_fault;
pub(crate) mod autonuma_migrate;
pub(crate) mod autonuma_scan;
pub(crate) mod collapse_2012;
pub(crate) mod hooks;
pub(crate) mod mark_2012;
pub(crate) mod schednuma_copy;
pub(crate) mod schednuma_fault;
pub(crate) mod schednuma_scan;
pub(crate) mod timers;
