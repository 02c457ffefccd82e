//! The example models through every format that can be both written and read.

use std::fs;
use std::path::Path;

use model::format::{self, FORMATS};
use model::model::{KeySchema, Model};
use model::{Source, file};

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
