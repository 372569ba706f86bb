//! Reading the records of an experiment one by one, for a comparison.

use super::error::RecordError;
use super::experiment::{Member, Store};
use super::index::{Index, Stamp};
use super::summary::Summary;

/// Experiments of fewer runs have no index: reading their records takes a moment.
const INDEXED_RUNS_MIN: usize = 1000;

/// Reads summaries of records: from the index where it is fresh, else from the records.
#[derive(Debug)]
pub struct Summaries<'a> {
    store: &'a Store,
    index: Index,
}

impl<'a> Summaries<'a> {
    /// Begins to read records of a directory.
    pub fn of(store: &'a Store) -> Self {
        let index = if is_indexed(store) { Index::read(store.dir(), runs(store)) } else { Index::default() };
        Self { store, index }
    }

    /// The summary of a listed run, `None` if it has not been run yet. `series` asks for its time series too.
    ///
    /// # Errors
    /// The record is damaged, or its plan is not the one that is listed.
    pub fn get(&mut self, member: &Member, series: bool) -> Result<Option<Summary>, RecordError> {
        let place = self.store.place(member)?;
        // Taken before the record is read: what changes meanwhile must not pass for what was read.
        let stamp = if is_indexed(self.store) { Stamp::of(&place) } else { None };
        let indexed = stamp.as_ref().and_then(|s| self.index.get(&member.record, s));
        if let Some(summary) = &indexed {
            self.store.agree(member, &summary.plan, summary.seed)?;
        }
        if indexed.is_some() && !series {
            return Ok(indexed);
        }
        let Some(record) = self.store.record(member)? else { return Ok(None) };
        let mut summary = Summary::of(record, series);
        let _ = self.index.share(&mut summary);
        if let Some(stamp) = stamp.filter(|_| indexed.is_none()) {
            // Whether it could be entered changes nothing for the caller.
            let _ = self.index.add(self.store.dir(), &member.record, &stamp, &summary);
        }
        Ok(Some(summary))
    }

    /// Keeps what was read in the index of the directory, if it has one and can be written to.
    pub fn keep(self) {
        if is_indexed(self.store) {
            self.index.keep(runs(self.store));
        }
    }
}

fn runs(store: &Store) -> usize {
    store.file().runs.len()
}

fn is_indexed(store: &Store) -> bool {
    runs(store) >= INDEXED_RUNS_MIN
}
