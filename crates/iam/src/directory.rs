//! The access file, checked: who has which key, and what each may do.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use parking_lot::RwLock;
use ring::hmac;

use crate::file::{AccessFile, Key, PolicySource, Secret, Session, Status};
use crate::principal::is_account;
use crate::{Identity, IdentityKind, Policy, PolicyUse, SealingKey, managed_policy, time};

/// Signing keys that are kept of each access key: one for each day, Region and service in use, and some to spare.
const DERIVED_KEYS_MAX: usize = 16;

/// The operator's account in a file with several, if the file does not name another one.
const DEFAULT_ACCOUNT: &str = "000000000000";

/// Everyone who can sign requests.
#[derive(Debug)]
pub struct Directory {
    keys: HashMap<String, Arc<AccessKey>>,
    identities: Vec<Arc<Identity>>,
    pub(crate) hosts: Vec<String>,
    /// The account that the server belongs to: the one that the file names, else its only one, else the default
    /// account. The users of other accounts can't administer it, because a server has the tables of all accounts.
    pub(crate) operator: String,
}

/// What is wrong with an access file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{place}: {problem}")]
pub struct DirectoryError {
    /// Such as `accounts.111122223333.users.alice`.
    pub place: String,
    /// What to change there.
    pub problem: String,
}

/// A key that signs requests.
#[derive(Debug)]
pub(crate) struct AccessKey {
    pub identity: Arc<Identity>,
    pub token: Option<Secret>,
    pub expires: Option<SystemTime>,
    pub is_active: bool,
    secret: Secret,
    derived: RwLock<Vec<DerivedKey>>,
}

/// The key for one day, Region and service, which is derived from a secret.
#[derive(Clone, Debug)]
struct DerivedKey {
    day: String,
    region: String,
    service: String,
    key: hmac::Key,
}

/// Reads a policy file; the text, or why it can't be read.
pub type LoadPolicy<'a> = dyn Fn(&str) -> Result<String, String> + 'a;

impl Directory {
    /// Checks a file. Sealed secrets need the key that opens them.
    pub fn new(
        file: &AccessFile,
        load: &LoadPolicy<'_>,
        sealing: Option<&SealingKey>,
    ) -> Result<Directory, DirectoryError> {
        let mut builder = Builder { load, sealing, keys: HashMap::new(), identities: Vec::new() };
        for (id, account) in &file.accounts {
            let place = format!("accounts.{id}");
            if !is_account(id) {
                return Err(error(&place, "an account id has twelve digits"));
            }
            builder.account(&place, id, account)?;
        }
        let Builder { keys, identities, .. } = builder;
        Ok(Directory { keys, identities, hosts: file.hosts.clone(), operator: operator(file)? })
    }

    pub(crate) fn key(&self, id: &str) -> Option<&Arc<AccessKey>> {
        self.keys.get(id)
    }

    /// All identities, in the order of the file.
    pub fn identities(&self) -> impl Iterator<Item = &Identity> {
        self.identities.iter().map(|identity| &**identity)
    }

    /// The identity with this name, ARN or access key id. A name may be used in several accounts: then the ARN is
    /// needed.
    pub fn find(&self, name: &str) -> Result<&Identity, String> {
        if let Some(key) = self.keys.get(name) {
            return Ok(&key.identity);
        }
        let fits = |identity: &&Identity| {
            let own = match &identity.kind {
                IdentityKind::Root => "root".to_owned(),
                IdentityKind::User(name) => name.clone(),
                IdentityKind::Session { role, session } => format!("{role}/{session}"),
            };
            own == name || identity.arn == name || identity.principal_arn() == name
        };
        let mut found = self.identities().filter(fits);
        match (found.next(), found.next()) {
            (Some(identity), None) => Ok(identity),
            (Some(one), Some(other)) => {
                Err(format!("'{name}' may be {} or {}: give the ARN", one.arn, other.arn))
            }
            (None, _) => Err(format!("the access file has no user, session, ARN or key id '{name}'")),
        }
    }
}

struct Builder<'a> {
    load: &'a LoadPolicy<'a>,
    sealing: Option<&'a SealingKey>,
    keys: HashMap<String, Arc<AccessKey>>,
    identities: Vec<Arc<Identity>>,
}

impl Builder<'_> {
    fn account(
        &mut self,
        place: &str,
        id: &str,
        account: &crate::file::Account,
    ) -> Result<(), DirectoryError> {
        if let Some(root) = &account.root {
            let identity = self.add_identity(Identity::new(id, IdentityKind::Root));
            self.long_term_keys(&format!("{place}.root"), &root.keys, &identity)?;
        }
        for (name, user) in &account.users {
            let place = format!("{place}.users.{name}");
            check_name(&place, name)?;
            let mut identity = Identity::new(id, IdentityKind::User(name.clone()));
            identity.policies = self.policies(&place, &user.policies)?;
            identity.boundary = self.one_policy(&format!("{place}.boundary"), user.boundary.as_ref())?;
            identity.tags = user.tags.clone();
            let identity = self.add_identity(identity);
            self.long_term_keys(&place, &user.keys, &identity)?;
        }
        for (name, role) in &account.roles {
            let place = format!("{place}.roles.{name}");
            check_name(&place, name)?;
            let policies = self.policies(&place, &role.policies)?;
            let boundary = self.one_policy(&format!("{place}.boundary"), role.boundary.as_ref())?;
            for session in &role.sessions {
                let place = format!("{place}.sessions.{}", session.name);
                check_name(&place, &session.name)?;
                let kind = IdentityKind::Session { role: name.clone(), session: session.name.clone() };
                let mut identity = Identity::new(id, kind);
                identity.policies = policies.clone();
                identity.boundary = boundary.clone();
                identity.session_policy =
                    self.one_policy(&format!("{place}.policy"), session.policy.as_ref())?;
                identity.tags = role.tags.clone();
                let identity = self.add_identity(identity);
                self.session_key(&place, session, &identity)?;
            }
        }
        Ok(())
    }

    fn add_identity(&mut self, identity: Identity) -> Arc<Identity> {
        let identity = Arc::new(identity);
        self.identities.push(identity.clone());
        identity
    }

    fn long_term_keys(
        &mut self,
        place: &str,
        keys: &[Key],
        identity: &Arc<Identity>,
    ) -> Result<(), DirectoryError> {
        for key in keys {
            let place = format!("{place}.keys.{}", key.id);
            let access_key = AccessKey {
                identity: identity.clone(),
                token: None,
                expires: None,
                is_active: key.status == Status::Active,
                secret: self.secret(&place, &key.id, key.secret.as_ref(), key.sealed.as_deref())?,
                derived: RwLock::default(),
            };
            self.add_key(&place, &key.id, access_key)?;
        }
        Ok(())
    }

    fn session_key(
        &mut self,
        place: &str,
        session: &Session,
        identity: &Arc<Identity>,
    ) -> Result<(), DirectoryError> {
        if session.token.expose().is_empty() {
            return Err(error(place, "the token is empty"));
        }
        let expires = session.expires.as_deref().map(|text| {
            let ms = time::parse_policy_date(text).and_then(|ms| u64::try_from(ms).ok());
            let ms = ms.ok_or_else(|| error(place, "expires is a time such as 2026-12-01T00:00:00Z"))?;
            Ok(UNIX_EPOCH + Duration::from_millis(ms))
        });
        let access_key = AccessKey {
            identity: identity.clone(),
            token: Some(session.token.clone()),
            expires: expires.transpose()?,
            is_active: true,
            secret: self.secret(place, &session.id, session.secret.as_ref(), session.sealed.as_deref())?,
            derived: RwLock::default(),
        };
        self.add_key(place, &session.id, access_key)
    }

    fn add_key(&mut self, place: &str, id: &str, key: AccessKey) -> Result<(), DirectoryError> {
        let is_word = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
        if !(1..=128).contains(&id.len()) || !id.bytes().all(is_word) {
            return Err(error(place, "an access key id has up to 128 letters, digits, '-', '_' and '.'"));
        }
        match self.keys.insert(id.to_owned(), Arc::new(key)) {
            None => Ok(()),
            Some(_) => Err(error(place, "the access key id is used twice")),
        }
    }

    fn secret(
        &self,
        place: &str,
        id: &str,
        plain: Option<&Secret>,
        sealed: Option<&str>,
    ) -> Result<Secret, DirectoryError> {
        match (plain, sealed, self.sealing) {
            (Some(secret), None, _) if !secret.expose().is_empty() => Ok(secret.clone()),
            (None, Some(sealed), Some(sealing)) => {
                sealing.open(id, sealed).map_err(|problem| error(place, &problem.to_string()))
            }
            (None, Some(_), None) => Err(error(
                place,
                "the secret is sealed: set LODESTONE_ACCESS_KEY to the key that it was sealed with",
            )),
            _ => Err(error(place, "a key has either a secret or a sealed secret")),
        }
    }

    fn policies(
        &self,
        place: &str,
        sources: &[PolicySource],
    ) -> Result<Vec<(String, Policy)>, DirectoryError> {
        let numbered = sources.iter().enumerate();
        numbered.map(|(index, source)| self.policy(&format!("{place}.policies[{index}]"), source)).collect()
    }

    fn one_policy(
        &self,
        place: &str,
        source: Option<&PolicySource>,
    ) -> Result<Option<(String, Policy)>, DirectoryError> {
        source.map(|source| self.policy(place, source)).transpose()
    }

    fn policy(&self, place: &str, source: &PolicySource) -> Result<(String, Policy), DirectoryError> {
        let (name, text) = match source {
            PolicySource::Document(document) => {
                let text =
                    serde_json::to_string(document).map_err(|problem| error(place, &problem.to_string()));
                (place.to_owned(), text?)
            }
            PolicySource::Name(name) if name.starts_with("arn:") => {
                let text = managed_policy(name).ok_or_else(|| {
                    error(place, &format!("'{name}' is none of {}", crate::MANAGED_POLICIES.join(", ")))
                })?;
                (name.clone(), text.to_owned())
            }
            PolicySource::Name(name) => {
                let text = (self.load)(name).map_err(|problem| error(place, &problem))?;
                (name.clone(), text)
            }
        };
        let policy = Policy::parse(&text, PolicyUse::Identity)
            .map_err(|problem| error(place, &format!("{name}: {problem}")))?;
        Ok((name, policy))
    }
}

fn operator(file: &AccessFile) -> Result<String, DirectoryError> {
    let mut accounts = file.accounts.keys();
    match (&file.operator, accounts.next(), accounts.next()) {
        (Some(named), ..) if file.accounts.contains_key(named) => Ok(named.clone()),
        (Some(_), ..) => Err(error("operator", "name one of the accounts of this file")),
        (None, Some(only), None) => Ok(only.clone()),
        (None, ..) => Ok(DEFAULT_ACCOUNT.to_owned()),
    }
}

fn error(place: &str, problem: &str) -> DirectoryError {
    DirectoryError { place: place.to_owned(), problem: problem.to_owned() }
}

/// The names that IAM takes.
fn check_name(place: &str, name: &str) -> Result<(), DirectoryError> {
    let is_fine = |byte: u8| byte.is_ascii_alphanumeric() || b"+=,.@_-".contains(&byte);
    match (1..=64).contains(&name.len()) && name.bytes().all(is_fine) {
        true => Ok(()),
        false => Err(error(place, "a name has up to 64 letters, digits and +=,.@_-")),
    }
}

impl AccessKey {
    /// The key that signs on this day, in this Region, for this service, and whether it was derived just now.
    pub fn signing_key(&self, day: &str, region: &str, service: &str) -> (hmac::Key, bool) {
        let fits = |it: &&DerivedKey| it.day == day && it.region == region && it.service == service;
        if let Some(derived) = self.derived.read().iter().find(fits) {
            return (derived.key.clone(), false);
        }
        let mut key = format!("AWS4{}", self.secret.expose()).into_bytes();
        for part in [day, region, service, "aws4_request"] {
            let tag = hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, &key), part.as_bytes());
            zeroize::Zeroize::zeroize(&mut key);
            key = tag.as_ref().to_vec();
        }
        let signing_key = hmac::Key::new(hmac::HMAC_SHA256, &key);
        zeroize::Zeroize::zeroize(&mut key);
        (signing_key, true)
    }

    /// Keeps a key that has verified a signature. Others are not kept, so a client without the secret can't fill the
    /// cache.
    pub fn keep(&self, day: &str, region: &str, service: &str, key: hmac::Key) {
        let derived =
            DerivedKey { day: day.to_owned(), region: region.to_owned(), service: service.to_owned(), key };
        let mut kept = self.derived.write();
        if kept.len() >= DERIVED_KEYS_MAX {
            kept.remove(0);
        }
        kept.push(derived);
    }
}
