//! numalab-report.
