//! GetItem: one item by its key.

use api::{Error, GetItemInput, GetItemOutput, Operation};
use expression::Projection;

use super::answer_size::AnswerSize;
use super::authorization::access::{self, Access, Detail, Resource};
use super::consumed::consumed;
use super::paging::read_mode;
use super::parameters::Parameters;
use super::{Kind, Serve, scalar_keys};
use crate::Namespace;
use crate::base::caller::Caller;
use crate::base::units::Units;
use crate::operation::Engine;
use crate::read::items::{self, Asked};

pub(super) struct GetItem;

impl Serve for GetItem {
    type Input = GetItemInput;
    type Output = GetItemOutput;
    const KIND: Kind = Kind::Read;

    fn access<'r>(input: &'r GetItemInput, _: &Namespace) -> Vec<Access<'r>> {
        let is_projected = input.projection_expression.is_some() || input.attributes_to_get.is_some();
        let access = Access::new("dynamodb:GetItem", Resource::table(&input.table_name)).with(Detail {
            items: vec![&input.key],
            listed: access::listed(input.attributes_to_get.as_ref(), []),
            names: input.expression_attribute_names.as_ref(),
            projection: input.projection_expression.as_deref(),
            select: access::select(None, is_projected),
            return_consumed_capacity: access::return_consumed_capacity(input.return_consumed_capacity),
            ..Detail::default()
        });
        vec![access]
    }

    fn answer_size(_: &GetItemInput) -> AnswerSize {
        AnswerSize::SeldomLarge
    }

    async fn run(engine: &Engine, caller: &Caller, input: GetItemInput) -> Result<GetItemOutput, Error> {
        input.check()?;
        let mut parameters = Parameters::of_read(engine, &input.expression_attribute_names, &None)?;
        let projection = parameters
            .projection(input.projection_expression.as_deref(), input.attributes_to_get.as_deref())?;
        parameters.finish()?;
        let table = engine.table(caller, &input.table_name)?;
        let key = table.key_of(input.key.as_ref())?;
        scalar_keys::check(&table, projection.iter().flat_map(Projection::paths))?;

        let asked = Asked { table: &table, key: &key, attributes: input.key.as_ref() };
        let found = items::item(engine, Operation::GetItem, asked, read_mode(input.consistent_read)).await?;

        Ok(GetItemOutput {
            consumed_capacity: consumed(
                input.return_consumed_capacity,
                &table,
                &Units::of_table(found.units),
            ),
            item: found.item.map(|item| match &projection {
                Some(projection) => projection.apply(item.as_ref()),
                None => item,
            }),
        })
    }
}
