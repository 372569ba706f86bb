//! How hot or cold a region is: the order in which a scheme takes regions (`damon_hot_score`, mm/damon/ops-common.c).

use super::region::Region;

/// Highest score (`DAMOS_MAX_SCORE`).
pub const MAX_SCORE: u32 = 99;
const MAX_SUBSCORE: i64 = 100;
const MAX_AGE_IN_LOG: i64 = 32;

/// How much counts and ages weigh in a score.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ScoreWeights {
    /// Weight of the accesses.
    pub nr_accesses: u32,
    /// Weight of the age.
    pub age: u32,
}

/// Hotness of a region, 0 to [`MAX_SCORE`]. `max_nr_accesses` is the number of samplings in an aggregation, which takes
/// `aggr_us`.
pub fn hot_score(r: &Region, max_nr_accesses: u32, aggr_us: u64, weights: ScoreWeights) -> u32 {
    let often = i64::from(r.nr_accesses) * MAX_SUBSCORE / i64::from(max_nr_accesses.max(1));
    let age_s = u64::from(r.age) * aggr_us / 1_000_000;
    let log = (64 - i64::from(age_s.leading_zeros())).min(MAX_AGE_IN_LOG);
    // Of what is not accessed, the older is the colder.
    let log = if often == 0 { -log } else { log };
    let age = (log + MAX_AGE_IN_LOG) * MAX_SUBSCORE / MAX_AGE_IN_LOG / 2;
    let (w_often, w_age) = (i64::from(weights.nr_accesses), i64::from(weights.age));
    let both = w_often * often + w_age * age;
    let mean = both.checked_div(w_often + w_age).unwrap_or(both);
    (mean * i64::from(MAX_SCORE) / MAX_SUBSCORE).clamp(0, i64::from(MAX_SCORE)) as u32
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::damon::region::Span;

    fn score(nr_accesses: u32, age: u32) -> u32 {
        let at = Span { process: 0, start: 0, end: 1 };
        let weights = ScoreWeights { nr_accesses: 100, age: 100 };
        hot_score(&Region { nr_accesses, age, ..Region::new(at) }, 20, 100_000, weights)
    }

    #[test]
    fn accesses_count_first_and_age_says_how_sure() {
        // (100 + 50) / 2 = 75 of 100; 16 s are 5 bits: (100 + 57) / 2 = 78.
        assert_eq!([score(20, 0), score(20, 160)], [74, 77]);
        // Never accessed: 25, and 21 after 16 s: (0 + 42) / 2.
        assert_eq!([score(0, 0), score(0, 160)], [24, 20]);
        assert!(score(10, 0) < score(20, 0) && score(1, 0) > score(0, 0));
    }

    #[test]
    fn without_weights_all_are_alike() {
        let at = Span { process: 0, start: 0, end: 1 };
        let none = ScoreWeights { nr_accesses: 0, age: 0 };
        assert_eq!(hot_score(&Region { nr_accesses: 20, ..Region::new(at) }, 20, 100_000, none), 0);
    }
}
