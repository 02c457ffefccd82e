//! The operator's token, with which commands sign requests for administration to a server without an access file.
//!
//! It belongs to a user of the machine and serves all servers of that user: a server makes the file at its first start,
//! and commands of the same user find it without any configuration. It is the secret of a signature and is never sent,
//! so a program that listens in place of the server learns nothing from a command.

use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use client::Credentials;
use iam::file::{AccessFile, Account, Key, Root, Secret, Status};
use iam::{Authority, Directory};
use server::Verification;

use crate::endpoint::variable;
use crate::{environment_now, studio_pages};

/// The variable that holds the token in place of the file, for a server and for commands.
const VARIABLE: &str = "LODESTONE_OPERATOR_TOKEN";
/// A shorter token could be guessed.
const LENGTH_MIN: usize = 16;
/// The id of the key whose secret is the token.
const KEY_ID: &str = "lodestone-operator";
const ACCOUNT: &str = "000000000000";

/// What verifies signatures that are made with the token. The file is made if it isn't there.
pub fn verification() -> Result<Verification, String> {
    let token = match from_variable()? {
        Some(token) => token,
        None => read_or_make(&path()?)?,
    };
    let key =
        Key { id: KEY_ID.to_owned(), secret: Some(Secret::new(token)), sealed: None, status: Status::Active };
    let account = Account { root: Some(Root { keys: vec![key] }), ..Account::default() };
    let file = AccessFile { accounts: [(ACCOUNT.to_owned(), account)].into(), ..AccessFile::default() };
    let directory = Directory::new(&file, &|name| Err(format!("there is no policy {name}")), None);
    let directory = directory.map_err(|error| error.to_string())?;
    Ok(Verification { authority: Arc::new(Authority::new(directory)), now: environment_now })
}

/// What commands sign with; none if this user has no token.
pub fn credentials() -> Result<Option<Credentials>, String> {
    let token = match from_variable()? {
        Some(token) => Some(token),
        None => read(&path()?)?,
    };
    let of_token = |token| Credentials {
        access_key_id: KEY_ID.to_owned(),
        secret_access_key: token,
        session_token: None,
    };
    Ok(token.map(of_token))
}

fn from_variable() -> Result<Option<String>, String> {
    match variable(&[VARIABLE]) {
        Some(token) if token.len() < LENGTH_MIN => Err(format!(
            "{VARIABLE} needs at least {LENGTH_MIN} characters: head -c 16 /dev/urandom | base64"
        )),
        token => Ok(token),
    }
}

/// In the state folder of the user: servers and shells of one user have the same home, but not always the same
/// folder for what lasts as long as a session.
fn path() -> Result<PathBuf, String> {
    let named = variable(&["XDG_STATE_HOME"]).map(PathBuf::from).filter(|folder| folder.is_absolute());
    let state = named.or_else(|| Some(std::env::home_dir()?.join(".local/state")));
    let state =
        state.ok_or_else(|| format!("there is no home folder for the operator's token: set {VARIABLE}"))?;
    Ok(state.join("lodestone").join("operator-token"))
}

fn read(path: &Path) -> Result<Option<String>, String> {
    let shown = path.display();
    let failed = |error: io::Error| format!("can't read the operator's token {shown}: {error}");
    let metadata = match fs::metadata(path) {
        Ok(metadata) => metadata,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(failed(error)),
    };
    if metadata.mode() & 0o077 != 0 {
        return Err(format!(
            "others on this machine can read or change the operator's token. Remove it and start the servers again, \
             which makes a new one: rm {shown}"
        ));
    }
    let token = fs::read_to_string(path).map_err(failed)?.trim().to_owned();
    match token.len() >= LENGTH_MIN {
        true => Ok(Some(token)),
        false => {
            Err(format!("{shown} holds no token. Remove it: the next start of a server makes a new one"))
        }
    }
}

fn read_or_make(path: &Path) -> Result<String, String> {
    if let Some(token) = read(path)? {
        return Ok(token);
    }
    make(path).map_err(|error| format!("can't keep the operator's token in {}: {error}", path.display()))?;
    // Another server may have been first: then its token counts.
    read(path)?.ok_or_else(|| format!("the operator's token {} was removed", path.display()))
}

/// Makes the file with all of its content at once, unless another server does.
fn make(path: &Path) -> io::Result<()> {
    let folder = path.parent().unwrap_or(Path::new("."));
    DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    let beside = folder.join(format!("operator-token.{}", std::process::id()));
    let mut file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&beside)?;
    writeln!(file, "{}", studio_pages::token())?;
    file.sync_all()?;
    let linked = fs::hard_link(&beside, path);
    fs::remove_file(&beside)?;
    match linked {
        Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(()),
        linked => linked,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn a_token_is_made_once_and_only_its_owner_can_read_it() {
        let home = tempfile::TempDir::new().unwrap();
        let path = home.path().join("state/lodestone/operator-token");
        assert_eq!(read(&path), Ok(None));
        let token = read_or_make(&path).unwrap();
        assert!(token.len() >= LENGTH_MIN);
        assert_eq!(read_or_make(&path), Ok(token.clone()));
        assert_eq!(read(&path), Ok(Some(token)));
        assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, 0o600);
        assert_eq!(fs::read_dir(path.parent().unwrap()).unwrap().count(), 1, "nothing is left beside it");

        fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
        assert!(read(&path).unwrap_err().contains("others on this machine"));
    }
}
