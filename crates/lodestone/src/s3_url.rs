//! `s3://bucket/prefix`: where an export is written to, or an import is read from.

use std::fmt;
use std::str::FromStr;

#[derive(Clone, Debug, PartialEq)]
pub struct S3Url {
    pub bucket: String,
    /// Without a slash at the beginning.
    pub prefix: Option<String>,
}

impl FromStr for S3Url {
    type Err = String;

    fn from_str(text: &str) -> Result<S3Url, String> {
        let rest = text.strip_prefix("s3://").unwrap_or_default();
        let (bucket, prefix) = rest.split_once('/').unwrap_or((rest, ""));
        if bucket.is_empty() {
            return Err("it looks like s3://bucket/prefix".to_owned());
        }
        let prefix = (!prefix.is_empty()).then(|| prefix.to_owned());
        Ok(S3Url { bucket: bucket.to_owned(), prefix })
    }
}

impl fmt::Display for S3Url {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.prefix {
            Some(prefix) => write!(f, "s3://{}/{prefix}", self.bucket),
            None => write!(f, "s3://{}", self.bucket),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bucket_and_perhaps_a_prefix() {
        for text in ["s3://songs", "s3://songs/2026", "s3://songs/2026/11/"] {
            assert_eq!(text.parse::<S3Url>().expect(text).to_string(), text);
        }
        for text in ["", "songs", "s3://", "s3:///songs", "http://songs/2026"] {
            assert!(text.parse::<S3Url>().is_err(), "{text}");
        }
    }
}
