//! The order of the ways in a round.

/// Order of `ways` ways in round `round`, as indices. Over two times `ways` rounds every way stands equally often at
/// every place, and of any two ways each comes first equally often. So neither drift nor what a way leaves behind
/// favours one.
pub fn order(round: usize, ways: usize) -> Vec<usize> {
    let rotated = (0..ways).map(|i| (i + round / 2) % ways.max(1));
    if round.is_multiple_of(2) {
        rotated.collect()
    } else {
        rotated.rev().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_way_stands_equally_often_at_every_place() {
        for ways in 1..6 {
            let mut at = vec![vec![0; ways]; ways];
            let mut first = vec![vec![0; ways]; ways];
            for round in 0..2 * ways {
                let order = order(round, ways);
                for (place, way) in order.iter().enumerate() {
                    at[*way][place] += 1;
                    order[place + 1..].iter().for_each(|later| first[*way][*later] += 1);
                }
            }
            assert!(at.iter().flatten().all(|n| *n == 2), "{at:?}");
            for a in 0..ways {
                assert!((0..ways).filter(|b| *b != a).all(|b| first[a][b] == ways), "{first:?}");
            }
        }
    }
}
