//! Vectors as bytes: four for each number, the lowest first.

/// The bytes of a vector.
pub fn encode(vector: &[f32]) -> Vec<u8> {
    vector.iter().flat_map(|number| number.to_le_bytes()).collect()
}

/// The vector of these bytes, in `vector`, which is used again. False if they are no vector of `dimensions` numbers.
pub fn decode(bytes: &[u8], dimensions: usize, vector: &mut Vec<f32>) -> bool {
    vector.clear();
    let (numbers, rest) = bytes.as_chunks();
    vector.extend(numbers.iter().map(|number| f32::from_le_bytes(*number)));
    rest.is_empty() && vector.len() == dimensions
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_vector_is_what_its_bytes_say() {
        let numbers = [0.0, -1.5, f32::MAX, f32::MIN_POSITIVE, 1.0 / 3.0];
        let bytes = encode(&numbers);
        assert_eq!(bytes.len(), 20);
        let mut vector = vec![7.0];
        assert!(decode(&bytes, 5, &mut vector));
        assert_eq!(vector, numbers);
    }

    #[test]
    fn bytes_of_another_length_are_no_vector() {
        let (bytes, mut vector) = (encode(&[1.0, 2.0]), Vec::new());
        assert!(!decode(&bytes, 3, &mut vector));
        assert!(!decode(&bytes[..7], 2, &mut vector));
        assert!(!decode(&[], 1, &mut vector));
    }
}
