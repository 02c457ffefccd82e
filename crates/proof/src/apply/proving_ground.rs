//! A proof on a shared database, in tables of its own: they are created beside the model's, and deleted
//! afterwards. A proof writes, deletes and reads whole indexes, so it must not touch anyone's data.

use std::sync::Arc;

use api::{DeleteTableInput, Error};
use model::Model;
use model::model::Billing;

use super::carry_out::wait_until_active;
use crate::certificate::Certificate;
use crate::database::Database;
use crate::endpoint::{Endpoint, call};
use crate::prove::prove_on;
use crate::table::create_table;

/// The longest table name.
const NAME_MAX: usize = api::limits::TABLE_NAME_LENGTH_MAX;

/// `mark` makes the table names unique; `tell` is called with each thing that is done.
pub async fn prove_beside(
    model: &Model,
    endpoint: Arc<dyn Endpoint>,
    mark: &str,
    tell: impl Fn(&str),
) -> Result<Certificate, Error> {
    let own = renamed(model, mark);
    let made = make(&own, endpoint.as_ref(), &tell).await;
    let certificate = match made {
        Ok(()) => Ok(prove_on(&own, &Database::on(endpoint.clone()), &tell).await),
        Err(error) => Err(error),
    };
    tell("cleaning up");
    clear(&own, endpoint.as_ref()).await?;
    let mut certificate = certificate?;
    for (own, table) in own.tables.iter().zip(&model.tables) {
        certificate.rename(&own.name.value, &table.name.value);
    }
    Ok(certificate)
}

/// The model with other table names, on demand: a proof is not about capacity.
fn renamed(model: &Model, mark: &str) -> Model {
    let mut own = model.clone();
    for table in &mut own.tables {
        let suffix = format!("-proof-{mark}");
        let kept: String = table.name.value.chars().take(NAME_MAX - suffix.len()).collect();
        table.name.value = kept + &suffix;
        table.billing.value = Billing::OnDemand;
    }
    own
}

async fn make(own: &Model, endpoint: &dyn Endpoint, tell: &impl Fn(&str)) -> Result<(), Error> {
    for table in own.tables.iter().filter_map(create_table) {
        let name = table.table_name.clone();
        call(endpoint, table).await?;
        wait_until_active(endpoint, &name, |status| tell(&format!("{name} {status}"))).await?;
    }
    Ok(())
}

/// Deletes the tables. One that was never created is no error.
async fn clear(own: &Model, endpoint: &dyn Endpoint) -> Result<(), Error> {
    let mut failed = None;
    for table in &own.tables {
        let input = DeleteTableInput { table_name: table.name.value.clone() };
        match call(endpoint, input).await {
            Err(error) if error.kind != api::ErrorKind::ResourceNotFound => failed = Some(error),
            _ => {}
        }
    }
    failed.map_or(Ok(()), Err)
}
