//! A model of a hundred entities and three hundred patterns.

use std::fmt::Write;

use model::design::{Options, design};
use model::facts::Facts;
use model::{Source, file};

fn model(entities: usize) -> String {
    let mut text = "
model: big
table: { name: big, partition: PK, sort: SK, pitr: true, deletion-protection: true }
entities:
"
    .to_owned();
    for n in 0..entities {
        writeln!(
            text,
            "  Ent{n}:
    id: ent{n}Id
    key: {{ PK: 'E{n}#{{ent{n}Id}}', SK: E{n} }}
    attributes: {{ ent{n}Id: uuid, owner{n}: {{ type: uuid, distinct: 10K }}, at: timestamp, status: [OPEN, DONE] }}
    count: 1M
    size: 500 B
    indexes: {{ GSI1: {{ GSI1PK: 'O{n}#{{owner{n}}}', GSI1SK: '{{at}}#{{ent{n}Id}}' }} }}"
        )
        .expect("a text");
    }
    text += "indexes: { GSI1: { partition: GSI1PK, sort: GSI1SK, project: all } }\npatterns:\n";
    for n in 0..entities {
        writeln!(
            text,
            "  get{n}: {{ get: Ent{n}, by: ent{n}Id, rate: 10/s, consistency: eventual }}
  list{n}: {{ query: Ent{n}, by: owner{n}, order: at desc, limit: 20, rate: 5/s, consistency: eventual }}
  done{n}: {{ update: Ent{n}, by: ent{n}Id, set: {{ status: OPEN -> DONE }}, if: status = OPEN, rate: 1/s }}"
        )
        .expect("a text");
    }
    text
}

#[test]
fn a_model_of_a_hundred_entities_is_proven() {
    let source = Source::new("model.yaml", model(100));
    let certificate = proof::prove(&file::read(&source).model.expect("a model"));
    assert!(certificate.is_proven(), "{}", certificate.failures());
    assert_eq!(certificate.patterns.len(), 300);
}

#[test]
fn a_hundred_entities_are_designed_as_one_is() {
    let source = Source::new("model.yaml", model(100));
    let model = file::read(&source).model.expect("a model");
    let designed = design(&model, &Facts::embedded(), &Options::default()).expect("a design");
    assert_eq!(designed.model.tables[0].indexes.len(), 1, "{}", designed.text);
    assert!(proof::prove(&designed.model).is_proven());
}
