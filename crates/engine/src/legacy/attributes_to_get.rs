//! AttributesToGet: the attributes that are wanted of an item, whole and by their names.

use expression::Projection;

pub fn attributes_to_get(names: &[String]) -> Projection {
    Projection::of_attributes(names)
}
