//! What a `FunctionName` parameter may hold: a name, a partial ARN or an ARN, each with or without a version.

/// A function as a request names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FunctionName<'a> {
    /// The whole text.
    pub text: &'a str,
    /// The Region, if the text has one.
    pub region: Option<&'a str>,
    /// The account, if the text has one.
    pub account: Option<&'a str>,
    /// The function's name alone.
    pub name: &'a str,
    /// A version or an alias.
    pub qualifier: Option<&'a str>,
}

/// The regular expression of the facts, as messages show it.
pub(super) const PATTERN: &str = "(arn:(aws[a-zA-Z-]*)?:lambda:)?((eusc-)?[a-z]{2}((-gov)|(-iso([a-z]?)))?-[a-z]+-\\d{1}:)?\
     (\\d{12}:)?(function:)?([a-zA-Z0-9-_\\.]+)(:(\\$LATEST(\\.PUBLISHED)?|[a-zA-Z0-9-_]+))?";

impl<'a> FunctionName<'a> {
    /// Parses `name`, `name:alias`, `account:function:name` or `arn:aws:lambda:region:account:function:name`.
    pub fn parse(text: &'a str) -> Option<FunctionName<'a>> {
        let (arn, mut parts) = match text.strip_prefix("arn:") {
            Some(arn) => (true, arn.split(':').peekable()),
            None => (false, text.split(':').peekable()),
        };
        if arn {
            parts.next_if(|partition| partition.starts_with("aws"))?;
            parts.next_if_eq(&"lambda")?;
        }
        // An ARN has every part. Its account need not have twelve digits here.
        let region = parts.next_if(|part| arn || is_region(part));
        let account = parts.next_if(|part| arn || is_account(part));
        parts.next_if_eq(&"function");
        let name = parts.next().filter(|name| is_word(name, "-_."))?;
        let qualifier = parts.next();
        let qualifier_fits = qualifier
            .is_none_or(|text| text == "$LATEST" || text == "$LATEST.PUBLISHED" || is_word(text, "-_"));
        (parts.next().is_none() && qualifier_fits).then_some(FunctionName {
            text,
            region,
            account,
            name,
            qualifier,
        })
    }

    /// The ARN of the function in a namespace, with its version or alias.
    pub fn arn(&self, region: &str, account: &str) -> String {
        let arn = format!("arn:aws:lambda:{region}:{account}:function:{}", self.name);
        match self.qualifier {
            Some(qualifier) => format!("{arn}:{qualifier}"),
            None => arn,
        }
    }
}

fn is_word(text: &str, others: &str) -> bool {
    !text.is_empty() && text.chars().all(|letter| letter.is_ascii_alphanumeric() || others.contains(letter))
}

fn is_account(text: &str) -> bool {
    text.len() == 12 && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// `us-east-1`, `us-gov-west-1`.
fn is_region(text: &str) -> bool {
    let parts: Vec<&str> = text.split('-').collect();
    let lower = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_lowercase());
    match parts.as_slice() {
        [words @ .., digit] => {
            words.len() >= 2
                && words.iter().all(|word| lower(word))
                && digit.len() == 1
                && digit.as_bytes()[0].is_ascii_digit()
        }
        [] => false,
    }
}
