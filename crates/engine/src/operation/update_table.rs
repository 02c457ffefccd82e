//! UpdateTable: changes the billing mode, throughput and other settings of a table; creates, drops and
//! changes global secondary indexes; creates and drops vector indexes.

use std::borrow::Cow;

use api::{
    BillingMode as Mode, CreateGlobalSecondaryIndexAction, Error, GlobalSecondaryIndex,
    GlobalSecondaryIndexUpdate, KeyType, OnDemandThroughput, TableStatus, UpdateGlobalSecondaryIndexAction,
    UpdateTableInput, UpdateTableOutput, VectorIndex, VectorIndexUpdate, limits,
};
use capacity::{Decreases, Enforcement, Switches};

use super::authorization::access::{self, Access, Resource};
use super::description::description;
use super::stream_specification::{self, Moment};
use super::{Kind, Serve};
use super::{replica_updates, schema, unserved};
use crate::base::caller::Caller;
use crate::base::fault;
use crate::base::table::{
    Billing, BillingMode, Index, IndexState, KeyAttribute, Scope, Table, TableState, Throughput,
    VectorSettings,
};
use crate::operation::Engine;
use crate::{Namespace, regions};
use store::Space;

pub(super) struct UpdateTable;

impl Serve for UpdateTable {
    type Input = UpdateTableInput;
    type Output = UpdateTableOutput;
    const KIND: Kind = Kind::Write;

    fn access<'r>(input: &'r UpdateTableInput, namespace: &Namespace) -> Vec<Access<'r>> {
        let named = || Resource::table(&input.table_name);
        let in_region = |region: &str| {
            let there = Namespace::new(namespace.account.clone(), region);
            let name = input.table_name.rsplit('/').next().unwrap_or(&input.table_name);
            Resource::Arn(Cow::Owned(there.table_arn(name)))
        };
        let mut accesses = vec![Access::new("dynamodb:UpdateTable", named())];
        for update in input.replica_updates.iter().flatten() {
            if let Some(create) = &update.create {
                accesses.push(Access::new("dynamodb:CreateTableReplica", named()));
                let actions = std::iter::once("dynamodb:CreateTable").chain(access::DATA_ACTIONS);
                accesses.extend(actions.map(|action| Access::new(action, in_region(&create.region_name))));
            }
            if update.delete.is_some() || update.disassociate.is_some() {
                accesses.push(Access::new("dynamodb:DeleteTableReplica", named()));
            }
        }
        for update in input.global_table_witness_updates.iter().flatten() {
            if update.create.is_some() {
                accesses.push(Access::new("dynamodb:CreateGlobalTableWitness", named()));
            }
            if update.delete.is_some() {
                accesses.push(Access::new("dynamodb:DeleteGlobalTableWitness", named()));
            }
        }
        accesses
    }

    async fn run(
        engine: &Engine,
        caller: &Caller,
        input: UpdateTableInput,
    ) -> Result<UpdateTableOutput, Error> {
        input.check()?;
        unserved::check_update_table(&input)?;
        let not_found = Error::resource_not_found_table(&input.table_name);
        let Some(table) = engine.find(caller, &input.table_name)? else { return Err(not_found) };
        if input.replica_updates.is_some() {
            return replica_updates::run(engine, &table, &input).await;
        }
        let state = engine.passing_state(TableState::Updating);
        let now = Now {
            ms: engine.environment.now_ms(),
            quota_ms: engine.usage.now().ms,
            has_quota: engine.usage.enforcement == Enforcement::Aws,
        };
        let begun = input.global_secondary_index_updates.iter().flatten().find_map(begun);
        let begun = begun.or_else(|| input.vector_index_updates.iter().flatten().find_map(begun_vector));
        let begun = begun.map(str::to_owned);
        let shards = engine.stream_shards;
        let created_ms = engine.new_stream_ms(&table.namespace, &table.name);
        let is_shared = changes_shared_settings(&input);
        let switches_stream = input.stream_specification.is_some();
        let change = move |table: &Table, space: Space, now_us: u64| {
            table.check_active()?;
            check_member(table, &input)?;
            let mut table = changed(table, &input, space, now)?;
            if changes_shared_settings(&input) {
                let has_new_throughput =
                    input.provisioned_throughput.is_some() || input.billing_mode.is_some();
                regions::note_change(&mut table, has_new_throughput, now.ms * 1000);
            }
            if let Some(specification) = &input.stream_specification {
                let unused = Space(table.numbers_end().max(space.0));
                let moment = Moment { created_ms, now_us, shards, unused };
                stream_specification::update(&mut table, specification, &moment)?;
            }
            table.state = state;
            Ok::<_, Error>(table)
        };
        let changed = match switches_stream {
            true => engine.change_between_writes(&table, change).await,
            false => {
                let change = move |table: &Table, space| change(table, space, 0);
                engine.catalog.replace(&table.namespace, &table.name, change).await
            }
        };
        let table = changed.map_err(fault::of_store)?.ok_or(not_found)??;
        if let Some(index) = begun.and_then(|name| table.index(&name)) {
            engine.start_index_change(&table, index);
        }
        if is_shared {
            engine.align_others(&table).await.map_err(fault::of_store)?;
        }
        engine.leave_state(&table).await;
        Ok(UpdateTableOutput {
            table_description: Some(description(&table, TableStatus::Updating, engine.usage.now().ms)),
        })
    }
}

/// Refuses what a member of a global table can't do.
fn check_member(table: &Table, input: &UpdateTableInput) -> Result<(), Error> {
    if table.strong.is_some() {
        return replica_updates::check_settled(table);
    }
    if table.membership.is_none() {
        return Ok(());
    }
    if input.stream_specification.as_ref().is_some_and(|specification| !specification.stream_enabled) {
        return Err(Error::invalid_parameter("Disabling Stream is not allowed for a Global Table replica."));
    }
    replica_updates::check_settled(table)
}

/// Whether all members of a global table get what is changed.
fn changes_shared_settings(input: &UpdateTableInput) -> bool {
    input.billing_mode.is_some()
        || input.provisioned_throughput.is_some()
        || input.on_demand_throughput.is_some()
        || input.global_secondary_index_updates.is_some()
        || input.vector_index_updates.is_some()
        || input.sse_specification.is_some()
        || input.table_class.is_some()
}

/// When a change is made.
#[derive(Clone, Copy)]
struct Now {
    ms: u64,
    /// By the clock of capacity, which quotas go by.
    quota_ms: u64,
    /// Whether changes beyond a quota are refused. They are counted in any case.
    has_quota: bool,
}

impl Now {
    /// Counts a decrease of provisioned throughput, or refuses it.
    fn decrease(&self, decreases: &mut Decreases) -> Result<(), Error> {
        if self.has_quota && !decreases.is_allowed(self.quota_ms) {
            let (today, last_ms) = (decreases.today(self.quota_ms), decreases.last_ms);
            let [last, next] =
                [last_ms, decreases.next_ms()].map(|ms| written(ms, "%A, %B %-d, %Y %-I:%M:%S %p UTC"));
            return Err(Error::too_many_decreases(today, &last, &next));
        }
        decreases.take(self.quota_ms);
        Ok(())
    }

    /// Counts a switch to on-demand, or refuses it.
    fn switch(&self, switches: &mut Switches) -> Result<(), Error> {
        if self.has_quota && !switches.is_allowed(self.quota_ms) {
            let times = [switches.last_ms().unwrap_or(0), switches.next_ms()];
            let [last, next] = times.map(|ms| written(ms, "%a %b %d %H:%M:%S UTC %Y"));
            return Err(Error::too_many_switches(&last, &next));
        }
        switches.take(self.quota_ms);
        Ok(())
    }
}

/// A time as a message has it.
fn written(ms: u64, form: &str) -> String {
    let time = i64::try_from(ms).ok().and_then(|ms| jiff::Timestamp::from_millisecond(ms).ok());
    time.map(|time| time.strftime(form).to_string()).unwrap_or_default()
}

/// The name of the index that the update creates or drops.
fn begun(update: &GlobalSecondaryIndexUpdate) -> Option<&str> {
    let made = update.create.as_ref().map(|create| create.index_name.as_str());
    made.or_else(|| update.delete.as_ref().map(|delete| delete.index_name.as_str()))
}

fn begun_vector(update: &VectorIndexUpdate) -> Option<&str> {
    let made = update.create.as_ref().map(|create| create.index_name.as_str());
    made.or_else(|| update.delete.as_ref().map(|delete| delete.index_name.as_str()))
}

/// The changed table, or why the request is refused.
fn changed(table: &Table, input: &UpdateTableInput, space: Space, now: Now) -> Result<Table, Error> {
    check_throughput(table, input)?;
    let mut changed = table.clone();
    changed.billing = billing(&table.billing, input, now)?;
    if let Some(protected) = input.deletion_protection_enabled {
        changed.deletion_protection = protected;
    }
    if let Some(class) = input.table_class {
        changed.class = Some(schema::table_class(class, Some(now.ms)));
    }
    if let Some(specification) = &input.sse_specification {
        changed.encryption = schema::encryption(specification);
    }
    for update in input.global_secondary_index_updates.iter().flatten() {
        if let Some(create) = &update.create {
            let definitions = schema::definitions(input.attribute_definitions.as_deref().unwrap_or_default());
            create_index(&mut changed, create, definitions, space)?;
        }
        if let Some(delete) = &update.delete {
            delete_index(&mut changed, &delete.index_name, Scope::Global)?;
        }
        if let Some(update) = &update.update {
            update_index(&mut changed, update, now)?;
        }
    }
    for update in input.vector_index_updates.iter().flatten() {
        if let Some(create) = &update.create {
            let definitions = schema::definitions(input.attribute_definitions.as_deref().unwrap_or_default());
            create_vector_index(&mut changed, &create.into(), definitions, space)?;
        }
        if let Some(delete) = &update.delete {
            delete_index(&mut changed, &delete.index_name, Scope::Vector)?;
        }
    }
    bill_indexes_alike(&mut changed)?;
    Ok(changed)
}

/// Refuses a new index while another is made or dropped, or if there is one of its name.
fn check_new_index(table: &Table, name: &str) -> Result<(), Error> {
    if table.index(name).is_some() {
        return Err(Error::validation(format!("Attempting to create an index which already exists: {name}")));
    }
    match table.indexes.iter().all(|index| index.state == IndexState::Active) {
        true => Ok(()),
        false => Err(Error::one_index_change_at_a_time()),
    }
}

/// Adds the definitions of attributes that the table does not have yet.
fn define(table: &mut Table, declared: Vec<KeyAttribute>) {
    for attribute in declared {
        if !table.definitions.iter().any(|known| known.name == attribute.name) {
            table.definitions.push(attribute);
        }
    }
}

/// Adds a vector index that is still to be filled.
fn create_vector_index(
    table: &mut Table,
    create: &VectorIndex,
    declared: Vec<KeyAttribute>,
    space: Space,
) -> Result<(), Error> {
    check_new_index(table, &create.index_name)?;
    let vectors = || table.indexes.iter().filter_map(|index| index.vector.as_ref());
    if vectors().count() >= limits::VECTOR_INDEXES_MAX {
        return Err(Error::too_many_vector_indexes());
    }
    let attribute = &create.vector_attribute.attribute_name;
    let differs = |other: &VectorSettings| {
        other.attribute == *attribute && other.dimensions as i64 != create.dimensions
    };
    if vectors().any(differs) {
        return Err(Error::vector_dimensions_differ(attribute));
    }
    define(table, declared);
    let is_defined = |name: &str| table.definitions.iter().any(|known| known.name == name);
    if !create.search_schema.iter().flatten().all(|element| is_defined(&element.attribute_name)) {
        return Err(Error::search_schema_undefined());
    }
    if is_defined(attribute) {
        return Err(Error::vector_attribute_defined(attribute));
    }
    let index = schema::vector_index(create, &table.definitions);
    table.indexes.push(index.in_space(space, IndexState::Creating));
    table.forget_unused_definitions();
    Ok(())
}

/// Adds an index that is still to be filled. An attribute definition that the table already has stays.
fn create_index(
    table: &mut Table,
    create: &CreateGlobalSecondaryIndexAction,
    declared: Vec<KeyAttribute>,
    space: Space,
) -> Result<(), Error> {
    check_new_index(table, &create.index_name)?;
    if table.indexes.iter().filter(|index| index.is_global()).count() >= limits::GLOBAL_SECONDARY_INDEXES_MAX
    {
        return Err(Error::invalid_parameter(format_args!(
            "GlobalSecondaryIndex count exceeds the per-table limit of {}",
            limits::GLOBAL_SECONDARY_INDEXES_MAX
        )));
    }
    if table.billing.mode == BillingMode::Provisioned && create.provisioned_throughput.is_none() {
        return Err(Error::index_throughput_missing(&create.index_name));
    }
    if table.billing.mode == BillingMode::OnDemand && create.provisioned_throughput.is_some() {
        return Err(Error::index_throughput_on_demand(&create.index_name));
    }
    check_not_redefined(table, create, &declared)?;
    define(table, declared);
    let index = GlobalSecondaryIndex {
        index_name: create.index_name.clone(),
        key_schema: create.key_schema.clone(),
        on_demand_throughput: create.on_demand_throughput.clone(),
        projection: create.projection.clone(),
        provisioned_throughput: create.provisioned_throughput.clone(),
        warm_throughput: create.warm_throughput.clone(),
    };
    check_on_demand_max(table.billing.mode, create.on_demand_throughput.as_ref())?;
    let index = schema::global_index(&index, &table.definitions)?;
    table.indexes.push(index.in_space(space, IndexState::Creating));
    table.forget_unused_definitions();
    Ok(())
}

/// Refuses another type for a key attribute of an existing index. For a key attribute of the table the
/// declared type is ignored.
fn check_not_redefined(
    table: &Table,
    create: &CreateGlobalSecondaryIndexAction,
    declared: &[KeyAttribute],
) -> Result<(), Error> {
    for element in &create.key_schema {
        let name = &element.attribute_name;
        let of = |index: &Index| index.keys.attributes().find(|key| key.name == *name).cloned();
        let new = declared.iter().find(|attribute| attribute.name == *name);
        let Some((index, new)) = table.indexes.iter().find(|index| of(index).is_some()).zip(new) else {
            continue;
        };
        let Some(old) = of(index).filter(|old| old.kind != new.kind) else { continue };
        let old_role = if index.keys.partition.contains(&old) { KeyType::Hash } else { KeyType::Range };
        let shown = |kind: &str, role: KeyType| {
            format!("Schema:[SchemaElement: key{{{name}:{kind}:{}}}]", role.as_str())
        };
        return Err(Error::invalid_parameter(format_args!(
            "Attributes cannot be redefined. Please check that your attribute has the same type as \
             previously defined. Existing schema: {} New schema: {}",
            shown(old.kind.name(), old_role),
            shown(new.kind.name(), element.key_type)
        )));
    }
    Ok(())
}

/// Changes the throughput of an index. Members that the request does not mention stay.
fn update_index(
    table: &mut Table,
    update: &UpdateGlobalSecondaryIndexAction,
    moment: Now,
) -> Result<(), Error> {
    let (name, mode) = (&update.index_name, table.billing.mode);
    let not_found = Error::resource_not_found_index(name, &table.name);
    let index = table.indexes.iter_mut().find(|index| index.name == *name && index.is_global());
    let Some(index) = index else { return Err(not_found) };
    let now = index.billing.unwrap_or_default();
    if let Some(units) = &update.provisioned_throughput {
        if mode == BillingMode::OnDemand {
            return Err(Error::index_throughput_on_demand(name));
        }
        let (read, write) = (units.read_capacity_units, units.write_capacity_units);
        if (read as u64, write as u64) == (now.read_units, now.write_units) {
            return Err(Error::index_throughput_unchanged(name, read, write));
        }
    }
    check_on_demand_max(mode, update.on_demand_throughput.as_ref())?;
    let mut changed = schema::provisioned(now, update.provisioned_throughput.as_ref());
    if changed.read_units < now.read_units || changed.write_units < now.write_units {
        moment.decrease(&mut changed.decreases)?;
    }
    changed.on_demand_max = schema::on_demand_max(now.on_demand_max, update.on_demand_throughput.as_ref());
    if let Some(asked) = &update.warm_throughput {
        changed.warm = schema::warm(changed.warm(), asked, &schema::of_index(name))?;
    }
    index.billing = Some(changed);
    Ok(())
}

/// Global indexes have the billing mode of their table: on demand their provisioned throughput is zero,
/// otherwise it must be given.
fn bill_indexes_alike(table: &mut Table) -> Result<(), Error> {
    let mode = table.billing.mode;
    let vector = table.indexes.iter().find(|index| index.vector.is_some());
    if let Some(index) = vector.filter(|_| mode == BillingMode::Provisioned) {
        return Err(Error::vector_index_not_on_demand(&index.name));
    }
    for index in table.indexes.iter_mut().filter(|index| index.is_global()) {
        let now = index.billing.unwrap_or_default();
        index.billing = Some(match mode {
            BillingMode::OnDemand => Throughput { read_units: 0, write_units: 0, ..now },
            BillingMode::Provisioned if now.read_units == 0 => {
                return Err(Error::index_throughput_missing(&index.name));
            }
            BillingMode::Provisioned => Throughput { on_demand_max: Default::default(), ..now },
        });
    }
    Ok(())
}

/// Only on-demand tables and indexes have maximums. MaxReadRequestUnits is checked first.
fn check_on_demand_max(mode: BillingMode, asked: Option<&OnDemandThroughput>) -> Result<(), Error> {
    let Some(asked) = asked else { return Ok(()) };
    let members = [
        ("MaxReadRequestUnits", asked.max_read_request_units),
        ("MaxWriteRequestUnits", asked.max_write_request_units),
    ];
    for (member, units) in members {
        let Some(units) = units else { continue };
        if mode == BillingMode::Provisioned {
            return Err(Error::invalid_parameter(format_args!(
                "{member} for OnDemandThroughput cannot be specified when the table BillingMode is PROVISIONED"
            )));
        }
        if units < 1 && units != -1 {
            return Err(Error::on_demand_max_out_of_range(member));
        }
    }
    Ok(())
}

fn delete_index(table: &mut Table, name: &str, scope: Scope) -> Result<(), Error> {
    let another = table.indexes.iter().any(|index| index.state == IndexState::Deleting);
    let index = table.indexes.iter_mut().find(|index| index.name == name && index.scope == scope);
    let Some(index) = index else { return Err(Error::resource_not_found_index(name, &table.name)) };
    if another {
        return Err(Error::one_index_change_at_a_time());
    }
    index.state = IndexState::Deleting;
    Ok(())
}

/// Checks the requested throughput against the current table.
fn check_throughput(table: &Table, input: &UpdateTableInput) -> Result<(), Error> {
    let is_on_demand = table.billing.mode == BillingMode::OnDemand;
    let becomes_on_demand = input.billing_mode.map_or(is_on_demand, |mode| mode == Mode::PayPerRequest);
    let Some(throughput) = &input.provisioned_throughput else {
        return match is_on_demand && !becomes_on_demand {
            true => Err(Error::invalid_parameter(
                "ReadCapacityUnits and WriteCapacityUnits must both be specified when BillingMode is PROVISIONED",
            )),
            false => Ok(()),
        };
    };
    let (read, write) = (throughput.read_capacity_units, throughput.write_capacity_units);
    if becomes_on_demand {
        return Err(Error::invalid_parameter(
            "Neither ReadCapacityUnits nor WriteCapacityUnits can be specified when BillingMode is PAY_PER_REQUEST",
        ));
    }
    let billing = &table.billing;
    if !is_on_demand && (read as u64, write as u64) == (billing.read_units, billing.write_units) {
        return Err(Error::throughput_unchanged(read, write));
    }
    Ok(())
}

fn billing(current: &Billing, input: &UpdateTableInput, now: Now) -> Result<Billing, Error> {
    let mut billing = current.clone();
    if let Some(throughput) = &input.provisioned_throughput {
        billing.read_units = throughput.read_capacity_units as u64;
        billing.write_units = throughput.write_capacity_units as u64;
        if billing.read_units > current.read_units || billing.write_units > current.write_units {
            billing.increased_ms = Some(now.ms);
        }
        if billing.read_units < current.read_units || billing.write_units < current.write_units {
            billing.decreased_ms = Some(now.ms);
            now.decrease(&mut billing.decreases)?;
        }
    }
    match input.billing_mode {
        Some(Mode::PayPerRequest) if current.mode == BillingMode::Provisioned => {
            billing.mode = BillingMode::OnDemand;
            billing.on_demand_since_ms = Some(now.ms);
            now.switch(&mut billing.switches)?;
            (billing.read_units, billing.write_units) = (0, 0);
        }
        Some(Mode::Provisioned) => {
            billing.mode = BillingMode::Provisioned;
            billing.on_demand_max = Default::default();
        }
        _ => {}
    }
    check_on_demand_max(billing.mode, input.on_demand_throughput.as_ref())?;
    billing.on_demand_max = schema::on_demand_max(billing.on_demand_max, input.on_demand_throughput.as_ref());
    if let Some(asked) = &input.warm_throughput {
        billing.warm = schema::warm(billing.warm(), asked, "table")?;
    }
    Ok(billing)
}
