//! UpdateTimeToLive: sets the attribute that holds the time at which an item expires, or switches expiry off.

use std::time::Duration;

use api::{Error, TimeToLiveSpecification, UpdateTimeToLiveInput, UpdateTimeToLiveOutput};

use super::authorization::access::{Access, Resource};
use super::{Kind, Serve};
use crate::base::caller::Caller;
use crate::base::fault;
use crate::base::table::{Expiry, Table};
use crate::operation::Engine;
use crate::tables::clearing::Clearing;
use crate::{Namespace, regions};
use store::Space;

/// A request waits so long for the items that are there already, so that a small table is ENABLED at once. A large
/// one is ENABLING until they are found.
const FILL_WAIT: Duration = Duration::from_millis(500);

pub(super) struct UpdateTimeToLive;

impl Serve for UpdateTimeToLive {
    type Input = UpdateTimeToLiveInput;
    type Output = UpdateTimeToLiveOutput;
    const KIND: Kind = Kind::Write;

    fn access<'r>(input: &'r UpdateTimeToLiveInput, _: &Namespace) -> Vec<Access<'r>> {
        Access::one("dynamodb:UpdateTimeToLive", Resource::table(&input.table_name))
    }

    async fn run(
        engine: &Engine,
        caller: &Caller,
        input: UpdateTimeToLiveInput,
    ) -> Result<UpdateTimeToLiveOutput, Error> {
        input.check()?;
        let not_found = Error::resource_not_found_table(&input.table_name);
        let Some(table) = engine.find(caller, &input.table_name)? else { return Err(not_found) };
        let now_us = engine.clock.now_us(&*engine.environment);
        let specification = input.time_to_live_specification.clone();
        let update = move |table: &mut Table, unused: Space| {
            if table.strong.is_some() {
                return Err(Error::not_with_strong("Time to Live is", &table.name));
            }
            let TimeToLiveSpecification { enabled, attribute_name } = &input.time_to_live_specification;
            table.time_to_live = changed(table.time_to_live.as_deref(), *enabled, attribute_name)?;
            table.expiry = table.time_to_live.is_some().then(|| Expiry::new(unused));
            regions::note_change(table, false, now_us);
            Ok(())
        };
        let before = table;
        let table = engine.change_table(&before, update).await?.ok_or(not_found)?;
        if let Some(fill) = engine.start_expiry_fill(&table) {
            tokio::select! {
                biased;
                _ = fill.outcome() => {}
                () = engine.environment.sleep(FILL_WAIT) => {}
            }
        }
        engine.align_others(&table).await.map_err(fault::of_store)?;
        if let Some(expiry) = before.expiry {
            engine.background.start(Clearing::of_part(
                engine.catalog.clone(),
                before.clone(),
                expiry.space(),
            ));
        }
        Ok(UpdateTimeToLiveOutput { time_to_live_specification: Some(specification) })
    }
}

/// The new attribute. Time to live can only be switched on while it is off, and off while it is on. The
/// request that switches it off must name the attribute.
fn changed(current: Option<&str>, enabled: bool, attribute: &str) -> Result<Option<String>, Error> {
    match current {
        Some(current) if current != attribute => Err(Error::validation(format!(
            "TimeToLive is active on a different AttributeName: current AttributeName is {current}"
        ))),
        Some(_) if enabled => Err(Error::validation("TimeToLive is already enabled")),
        None if !enabled => Err(Error::validation("TimeToLive is already disabled")),
        _ => Ok(enabled.then(|| attribute.to_owned())),
    }
}
