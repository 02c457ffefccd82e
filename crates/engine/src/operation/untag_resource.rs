//! UntagResource: removes tags from a table. A tag that the table does not have is no error.

use api::{Error, UntagResourceInput};

use super::authorization::access::{Access, Detail, Resource};
use super::{Kind, Serve};
use crate::Namespace;
use crate::base::caller::Caller;
use crate::base::table::Table;
use crate::operation::Engine;

pub(super) struct UntagResource;

impl Serve for UntagResource {
    type Input = UntagResourceInput;
    type Output = ();
    const KIND: Kind = Kind::Write;

    fn access<'r>(input: &'r UntagResourceInput, _: &Namespace) -> Vec<Access<'r>> {
        let tags = input.tag_keys.iter().map(|key| (key.as_str(), None)).collect();
        let access = Access::new("dynamodb:UntagResource", Resource::arn(&input.resource_arn));
        vec![access.with(Detail { tags, ..Detail::default() })]
    }

    async fn run(engine: &Engine, caller: &Caller, input: UntagResourceInput) -> Result<(), Error> {
        input.check()?;
        let arn = input.resource_arn.clone();
        let table = engine.find(caller, &arn)?.ok_or_else(|| Error::resource_not_found_arn(&arn))?;
        let untag = move |table: &mut Table, _| {
            table.tags.retain(|key, _| !input.tag_keys.contains(key));
            Ok(())
        };
        engine.change_table(&table, untag).await?.ok_or_else(|| Error::resource_not_found_arn(&arn))?;
        Ok(())
    }
}
