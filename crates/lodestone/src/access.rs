//! `lodestone access`: who may use a server that was started with `--access`.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs::File;
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Args, Subcommand};
use iam::file::{AccessFile, Account, Key, PolicySource, Secret, Status};
use iam::{
    Circumstances, Context, Decision, Denial, Explanation, Policy, PolicyKind, PolicyUse, Question,
    ResourcePolicy, StatementName,
};

use crate::{access_file, environment_now};

/// Add, list and remove those who may use a server, and ask what they may do.
///
/// The access file holds accounts, users, their keys and their policies. `lodestone serve --access FILE` refuses all
/// others. The server reads the file again when it changes.
#[derive(Args)]
#[command(after_help = "Examples:
  lodestone access add alice --policy arn:aws:iam::aws:policy/AdministratorAccess --out alice.env
  lodestone access add reader --policy reader.json
  lodestone access check reader dynamodb:PutItem arn:aws:dynamodb:us-east-1:000000000000:table/Songs
  lodestone access remove alice
  lodestone serve --access access.yaml")]
pub struct Access {
    /// The access file
    #[arg(long, value_name = "FILE", default_value = "access.yaml", global = true)]
    file: PathBuf,
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Add(Add),
    /// Show accounts, users, sessions, the ids of their keys and their policies; no secrets
    List,
    Remove(Remove),
    Check(Check),
}

/// Add a user, or another key for one, and print the new key, or write it to a file
///
/// The secret is shown or written this once.
///
/// The file is made if it isn't there, readable by you alone. It is written as a whole: comments in it are lost. With
/// LODESTONE_ACCESS_KEY set (32 bytes in base64) the secret is stored encrypted, and the server needs the variable too.
#[derive(Args)]
struct Add {
    /// The user's name
    user: String,
    /// The account that the user belongs to: twelve digits
    #[arg(long, value_name = "ID", default_value = "000000000000")]
    account: String,
    /// A JSON file, relative to the access file, or the ARN of a policy that AWS manages: AdministratorAccess,
    /// AmazonDynamoDBFullAccess or AmazonDynamoDBReadOnlyAccess. May be given several times
    #[arg(long, value_name = "FILE|ARN")]
    policy: Vec<String>,
    /// Write the new key to this file, which must not be there yet and which only you can read, instead of printing it
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

/// Remove a user with all keys, or one key
#[derive(Args)]
struct Remove {
    /// A user's name, or the id of a key
    name: String,
    /// The account of the user
    #[arg(long, value_name = "ID", default_value = "000000000000")]
    account: String,
}

/// Say whether someone may do something, and why; or which policies allow more than they seem to
///
/// With an action and a resource, the exit code is 1 if the answer is no. Without them, the policies of the user, or of
/// all, are searched for limits on keys and attributes that some requests pass; the exit code is 1 if there is one, and
/// the statement that closes it is shown.
#[derive(Args)]
struct Check {
    /// A user's name, ROLE/SESSION, an ARN or the id of a key; all if it is left out
    user: Option<String>,
    /// Such as dynamodb:GetItem
    #[arg(requires = "resource")]
    action: Option<String>,
    /// An ARN, or * for actions that are about no table
    resource: Option<String>,
    /// A condition key and its value, e.g. dynamodb:LeadingKeys=alice. May be given several times
    #[arg(long = "with", value_name = "KEY=VALUE", value_parser = key_value)]
    context: Vec<(String, String)>,
    /// A JSON file with the resource's own policy
    #[arg(long, value_name = "FILE")]
    resource_policy: Option<PathBuf>,
}

impl Access {
    pub fn run(self) -> ExitCode {
        let outcome = match self.command {
            Command::Add(add) => add.run(&self.file),
            Command::List => list(&self.file),
            Command::Remove(remove) => remove.run(&self.file),
            Command::Check(check) => check.run(&self.file),
        };
        match outcome {
            Ok(code) => code,
            Err(error) => {
                crate::report(&error);
                ExitCode::FAILURE
            }
        }
    }
}

impl Add {
    fn run(self, path: &Path) -> Result<ExitCode, String> {
        // Before the key is made: a key whose secret can't be kept is of no use.
        let output = KeyOutput::open(self.out)?;
        let mut file = if path.exists() { access_file::read(path)?.content } else { AccessFile::default() };
        let user = file.accounts.entry(self.account.clone()).or_default().users.entry(self.user).or_default();
        let id = format!("AKIA{}", random_text(b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567", 16)?);
        let secret = Secret::new(random_text(
            b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/",
            40,
        )?);
        let sealing = access_file::sealing_key()?;
        let (plain, sealed) = match &sealing {
            Some(sealing) => (None, Some(sealing.seal(&id, &secret, random()?))),
            None => (Some(secret.clone()), None),
        };
        user.keys.push(Key { id: id.clone(), secret: plain, sealed, status: Status::Active });
        for policy in self.policy.into_iter().map(PolicySource::Name) {
            if !user.policies.contains(&policy) {
                user.policies.push(policy);
            }
        }
        let has_policies = !user.policies.is_empty();
        save(path, &file).inspect_err(|_| output.remove())?;
        let mut text =
            format!("export AWS_ACCESS_KEY_ID={id}\nexport AWS_SECRET_ACCESS_KEY={}\n", secret.expose());
        if !has_policies {
            text.push_str("# The user has no policy and may do nothing yet: add --policy FILE|ARN\n");
        }
        output.write(&text)?;
        Ok(ExitCode::SUCCESS)
    }
}

/// Where a new key goes.
enum KeyOutput {
    Terminal,
    File { path: PathBuf, file: File },
}

impl KeyOutput {
    fn open(path: Option<PathBuf>) -> Result<KeyOutput, String> {
        let Some(path) = path else { return KeyOutput::terminal() };
        let file = File::options().write(true).create_new(true).mode(0o600).open(&path);
        let file = file.map_err(|error| {
            format!("can't write the new key to {}: {error}. Name another file with --out", path.display())
        })?;
        Ok(KeyOutput::File { path, file })
    }

    /// Refuses a file that others can read: a shell makes such a file for `>`.
    fn terminal() -> Result<KeyOutput, String> {
        let output = rustix::fs::fstat(std::io::stdout()).map_err(|error| error.to_string())?;
        let is_file =
            rustix::fs::FileType::from_raw_mode(output.st_mode) == rustix::fs::FileType::RegularFile;
        match is_file && output.st_mode & 0o077 != 0 {
            true => Err("others on this machine could read the secret in that file. Write it with: \
                         lodestone access add … --out FILE"
                .to_owned()),
            false => Ok(KeyOutput::Terminal),
        }
    }

    fn write(self, text: &str) -> Result<(), String> {
        match self {
            KeyOutput::Terminal => print(text),
            KeyOutput::File { path, mut file } => {
                let written = file.write_all(text.as_bytes()).and_then(|()| file.sync_all());
                let shown = path.display();
                written.map_err(|error| format!("can't write the new key to {shown}: {error}"))?;
                print(&format!("The new key is in {shown}. Use it with: . {shown}\n"));
            }
        }
        Ok(())
    }

    /// Removes the file again: there is no key to write.
    fn remove(&self) {
        if let KeyOutput::File { path, .. } = self {
            let _ = std::fs::remove_file(path);
        }
    }
}

impl Remove {
    fn run(self, path: &Path) -> Result<ExitCode, String> {
        let mut file = access_file::read(path)?.content;
        let is_user = |account: &mut Account| account.users.remove(&self.name).is_some();
        let mut removed = file.accounts.get_mut(&self.account).is_some_and(is_user);
        for account in file.accounts.values_mut() {
            let lists = account.users.values_mut().map(|user| &mut user.keys);
            for keys in lists.chain(account.root.iter_mut().map(|root| &mut root.keys)) {
                let before = keys.len();
                keys.retain(|key| key.id != self.name);
                removed |= keys.len() < before;
            }
            for role in account.roles.values_mut() {
                let before = role.sessions.len();
                role.sessions.retain(|session| session.id != self.name);
                removed |= role.sessions.len() < before;
            }
        }
        if !removed {
            return Err(format!(
                "{} has no user '{}' in account {} and no such key; see: lodestone access list",
                path.display(),
                self.name,
                self.account
            ));
        }
        save(path, &file)?;
        Ok(ExitCode::SUCCESS)
    }
}

fn list(path: &Path) -> Result<ExitCode, String> {
    let file = access_file::read(path)?.content;
    let loaded = access_file::load(path)?;
    let mut text = String::new();
    for identity in loaded.directory.identities() {
        let _ = writeln!(text, "{}", identity.arn);
        for id in key_ids(&file, identity) {
            let _ = writeln!(text, "  key     {id}");
        }
        for (name, _) in &identity.policies {
            let _ = writeln!(text, "  policy  {name}");
        }
        for (name, _) in identity.boundary.iter().chain(&identity.session_policy) {
            let _ = writeln!(text, "  bounded by {name}");
        }
    }
    print(&text);
    Ok(ExitCode::SUCCESS)
}

fn key_ids(file: &AccessFile, identity: &iam::Identity) -> Vec<String> {
    let shown = |key: &Key| match key.status {
        Status::Active => key.id.clone(),
        Status::Inactive => format!("{} (inactive)", key.id),
    };
    let Some(account) = file.accounts.get(&identity.account) else { return Vec::new() };
    match &identity.kind {
        iam::IdentityKind::Root => account.root.iter().flat_map(|root| &root.keys).map(shown).collect(),
        iam::IdentityKind::User(name) => {
            account.users.get(name).into_iter().flat_map(|user| &user.keys).map(shown).collect()
        }
        iam::IdentityKind::Session { role, session } => {
            let sessions = account.roles.get(role).into_iter().flat_map(|role| &role.sessions);
            sessions.filter(|it| it.name == *session).map(|it| it.id.clone()).collect()
        }
    }
}

impl Check {
    fn run(self, path: &Path) -> Result<ExitCode, String> {
        let directory = access_file::load(path)?.directory;
        let identity = self.user.as_ref().map(|user| directory.find(user)).transpose()?;
        match (identity, &self.action, &self.resource) {
            (Some(identity), Some(action), Some(resource)) => self.decide(identity, action, resource),
            (Some(identity), ..) => Ok(show_weaknesses(std::iter::once(identity))),
            (None, ..) => Ok(show_weaknesses(directory.identities())),
        }
    }

    fn decide(&self, identity: &iam::Identity, action: &str, resource: &str) -> Result<ExitCode, String> {
        let policy = match &self.resource_policy {
            Some(path) => {
                let text = std::fs::read_to_string(path)
                    .map_err(|error| format!("can't read the policy {}: {error}", path.display()))?;
                let policy = Policy::parse(&text, PolicyUse::Resource);
                Some(policy.map_err(|error| format!("{}: {error}", path.display()))?)
            }
            None => None,
        };
        let mut fields = resource.splitn(6, ':').skip(3);
        let region = fields.next().unwrap_or("us-east-1").to_owned();
        let owner = fields.next().unwrap_or(&identity.account).to_owned();
        // The policy of a table covers its indexes.
        let attached_to = resource.split("/index/").next().unwrap_or(resource);
        let circumstances = Circumstances {
            now: environment_now(),
            source_ip: None,
            secure_transport: false,
            region,
            user_agent: None,
        };
        let question = Question {
            action,
            resource,
            owner: &owner,
            policy: policy.as_ref().map(|policy| ResourcePolicy { policy, attached_to }),
            context: &Given(given(&self.context)),
        };
        let decision = iam::evaluate(identity, &circumstances, &question);
        print(&explanation(&decision, &identity.arn, action, resource));
        Ok(if decision.is_allowed() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
    }
}

/// Shows what is weak in the policies of these identities, with the statements that close it.
fn show_weaknesses<'a>(identities: impl Iterator<Item = &'a iam::Identity>) -> ExitCode {
    let mut text = String::new();
    for identity in identities {
        for weakness in iam::weaknesses(identity) {
            let place = name(&weakness.statement);
            let _ = writeln!(text, "{}, {place}: {}.", identity.arn, weakness.problem);
            let _ = writeln!(text, "  To close it, add this statement:\n  {}", weakness.remedy);
        }
    }
    if text.is_empty() {
        print("no policy allows more than it seems to, as far as this command knows\n");
        return ExitCode::SUCCESS;
    }
    print(&text);
    ExitCode::FAILURE
}

fn explanation(decision: &Decision, arn: &str, action: &str, resource: &str) -> String {
    match decision {
        Decision::Allowed(Explanation::Root) => format!("yes: {arn} owns the account of {resource}\n"),
        Decision::Allowed(Explanation::Statement(statement)) => {
            format!("yes: {} allows it\n", name(statement))
        }
        Decision::Denied(Denial::Explicit(statement)) => format!("no: {} denies it\n", name(statement)),
        Decision::Denied(denial @ Denial::Implicit(_)) => {
            format!("no: {}\n", denial.message(arn, action, resource))
        }
    }
}

fn name(statement: &StatementName) -> String {
    let kind = match statement.kind {
        PolicyKind::Identity => "policy",
        PolicyKind::Resource => "resource policy of",
        PolicyKind::Boundary => "boundary",
        PolicyKind::Session => "session policy",
    };
    let sid = statement.sid.as_ref().map(|sid| format!(" ({sid})")).unwrap_or_default();
    format!("statement {}{sid} of the {kind} {}", statement.number, statement.policy)
}

/// Condition keys as the command line gives them.
struct Given(BTreeMap<String, Vec<String>>);

impl Context for Given {
    fn values(&self, key: &str) -> Vec<String> {
        self.0.get(key).cloned().unwrap_or_default()
    }
}

fn given(pairs: &[(String, String)]) -> BTreeMap<String, Vec<String>> {
    let mut given: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (key, value) in pairs {
        given.entry(key.to_lowercase()).or_default().push(value.clone());
    }
    given
}

fn key_value(text: &str) -> Result<(String, String), String> {
    let pair = text.split_once('=').filter(|(key, _)| !key.is_empty());
    pair.map(|(key, value)| (key.to_owned(), value.to_owned()))
        .ok_or_else(|| "give a key and a value: dynamodb:LeadingKeys=alice".to_owned())
}

/// Replaces the file at once, so that a server never reads half of it. A file that is not in order is not written.
fn save(path: &Path, file: &AccessFile) -> Result<(), String> {
    let is_json = path.extension().is_some_and(|extension| extension == "json");
    let text = match is_json {
        true => serde_json::to_string_pretty(file).map_err(|error| error.to_string())?,
        false => file.to_yaml()?,
    };
    let failed = |error: std::io::Error| format!("can't write {}: {error}", path.display());
    let mut name = path.as_os_str().to_owned();
    name.push(".new");
    let beside = PathBuf::from(name);
    let write = || {
        let mut options = std::fs::OpenOptions::new();
        let mut out = options.write(true).create(true).truncate(true).mode(0o600).open(&beside)?;
        out.write_all(text.as_bytes())?;
        out.sync_all()
    };
    write().map_err(failed)?;
    if let Err(error) = access_file::load(&beside) {
        let _ = std::fs::remove_file(&beside);
        return Err(error.replace(&beside.display().to_string(), &path.display().to_string()));
    }
    std::fs::rename(&beside, path).map_err(failed)
}

fn random<const N: usize>() -> Result<[u8; N], String> {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).map_err(|error| format!("the system has no random source: {error}"))?;
    Ok(bytes)
}

/// The alphabet's length divides 256, so every character is as likely.
fn random_text(alphabet: &[u8], length: usize) -> Result<String, String> {
    let bytes = random::<64>()?;
    Ok(bytes.iter().take(length).map(|byte| alphabet[usize::from(*byte) % alphabet.len()] as char).collect())
}

#[expect(clippy::print_stdout, reason = "the command's answer")]
fn print(text: &str) {
    print!("{text}");
}
