//! `lodestone version`: what this program is, and which data it can read.

use clap::Args;
use lodestone::FoundationDb;
use serde_json::{Value, json};

use crate::output;

/// Show the version, what it was built from, and the formats of data that it reads.
#[derive(Args)]
pub struct ShowVersion {
    /// As JSON, for scripts
    #[arg(long)]
    json: bool,
}

/// The commit that `cargo xtask package` builds from. A build by hand does not say it.
const COMMIT: Option<&str> = option_env!("LODESTONE_COMMIT");

impl ShowVersion {
    pub fn run(self) -> Result<(), String> {
        match self.json {
            true => output::print_json(&description()),
            false => output::print(&text()),
        }
        Ok(())
    }
}

fn description() -> Value {
    let mut described = json!({
        "version": env!("CARGO_PKG_VERSION"),
        "commit": COMMIT,
        "target": format!("{}-{}", std::env::consts::ARCH, std::env::consts::OS),
        "features": {
            "https": cfg!(feature = "https"),
            "studio": studio::is_complete(),
            "foundationdb": cfg!(feature = "foundationdb"),
        },
        "formats": {
            "data_folder": format(store_lsm::OLDEST_VERSION.into(), store_lsm::FORMAT_VERSION.into()),
            "postgres": format(store_postgres::FORMAT_VERSION.into(), store_postgres::FORMAT_VERSION.into()),
            "tables": format(1, engine::DATA_FORMAT.cast_signed()),
        },
    });
    if let Some(version) = FoundationDb::FORMAT {
        described["formats"]["foundationdb"] = format(version.into(), version.into());
    }
    described
}

/// The formats that are read, and the one that is written.
fn format(oldest: i64, newest: i64) -> Value {
    json!({ "reads": (oldest..=newest).collect::<Vec<i64>>(), "writes": newest })
}

fn text() -> String {
    let described = description();
    let features = ["https", "studio", "foundationdb"];
    let built_with = |wanted| {
        let found: Vec<&str> =
            features.into_iter().filter(|name| described["features"][name] == wanted).collect();
        if found.is_empty() { "nothing".to_owned() } else { found.join(", ") }
    };
    let mut text = format!("lodestone {}\n", env!("CARGO_PKG_VERSION"));
    text += &format!("commit     {}\n", COMMIT.unwrap_or("unknown"));
    text += &format!("built with {}; without {}\n", built_with(true), built_with(false));
    let formats = [
        ("data_folder", "data folders"),
        ("postgres", "PostgreSQL"),
        ("foundationdb", "FoundationDB"),
        ("tables", "tables"),
    ];
    for (name, what) in formats.into_iter().filter(|(name, _)| !described["formats"][name].is_null()) {
        let reads = described["formats"][name]["reads"].to_string();
        text +=
            &format!("reads      {what} of format {}\n", reads.trim_matches(['[', ']']).replace(',', ", "));
    }
    text
}
