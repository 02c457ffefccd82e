//! The example models through every format that can be both written and read.

use std::fs;
use std::path::Path;

use item::Type;
use model::model::{Attribute, Entity, IndexEntry, KeySchema, Model};
use model::template::Template;
use model::{Source, file};
use model_format::{self as format, FORMATS};

fn examples() -> Vec<(String, Model)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/models");
    let mut paths: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    let read = |path: std::path::PathBuf| {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let source = Source::new(name.clone(), fs::read_to_string(path).unwrap());
        (name, file::read(&source).model.unwrap())
    };
    paths.into_iter().map(read).collect()
}

fn keys(model: &Model) -> Vec<(String, Vec<String>)> {
    let names = |key: &KeySchema| key.attributes().map(|one| one.name.clone()).collect();
    model.tables.iter().map(|table| (table.name.value.clone(), names(table.key.as_ref().unwrap()))).collect()
}

#[test]
fn an_exported_model_is_read_again_with_its_tables_and_written_the_same() {
    for format in FORMATS.iter().filter(|format| format.read.is_some() && format.write.is_some()) {
        for (name, model) in examples() {
            let written = format::export(format, &model).unwrap().text;
            let import = format::import(format, &written)
                .unwrap_or_else(|error| panic!("{name} as {}: {}\n{written}", format.name, error.0));
            assert_eq!(keys(&import.model), keys(&model), "{name} as {}", format.name);
            let again = format::export(format, &import.model).unwrap().text;
            let parse = |text: &str| (format.syntax.parse)(text).unwrap();
            assert_eq!(parse(&again), parse(&written), "{name} as {}", format.name);
        }
    }
}

/// What a library has to know of an entity to write the same items: keys, index entries, attributes.
fn library_view(model: &Model) -> Vec<String> {
    let entity = |entity: &Entity| {
        let table = model.table_of(entity);
        let texts =
            |templates: Vec<&Template>| templates.iter().map(|one| one.to_string()).collect::<Vec<_>>();
        let entry = |entry: &IndexEntry| {
            let when = entry.when.as_ref().map(|when| when.to_string());
            format!(
                "{} {:?} {when:?}",
                table.index(entry.index).name.value,
                texts(entry.templates().collect())
            )
        };
        let attribute = |one: &Attribute| {
            let kind = if one.kind.stored() == Type::N { "number" } else { one.kind.name() };
            format!("{} {kind} {:?} {:?} {}", one.name, one.values, one.constant, one.optional)
        };
        let mut attributes: Vec<String> = entity.attributes.values().map(attribute).collect();
        attributes.sort();
        let mut entries: Vec<String> = entity.entries.iter().map(entry).collect();
        entries.sort();
        let keys = texts(entity.key_templates().collect());
        format!("{} in {}: {keys:?} {entries:?} {attributes:?}", entity.name.value, table.name.value)
    };
    let mut entities: Vec<String> = model.entities.iter().map(entity).collect();
    entities.sort();
    entities
}

#[test]
fn a_library_writes_the_items_of_the_model() {
    for format in ["onetable", "electrodb", "dynamodb-toolbox"].map(|name| format::format(name).unwrap()) {
        for (name, model) in examples() {
            let written = format::export(format, &model).unwrap().text;
            let import = format::import(format, &written).unwrap();
            assert_eq!(library_view(&import.model), library_view(&model), "{name} as\n{written}");
        }
    }
}
