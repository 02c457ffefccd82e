//! CreateTable: a new, empty table.

use api::{BillingMode as Mode, CreateTableInput, CreateTableOutput, Error, TableStatus};
pub use host::uuid;

use super::authorization::access::{Access, Detail, Resource};
use super::description::description;
use super::stream_specification::{self, Moment};
use super::{Kind, Serve};
use super::{policy, schema, unserved};
use crate::Namespace;
use crate::base::caller::Caller;
use crate::base::fault;
use crate::base::table::{
    Billing, BillingMode, NewTable, OnDemandMax, ResourcePolicy, Table, TableState, WarmThroughput,
};
use crate::copies::failures;
use crate::operation::Engine;
use crate::tables::catalog::CreateError;
use store::Space;

pub(super) struct CreateTable;

impl Serve for CreateTable {
    type Input = CreateTableInput;
    type Output = CreateTableOutput;
    const KIND: Kind = Kind::Write;

    fn access<'r>(input: &'r CreateTableInput, _: &Namespace) -> Vec<Access<'r>> {
        let named = || Resource::table(&input.table_name);
        let tags: Vec<_> =
            input.tags.iter().flatten().map(|tag| (tag.key.as_str(), Some(tag.value.as_str()))).collect();
        let detail = || Detail { tags: tags.clone(), ..Detail::default() };
        let mut accesses = vec![Access::new("dynamodb:CreateTable", named()).with(detail())];
        if !tags.is_empty() {
            accesses.push(Access::new("dynamodb:TagResource", named()).with(detail()));
        }
        if input.resource_policy.is_some() {
            accesses.push(Access::new("dynamodb:PutResourcePolicy", named()));
        }
        if let Some(source) = &input.global_table_source_arn {
            accesses.push(Access::new("dynamodb:CreateTableReplica", Resource::arn(source)));
            accesses.push(Access::new("dynamodb:AssociateTableReplica", Resource::arn(source)));
        }
        accesses
    }

    async fn run(
        engine: &Engine,
        caller: &Caller,
        input: CreateTableInput,
    ) -> Result<CreateTableOutput, Error> {
        input.check()?;
        let name = input.table_name.clone();
        unserved::check_create_table(&input)?;
        let (namespace, now) = (caller.namespace.clone(), engine.environment.now_ms());
        let id = uuid(engine.environment.random());
        let state = engine.passing_state(TableState::Creating);
        let new = NewTable { state, ..new_table(&input, now)? };
        let view = stream_specification::of_new_table(input.stream_specification.as_ref())?;
        let (now_us, shards) = (engine.clock.now_us(&*engine.environment), engine.stream_shards);
        // Every write to the new table is later than the beginning of its stream.
        engine.clock.pass(now_us);
        let created_ms = engine.new_stream_ms(&caller.namespace, &name);
        let make = move |space| {
            let mut table = Table::new(namespace.clone(), new.clone(), space, id.clone(), now);
            if let Some(view) = view {
                let moment = Moment { created_ms, now_us, shards, unused: Space(table.numbers_end()) };
                table.switch_stream_on(view, &moment);
            }
            table
        };
        let arn = caller.namespace.table_arn(&name);
        failures::forget(engine, &caller.namespace, &arn).await.map_err(fault::of_store)?;
        let table =
            engine.catalog.create(&caller.namespace, &name, make).await.map_err(|error| match error {
                CreateError::Exists => Error::table_exists(&name),
                CreateError::Store(error) => fault::of_store(error),
            })?;
        engine.leave_state(&table).await;
        Ok(CreateTableOutput {
            table_description: Some(description(&table, TableStatus::Creating, engine.usage.now().ms)),
        })
    }
}

/// The definition of the table that a request asks for.
pub fn new_table(input: &CreateTableInput, now: u64) -> Result<NewTable, Error> {
    let throughput = input.provisioned_throughput.clone().unwrap_or_default();
    let on_demand = input.billing_mode == Some(Mode::PayPerRequest);
    let definitions = schema::definitions(input.attribute_definitions.as_deref().unwrap_or_default());
    let local = input.local_secondary_indexes.iter().flatten();
    let global = input.global_secondary_indexes.iter().flatten();
    let local = local.map(|index| Ok(schema::local_index(index, &definitions)));
    let global = global.map(|index| schema::global_index(index, &definitions));
    let vector = input.vector_indexes.iter().flatten();
    let vector = vector.map(|index| Ok(schema::vector_index(index, &definitions)));
    let mut billing = Billing {
        mode: if on_demand { BillingMode::OnDemand } else { BillingMode::Provisioned },
        read_units: throughput.read_capacity_units as u64,
        write_units: throughput.write_capacity_units as u64,
        on_demand_since_ms: on_demand.then_some(now),
        increased_ms: None,
        decreased_ms: None,
        on_demand_max: schema::on_demand_max(OnDemandMax::default(), input.on_demand_throughput.as_ref()),
        warm: WarmThroughput::default(),
        decreases: Default::default(),
        switches: Default::default(),
    };
    if let Some(asked) = &input.warm_throughput {
        billing.warm = schema::warm(billing.warm(), asked, "table")?;
    }
    let document = input.resource_policy.as_deref().map(policy::canonical_document).transpose()?;
    Ok(NewTable {
        name: input.table_name.clone(),
        keys: schema::keys(input.key_schema.as_deref().unwrap_or_default(), &definitions),
        indexes: local.chain(global).chain(vector).collect::<Result<_, Error>>()?,
        definitions,
        billing,
        deletion_protection: input.deletion_protection_enabled.unwrap_or(false),
        class: input.table_class.map(|class| schema::table_class(class, None)),
        state: TableState::Active,
        tags: input.tags.iter().flatten().map(|tag| (tag.key.clone(), tag.value.clone())).collect(),
        policy: document.map(|document| ResourcePolicy { document, revision: now.to_string() }),
        encryption: input.sse_specification.as_ref().and_then(schema::encryption),
    })
}
