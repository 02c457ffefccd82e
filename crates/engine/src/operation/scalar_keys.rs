//! Key attributes have no parts: an expression that reaches into one is refused.

use api::Error;
use expression::Path;

use crate::base::table::{KeySchema, Table};
use crate::read::source::Source;

/// Refuses paths into the table's key attributes.
pub fn check<'p>(table: &Table, mut paths: impl Iterator<Item = &'p Path>) -> Result<(), Error> {
    paths.try_for_each(|path| check_path(&table.keys, "Key", path))
}

/// Refuses paths into the key attributes of what is read: those of the index, and then those of the table.
pub fn check_source<'p>(source: Source<'_>, mut paths: impl Iterator<Item = &'p Path>) -> Result<(), Error> {
    paths.try_for_each(|path| {
        if source.index.is_some() {
            check_path(source.keys(), "IndexKey", path)?;
        }
        check_path(&source.table.keys, "Key", path)
    })
}

fn check_path(keys: &KeySchema, kind: &str, path: &Path) -> Result<(), Error> {
    match path.is_nested() && keys.contains(&path.attribute) {
        true => Err(Error::key_not_scalar(kind, &path.attribute)),
        false => Ok(()),
    }
}
