//! The best of many, in bounded memory.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

/// Keeps the values with the smallest ranks. Of equal ranks, the smaller value is kept.
pub struct Nearest<T> {
    limit: usize,
    /// The worst on top.
    kept: BinaryHeap<Ranked<T>>,
}

struct Ranked<T> {
    rank: f64,
    value: T,
}

impl<T: Ord> Nearest<T> {
    /// Keeps up to `limit` values.
    pub fn new(limit: usize) -> Nearest<T> {
        Nearest { limit, kept: BinaryHeap::new() }
    }

    /// Whether a value of this rank could be kept.
    pub fn admits(&self, rank: f64) -> bool {
        self.kept.len() < self.limit || self.kept.peek().is_some_and(|worst| rank <= worst.rank)
    }

    /// Keeps the value if it is among the best so far.
    pub fn offer(&mut self, rank: f64, value: T) {
        self.kept.push(Ranked { rank, value });
        if self.kept.len() > self.limit {
            self.kept.pop();
        }
    }

    /// The values with their ranks, the best first.
    pub fn into_sorted(self) -> Vec<(f64, T)> {
        self.kept.into_sorted_vec().into_iter().map(|ranked| (ranked.rank, ranked.value)).collect()
    }
}

impl<T: Ord> Ord for Ranked<T> {
    fn cmp(&self, other: &Ranked<T>) -> Ordering {
        self.rank.total_cmp(&other.rank).then_with(|| self.value.cmp(&other.value))
    }
}

impl<T: Ord> PartialOrd for Ranked<T> {
    fn partial_cmp(&self, other: &Ranked<T>) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<T: Ord> PartialEq for Ranked<T> {
    fn eq(&self, other: &Ranked<T>) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl<T: Ord> Eq for Ranked<T> {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_best_are_kept_in_order_whatever_the_order_of_the_offers() {
        let mut random = fastrand::Rng::with_seed(1);
        let mut offers: Vec<(f64, u32)> = (0..1000).map(|value| (f64::from(random.u8(..)), value)).collect();
        let mut expected = offers.clone();
        expected.sort_by(|left, right| left.0.total_cmp(&right.0).then(left.1.cmp(&right.1)));
        for _ in 0..3 {
            random.shuffle(&mut offers);
            let mut nearest = Nearest::new(10);
            for (rank, value) in &offers {
                if nearest.admits(*rank) {
                    nearest.offer(*rank, *value);
                }
            }
            assert_eq!(nearest.into_sorted(), expected[..10]);
        }
    }

    #[test]
    fn fewer_offers_than_room_are_all_kept() {
        let mut nearest = Nearest::new(5);
        nearest.offer(2.0, 'b');
        nearest.offer(1.0, 'a');
        assert_eq!(nearest.into_sorted(), [(1.0, 'a'), (2.0, 'b')]);
    }
}
