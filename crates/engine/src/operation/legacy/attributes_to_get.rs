//! AttributesToGet: the names of the attributes to return, each as a whole.

use expression::Projection;

/// The projection that AttributesToGet describes.
pub fn attributes_to_get(names: &[String]) -> Projection {
    Projection::of_attributes(names)
}
