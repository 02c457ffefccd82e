//! Tries a write: sends the real operation, then compares the table and every index with what the
//! model says they must hold.

use api::{GetItemInput, ScanInput};
use capacity::TRANSACTION_FACTOR;
use model::Model;
use model::model::{Grouping, IndexId, Pattern, TableId, WriteVerb};
use model::plan::{IndexEffect, Membership};
use model::predict::item::{self as predict, Values};
use model::request::{Touch, Unsendable, write as write_request};
use model::sample::{SampleItem, item, key_of};

use crate::bill::Bill;
use crate::database::{Database, values};
use crate::fault::Fault;
use crate::measured::Measured;
use crate::trial::{Trial, name_of};

/// Sends the writes to a database that holds the data.
pub async fn run(
    model: &Model,
    pattern: &Pattern,
    database: &Database,
    data: &[SampleItem],
    touches: &[Touch<'_>],
) -> Trial {
    let mut trial = Trial { requests: 1, pages: 1, ..Trial::default() };
    for touch in touches {
        let items = [&touch.old, &touch.new].into_iter().flatten();
        items.for_each(|values| database.forget(model, touch.table, values));
    }
    if let Err(fault) = send(model, pattern.grouping, database, touches, &mut trial.consumed).await {
        return Trial::failed(fault);
    }
    for touch in touches {
        let factor = if pattern.grouping == Grouping::Transaction { TRANSACTION_FACTOR } else { 1.0 };
        let table = model.table(touch.table);
        let units = predict::write(table, touch.old.as_ref(), touch.new.as_ref(), factor);
        trial.predicted.add(touch.table, units);
        trial.faults.extend(touch.effects.iter().filter_map(|effect| membership_fault(model, touch, effect)));
    }
    let look = async || stored_faults(model, database, data, touches).await;
    match database.until_consistent(look, |found| found.as_ref().is_ok_and(Vec::is_empty)).await {
        Ok(faults) => trial.faults.extend(faults),
        Err(fault) => trial.faults.push(fault),
    }
    trial.faults.extend(Bill::faults(model, &trial.predicted, &trial.consumed));
    trial
}

async fn send(
    model: &Model,
    grouping: Grouping,
    database: &Database,
    touches: &[Touch<'_>],
    consumed: &mut Bill,
) -> Result<(), Fault> {
    let reported = match (grouping, touches) {
        (Grouping::Transaction, _) => {
            let input = write_request::transaction(model, touches)?;
            database.call(input.measured()).await?.consumed_capacity
        }
        (Grouping::Batch, _) => {
            let input = write_request::batch(model, touches)?;
            database.call(input.measured()).await?.consumed_capacity
        }
        (Grouping::Single, [touch]) => single(model, database, touch).await?.map(|one| vec![one]),
        (Grouping::Single, _) => return Err(Fault::Gap("one request writes one item".to_owned())),
    };
    reported.iter().flatten().for_each(|one| consumed.add_consumed(model, one));
    Ok(())
}

async fn single(
    model: &Model,
    database: &Database,
    touch: &Touch<'_>,
) -> Result<Option<api::ConsumedCapacity>, Fault> {
    let parts = write_request::parts(model, touch)?;
    Ok(match touch.write.verb {
        WriteVerb::Create | WriteVerb::Put => {
            database.call(parts.put_item().measured()).await?.consumed_capacity
        }
        WriteVerb::Update => database.call(parts.update_item().measured()).await?.consumed_capacity,
        WriteVerb::Delete => database.call(parts.delete_item().measured()).await?.consumed_capacity,
        WriteVerb::Check => {
            return Err(Unsendable::lone_check().into());
        }
    })
}

/// Compares the plan's claim whether the item is in the index, before and after, with the item itself.
fn membership_fault(model: &Model, touch: &Touch<'_>, effect: &IndexEffect) -> Option<Fault> {
    if touch.write.verb == WriteVerb::Check {
        return None;
    }
    let table = model.table(touch.table);
    let is_in_index = |values: Option<&Values>| {
        values.is_some_and(|values| predict::row(table, effect.index, values).is_some())
    };
    let word = |member: bool| if member { "in" } else { "not in" }.to_owned();
    let wrong = |planned: Membership, found: bool| match planned {
        Membership::Perhaps => None,
        planned => (found != (planned == Membership::In)).then(|| Fault::Membership {
            index: table.index(effect.index).name.value.clone(),
            planned: word(planned == Membership::In),
            found: word(found),
        }),
    };
    let before = wrong(effect.before, is_in_index(touch.old.as_ref()));
    before.or_else(|| wrong(effect.after, is_in_index(touch.new.as_ref())))
}

/// Each written item, and all rows of every index of its table.
async fn stored_faults(
    model: &Model,
    database: &Database,
    data: &[SampleItem],
    touches: &[Touch<'_>],
) -> Result<Vec<Fault>, Fault> {
    let mut faults = Vec::new();
    for touch in touches {
        let Some(any) = touch.old.as_ref().or(touch.new.as_ref()) else { continue };
        let found = stored(model, database, touch.table, any).await?;
        if found.as_ref() != touch.new.as_ref() {
            faults.push(Fault::Stored { item: name_of(model, touch.table, any) });
        }
    }
    let mut tables: Vec<TableId> = touches.iter().map(|touch| touch.table).collect();
    tables.sort();
    tables.dedup();
    for table in tables {
        let now = after(model, table, data, touches);
        for index in model.table(table).index_ids() {
            faults.extend(index_fault(model, database, table, index, &now).await?);
        }
    }
    Ok(faults)
}

/// The item with this key, as it is stored.
pub async fn stored(
    model: &Model,
    database: &Database,
    table: TableId,
    any: &Values,
) -> Result<Option<Values>, Fault> {
    let input = GetItemInput {
        table_name: model.table(table).name.value.clone(),
        key: item(&key_of(model, table, any)),
        consistent_read: Some(true),
        ..GetItemInput::default()
    };
    Ok(database.call(input).await?.item.as_ref().map(values))
}

/// All items of the table, as they must be now.
fn after(model: &Model, table: TableId, data: &[SampleItem], touches: &[Touch<'_>]) -> Vec<Values> {
    let here = || touches.iter().filter(|touch| touch.table == table);
    let written: Vec<Values> = here()
        .flat_map(|touch| [&touch.old, &touch.new])
        .flatten()
        .map(|values| key_of(model, table, values))
        .collect();
    let untouched = data.iter().filter(|item| item.table == table);
    let untouched = untouched.filter(|item| !written.contains(&key_of(model, table, &item.values)));
    let new = here().filter_map(|touch| touch.new.clone());
    untouched.map(|item| item.values.clone()).chain(new).collect()
}

async fn index_fault(
    model: &Model,
    database: &Database,
    table: TableId,
    index: IndexId,
    now: &[Values],
) -> Result<Option<Fault>, Fault> {
    let schema = model.table(table);
    let mut found = Vec::new();
    let mut input = ScanInput {
        table_name: schema.name.value.clone(),
        index_name: Some(schema.index(index).name.value.clone()),
        ..ScanInput::default()
    };
    loop {
        let output = database.call(input.clone()).await?;
        found.extend(output.items.unwrap_or_default().iter().map(values));
        input.exclusive_start_key = output.last_evaluated_key;
        if input.exclusive_start_key.is_none() {
            break;
        }
    }
    let expected: Vec<Values> = now.iter().filter_map(|item| predict::row(schema, index, item)).collect();
    let names = |rows: &[Values], others: &[Values]| -> Vec<String> {
        let lacking = rows.iter().filter(|row| !others.contains(row));
        lacking.map(|row| name_of(model, table, row)).collect()
    };
    let (missing, unwanted) = (names(&expected, &found), names(&found, &expected));
    let wrong = !missing.is_empty() || !unwanted.is_empty();
    let name = schema.index(index).name.value.clone();
    Ok(wrong.then_some(Fault::IndexRows { index: name, missing, unwanted }))
}
