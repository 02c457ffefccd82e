//! ListTagsOfResource: the tags of a table in the order of their keys, all in one page.

use api::{Error, ListTagsOfResourceInput, ListTagsOfResourceOutput, Tag};

use crate::{Caller, Engine};

pub async fn run(
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
