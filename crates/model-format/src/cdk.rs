//! A stack for the AWS CDK, in TypeScript: each table is a `TableV2`. A program is read as far as it is static
//! ([`read`]); it does not come back as it was, but as a stack with the same tables.

mod code;
mod read;

use item::Type;
use model::Model;
use model::model::{
    Billing, Capacity, Encryption, Index, IndexKind, KeyAttribute, Projection, StreamView, Table, TableClass,
    Throughput,
};
use model::table_shape;
use serde_json::Value;

use crate::names::pascal;
use crate::scaling::{Bounds, Side};
use crate::{Aspect, Format, Notes, Syntax, TEXT, create_table};
use code::{Code, text};

pub const FORMAT: Format = Format {
    name: "cdk",
    title: "a stack for the AWS CDK, in TypeScript",
    syntax: &Syntax { parse: read::parse, print: TEXT.print },
    recognises: |document| document["cdk"].is_array(),
    read: Some(read::read),
    write: Some(|model, notes| Value::String(program(model, notes))),
    holds: &[Aspect::CREATE_TABLE, Aspect::DEPLOYMENT, &[Aspect::Description, Aspect::Region]],
};

fn program(model: &Model, notes: &mut Notes) -> String {
    let mut tables: Vec<(String, &Table)> = Vec::new();
    for table in model.tables.iter().filter(|table| create_table::shape_or_note(table, notes).is_some()) {
        tables.push((free(&tables, &table.name.value), table));
    }
    let keys = Keys::of(&tables);
    let class = format!("{}Stack", pascal(&model.name.value));
    let properties = if keys.own { format!("{class}Props") } else { "StackProps".to_owned() };
    let optional = if keys.own { "" } else { "?" };
    let mut out = imports(&keys);
    out.push_str(&keys.interface(&properties));
    out.push_str(&format!("\nexport class {class} extends Stack {{\n"));
    for (name, _) in &tables {
        out.push_str(&format!("  public readonly {}: dynamodb.TableV2;\n", member(name)));
    }
    let signature = format!("scope: Construct, id: string, props{optional}: {properties}");
    out.push_str(&format!("\n  constructor({signature}) {{\n    super(scope, id, {});\n", stack(model)));
    for (name, table) in &tables {
        let properties = self::properties(model, table, notes).printed(4);
        let made = format!("new dynamodb.TableV2(this, '{name}', {properties})");
        out.push_str(&format!("\n    this.{} = {made};\n", member(name)));
    }
    out.push_str("  }\n}\n");
    out
}

/// A name for the construct that is not taken.
fn free(tables: &[(String, &Table)], name: &str) -> String {
    let name = pascal(name);
    let numbered = (2..).map(|number| format!("{name}{number}"));
    let mut names = std::iter::once(name.clone()).chain(numbered);
    names.find(|name| !tables.iter().any(|(taken, _)| taken == name)).unwrap_or(name)
}

/// `Orders` -> `ordersTable`. The suffix avoids the members that every stack has.
fn member(name: &str) -> String {
    let (first, rest) = name.split_at(1);
    let name = first.to_ascii_lowercase() + rest;
    if name.ends_with("Table") { name } else { format!("{name}Table") }
}

/// Customer-managed keys are not in the model: the caller of the stack passes them.
struct Keys {
    own: bool,
    in_replicas: bool,
}

impl Keys {
    fn of(tables: &[(String, &Table)]) -> Keys {
        let own = |table: &&Table| table.encryption == Encryption::CustomerManaged;
        let mut with_keys = tables.iter().map(|(_, table)| *table).filter(own).peekable();
        Keys {
            own: with_keys.peek().is_some(),
            in_replicas: with_keys.any(|table| !table.replicas.is_empty()),
        }
    }

    fn interface(&self, name: &str) -> String {
        if !self.own {
            return String::new();
        }
        let mut out = format!("\nexport interface {name} extends StackProps {{\n");
        out.push_str(
            "  /** The key that tables are encrypted with. */\n  readonly encryptionKey: kms.IKey;\n",
        );
        if self.in_replicas {
            out.push_str("  /** The ARN of the key in each other Region. */\n");
            out.push_str("  readonly replicaKeyArns: { [region: string]: string };\n");
        }
        out + "}\n"
    }
}

fn imports(keys: &Keys) -> String {
    let kms = if keys.own { "import * as kms from 'aws-cdk-lib/aws-kms';\n" } else { "" };
    format!(
        "import {{ Stack, StackProps }} from 'aws-cdk-lib';\n\
         import * as dynamodb from 'aws-cdk-lib/aws-dynamodb';\n\
         {kms}import {{ Construct }} from 'constructs';\n"
    )
}

/// The properties of the stack; the caller can override them.
fn stack(model: &Model) -> String {
    let mut said = Vec::new();
    if let Some(description) = &model.description {
        said.push(("description", text(description)));
    }
    if let Some(region) = &model.region {
        said.push(("env", Code::Object(vec![("region", text(region))])));
    }
    if said.is_empty() {
        return "props".to_owned();
    }
    said.push(("...props", Code::Nothing));
    Code::Object(said).printed(4)
}

fn properties(model: &Model, table: &Table, notes: &mut Notes) -> Code {
    let mut said = vec![("tableName", text(&table.name.value))];
    if let Some(key) = &table.key {
        said.extend(key.partition.first().map(|one| ("partitionKey", attribute(one))));
        said.extend(key.sort.first().map(|one| ("sortKey", attribute(one))));
    }
    said.push(("billing", billing(table, notes)));
    let global: Vec<Code> = table.global_indexes().map(|index| global_index(table, index, notes)).collect();
    let local = table.indexes.iter().filter(|index| index.kind == IndexKind::Local);
    let local: Vec<Code> = local.map(|index| Code::Object(local_index(index))).collect();
    for (name, indexes) in [("globalSecondaryIndexes", global), ("localSecondaryIndexes", local)] {
        if !indexes.is_empty() {
            said.push((name, Code::List(indexes)));
        }
    }
    said.extend(table.ttl.as_ref().map(|ttl| ("timeToLiveAttribute", text(ttl))));
    said.extend(table.stream.as_ref().map(|view| ("dynamoStream", stream(view.value))));
    if let Some(pitr) = &table.pitr {
        let enabled = Code::Object(vec![("pointInTimeRecoveryEnabled", Code::plain(pitr.value))]);
        said.push(("pointInTimeRecoverySpecification", enabled));
    }
    let protection = table.deletion_protection.as_ref();
    said.extend(protection.map(|one| ("deletionProtection", Code::plain(one.value))));
    if table.class == TableClass::InfrequentAccess {
        said.push(("tableClass", Code::plain("dynamodb.TableClass.STANDARD_INFREQUENT_ACCESS")));
    }
    said.extend(encryption(table).map(|encryption| ("encryption", encryption)));
    if !table.replicas.is_empty() {
        let replica = |region: &model::Spanned<String>| Code::Object(vec![("region", text(region))]);
        said.push(("replicas", Code::List(table.replicas.iter().map(replica).collect())));
        if model.region.is_none() {
            notes.add(format!("table {} has replicas: give its stack a Region with `env`", table.name.value));
        }
    }
    if !table.tags.is_empty() {
        let tag =
            |(key, value): &(String, String)| Code::Object(vec![("key", text(key)), ("value", text(value))]);
        said.push(("tags", Code::List(table.tags.iter().map(tag).collect())));
    }
    Code::Object(said)
}

fn attribute(key: &KeyAttribute) -> Code {
    let kind = match key.kind {
        Type::N => "dynamodb.AttributeType.NUMBER",
        Type::B => "dynamodb.AttributeType.BINARY",
        _ => "dynamodb.AttributeType.STRING",
    };
    Code::Object(vec![("name", text(&key.name)), ("type", Code::plain(kind))])
}

fn billing(table: &Table, notes: &mut Notes) -> Code {
    match table.billing.value {
        Billing::Provisioned => Code::Call(
            "dynamodb.Billing.provisioned",
            vec![Code::Object(capacities(table, &table.throughput, notes))],
        ),
        Billing::OnDemand => {
            let limits = limits(&table.throughput);
            let arguments = if limits.is_empty() { vec![] } else { vec![Code::Object(limits)] };
            Code::Call("dynamodb.Billing.onDemand", arguments)
        }
    }
}

fn limits(throughput: &Throughput) -> Vec<(&'static str, Code)> {
    let names = [(Side::Read, "maxReadRequestUnits"), (Side::Write, "maxWriteRequestUnits")];
    let limit = |(side, name): (Side, &'static str)| Some((name, Code::plain(side.of(throughput)?.max?)));
    names.into_iter().filter_map(limit).collect()
}

fn capacities(table: &Table, throughput: &Throughput, notes: &mut Notes) -> Vec<(&'static str, Code)> {
    let names = [(Side::Read, "readCapacity"), (Side::Write, "writeCapacity")];
    let mut capacity = |(side, name)| {
        let capacity = Side::of(side, throughput).cloned().unwrap_or_default();
        (name, self::capacity(table, &capacity, side, notes))
    };
    names.into_iter().map(&mut capacity).collect()
}

/// Writes always scale in a global table: fixed units become equal bounds.
fn capacity(table: &Table, capacity: &Capacity, side: Side, notes: &mut Notes) -> Code {
    let units = table_shape::units(Some(capacity));
    let name = &table.name.value;
    let bounds = Bounds::of(capacity);
    if bounds.is_none() && side == Side::Read {
        return Code::Call("dynamodb.Capacity.fixed", vec![Code::plain(units)]);
    }
    if bounds.is_none() {
        notes.add(format!(
            "table {name}: TableV2's writes always scale; {units} units become {units} to {units}"
        ));
    }
    if capacity.scale_in_seconds.is_some() || capacity.scale_out_seconds.is_some() {
        notes.add(format!("table {name}: TableV2 has no cooldowns for scaling"));
    }
    let (min, max) = bounds.as_ref().map_or((units, units), |bounds| (bounds.min, bounds.max));
    let mut said = vec![("minCapacity", Code::plain(min)), ("maxCapacity", Code::plain(max))];
    said.extend(bounds.map(|bounds| ("targetUtilizationPercent", Code::plain(bounds.target))));
    if units != min {
        said.push(("seedCapacity", Code::plain(units)));
    }
    Code::Call("dynamodb.Capacity.autoscaled", vec![Code::Object(said)])
}

fn global_index(table: &Table, index: &Index, notes: &mut Notes) -> Code {
    let mut said = vec![("indexName", text(&index.name.value))];
    let sides =
        [(&index.key.partition, "partitionKey", "partitionKeys"), (&index.key.sort, "sortKey", "sortKeys")];
    for (side, one, several) in sides {
        match side.as_slice() {
            [] => {}
            [key] => said.push((one, attribute(key))),
            keys => said.push((several, Code::List(keys.iter().map(attribute).collect()))),
        }
    }
    said.extend(projection(&index.projection));
    let own = index.throughput != Throughput::default();
    match table.billing.value {
        Billing::Provisioned if own => said.extend(capacities(table, &index.throughput, notes)),
        Billing::Provisioned => {}
        Billing::OnDemand => said.extend(limits(&index.throughput)),
    }
    Code::Object(said)
}

fn local_index(index: &Index) -> Vec<(&'static str, Code)> {
    let mut said = vec![("indexName", text(&index.name.value))];
    said.extend(index.key.sort.first().map(|key| ("sortKey", attribute(key))));
    said.extend(projection(&index.projection));
    said
}

fn projection(projection: &Projection) -> Vec<(&'static str, Code)> {
    let kind = |kind: &str| ("projectionType", Code::plain(format!("dynamodb.ProjectionType.{kind}")));
    match projection {
        Projection::All => vec![kind("ALL")],
        Projection::Keys => vec![kind("KEYS_ONLY")],
        Projection::Include(names) => {
            let names = Code::List(names.iter().map(|name| text(name)).collect());
            vec![kind("INCLUDE"), ("nonKeyAttributes", names)]
        }
    }
}

fn stream(view: StreamView) -> Code {
    Code::plain(format!("dynamodb.StreamViewType.{}", view.api_name()))
}

fn encryption(table: &Table) -> Option<Code> {
    match table.encryption {
        Encryption::AwsOwned => None,
        Encryption::AwsManaged => Some(Code::Call("dynamodb.TableEncryptionV2.awsManagedKey", vec![])),
        Encryption::CustomerManaged => {
            let mut arguments = vec![Code::plain("props.encryptionKey")];
            if !table.replicas.is_empty() {
                arguments.push(Code::plain("props.replicaKeyArns"));
            }
            Some(Code::Call("dynamodb.TableEncryptionV2.customerManagedKey", arguments))
        }
    }
}
