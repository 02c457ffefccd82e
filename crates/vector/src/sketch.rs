//! Many vectors in a quarter of their size, to find out quickly which of them may be the nearest.
//!
//! A sketch has one byte for each number. In each dimension, the numbers of its vectors are between a least and a greatest
//! one; the byte says where, in 256 steps. So a sketch needs no training, and vectors that are far from the origin
//! or have dimensions of different sizes lose no more than others.
//!
//! Its distances are estimates. To find the nearest ten, a search takes some more candidates from the sketch and compares
//! those exactly.

use crate::Distance;

/// The numbers of a query are integers up to this: with it, sums over 4,096 dimensions fit into 32 bits.
const WEIGHT_MAX: f64 = 2047.0;
/// Numbers that are multiplied and added together, in registers that hold several.
const LANES: usize = 16;

/// Vectors of one length, compressed, for one function of distance.
pub struct Sketch {
    distance: Distance,
    dimensions: usize,
    /// For each dimension, the number that the byte 0 means.
    middle: Vec<f64>,
    /// For each dimension, how much the number grows when the byte grows by 1.
    step: Vec<f64>,
    /// One after the other.
    codes: Vec<i8>,
    /// The square of each vector's distance to the middle; none if it has no direction and needs one.
    squares: Vec<Option<f64>>,
}

impl Sketch {
    /// A sketch of the vectors that `numbers` holds one after the other, all of them finite.
    pub fn new(distance: Distance, dimensions: usize, mut numbers: Vec<f32>) -> Sketch {
        assert!(dimensions > 0 && numbers.len().is_multiple_of(dimensions), "whole vectors");
        if distance == Distance::Cosine {
            numbers.chunks_exact_mut(dimensions).for_each(to_direction);
        }
        let (middle, step) = (0..dimensions).map(|dimension| scale(&numbers, dimension, dimensions)).unzip();
        let (codes, squares) =
            (Vec::with_capacity(numbers.len()), Vec::with_capacity(numbers.len() / dimensions));
        let mut sketch = Sketch { distance, dimensions, middle, step, codes, squares };
        for vector in numbers.chunks_exact(dimensions) {
            sketch.push(vector);
        }
        sketch
    }

    fn push(&mut self, vector: &[f32]) {
        let mut square = 0.0;
        for ((number, middle), step) in vector.iter().zip(&self.middle).zip(&self.step) {
            let offset = f64::from(*number) - middle;
            square += offset * offset;
            // What is out of range can only be so by rounding.
            self.codes.push(if *step == 0.0 { 0 } else { (offset / step).round() as i8 });
        }
        let has_direction = self.distance != Distance::Cosine || vector.iter().any(|number| *number != 0.0);
        self.squares.push(has_direction.then_some(square));
    }

    /// How many vectors it has.
    pub fn len(&self) -> usize {
        self.squares.len()
    }

    /// Whether it has none.
    pub fn is_empty(&self) -> bool {
        self.squares.is_empty()
    }

    /// How much memory it takes.
    pub fn size_bytes(&self) -> usize {
        self.codes.len() + size_of_val(&*self.squares) + size_of_val(&*self.middle) + size_of_val(&*self.step)
    }

    /// Estimates how far each vector is from `query`: a rank by which vectors of different sketches can be compared, the
    /// nearer the smaller. `visit` gets the number of each vector and its rank.
    pub fn rank(&self, query: &[f32], mut visit: impl FnMut(usize, f64)) {
        assert_eq!(query.len(), self.dimensions, "vectors of one index have one length");
        let mut query = query.to_vec();
        if self.distance == Distance::Cosine {
            to_direction(&mut query);
        }
        // Distances don't change when everything is moved so that the middle is at the origin; products do.
        let offset = |(number, middle): (&f32, &f64)| match self.distance {
            Distance::Cosine | Distance::Euclidean => f64::from(*number) - middle,
            Distance::DotProduct => f64::from(*number),
        };
        let query: Vec<f64> = query.iter().zip(&self.middle).map(offset).collect();
        let base = match self.distance {
            Distance::Cosine | Distance::Euclidean => dot(&query, &query),
            Distance::DotProduct => dot(&query, &self.middle),
        };
        let weights: Vec<f64> = query.iter().zip(&self.step).map(|(number, step)| number * step).collect();
        let unit = weights.iter().fold(0.0, |most: f64, weight| most.max(weight.abs())) / WEIGHT_MAX;
        let whole = |weight: &f64| if unit == 0.0 { 0 } else { (weight / unit).round() as i16 };
        let weights: Vec<i16> = weights.iter().map(whole).collect();
        for (number, codes) in self.codes.chunks_exact(self.dimensions).enumerate() {
            let product = unit * f64::from(product(&weights, codes));
            let rank = match (self.distance, self.squares[number]) {
                (Distance::DotProduct, _) => -(base + product),
                (_, Some(square)) => base + square - 2.0 * product,
                // As far as a vector at a right angle.
                (_, None) => 2.0,
            };
            visit(number, rank);
        }
    }
}

/// Makes a vector one of length 1, unless it has none. The nearer two such vectors are, the smaller is the angle.
fn to_direction(vector: &mut [f32]) {
    let length = vector.iter().map(|number| f64::from(*number) * f64::from(*number)).sum::<f64>().sqrt();
    if length > 0.0 {
        vector.iter_mut().for_each(|number| *number = (f64::from(*number) / length) as f32);
    }
}

/// The middle of the numbers in one dimension, and the step that takes 255 from the least of them to the greatest.
fn scale(numbers: &[f32], dimension: usize, dimensions: usize) -> (f64, f64) {
    let (mut least, mut greatest) = (f64::INFINITY, f64::NEG_INFINITY);
    for number in numbers.iter().skip(dimension).step_by(dimensions) {
        (least, greatest) = (least.min(f64::from(*number)), greatest.max(f64::from(*number)));
    }
    match least < greatest {
        true => (f64::midpoint(least, greatest), (greatest - least) / 255.0),
        // The same number everywhere, or no vectors.
        false => (if least.is_finite() { least } else { 0.0 }, 0.0),
    }
}

fn dot(left: &[f64], right: &[f64]) -> f64 {
    left.iter().zip(right).map(|(left, right)| left * right).sum()
}

fn product(weights: &[i16], codes: &[i8]) -> i32 {
    let (weight_chunks, weight_rest) = weights.as_chunks::<LANES>();
    let (code_chunks, code_rest) = codes.as_chunks::<LANES>();
    let mut sums = [0i32; LANES];
    for (weights, codes) in weight_chunks.iter().zip(code_chunks) {
        for lane in 0..LANES {
            sums[lane] += i32::from(weights[lane]) * i32::from(codes[lane]);
        }
    }
    let rest = weight_rest.iter().zip(code_rest);
    sums.iter().sum::<i32>() + rest.map(|(weight, code)| i32::from(*weight) * i32::from(*code)).sum::<i32>()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Nearest;

    const DIMENSIONS: usize = 128;
    const DISTANCES: [Distance; 3] = [Distance::Cosine, Distance::DotProduct, Distance::Euclidean];

    /// Numbers around zero, most of them small.
    fn bell(random: &mut fastrand::Rng) -> f32 {
        (0..12).map(|_| random.f32()).sum::<f32>() - 6.0
    }

    fn random_vectors(count: usize, random: &mut fastrand::Rng) -> Vec<f32> {
        (0..count * DIMENSIONS).map(|_| bell(random)).collect()
    }

    /// Vectors near one of some places, far from the origin, with dimensions of very different sizes.
    fn clustered_vectors(count: usize, random: &mut fastrand::Rng) -> Vec<f32> {
        let mut places = fastrand::Rng::with_seed(5);
        let places = random_vectors(20, &mut places);
        let mut numbers = Vec::new();
        for _ in 0..count {
            let place = random.usize(..20) * DIMENSIONS;
            for dimension in 0..DIMENSIONS {
                let size = 1.0 + dimension as f32;
                numbers.push(1000.0 + size * (places[place + dimension] + 0.2 * bell(random)));
            }
        }
        numbers
    }

    /// The share of the nearest ten that are among the `candidates` vectors that sketches rank first.
    fn recall(vectors: &[f32], queries: &[f32], distance: Distance, candidates: usize) -> f64 {
        let sketches: Vec<Sketch> = vectors
            .chunks(1000 * DIMENSIONS)
            .map(|numbers| Sketch::new(distance, DIMENSIONS, numbers.to_vec()))
            .collect();
        let (mut found, mut all) = (0, 0);
        for query in queries.chunks(DIMENSIONS) {
            let (mut nearest, mut estimated) = (Nearest::new(10), Nearest::new(candidates));
            for (number, vector) in vectors.chunks(DIMENSIONS).enumerate() {
                nearest.offer(distance.rank(distance.score(query, vector)), number);
            }
            for (block, sketch) in sketches.iter().enumerate() {
                sketch.rank(query, |number, rank| estimated.offer(rank, block * 1000 + number));
            }
            let estimated: Vec<usize> =
                estimated.into_sorted().into_iter().map(|(_, number)| number).collect();
            let nearest = nearest.into_sorted();
            all += nearest.len();
            found += nearest.iter().filter(|(_, number)| estimated.contains(number)).count();
        }
        f64::from(found as u32) / f64::from(all as u32)
    }

    #[test]
    fn the_nearest_ten_are_among_the_first_fifty() {
        let mut random = fastrand::Rng::with_seed(1);
        for distance in DISTANCES {
            let (vectors, queries) = (random_vectors(5000, &mut random), random_vectors(20, &mut random));
            let of_random = recall(&vectors, &queries, distance, 50);
            let (vectors, queries) =
                (clustered_vectors(5000, &mut random), clustered_vectors(20, &mut random));
            let of_clustered = recall(&vectors, &queries, distance, 50);
            assert!(of_random >= 0.99 && of_clustered >= 0.99, "{distance:?}: {of_random}, {of_clustered}");
        }
    }

    #[test]
    fn ranks_are_estimates_of_what_is_exact() {
        let mut random = fastrand::Rng::with_seed(2);
        let (vectors, query) = (random_vectors(100, &mut random), random_vectors(1, &mut random));
        for distance in DISTANCES {
            Sketch::new(distance, DIMENSIONS, vectors.clone()).rank(&query, |number, rank| {
                let vector = &vectors[number * DIMENSIONS..][..DIMENSIONS];
                let score = distance.score(&query, vector);
                let (estimate, tolerance) = match distance {
                    Distance::Cosine => (rank / 2.0, 0.01),
                    Distance::DotProduct => (-rank, 0.5),
                    Distance::Euclidean => (rank.sqrt(), 0.05),
                };
                assert!(
                    (estimate - score).abs() < tolerance,
                    "{distance:?} {number}: {estimate} for {score}"
                );
            });
        }
    }

    #[test]
    fn equal_vectors_zeros_and_the_largest_numbers_have_ranks() {
        let extremes = [[0.0; 3], [f32::MAX; 3], [f32::MIN; 3], [1.0, -1.0, 0.0]];
        let same = [[7.0; 3]; 4];
        for (distance, vectors) in DISTANCES.iter().flat_map(|it| [(*it, extremes), (*it, same)]) {
            let sketch = Sketch::new(distance, 3, vectors.as_flattened().to_vec());
            assert_eq!((sketch.len(), sketch.is_empty()), (4, false));
            for query in vectors {
                sketch.rank(&query, |number, rank| {
                    assert!(rank.is_finite(), "{distance:?} of {query:?}, {number}")
                });
            }
        }
        let none = Sketch::new(Distance::Cosine, 3, Vec::new());
        none.rank(&[1.0; 3], |_, _| panic!("there is none"));
        let mut ranks = Vec::new();
        Sketch::new(Distance::Cosine, 2, vec![0.0, 0.0, 1.0, 0.0, -1.0, 0.0])
            .rank(&[3.0, 0.0], |_, rank| ranks.push(rank));
        assert!(ranks[1] < ranks[0] && ranks[0] < ranks[2], "{ranks:?}");
    }

    #[test]
    fn sums_over_the_most_dimensions_fit() {
        let vectors = [[-1.0f32; 4096], [1.0; 4096]];
        let mut ranks = Vec::new();
        Sketch::new(Distance::DotProduct, 4096, vectors.as_flattened().to_vec())
            .rank(&[2.0; 4096], |_, rank| ranks.push(rank));
        assert!((ranks[0] - 8192.0).abs() < 50.0 && (ranks[1] + 8192.0).abs() < 50.0, "{ranks:?}");
    }
}
