//! What the studio gets from this process: callers by keys of the access file, and databases behind addresses.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr};
use std::process::{Output, Stdio};
use std::sync::Arc;
use std::time::Duration;

use api::{Error, ErrorKind, Operation, Service, streams};
use client::{Address, Client, Credentials, CredentialsError, Environment, ProcessEnvironment};
use engine::Caller;
use http::Request;
use iam::{Circumstances, IdentityKind};
use proof::{Answer, Endpoint};
use serde_json::Value;
use server::Verification;
use studio::{AccessKey, Outside, Profile, RemoteKey, SignedIn};
use tokio::sync::Mutex;

use crate::environment_now;

/// How often it is looked whether the AWS CLI has found credentials: for 30 s at most.
const CLI_LOOKS_MAX: usize = 300;
const CLI_LOOK: Duration = Duration::from_millis(100);
const NO_PROFILES: &str =
    "Pages may not use the AWS profiles of the server's user: start it with --studio-profiles.";
/// Profiles that are listed.
const PROFILES_MAX: usize = 100;
/// The name that requests of a page are signed for. They go nowhere.
const OWN_HOST: &str = "localhost";

pub struct StudioOutside {
    /// With an access file.
    pub verification: Option<Verification>,
    /// Whether pages may use the AWS profiles of the server's user.
    pub offers_profiles: bool,
}

impl fmt::Debug for StudioOutside {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("StudioOutside")
    }
}

impl Outside for StudioOutside {
    fn has_keys(&self) -> bool {
        self.verification.is_some()
    }

    /// Signs a request with the key and verifies it as any client's, on the same path.
    fn caller(&self, key: &AccessKey, region: &str) -> Result<SignedIn, Error> {
        let unknown = || Error::new(ErrorKind::UnrecognizedClient, "there is no access file");
        let Verification { authority, now } = self.verification.as_ref().ok_or_else(unknown)?;
        let now = now();
        let head = signed_head(key, region, now)
            .ok_or_else(|| Error::new(ErrorKind::UnrecognizedClient, "a key has no such characters"))?;
        let refused = |error: iam::SignatureError| {
            use iam::signature::SignatureFault::{ExpiredToken, UnknownKey};
            let kind = match error.fault {
                UnknownKey => ErrorKind::UnrecognizedClient,
                ExpiredToken => ErrorKind::ExpiredToken,
                _ => ErrorKind::InvalidSignature,
            };
            Error::new(kind, error.message)
        };
        let claim = authority.claim(&head, "dynamodb", now).map_err(refused)?;
        let identity = claim.verify(b"", false).map_err(refused)?;
        let name = match &identity.kind {
            IdentityKind::Root => format!("root of {}", identity.account),
            _ => identity.arn.rsplit('/').next().unwrap_or_default().to_owned(),
        };
        let circumstances = Circumstances {
            now,
            // The request of the page itself comes from the server that answers it.
            source_ip: Some(IpAddr::V4(Ipv4Addr::LOCALHOST)),
            secure_transport: false,
            region: region.to_owned(),
            user_agent: Some("lodestone-studio".to_owned()),
        };
        Ok(SignedIn { caller: Caller::verified(identity, circumstances), name })
    }

    fn offers_profiles(&self) -> bool {
        self.offers_profiles
    }

    fn profiles(&self) -> Vec<Profile> {
        profiles(&ProcessEnvironment)
    }

    fn database(&self, address: &str, region: &str, key: &RemoteKey) -> Result<Arc<dyn Endpoint>, String> {
        if matches!(key, RemoteKey::Profile(_)) && !self.offers_profiles {
            return Err(NO_PROFILES.to_owned());
        }
        let address: Address = address.parse().map_err(|error: client::AddressError| error.to_string())?;
        let (region, client) = (region.to_owned(), Mutex::default());
        Ok(Arc::new(RemoteDatabase { address, region, key: key.clone(), client }))
    }
}

/// The head of a request that a client with this key would send.
fn signed_head(key: &AccessKey, region: &str, now: std::time::SystemTime) -> Option<http::request::Parts> {
    let time = humantime::format_rfc3339_seconds(now).to_string().replace(['-', ':'], "");
    let mut headers = vec![("host", OWN_HOST.to_owned()), ("x-amz-date", time)];
    headers.extend(key.session_token.clone().map(|token| ("x-amz-security-token", token)));
    headers.push(("x-amz-target", "DynamoDB_20120810.ListTables".to_owned()));
    let authorization = client::authorization(&credentials(key), (region, "dynamodb"), "/", &headers, b"");
    let request = headers.into_iter().chain([("authorization", authorization)]);
    let request = request.fold(Request::post("/"), |request, (name, value)| request.header(name, value));
    Some(request.body(()).ok()?.into_parts().0)
}

fn credentials(key: &AccessKey) -> Credentials {
    Credentials {
        access_key_id: key.id.clone(),
        secret_access_key: key.secret.clone(),
        session_token: key.session_token.clone(),
    }
}

/// A database behind an address. Its credentials are looked for when the first request is sent, and again when they
/// have expired.
struct RemoteDatabase {
    address: Address,
    region: String,
    key: RemoteKey,
    client: Mutex<Option<Arc<Client>>>,
}

impl RemoteDatabase {
    async fn client(&self) -> Result<Arc<Client>, Error> {
        let mut kept = self.client.lock().await;
        if let Some(client) = &*kept {
            return Ok(client.clone());
        }
        let credentials = match &self.key {
            RemoteKey::Given(key) => credentials(key),
            RemoteKey::Any { account } => {
                Credentials { access_key_id: account.clone(), ..Credentials::local() }
            }
            RemoteKey::Profile(name) => of_profile(name).await.map_err(unavailable)?,
        };
        let client = Client::new(self.address.clone(), self.region.clone(), credentials);
        let client = Arc::new(client.map_err(|error| unavailable(error.to_string()))?);
        *kept = Some(client.clone());
        Ok(client)
    }
}

fn unavailable(why: String) -> Error {
    Error::new(ErrorKind::ServiceUnavailable, why)
}

impl Endpoint for RemoteDatabase {
    fn send<'a>(&'a self, operation: &'a str, body: Vec<u8>) -> Answer<'a> {
        Box::pin(async move {
            let is_stream = Operation::from_target_name(operation).is_none()
                && streams::Operation::from_target_name(operation).is_some();
            let service = if is_stream { Service::DynamoDbStreams } else { Service::DynamoDb };
            let answered = self.client().await?.send_to(service, operation, body).await;
            if answered.as_ref().is_err_and(|error| error.kind == ErrorKind::ExpiredToken) {
                *self.client.lock().await = None;
            }
            answered
        })
    }

    fn is_immediate(&self) -> bool {
        self.address.is_loopback()
    }
}

/// The credentials of a profile. Roles, single sign-on and processes are resolved by the AWS CLI, which knows them all
/// and keeps their sessions.
async fn of_profile(name: &str) -> Result<Credentials, String> {
    match Credentials::find(Some(name), &ProcessEnvironment) {
        Ok(credentials) => return Ok(credentials),
        Err(CredentialsError::Absent | CredentialsError::NoProfile { .. }) => {}
    }
    let profile = name.to_owned();
    let asked = tokio::task::spawn_blocking(move || ask_cli(&profile));
    let output = asked.await.map_err(|error| error.to_string())??;
    let found: Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
    let text = |member: &str| found[member].as_str().map(str::to_owned);
    match (text("AccessKeyId"), text("SecretAccessKey")) {
        (Some(access_key_id), Some(secret_access_key)) => {
            Ok(Credentials { access_key_id, secret_access_key, session_token: text("SessionToken") })
        }
        _ => {
            let why = String::from_utf8_lossy(&output.stderr);
            let why = why.lines().rfind(|line| !line.trim().is_empty()).unwrap_or("no credentials").trim();
            Err(format!(
                "{why} Run: aws sso login --profile {name} (or renew what the profile names), then try again"
            ))
        }
    }
}

/// What the AWS CLI says about the credentials of a profile. It blocks.
fn ask_cli(profile: &str) -> Result<Output, String> {
    let mut command = std::process::Command::new("aws");
    command.args(["configure", "export-credentials", "--format", "process", "--profile", profile]);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().map_err(|_| {
        format!(
            "the profile {profile} has no access key of its own, and the AWS CLI, which knows roles and single \
             sign-on, is not installed on the server's machine"
        )
    })?;
    for _ in 0..CLI_LOOKS_MAX {
        if child.try_wait().map_err(|error| error.to_string())?.is_some() {
            return child.wait_with_output().map_err(|error| error.to_string());
        }
        std::thread::sleep(CLI_LOOK);
    }
    child.kill().and_then(|()| child.wait()).map_err(|error| error.to_string())?;
    Err("the AWS CLI did not answer within 30 s".to_owned())
}

/// The profiles of `~/.aws/credentials` and `~/.aws/config`, in their order.
fn profiles(environment: &impl Environment) -> Vec<Profile> {
    let file = |variable: &str, name: &str| {
        let path = environment.variable(variable).map(std::path::PathBuf::from);
        let path =
            path.or_else(|| Some(std::path::PathBuf::from(environment.variable("HOME")?).join(name)))?;
        environment.read(&path)
    };
    let mut found: Vec<Profile> = Vec::new();
    let credentials = file("AWS_SHARED_CREDENTIALS_FILE", ".aws/credentials").unwrap_or_default();
    let config = file("AWS_CONFIG_FILE", ".aws/config").unwrap_or_default();
    for line in credentials.lines().chain(config.lines()).map(str::trim) {
        if let Some(section) = line.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
            let name = section.trim().strip_prefix("profile ").unwrap_or(section).trim().to_owned();
            let position = found.iter().position(|profile| profile.name == name);
            // The last one is the section that is being read.
            let profile = position.map(|position| found.remove(position));
            found.push(profile.unwrap_or(Profile { name, kind: "access key", ..Profile::default() }));
            continue;
        }
        let Some(((key, value), profile)) = line.split_once('=').zip(found.last_mut()) else { continue };
        let value = value.trim();
        match key.trim() {
            "region" => profile.region = Some(value.to_owned()),
            "sso_account_id" => profile.account = Some(value.to_owned()),
            "role_arn" => {
                profile.kind = "role";
                profile.account = value.split(':').nth(4).map(str::to_owned);
            }
            "sso_session" | "sso_start_url" => profile.kind = "single sign-on",
            "credential_process" => profile.kind = "process",
            _ => {}
        }
    }
    // `[sso-session corp]` and `[services local]` are no profiles.
    found.retain(|profile| !profile.name.contains(' '));
    found.truncate(PROFILES_MAX);
    found
}

/// The studio of a server with or without an access file.
pub fn outside(verification: Option<Verification>, offers_profiles: bool) -> Arc<dyn Outside> {
    let verification = verification.map(|one| Verification { now: environment_now, ..one });
    Arc::new(StudioOutside { verification, offers_profiles })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::path::Path;

    use super::*;

    struct Files(BTreeMap<&'static str, &'static str>);

    impl Environment for Files {
        fn variable(&self, name: &str) -> Option<String> {
            (name == "HOME").then(|| "/profile".to_owned())
        }

        fn read(&self, path: &Path) -> Option<String> {
            self.0.get(path.to_str()?).map(|text| (*text).to_owned())
        }
    }

    #[test]
    fn profiles_of_both_files_are_listed_with_what_signs_for_them() {
        let files = Files(BTreeMap::from([
            (
                "/profile/.aws/credentials",
                "[default]\naws_access_key_id = AKIA\naws_secret_access_key = secret\n",
            ),
            (
                "/profile/.aws/config",
                "[default]\nregion = eu-west-1\n[profile prod]\nrole_arn = arn:aws:iam::123456789012:role/reader\n\
                 source_profile = default\n[sso-session corp]\nsso_start_url = https://corp\n[profile team]\n\
                 sso_session = corp\nsso_account_id = 210987654321\nregion = us-east-2\n",
            ),
        ]));
        let found = profiles(&files);
        let shown: Vec<(&str, &str, Option<&str>, Option<&str>)> = found
            .iter()
            .map(|one| (one.name.as_str(), one.kind, one.region.as_deref(), one.account.as_deref()))
            .collect();
        assert_eq!(
            shown,
            [
                ("default", "access key", Some("eu-west-1"), None),
                ("prod", "role", None, Some("123456789012")),
                ("team", "single sign-on", Some("us-east-2"), Some("210987654321")),
            ]
        );
    }
}
