//! A time series whose columns appear while it is recorded.

use numalab_base::plain_name::plain_name;
use numalab_model::record::Series;
use std::collections::BTreeMap;

/// A growing series.
#[derive(Clone, Debug)]
pub(super) struct Growing {
    series: Series,
    places: BTreeMap<String, usize>,
    /// Value before a column has appeared, and in samples that say nothing of it.
    fill: f64,
    most: usize,
}

impl Growing {
    /// A series without columns; at most `most` will have their own.
    pub fn new(name: &str, unit: &str, fill: f64, most: usize) -> Self {
        let series = Series { name: name.into(), unit: unit.into(), ..Series::default() };
        Self { series, places: BTreeMap::new(), fill, most }
    }

    /// Begins a sample.
    pub fn begin(&mut self, time_ns: u64) {
        self.series.time_ns.push(time_ns);
        let fill = self.fill;
        self.series.values.iter_mut().for_each(|column| column.push(fill));
    }

    /// Sets the value of a column in the sample; returns whether there is room for the column.
    pub fn set(&mut self, column: &str, value: f64) -> bool {
        match self.place(column) {
            Some(place) => {
                if let Some(last) = self.series.values[place].last_mut() {
                    *last = value;
                }
                true
            }
            None => false,
        }
    }

    /// Adds to the value of a column that always has room.
    pub fn add(&mut self, column: &str, value: f64) {
        self.most += usize::from(!self.places.contains_key(column));
        if let Some(place) = self.place(column) {
            if let Some(last) = self.series.values[place].last_mut() {
                *last += value;
            }
        }
    }

    fn place(&mut self, column: &str) -> Option<usize> {
        if let Some(&place) = self.places.get(column) {
            return Some(place);
        }
        if self.places.len() >= self.most {
            return None;
        }
        let place = self.series.columns.len();
        self.series.columns.push(column.to_string());
        self.series.values.push(vec![self.fill; self.series.time_ns.len()]);
        self.places.insert(column.to_string(), place);
        Some(place)
    }

    /// The series, if it has columns.
    pub fn finish(self) -> Option<Series> {
        (!self.series.columns.is_empty()).then_some(self.series)
    }
}

/// A name as part of a column's name.
pub(super) fn plain(name: &str) -> String {
    plain_name(name, 40, "unnamed")
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn columns_appear_later_and_have_their_fill_before() {
        let mut g = Growing::new("x", "pages", -1.0, 2);
        g.begin(1);
        assert!(g.set("a", 5.0));
        g.begin(2);
        assert!(g.set("b", 7.0) && !g.set("c", 9.0));
        g.add("others", 3.0);
        g.add("others", 1.0);
        let s = g.finish().unwrap();
        assert_eq!((s.columns.join(" "), s.time_ns), ("a b others".into(), vec![1, 2]));
        assert_eq!(s.values, [vec![5.0, -1.0], vec![-1.0, 7.0], vec![-1.0, 3.0]]);
        assert!(Growing::new("x", "", 0.0, 1).finish().is_none());
        assert_eq!(plain("a/b, c\n(x)"), "a_b__c__x_");
    }
}
