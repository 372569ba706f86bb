//! Tunables of the daemon where it is simulated. The real one has options for them.

use numalab_base::tunable::Needs;

numalab_base::tunables! {
    /// The daemon `numalab balance`, simulated.
    pub struct UserspaceTunables: "userspace_balance" {
        /// Time between two looks of the daemon that balances from user space; 0 for no daemon.
        interval_ms: u32 = 0, "ms", "model", range 0..=60_000;
        /// Memory that the daemon moves at most.
        rate_limit_mb_s: u32 = 256, "MB/s", "model", range 1..=100_000,
            read when "userspace_balance.interval_ms" is Needs::Not("0");
    }
}
