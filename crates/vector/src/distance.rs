//! How far apart two vectors are, by DynamoDB's three functions.

/// Sums that are made beside each other, so that the compiler can use the registers of a processor that hold several.
const LANES: usize = 8;

/// A function of two vectors of the same length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Distance {
    /// 1 minus the cosine of the angle between them: 0 for the same direction, 2 for opposite ones. A vector of zeros
    /// has no direction; its distance to every vector is 1.
    Cosine,
    DotProduct,
    Euclidean,
}

impl Distance {
    /// The score as clients see it. It is computed with 64 bits, so that no vector of 32-bit numbers overflows it.
    pub fn score(self, left: &[f32], right: &[f32]) -> f64 {
        debug_assert_eq!(left.len(), right.len(), "vectors of one index have one length");
        match self {
            Distance::DotProduct => sum(left, right, |left, right| left * right),
            Distance::Euclidean => sum(left, right, |left, right| (left - right) * (left - right)).sqrt(),
            Distance::Cosine => {
                let dot = sum(left, right, |left, right| left * right);
                let [of_left, of_right] = [left, right].map(|one| sum(one, one, |left, right| left * right));
                match of_left * of_right {
                    0.0 => 1.0,
                    product => (1.0 - dot / product.sqrt()).clamp(0.0, 2.0),
                }
            }
        }
    }

    /// The rank of a score: the nearer a vector, the smaller.
    pub fn rank(self, score: f64) -> f64 {
        match self {
            Distance::Cosine | Distance::Euclidean => score,
            Distance::DotProduct => -score,
        }
    }
}

fn sum(left: &[f32], right: &[f32], term: impl Fn(f64, f64) -> f64) -> f64 {
    let (lefts, left_rest) = left.as_chunks::<LANES>();
    let (rights, right_rest) = right.as_chunks::<LANES>();
    let mut sums = [0.0; LANES];
    for (left, right) in lefts.iter().zip(rights) {
        for lane in 0..LANES {
            sums[lane] += term(f64::from(left[lane]), f64::from(right[lane]));
        }
    }
    let rest = left_rest.iter().zip(right_rest);
    sums.iter().sum::<f64>()
        + rest.map(|(left, right)| term(f64::from(*left), f64::from(*right))).sum::<f64>()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cosine_is_about_direction_alone() {
        let cosine = |left: &[f32], right: &[f32]| Distance::Cosine.score(left, right);
        assert_eq!(cosine(&[1.0, 0.0, 0.0, 0.0], &[10.0, 0.0, 0.0, 0.0]), 0.0);
        assert_eq!(cosine(&[1.0, 2.0], &[-2.0, -4.0]), 2.0);
        assert_eq!(cosine(&[1.0, 0.0], &[0.0, 3.0]), 1.0);
        assert_eq!(cosine(&[0.0, 0.0], &[0.0, 3.0]), 1.0, "zeros have no direction");
        let long: Vec<f32> = (0..131).map(|number| number as f32 / 7.0 - 3.0).collect();
        assert_eq!(cosine(&long, &long), 0.0);
    }

    #[test]
    fn euclidean_is_the_length_of_the_difference() {
        assert_eq!(Distance::Euclidean.score(&[1.0, 0.0, 0.0, 0.0], &[10.0, 0.0, 0.0, 0.0]), 9.0);
        let [zeros, ones] = [[0.0; 100], [1.0; 100]];
        assert_eq!(Distance::Euclidean.score(&zeros, &ones), 10.0);
    }

    #[test]
    fn dot_products_can_be_negative_and_the_highest_is_the_nearest() {
        let scores = [[1.0, 2.0], [-3.0, 0.0]].map(|vector| Distance::DotProduct.score(&[2.0, 1.0], &vector));
        assert_eq!(scores, [4.0, -6.0]);
        assert!(Distance::DotProduct.rank(scores[0]) < Distance::DotProduct.rank(scores[1]));
    }

    #[test]
    fn the_largest_numbers_have_finite_scores() {
        let [large, small] = [[f32::MAX; 4096], [f32::MIN; 4096]];
        for distance in [Distance::Cosine, Distance::DotProduct, Distance::Euclidean] {
            assert!(distance.score(&large, &small).is_finite(), "{distance:?}");
        }
    }
}
