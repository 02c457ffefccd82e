//! Global tables between servers: each Region is a process with its own data.

use std::fs::Permissions;
use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::process::Command;
use std::sync::{Arc, Mutex};

use client::{Client, Credentials};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::support::server::Server;
use crate::support::until_async;

/// The address of a server before it runs, and after it was started again: it passes on every byte.
struct Gate {
    address: SocketAddr,
    server: Arc<Mutex<Option<SocketAddr>>>,
}

impl Gate {
    fn open() -> Gate {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = listener.local_addr().expect("its address");
        let server: Arc<Mutex<Option<SocketAddr>>> = Arc::default();
        let target = server.clone();
        std::thread::spawn(move || {
            for connection in listener.incoming().flatten() {
                let target = *target.lock().expect("no panic");
                if let Some(server) = target.and_then(|target| TcpStream::connect(target).ok()) {
                    join(connection, server);
                }
            }
        });
        Gate { address, server }
    }

    fn leads_to(&self, server: &Server) {
        let (_, address) = server.url.split_once("://").expect("an address");
        let address = address.parse().expect("an address");
        *self.server.lock().expect("no panic") = Some(address);
    }

    fn url(&self) -> String {
        format!("http://{}", self.address)
    }
}

/// Passes bytes on in both directions.
fn join(one: TcpStream, other: TcpStream) {
    for (from, to) in [(&one, &other), (&other, &one)] {
        let (mut from, mut to) = (from.try_clone().expect("a handle"), to.try_clone().expect("a handle"));
        std::thread::spawn(move || {
            let _ = std::io::copy(&mut from, &mut to);
            let _ = to.shutdown(Shutdown::Both);
            let _ = from.shutdown(Shutdown::Both);
        });
    }
}

/// A Region: a client of its server.
struct Region(Client);

impl Region {
    fn of(server: &Server, region: &str, credentials: &Credentials) -> Region {
        let address = server.url.parse().expect("an address");
        Region(Client::new(address, region.to_owned(), credentials.clone()).expect("a client"))
    }

    async fn call(&self, operation: &str, input: Value) -> Result<Value, api::Error> {
        let answer = self.0.send(operation, input.to_string().into_bytes()).await?;
        Ok(serde_json::from_slice(&answer).expect("JSON"))
    }

    async fn ok(&self, operation: &str, input: Value) -> Value {
        self.call(operation, input).await.unwrap_or_else(|error| panic!("{operation}: {error:?}"))
    }

    async fn put(&self, key: &str) {
        self.ok("PutItem", json!({"TableName": "Orders", "Item": {"PK": {"S": key}}})).await;
    }

    async fn until_item(&self, key: &str) {
        let input = json!({"TableName": "Orders", "Key": {"PK": {"S": key}}, "ConsistentRead": true});
        let what = format!("{key} is in {}", self.0.address());
        until_async(&what, async || !self.ok("GetItem", input.clone()).await["Item"].is_null()).await;
    }

    async fn until_active(&self, other: &str) {
        until_async(&format!("{other} is ACTIVE"), async || {
            let table = self.ok("DescribeTable", json!({"TableName": "Orders"})).await["Table"].take();
            let replica = &table["Replicas"][0];
            replica["RegionName"] == other && replica["ReplicaStatus"] == "ACTIVE"
        })
        .await;
    }

    async fn with_table(&self) {
        let input = json!({
            "TableName": "Orders", "BillingMode": "PAY_PER_REQUEST",
            "KeySchema": [{"AttributeName": "PK", "KeyType": "HASH"}],
            "AttributeDefinitions": [{"AttributeName": "PK", "AttributeType": "S"}],
        });
        self.ok("CreateTable", input).await;
    }

    async fn add_replica(&self, region: &str) -> Result<Value, api::Error> {
        let updates = json!([{"Create": {"RegionName": region}}]);
        self.call("UpdateTable", json!({"TableName": "Orders", "ReplicaUpdates": updates})).await
    }
}

/// What `lodestone region` says about a server.
fn region(server: &Server, arguments: &[&str]) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_lodestone"));
    let output = command.arg("region").args(arguments).args(["--endpoint-url", &server.url]).output();
    let output = output.expect("the command runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("text")
}

#[tokio::test(flavor = "multi_thread")]
async fn a_global_table_lives_on_two_processes_and_outlives_a_kill_and_a_cut() {
    let (east, west) = (Gate::open(), Gate::open());
    let folder = TempDir::new().expect("a folder");
    let [east_data, west_data] = ["east", "west"].map(|name| folder.path().join(name));
    let start = |data: &std::path::Path, own: &str, peer: &str, gate: &Gate| {
        let peer = format!("{peer}={}", gate.url());
        let data = data.to_str().expect("a path of text");
        Server::run(&["--data", data, "--region", own, "--peer", &peer])
    };
    let home_server = start(&east_data, "us-east-1", "eu-west-1", &west);
    let away_server = start(&west_data, "eu-west-1", "us-east-1", &east);
    east.leads_to(&home_server);
    west.leads_to(&away_server);
    let credentials = Credentials::local();
    let home = Region::of(&home_server, "us-east-1", &credentials);
    let away = Region::of(&away_server, "eu-west-1", &credentials);
    home.with_table().await;
    home.put("before").await;
    home.add_replica("eu-west-1").await.expect("the other server answers");
    home.until_active("eu-west-1").await;
    away.until_active("us-east-1").await;
    away.until_item("before").await;
    home.put("home").await;
    away.until_item("home").await;
    away.put("away").await;
    home.until_item("away").await;

    // Each server is its Region alone.
    let elsewhere = Region::of(&home_server, "eu-west-1", &credentials);
    let refused = elsewhere.call("ListTables", json!({})).await.expect_err("it is another server's");
    assert_eq!(refused.message, "Credential should be scoped to a valid region, not 'eu-west-1'.");

    // Killed, and back at another address.
    drop(away_server);
    home.put("while away").await;
    let away_server = start(&west_data, "eu-west-1", "us-east-1", &east);
    west.leads_to(&away_server);
    let away = Region::of(&away_server, "eu-west-1", &credentials);
    away.until_item("while away").await;

    // Cut at one side, both are; healed, both have everything.
    region(&home_server, &["cut", "us-east-1", "eu-west-1"]);
    home.put("home, cut").await;
    away.put("away, cut").await;
    assert!(region(&home_server, &["list"]).contains("are cut off from each other"));
    region(&home_server, &["heal", "us-east-1", "eu-west-1"]);
    away.until_item("home, cut").await;
    home.until_item("away, cut").await;

    // Lost for good: the other goes on.
    drop(away_server);
    let said = region(&home_server, &["forget", "eu-west-1"]);
    assert!(said.contains("Orders in us-east-1 goes on without eu-west-1."), "{said}");
    home.put("alone").await;
    let table = home.ok("DescribeTable", json!({"TableName": "Orders"})).await;
    assert!(table["Table"]["Replicas"].is_null(), "{table}");
}

#[tokio::test(flavor = "multi_thread")]
async fn peers_sign_what_they_say_where_signatures_are_verified() {
    let (east, west) = (Gate::open(), Gate::open());
    let folder = TempDir::new().expect("a folder");
    let access = folder.path().join("access.yaml");
    let file = r#"
accounts:
  "111122223333":
    root:
      keys: [{id: AKIAROOT, secret: root-secret-root-secret}]
    users:
      replication:
        keys: [{id: AKIAPEER, secret: peer-secret-peer-secret}]
        policies:
          - Version: "2012-10-17"
            Statement:
              Effect: Allow
              Action: ["dynamodb:WriteDataForReplication", "dynamodb:ReplicateSettings"]
              Resource: "arn:aws:dynamodb:*:111122223333:table/Orders"
      stranger:
        keys: [{id: AKIASTRANGER, secret: stranger-secret-stranger}]
"#;
    std::fs::write(&access, file).expect("the folder is ours");
    std::fs::set_permissions(&access, Permissions::from_mode(0o600)).expect("the file is ours");
    let access = access.to_str().expect("a path of text");
    let peer = [("AWS_ACCESS_KEY_ID", "AKIAPEER"), ("AWS_SECRET_ACCESS_KEY", "peer-secret-peer-secret")];
    let start = |own: &str, other: &str, gate: &Gate| {
        let other = format!("{other}={}", gate.url());
        let arguments = ["--in-memory", "--access", access, "--region", own, "--peer", &other];
        Server::run_with(&arguments, &peer)
    };
    let home_server = start("us-east-1", "eu-west-1", &west);
    let away_server = start("eu-west-1", "us-east-1", &east);
    east.leads_to(&home_server);
    west.leads_to(&away_server);
    let key = |id: &str, secret: &str| Credentials {
        access_key_id: id.to_owned(),
        secret_access_key: secret.to_owned(),
        session_token: None,
    };
    let root = key("AKIAROOT", "root-secret-root-secret");
    let home = Region::of(&home_server, "us-east-1", &root);
    let away = Region::of(&away_server, "eu-west-1", &root);
    home.with_table().await;
    home.add_replica("eu-west-1").await.expect("the peer may");
    home.until_active("eu-west-1").await;
    home.put("home").await;
    away.until_item("home").await;
    away.put("away").await;
    home.until_item("away").await;

    let stranger = key("AKIASTRANGER", "stranger-secret-stranger");
    let Region(stranger) = Region::of(&away_server, "eu-west-1", &stranger);
    let message = |account: &str| {
        json!({"account": account, "table": "Orders", "from": "us-east-1", "to": "eu-west-1", "news": "Leave"})
            .to_string()
            .into_bytes()
    };
    let refused = stranger.send_once("LodestoneReplication.Tell", message("111122223333")).await;
    let refused = refused.expect_err("no policy allows it").message;
    assert!(refused.contains("is not authorized to perform: dynamodb:ReplicateSettings"), "{refused}");
    let refused = away.0.send_once("LodestoneReplication.Tell", message("444455556666")).await;
    refused.expect_err("it is another account");
    away.until_active("us-east-1").await;
}

/// The PEM texts of an authority, and of a certificate of it for this machine with its key.
fn certificate() -> (String, String, String) {
    let authority_key = rcgen::KeyPair::generate().expect("a key");
    let mut authority = rcgen::CertificateParams::new(Vec::new()).expect("parameters");
    authority.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
    let authority_text = authority.self_signed(&authority_key).expect("a certificate").pem();
    let issuer = rcgen::Issuer::new(authority, authority_key);
    let key = rcgen::KeyPair::generate().expect("a key");
    let names = vec!["127.0.0.1".to_owned()];
    let own = rcgen::CertificateParams::new(names).expect("parameters").signed_by(&key, &issuer);
    (authority_text, own.expect("a certificate").pem(), key.serialize_pem())
}

#[tokio::test(flavor = "multi_thread")]
async fn peers_talk_over_tls_and_trust_the_authority_that_a_flag_names() {
    let (east, west) = (Gate::open(), Gate::open());
    let folder = TempDir::new().expect("a folder");
    let (authority, own, key) = certificate();
    let file = |name: &str, text: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, text).expect("the folder is ours");
        path.to_str().expect("a path of text").to_owned()
    };
    let files = [file("ca.pem", &authority), file("server.pem", &own), file("key.pem", &key)];
    let stranger = file("stranger.pem", &certificate().0);
    let start = |own: &str, peer: &str, gate: &Gate, trusted: &str| {
        let [_, certificate, key] = &files;
        let peer = format!("{peer}=https://{}", gate.address);
        let tls = ["--tls-cert", certificate, "--tls-key", key, "--peer-ca", trusted];
        Server::start(&[&tls[..], &["--region", own, "--peer", &peer]].concat())
    };
    let client = |server: &Server, region: &str| {
        let address = server.url.parse().expect("an address");
        let trusting =
            Client::trusting(authority.as_bytes(), address, region.to_owned(), Credentials::local());
        Region(trusting.expect("a client"))
    };
    let away_server = start("eu-west-1", "us-east-1", &east, &files[0]);
    west.leads_to(&away_server);

    // Who trusts another authority alone does not talk to the peer.
    let doubting_server = start("us-east-1", "eu-west-1", &west, &stranger);
    let doubting = client(&doubting_server, "us-east-1");
    doubting.with_table().await;
    let refused = doubting.add_replica("eu-west-1").await.expect_err("its certificate is not trusted");
    assert_eq!(refused.message, "Failed to access the region: ‘eu-west-1’. Its server can't be reached.");

    let home_server = start("us-east-1", "eu-west-1", &west, &files[0]);
    east.leads_to(&home_server);
    let (home, away) = (client(&home_server, "us-east-1"), client(&away_server, "eu-west-1"));
    home.with_table().await;
    home.add_replica("eu-west-1").await.expect("the other server answers");
    home.until_active("eu-west-1").await;
    home.put("home").await;
    away.until_item("home").await;
    away.put("away").await;
    home.until_item("away").await;
}

/// Answers every connection with these bytes.
fn speaks(answer: &'static [u8]) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = listener.local_addr().expect("its address");
    std::thread::spawn(move || {
        for mut connection in listener.incoming().flatten() {
            let _ = connection.read(&mut [0; 4096]);
            let _ = connection.write_all(answer);
            let _ = connection.shutdown(Shutdown::Both);
        }
    });
    format!("http://{address}")
}

#[tokio::test(flavor = "multi_thread")]
async fn a_peer_that_speaks_nonsense_does_no_harm() {
    let answers: [&'static [u8]; 4] = [
        b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\nconnection: close\r\n\r\nhello",
        b"HTTP/1.1 200 OK\r\ncontent-length: 13\r\nconnection: close\r\n\r\n{\"is_done\":7}",
        b"HTTP/1.1 200 OK\r\ncontent-length: 99999999999\r\nconnection: close\r\n\r\n{",
        b"\x00\xff\x00\xffnonsense",
    ];
    for answer in answers {
        let peer = format!("eu-west-1={}", speaks(answer));
        let server = Server::start(&["--region", "us-east-1", "--peer", &peer]);
        let home = Region::of(&server, "us-east-1", &Credentials::local());
        home.with_table().await;
        let refused = home.add_replica("eu-west-1").await.expect_err("it is no peer");
        assert_eq!(refused.message, "Failed to access the region: ‘eu-west-1’. Its server can't be reached.");
        home.put("still here").await;
        home.until_item("still here").await;
    }
}

#[test]
fn a_region_is_on_one_server_and_a_peer_needs_a_region_of_ones_own() {
    let refused = |arguments: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_lodestone"));
        let output = command.args(["serve", "--in-memory", "--port", "0"]).args(arguments).output();
        let output = output.expect("the command runs");
        assert!(!output.status.success());
        String::from_utf8(output.stderr).expect("text")
    };
    let peer = "us-east-1=http://127.0.0.1:1";
    assert!(refused(&["--peer", peer]).contains("--region"));
    assert!(refused(&["--region", "us-east-1", "--peer", peer]).contains("is the Region of one server"));
    assert!(refused(&["--region", "eu-west-1", "--peer", "us-east-1"]).contains("REGION=URL"));
    let no_authority = ["--region", "eu-west-1", "--peer", peer, "--peer-ca", "/dev/null"];
    assert!(refused(&no_authority).contains("the certificate of the authority can't be used"));
}
