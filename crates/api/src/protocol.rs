//! Protocols beside JSON. A request in one of them becomes the JSON that the generated decoders read, and an
//! answer is made of the JSON that the encoders print. So rules and messages exist once, and the way through
//! JSON costs nothing that matters: these requests are few.
//!
//! Forms have no types and XML no numbers, so both are read and written along a [`Shape`].

pub(crate) mod cbor;
pub(crate) mod query;

/// What a value consists of.
#[derive(Debug)]
pub(crate) enum Shape {
    Text,
    Boolean,
    Integer,
    Double,
    /// Seconds since 1970 in JSON.
    Timestamp,
    List(&'static Shape),
    /// By text.
    Map(&'static Shape),
    Structure(&'static [(&'static str, &'static Shape)]),
}

impl Shape {
    /// The shape of a structure's member, or of a map's value.
    fn member(&self, name: &str) -> Option<&'static Shape> {
        match self {
            Shape::Structure(members) => {
                members.iter().find(|(member, _)| *member == name).map(|(_, shape)| *shape)
            }
            Shape::Map(value) => Some(value),
            _ => None,
        }
    }
}
