//! Rules for tags and policies, and for the ARNs of the tables that have them.

use crate::{Error, TableName, Tag, limits};

/// Tags and policies belong to tables: the ARN of an index is refused.
pub(super) fn check_table_arn(arn: &str) -> Result<(), Error> {
    if !arn.starts_with("arn:") {
        return Err(Error::validation("ARNs must start with 'arn:'"));
    }
    match TableName::parse_arn(arn) {
        Some(_) => Ok(()),
        None => {
            Err(Error::validation(format!("Invalid TableArn: Invalid ResourceArn provided as input {arn}")))
        }
    }
}

pub(super) fn check_tags(tags: &[Tag]) -> Result<(), Error> {
    if tags.len() > limits::TAGS_MAX {
        return Err(Error::too_many_tags());
    }
    for Tag { key, value } in tags {
        for text in [key, value] {
            if !text.chars().all(is_tag_letter) {
                return Err(Error::invalid_parameter(format_args!(
                    "Tag contains invalid characters: {text}"
                )));
            }
        }
        if key.starts_with("aws:") {
            return Err(Error::invalid_parameter(
                "Tag keys starting with 'aws:' are reserved for system use",
            ));
        }
    }
    Ok(())
}

fn is_tag_letter(letter: char) -> bool {
    letter.is_alphanumeric() || letter.is_whitespace() || "+-=._:/@".contains(letter)
}

pub(super) fn check_policy(policy: &str) -> Result<(), Error> {
    if policy.len() > limits::RESOURCE_POLICY_BYTES_MAX {
        return Err(Error::invalid_parameter(format_args!(
            "Resource policy size exceeds the limit of {} bytes",
            limits::RESOURCE_POLICY_BYTES_MAX
        )));
    }
    Ok(())
}
