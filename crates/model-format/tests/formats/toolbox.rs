//! dynamodb-toolbox's programs, in the ways in which people write them.

use model::model::AttributeKind;
use model_format as format;

/// Functions under one name, names in an object, a table's name from the environment.
const PROGRAM: &str = "
import { Entity } from 'dynamodb-toolbox/entity'
import { item, s } from 'dynamodb-toolbox/schema'
import { Table } from 'dynamodb-toolbox/table'
import { Environment } from './environment'
export const Names = { Ride: 'CarRide', Driver: 'CarDriver' } as const
export const Rides = new Table({
  name: Environment.RIDES,
  partitionKey: { name: 'pk', type: 'string' },
  sortKey: { name: 'sk', type: 'string' },
  indexes: { byDriver: { type: 'global', partitionKey: { name: 'driverId', type: 'string' } } }
})
export const Ride = new Entity({
  name: Names.Ride, table: Rides,
  schema: item({
    pk: s.string().key().hidden(),
    sk: s.string().key().hidden(),
    driverId: s.string().optional(),
    from: s.map({ street: s.string(), zip: s.string() }),
    seats: s.number().default(1),
    shared: s.boolean(),
    riders: s.set(s.number()).optional()
  })
})
export const Driver = new Entity({
  name: Names.Driver, table: Rides,
  schema: s.item({ pk: s.string().key(), sk: s.string().key(), licence: s.string().enum('A', 'B') })
})
";

#[test]
fn functions_under_one_name_and_names_in_an_object_are_read() {
    let format = format::format("dynamodb-toolbox").expect("the format");
    let import = format::import(format, PROGRAM).unwrap_or_else(|error| panic!("{}", error.0));
    let entities = &import.model.entities;
    let names: Vec<&str> = entities.iter().map(|entity| entity.name.value.as_str()).collect();
    assert_eq!(names, ["CarRide", "CarDriver"], "{:?}", import.notes.0);
    let ride = &entities[0];
    let kind = |name: &str| ride.attribute(name).map(|attribute| attribute.kind);
    assert_eq!(kind("from"), Some(AttributeKind::Map));
    assert_eq!(kind("seats"), Some(AttributeKind::Number));
    assert_eq!(kind("shared"), Some(AttributeKind::Boolean));
    assert_eq!(kind("riders"), Some(AttributeKind::NumberSet));
    assert!(ride.attribute("driverId").is_some_and(|attribute| attribute.optional));
    assert_eq!(
        entities[1].attribute("licence").map(|one| one.values.clone()),
        Some(vec!["A".into(), "B".into()])
    );
    let computed: Vec<&String> = import.notes.0.iter().filter(|note| note.contains("is computed")).collect();
    assert_eq!(computed.len(), 1, "only the table's name: {computed:?}");
}
