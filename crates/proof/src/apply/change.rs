//! Decides what to do so that a table becomes what the model says, from its state alone.
//!
//! What the model leaves open stays as it is. What DynamoDB can't change (a key, a local index) is reported
//! before anything is done.

use std::collections::{BTreeMap, BTreeSet};

use model::model::{Billing, Capacity, Table};
use model::table_shape::shape;
use serde_json::{Value, json};

use super::state::State;

/// One request that changes something.
#[derive(Clone, Debug, PartialEq)]
pub struct TableChange {
    /// For display: `create index GSI2`.
    pub what: String,
    pub operation: &'static str,
    pub input: Value,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct TableChanges {
    /// In order; each waits for the one before.
    pub changes: Vec<TableChange>,
    /// Differences that stay.
    pub left: Vec<String>,
    /// Differences that can't be removed. If there are any, nothing is changed.
    pub impossible: Vec<String>,
}

/// `None` if the keys have not been designed yet. Indexes are deleted only if that is allowed.
pub fn changes(table: &Table, state: Option<&State>, delete_indexes: bool) -> Option<TableChanges> {
    let wanted = shape(table)?;
    let mut decider = Decider { table, wanted: &wanted, delete_indexes, decided: TableChanges::default() };
    match state {
        None => decider.create(),
        Some(state) => decider.update(&state.table),
    }
    decider.beside(state.unwrap_or(&State::default()));
    decider.replicas(state);
    let mut decided = decider.decided;
    if !decided.impossible.is_empty() {
        decided.changes.clear();
    }
    Some(decided)
}

struct Decider<'a> {
    table: &'a Table,
    /// The model's table, as the input of CreateTable.
    wanted: &'a Value,
    delete_indexes: bool,
    decided: TableChanges,
}

impl Decider<'_> {
    fn add(&mut self, what: impl Into<String>, operation: &'static str, members: Value) {
        let mut input = members;
        if operation != "TagResource" {
            input["TableName"] = self.table.name.value.as_str().into();
        }
        self.decided.changes.push(TableChange { what: what.into(), operation, input });
    }

    fn update_table(&mut self, what: impl Into<String>, members: Value) {
        self.add(what, "UpdateTable", members);
    }

    fn leave(&mut self, what: impl Into<String>) {
        self.decided.left.push(what.into());
    }

    fn create(&mut self) {
        let names: Vec<&str> =
            indexes(self.wanted, GLOBAL).chain(indexes(self.wanted, LOCAL)).map(name).collect();
        let with = if names.is_empty() { String::new() } else { format!(" with {}", names.join(", ")) };
        self.add(format!("create table {}{with}", self.table.name.value), "CreateTable", self.wanted.clone());
    }

    fn update(&mut self, found: &Value) {
        self.key(found);
        self.local_indexes(found);
        self.billing(found);
        self.settings(found);
        self.global_indexes(found);
    }

    fn key(&mut self, found: &Value) {
        let (wanted, found) = (key(self.wanted, self.wanted), key(found, found));
        if wanted != found {
            let message = format!("its key is {found}, the model's {wanted}; a table keeps its key");
            self.decided.impossible.push(message);
        }
    }

    fn local_indexes(&mut self, found: &Value) {
        for index in indexes(self.wanted, LOCAL) {
            let same = indexes(found, LOCAL).find(|one| name(one) == name(index));
            let problem = match same {
                None => "is not there",
                Some(same) if differences(self.wanted, index, found, same).is_some() => "is another",
                Some(_) => continue,
            };
            let message =
                format!("the local index {} {problem}; those are made with their table", name(index));
            self.decided.impossible.push(message);
        }
        for index in unknown(found, self.wanted, LOCAL) {
            self.leave(format!("local index {} is not in the model", name(index)));
        }
    }

    fn billing(&mut self, found: &Value) {
        let provisioned = self.table.billing.value == Billing::Provisioned;
        if provisioned != is_provisioned(found) {
            return self.switch_billing(found, provisioned);
        }
        if self.scales() {
            self.leave("auto scaling is a service of its own and is not set here");
        }
        let member = if provisioned { "ProvisionedThroughput" } else { "OnDemandThroughput" };
        if !self.fits(&found[member], &self.wanted[member]) {
            self.update_table("throughput of the table", json!({ member: self.wanted[member] }));
        }
        for index in indexes(self.wanted, GLOBAL) {
            let same = indexes(found, GLOBAL).find(|one| name(one) == name(index));
            if same.is_some_and(|same| !self.fits(&same[member], &index[member])) {
                let update = json!({ "IndexName": name(index), member: index[member] });
                let members = json!({ "GlobalSecondaryIndexUpdates": [{ "Update": update }] });
                self.update_table(format!("throughput of index {}", name(index)), members);
            }
        }
    }

    /// Every index needs provisioned units, too.
    fn switch_billing(&mut self, found: &Value, provisioned: bool) {
        let mut members = json!({ "BillingMode": self.wanted["BillingMode"] });
        if provisioned {
            members["ProvisionedThroughput"] = self.wanted["ProvisionedThroughput"].clone();
            let units = |index: &Value| {
                let own = indexes(self.wanted, GLOBAL).find(|one| name(one) == name(index));
                own.map_or(&self.wanted["ProvisionedThroughput"], |own| &own["ProvisionedThroughput"]).clone()
            };
            let updates: Vec<Value> = indexes(found, GLOBAL)
                .map(|index| json!({ "Update": { "IndexName": name(index), "ProvisionedThroughput": units(index) } }))
                .collect();
            if !updates.is_empty() {
                members["GlobalSecondaryIndexUpdates"] = updates.into();
            }
        }
        self.update_table(format!("billing: {}", self.table.billing.value.name()), members);
    }

    fn scales(&self) -> bool {
        let sides = [&self.table.throughput.read, &self.table.throughput.write];
        sides.into_iter().flatten().any(|capacity| scales(&capacity.value))
    }

    /// Whether throughput is as wanted. Auto scaling may have changed it.
    fn fits(&self, found: &Value, wanted: &Value) -> bool {
        let members = wanted.as_object().into_iter().flatten();
        self.scales() || members.into_iter().all(|(member, units)| found[member] == *units)
    }

    fn settings(&mut self, found: &Value) {
        let view = |shape: &Value| {
            let stream = &shape["StreamSpecification"];
            stream["StreamViewType"].as_str().filter(|_| stream["StreamEnabled"] == true).map(str::to_owned)
        };
        if let Some(wanted) = view(self.wanted).filter(|wanted| Some(wanted) != view(found).as_ref()) {
            if view(found).is_some() {
                let off = json!({ "StreamSpecification": { "StreamEnabled": false } });
                self.update_table("stream off, to change what it holds", off);
            }
            let on = json!({ "StreamSpecification": self.wanted["StreamSpecification"] });
            self.update_table(format!("stream with {wanted}"), on);
        }
        let class = |class: &Value| class.as_str().unwrap_or("STANDARD").to_owned();
        let wanted = class(&self.wanted["TableClass"]);
        if wanted != class(&found["TableClassSummary"]["TableClass"]) {
            self.update_table(format!("table class {wanted}"), json!({ "TableClass": wanted }));
        }
        let protected = self.wanted["DeletionProtectionEnabled"].as_bool();
        if let Some(wanted) = protected.filter(|wanted| found["DeletionProtectionEnabled"] != *wanted) {
            let what = format!("deletion protection {}", on_or_off(wanted));
            self.update_table(what, json!({ "DeletionProtectionEnabled": wanted }));
        }
        let encrypts = self.wanted.get("SSESpecification");
        let is_encrypted = found["SSEDescription"]["Status"] == "ENABLED";
        if let Some(wanted) = encrypts.filter(|_| !is_encrypted) {
            self.update_table("encryption with a key of AWS KMS", json!({ "SSESpecification": wanted }));
        }
    }

    /// Replicas come last: while one is made, the table can't be changed.
    fn replicas(&mut self, state: Option<&State>) {
        let found = state.map_or(&Value::Null, |state| &state.table);
        let there: BTreeSet<&str> =
            elements(&found["Replicas"]).filter_map(|one| one["RegionName"].as_str()).collect();
        let own = found["TableArn"].as_str().and_then(|arn| arn.split(':').nth(3));
        let wanted: BTreeSet<&str> = self.table.replicas.iter().map(|one| one.value.as_str()).collect();
        for region in wanted.iter().filter(|region| !there.contains(**region) && Some(**region) != own) {
            if self.table.billing.value == Billing::Provisioned {
                let first = "it needs auto scaling of its writes, which is not set here";
                self.leave(format!("a replica in {region} of a provisioned table: {first}"));
                continue;
            }
            let create = json!([{ "Create": { "RegionName": region } }]);
            self.update_table(format!("create a replica in {region}"), json!({ "ReplicaUpdates": create }));
        }
        for region in there.difference(&wanted) {
            self.leave(format!("the replica in {region} is not in the model"));
        }
    }

    fn global_indexes(&mut self, found: &Value) {
        for index in indexes(self.wanted, GLOBAL) {
            match indexes(found, GLOBAL).find(|one| name(one) == name(index)) {
                None => self.create_index(index),
                Some(same) => self.replace_index(index, found, same),
            }
        }
        for index in unknown(found, self.wanted, GLOBAL) {
            match self.delete_indexes {
                true => self.delete_index(name(index)),
                false => self.leave(format!("index {} is not in the model (--delete-indexes)", name(index))),
            }
        }
    }

    fn create_index(&mut self, index: &Value) {
        let keys = key_names(index);
        let definitions: Vec<&Value> = elements(&self.wanted["AttributeDefinitions"])
            .filter(|one| one["AttributeName"].as_str().is_some_and(|name| keys.contains(name)))
            .collect();
        let members = json!({
            "AttributeDefinitions": definitions,
            "GlobalSecondaryIndexUpdates": [{ "Create": index }],
        });
        self.update_table(format!("create index {}", name(index)), members);
    }

    fn delete_index(&mut self, index: &str) {
        let members = json!({ "GlobalSecondaryIndexUpdates": [{ "Delete": { "IndexName": index } }] });
        self.update_table(format!("delete index {index}"), members);
    }

    /// An index can't change its key or projection: it is deleted and created again, or stays.
    fn replace_index(&mut self, index: &Value, found: &Value, same: &Value) {
        let Some(difference) = differences(self.wanted, index, found, same) else { return };
        if self.delete_indexes {
            self.delete_index(name(index));
            self.create_index(index);
        } else {
            let name = name(index);
            self.leave(format!(
                "index {name}: {difference}; --delete-indexes deletes it and creates it again"
            ));
        }
    }

    /// Settings that have operations of their own.
    fn beside(&mut self, state: &State) {
        match (self.table.ttl.as_ref().map(|ttl| ttl.value.as_str()), state.ttl.as_deref()) {
            (Some(wanted), None) => {
                let specification = json!({ "Enabled": true, "AttributeName": wanted });
                let members = json!({ "TimeToLiveSpecification": specification });
                self.add(format!("time to live by {wanted}"), "UpdateTimeToLive", members);
            }
            (Some(wanted), Some(found)) if wanted != found => {
                self.leave(format!(
                    "items expire by {found}, not by {wanted}; switch that off first, it takes an hour"
                ));
            }
            _ => {}
        }
        let pitr = self.table.pitr.as_ref().map(|pitr| pitr.value);
        if let Some(wanted) = pitr.filter(|wanted| state.pitr.unwrap_or(false) != *wanted) {
            let specification = json!({ "PointInTimeRecoveryEnabled": wanted });
            let members = json!({ "PointInTimeRecoverySpecification": specification });
            let what = format!("point-in-time recovery {}", on_or_off(wanted));
            self.add(what, "UpdateContinuousBackups", members);
        }
        self.tags(state);
    }

    /// A new table is created with its tags. Tags that the model doesn't have stay.
    fn tags(&mut self, state: &State) {
        let Some(arn) = state.table.get("TableArn") else { return };
        let lacking = self.table.tags.iter().filter(|(key, value)| state.tags.get(key) != Some(value));
        let tags: Vec<Value> = lacking.map(|(key, value)| json!({ "Key": key, "Value": value })).collect();
        if !tags.is_empty() {
            self.add("tags", "TagResource", json!({ "ResourceArn": arn, "Tags": tags }));
        }
    }
}

const GLOBAL: &str = "GlobalSecondaryIndexes";
const LOCAL: &str = "LocalSecondaryIndexes";

fn elements(list: &Value) -> impl Iterator<Item = &Value> {
    list.as_array().into_iter().flatten()
}

fn indexes<'v>(shape: &'v Value, kind: &str) -> impl Iterator<Item = &'v Value> {
    elements(&shape[kind])
}

fn name(index: &Value) -> &str {
    index["IndexName"].as_str().unwrap_or_default()
}

/// The indexes that `here` has and `there` has not.
fn unknown<'v>(here: &'v Value, there: &'v Value, kind: &'v str) -> impl Iterator<Item = &'v Value> {
    indexes(here, kind).filter(move |index| !indexes(there, kind).any(|one| name(one) == name(index)))
}

fn key_names(shape: &Value) -> BTreeSet<&str> {
    elements(&shape["KeySchema"]).filter_map(|key| key["AttributeName"].as_str()).collect()
}

/// `PK (S), SK (S)`: key attributes in order, with the types that the table declares.
fn key(table: &Value, shape: &Value) -> String {
    let types: BTreeMap<&str, &str> = elements(&table["AttributeDefinitions"])
        .filter_map(|one| Some((one["AttributeName"].as_str()?, one["AttributeType"].as_str()?)))
        .collect();
    let role = |role: &'static str| elements(&shape["KeySchema"]).filter(move |key| key["KeyType"] == role);
    let part = |key: &Value| {
        let name = key["AttributeName"].as_str().unwrap_or_default();
        format!("{name} ({})", types.get(name).copied().unwrap_or("S"))
    };
    role("HASH").chain(role("RANGE")).map(part).collect::<Vec<_>>().join(", ")
}

/// The differences between two indexes of the same name.
fn differences(wanted_table: &Value, wanted: &Value, found_table: &Value, found: &Value) -> Option<String> {
    let keys = (key(wanted_table, wanted), key(found_table, found));
    if keys.0 != keys.1 {
        return Some(format!("its key is {}, the model's {}", keys.1, keys.0));
    }
    let held = (projection(wanted), projection(found));
    (held.0 != held.1).then(|| format!("it holds {}, the model's {}", held.1, held.0))
}

fn projection(index: &Value) -> String {
    let projection = &index["Projection"];
    let names: BTreeSet<&str> = elements(&projection["NonKeyAttributes"]).filter_map(Value::as_str).collect();
    match projection["ProjectionType"].as_str() {
        Some("KEYS_ONLY") => "the keys".to_owned(),
        Some("INCLUDE") => names.into_iter().collect::<Vec<_>>().join(", "),
        _ => "everything".to_owned(),
    }
}

fn is_provisioned(found: &Value) -> bool {
    match found["BillingModeSummary"]["BillingMode"].as_str() {
        Some(mode) => mode == "PROVISIONED",
        None => found["ProvisionedThroughput"]["ReadCapacityUnits"].as_u64().unwrap_or(0) > 0,
    }
}

fn scales(capacity: &Capacity) -> bool {
    capacity.target.is_some() || capacity.min.is_some()
}

fn on_or_off(on: bool) -> &'static str {
    if on { "on" } else { "off" }
}
