//! `/proc/interrupts`: TLB shoot-downs that CPUs received.

/// Shoot-downs received by all CPUs since boot; `None` where the kernel does not list them.
pub fn read() -> Option<u64> {
    parse(&std::fs::read_to_string("/proc/interrupts").ok()?)
}

/// Sum of the numbers in the row `TLB`.
pub fn parse(text: &str) -> Option<u64> {
    let row = text.lines().find_map(|line| line.trim_start().strip_prefix("TLB:"))?;
    Some(row.split_ascii_whitespace().map_while(|w| w.parse::<u64>().ok()).sum())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_row_of_shoot_downs_is_summed() {
        let text =
            "           CPU0       CPU1\n LOC:     100   200   Local timer interrupts\n TLB:  7  5   TLB shootdowns\n";
        assert_eq!(parse(text), Some(12));
        assert_eq!(parse(" LOC: 1 2 Local timer interrupts\n"), None);
    }
}
