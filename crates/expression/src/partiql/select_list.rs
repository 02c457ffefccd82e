//! What a SELECT returns of each item.

use item::{Item, ItemBuilder, ItemRef};

use crate::path::{Path, Step};

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SelectList {
    /// `*`
    All,
    /// In the order of the text.
    Paths(Vec<Path>),
}

impl SelectList {
    /// Unlike a projection, a select list does not keep the structure of the document: each path is a column of its
    /// own. Of two columns with one name the later is kept.
    pub fn apply(&self, item: ItemRef<'_>) -> Item {
        let SelectList::Paths(paths) = self else { return item.to_item() };
        let mut row = ItemBuilder::default();
        for path in paths {
            if let Some(value) = path.find(item) {
                row.put(&column(path), value);
            }
        }
        row.build()
    }

    /// The attributes that are read, with repetitions; `None` if all are.
    pub fn top_level_names(&self) -> Option<impl Iterator<Item = &str>> {
        match self {
            SelectList::All => None,
            SelectList::Paths(paths) => Some(paths.iter().map(|path| path.attribute.as_str())),
        }
    }
}

/// A column is named by the last name of its path and the indexes behind it: `a.b[0]` is `b[0]`.
fn column(path: &Path) -> String {
    path.steps.iter().fold(path.attribute.clone(), |column, step| match step {
        Step::Name(name) => name.clone(),
        Step::Index(index) => format!("{column}[{index}]"),
    })
}
