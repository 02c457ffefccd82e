//! As whom requests are signed: from the environment, else from a profile of the shared credentials file.

use std::path::PathBuf;

#[derive(Clone, PartialEq)]
pub struct Credentials {
    pub access_key_id: String,
    pub secret_access_key: String,
    pub session_token: Option<String>,
}

#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum CredentialsError {
    #[error(
        "no credentials: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE to a profile of \
         ~/.aws/credentials (for single sign-on: `eval \"$(aws configure export-credentials --format env)\"`)"
    )]
    Absent,
    #[error("{path} has no profile `{profile}` with an access key and its secret")]
    NoProfile { profile: String, path: String },
}

/// What the process was started with, handed in so that tests can say otherwise.
pub trait Surroundings {
    fn variable(&self, name: &str) -> Option<String>;
    fn read(&self, path: &std::path::Path) -> Option<String>;
}

/// The real ones.
pub struct Process;

impl Surroundings for Process {
    fn variable(&self, name: &str) -> Option<String> {
        std::env::var(name).ok().filter(|value| !value.is_empty())
    }

    fn read(&self, path: &std::path::Path) -> Option<String> {
        std::fs::read_to_string(path).ok()
    }
}

impl Credentials {
    /// For a database that takes any: what users of DynamoDB Local set by hand.
    pub fn local() -> Credentials {
        Credentials {
            access_key_id: "local".to_owned(),
            secret_access_key: "local".to_owned(),
            session_token: None,
        }
    }

    /// A profile that is named counts before the variables, as with the AWS CLI.
    pub fn find(
        profile: Option<&str>,
        surroundings: &impl Surroundings,
    ) -> Result<Credentials, CredentialsError> {
        match profile {
            Some(profile) => of_profile(profile, surroundings),
            None => of_variables(surroundings).map_or_else(|| of_any_profile(surroundings), Ok),
        }
    }
}

fn of_variables(surroundings: &impl Surroundings) -> Option<Credentials> {
    Some(Credentials {
        access_key_id: surroundings.variable("AWS_ACCESS_KEY_ID")?,
        secret_access_key: surroundings.variable("AWS_SECRET_ACCESS_KEY")?,
        session_token: surroundings.variable("AWS_SESSION_TOKEN"),
    })
}

/// The profile that `AWS_PROFILE` names, else the default one, which may well not be there.
fn of_any_profile(surroundings: &impl Surroundings) -> Result<Credentials, CredentialsError> {
    match surroundings.variable("AWS_PROFILE") {
        Some(profile) => of_profile(&profile, surroundings),
        None => of_profile("default", surroundings).map_err(|_| CredentialsError::Absent),
    }
}

fn of_profile(profile: &str, surroundings: &impl Surroundings) -> Result<Credentials, CredentialsError> {
    let path = path(surroundings).ok_or(CredentialsError::Absent)?;
    let text = surroundings.read(&path).unwrap_or_default();
    let section = |name: &str| value(&text, profile, name);
    match (section("aws_access_key_id"), section("aws_secret_access_key")) {
        (Some(access_key_id), Some(secret_access_key)) => {
            Ok(Credentials { access_key_id, secret_access_key, session_token: section("aws_session_token") })
        }
        _ => {
            Err(CredentialsError::NoProfile { profile: profile.to_owned(), path: path.display().to_string() })
        }
    }
}

fn path(surroundings: &impl Surroundings) -> Option<PathBuf> {
    let named = surroundings.variable("AWS_SHARED_CREDENTIALS_FILE").map(PathBuf::from);
    named.or_else(|| Some(PathBuf::from(surroundings.variable("HOME")?).join(".aws/credentials")))
}

/// `name = value` below `[profile]`.
fn value(text: &str, profile: &str, name: &str) -> Option<String> {
    let heading = |line: &str| Some(line.trim().strip_prefix('[')?.strip_suffix(']')?.trim().to_owned());
    let below = text.lines().skip_while(|line| heading(line).as_deref() != Some(profile)).skip(1);
    let mut section = below.take_while(|line| heading(line).is_none());
    section.find_map(|line| {
        let (key, value) = line.split_once('=')?;
        (key.trim() == name).then(|| value.trim().to_owned())
    })
}
