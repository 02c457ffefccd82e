//! Endpoints as users write them, and credentials as AWS keeps them.

use std::collections::HashMap;
use std::path::Path;

use client::{Address, Credentials, CredentialsError, Environment};

#[derive(Default)]
struct Fake {
    variables: HashMap<&'static str, &'static str>,
    file: Option<&'static str>,
}

impl Environment for Fake {
    fn variable(&self, name: &str) -> Option<String> {
        self.variables.get(name).map(|value| (*value).to_owned())
    }

    fn read(&self, path: &Path) -> Option<String> {
        path.ends_with(".aws/credentials").then_some(self.file?.to_owned())
    }
}

const FILE: &str = "
[default]
aws_access_key_id = DEFAULT
aws_secret_access_key = one

[ work ]
aws_secret_access_key=two
aws_access_key_id=WORK
aws_session_token = token
[empty]
";

fn found(
    profile: Option<&str>,
    variables: &[(&'static str, &'static str)],
) -> Result<String, CredentialsError> {
    let home = [("HOME", "/somewhere")];
    let environment = Fake { variables: variables.iter().copied().chain(home).collect(), file: Some(FILE) };
    Credentials::find(profile, &environment).map(|credentials| {
        let token = credentials.session_token.unwrap_or_default();
        format!("{} {} {token}", credentials.access_key_id, credentials.secret_access_key)
    })
}

#[test]
fn credentials_come_from_variables_then_from_the_profile() {
    let variables = [("AWS_ACCESS_KEY_ID", "KEY"), ("AWS_SECRET_ACCESS_KEY", "secret")];
    assert_eq!(found(None, &variables).unwrap(), "KEY secret ");
    assert_eq!(found(None, &[]).unwrap(), "DEFAULT one ");
    assert_eq!(found(None, &[("AWS_PROFILE", "work")]).unwrap(), "WORK two token");
    assert_eq!(found(Some("work"), &variables).unwrap(), "WORK two token");
}

#[test]
fn missing_credentials_and_a_wrong_profile_are_different_errors() {
    assert!(matches!(found(Some("empty"), &[]), Err(CredentialsError::NoProfile { .. })));
    assert!(matches!(found(None, &[("AWS_PROFILE", "other")]), Err(CredentialsError::NoProfile { .. })));
    let nothing = Credentials::find(None, &Fake::default());
    assert!(matches!(nothing, Err(CredentialsError::Absent)));
}

#[test]
fn an_address_says_whether_it_is_local_secure_and_of_which_region() {
    let address = |text: &str| text.parse::<Address>();
    for near in ["http://localhost:8000", "http://127.0.0.9/", "http://[::1]:8000", "http://db.localhost"] {
        assert!(address(near).unwrap().is_loopback(), "{near}");
    }
    let far = address("https://dynamodb.eu-west-1.amazonaws.com").unwrap();
    assert_eq!((far.is_loopback(), far.is_secure(), far.region()), (false, true, Some("eu-west-1")));
    assert_eq!(address("http://localhost.example.com").unwrap().region(), None);
    for wrong in ["localhost:8000", "ftp://localhost", "http://localhost/path", "http://a@b", "", "http://"] {
        assert!(address(wrong).is_err(), "{wrong}");
    }
}
