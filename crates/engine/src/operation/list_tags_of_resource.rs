//! ListTagsOfResource: the tags of a table in the order of their keys, all in one page.

use api::{Error, ListTagsOfResourceInput, ListTagsOfResourceOutput, Tag};

use super::authorization::access::{Access, Resource};
use super::{Kind, Serve};
use crate::Namespace;
use crate::base::caller::Caller;
use crate::operation::Engine;

pub(super) struct ListTagsOfResource;

impl Serve for ListTagsOfResource {
    type Input = ListTagsOfResourceInput;
    type Output = ListTagsOfResourceOutput;
    const KIND: Kind = Kind::Read;

    fn access<'r>(input: &'r ListTagsOfResourceInput, _: &Namespace) -> Vec<Access<'r>> {
        Access::one("dynamodb:ListTagsOfResource", Resource::arn(&input.resource_arn))
    }

    async fn run(
        engine: &Engine,
        caller: &Caller,
        input: ListTagsOfResourceInput,
    ) -> Result<ListTagsOfResourceOutput, Error> {
        input.check()?;
        let arn = &input.resource_arn;
        let table =
            engine.find(caller, arn)?.ok_or_else(|| Error::tags_denied(&caller.namespace.account, arn))?;
        let tags = table.tags.iter().map(|(key, value)| Tag { key: key.clone(), value: value.clone() });
        Ok(ListTagsOfResourceOutput { tags: Some(tags.collect()), next_token: None })
    }
}
