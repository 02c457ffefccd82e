//! Projections: which parts of an item to return. Each part keeps its path in the document, except that the chosen
//! elements of a list move together.

use std::collections::BTreeMap;

use item::{Item, ItemBuilder, ItemRef, ListBuilder, ListRef, MapRef, ValueBuf, ValueRef, View};

use crate::error::{ExpressionError, Faults, Kind};
use crate::path::{Branch, Path, PathTree};
use crate::placeholders::Placeholders;
use crate::{bind, parser, syntax};

#[derive(Clone, Debug)]
pub struct Projection {
    paths: Vec<Path>,
    tree: PathTree,
}

impl Projection {
    pub fn parse(text: &str, placeholders: &mut Placeholders<'_>) -> Result<Projection, ExpressionError> {
        Projection::bind(&parser::projection(text)?, placeholders)
    }

    pub fn bind(
        tree: &syntax::ProjectionTree,
        placeholders: &mut Placeholders<'_>,
    ) -> Result<Projection, ExpressionError> {
        let mut faults = Faults::default();
        let paths = tree.paths.iter().map(|path| bind::path(path, placeholders, &mut faults)).collect();
        Projection::checked(paths, faults)
    }

    /// Refuses paths that overlap or conflict.
    pub fn new(paths: Vec<Path>) -> Result<Projection, ExpressionError> {
        Projection::checked(paths, Faults::default())
    }

    /// Whole attributes by their names. A name that is given twice counts once.
    pub fn of_attributes(names: impl IntoIterator<Item = impl Into<String>>) -> Projection {
        let paths: Vec<Path> = names.into_iter().map(Path::of_attribute).collect();
        let tree = PathTree::new(&paths, &mut Faults::default());
        Projection { paths, tree }
    }

    fn checked(paths: Vec<Path>, mut faults: Faults) -> Result<Projection, ExpressionError> {
        let tree = PathTree::new(&paths, &mut faults);
        faults.finish(Kind::Projection)?;
        Ok(Projection { paths, tree })
    }

    /// In the order of the text.
    pub fn paths(&self) -> impl Iterator<Item = &Path> {
        self.paths.iter()
    }

    /// The attributes to return, each once.
    pub fn top_level_names(&self) -> impl Iterator<Item = &str> {
        self.tree.attributes.keys().map(String::as_str)
    }

    /// The chosen parts that the item has. The result may be empty.
    pub fn apply(&self, item: ItemRef<'_>) -> Item {
        pick(&self.tree, item)
    }
}

pub(crate) fn pick(tree: &PathTree, item: ItemRef<'_>) -> Item {
    pick_entries(&tree.attributes, item).build()
}

fn pick_entries(wanted: &BTreeMap<String, Branch>, map: MapRef<'_>) -> ItemBuilder {
    let mut picked = ItemBuilder::default();
    for (name, value) in map.iter() {
        match wanted.get(name) {
            None => {}
            Some(Branch::Leaf(_)) => picked.put(name, value),
            Some(branch) => {
                if let Some(part) = pick_part(branch, value) {
                    picked.put(name, part.as_ref());
                }
            }
        }
    }
    picked
}

fn pick_elements(wanted: &BTreeMap<u32, Branch>, list: ListRef<'_>) -> Option<ValueBuf> {
    let mut picked = ListBuilder::default();
    let mut any = false;
    let end = wanted.last_key_value().map_or(0, |(last, _)| *last as usize + 1);
    for (index, element) in list.iter().enumerate().take(end) {
        // An index that does not fit into a u32 is above every chosen one.
        match wanted.get(&(index as u32)) {
            None => continue,
            Some(Branch::Leaf(_)) => picked.push(element),
            Some(branch) => match pick_part(branch, element) {
                Some(part) => picked.push(part.as_ref()),
                None => continue,
            },
        }
        any = true;
    }
    any.then(|| picked.build())
}

/// A container that has none of the chosen parts is left out.
fn pick_part(branch: &Branch, value: ValueRef<'_>) -> Option<ValueBuf> {
    match (branch, value.view()) {
        (Branch::Leaf(_), _) => Some(ValueBuf::from(value)),
        (Branch::Map(wanted), View::M(map)) => {
            let part = pick_entries(wanted, map).build();
            (!part.is_empty()).then(|| ValueBuf::from(part.as_ref()))
        }
        (Branch::List(wanted), View::L(list)) => pick_elements(wanted, list),
        _ => None,
    }
}
