//! TagResource: adds tags to a table, or changes the values of its tags.

use api::{Error, TagResourceInput, limits};

use super::authorization::access::{Access, Detail, Resource};
use super::{Kind, Serve};
use crate::Namespace;
use crate::base::caller::Caller;
use crate::base::table::Table;
use crate::operation::Engine;

pub(super) struct TagResource;

impl Serve for TagResource {
    type Input = TagResourceInput;
    type Output = ();
    const KIND: Kind = Kind::Write;

    fn access<'r>(input: &'r TagResourceInput, _: &Namespace) -> Vec<Access<'r>> {
        let tags = input.tags.iter().map(|tag| (tag.key.as_str(), Some(tag.value.as_str()))).collect();
        let access = Access::new("dynamodb:TagResource", Resource::arn(&input.resource_arn));
        vec![access.with(Detail { tags, ..Detail::default() })]
    }

    async fn run(engine: &Engine, caller: &Caller, input: TagResourceInput) -> Result<(), Error> {
        input.check()?;
        let arn = input.resource_arn.clone();
        let table = engine.find(caller, &arn)?.ok_or_else(|| Error::resource_not_found_arn(&arn))?;
        let tag = move |table: &mut Table, _| {
            table.tags.extend(input.tags.iter().map(|tag| (tag.key.clone(), tag.value.clone())));
            if table.tags.len() > limits::TAGS_MAX { Err(Error::too_many_tags()) } else { Ok(()) }
        };
        engine.change_table(&table, tag).await?.ok_or_else(|| Error::resource_not_found_arn(&arn))?;
        Ok(())
    }
}
