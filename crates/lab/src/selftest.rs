//! placeholder
#[cfg(test)]
pub(crate) mod tests {
    use numalab_worker::job::Job;
    pub(crate) fn tiny_job() -> Job { Job::new(crate::shrink::tests::workload(1 << 20), 1, vec![0], 1) }
}
