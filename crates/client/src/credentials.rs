//! The credentials that sign requests: from environment variables, else from a profile of the shared
//! credentials file.

use std::path::PathBuf;

/// An access key, its secret and, for temporary credentials, a session token.
#[derive(Clone, PartialEq)]
pub struct Credentials {
    pub access_key_id: String,
    pub secret_access_key: String,
    pub session_token: Option<String>,
}

/// Why there are no credentials.
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

/// Where credentials are looked for. An argument, so that tests can use their own.
pub trait Environment {
    fn variable(&self, name: &str) -> Option<String>;
    fn read(&self, path: &std::path::Path) -> Option<String>;
}

/// The variables and files of this process.
pub struct ProcessEnvironment;

impl Environment for ProcessEnvironment {
    fn variable(&self, name: &str) -> Option<String> {
        std::env::var(name).ok().filter(|value| !value.is_empty())
    }

    fn read(&self, path: &std::path::Path) -> Option<String> {
        std::fs::read_to_string(path).ok()
    }
}

impl Credentials {
    /// For a local database, which accepts any.
    pub fn local() -> Credentials {
        Credentials {
            access_key_id: "local".to_owned(),
            secret_access_key: "local".to_owned(),
            session_token: None,
        }
    }

    /// Looks for credentials. A profile that is given takes precedence over the variables, as with the AWS CLI.
    pub fn find(
        profile: Option<&str>,
        environment: &impl Environment,
    ) -> Result<Credentials, CredentialsError> {
        match profile {
            Some(profile) => from_profile(profile, environment),
            None => from_variables(environment).map_or_else(|| from_default_profile(environment), Ok),
        }
    }
}

fn from_variables(environment: &impl Environment) -> Option<Credentials> {
    Some(Credentials {
        access_key_id: environment.variable("AWS_ACCESS_KEY_ID")?,
        secret_access_key: environment.variable("AWS_SECRET_ACCESS_KEY")?,
        session_token: environment.variable("AWS_SESSION_TOKEN"),
    })
}

/// The profile that `AWS_PROFILE` names, else the default one, if there is one.
fn from_default_profile(environment: &impl Environment) -> Result<Credentials, CredentialsError> {
    match environment.variable("AWS_PROFILE") {
        Some(profile) => from_profile(&profile, environment),
        None => from_profile("default", environment).map_err(|_| CredentialsError::Absent),
    }
}

fn from_profile(profile: &str, environment: &impl Environment) -> Result<Credentials, CredentialsError> {
    let path = path(environment).ok_or(CredentialsError::Absent)?;
    let text = environment.read(&path).unwrap_or_default();
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

fn path(environment: &impl Environment) -> Option<PathBuf> {
    let named = environment.variable("AWS_SHARED_CREDENTIALS_FILE").map(PathBuf::from);
    named.or_else(|| Some(PathBuf::from(environment.variable("HOME")?).join(".aws/credentials")))
}

/// The value of `name` in the section `[profile]`.
fn value(text: &str, profile: &str, name: &str) -> Option<String> {
    let heading = |line: &str| Some(line.trim().strip_prefix('[')?.strip_suffix(']')?.trim().to_owned());
    let below = text.lines().skip_while(|line| heading(line).as_deref() != Some(profile)).skip(1);
    let mut section = below.take_while(|line| heading(line).is_none());
    section.find_map(|line| {
        let (key, value) = line.split_once('=')?;
        (key.trim() == name).then(|| value.trim().to_owned())
    })
}
