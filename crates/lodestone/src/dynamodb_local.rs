//! The flags of DynamoDB Local, so that what starts it can start Lodestone instead: compose files, plugins, scripts.
//!
//! `lodestone -jar DynamoDBLocal.jar -sharedDb -dbPath data` is `lodestone serve --shared --data data/lodestone` with a
//! few answers that programs wait for when they start DynamoDB Local.

use std::ffi::OsString;
use std::path::Path;

use clap::Args;

use crate::command_line::Words;

/// How long `-delayTransientStatuses` lets tables be CREATING and so on.
const STATE_DELAY_MS: &str = "2000";
/// In the folder that `-dbPath` names, beside files of DynamoDB Local.
const FOLDER: &str = "lodestone";

/// The same command in our words. Other commands stay as they are.
pub fn translated(words: Words) -> Result<Words, String> {
    let Some((program, rest)) = words.split_first() else { return Ok(words) };
    let texts: Vec<&str> = rest.iter().filter_map(|word| word.to_str()).collect();
    // `java` is what its image runs, and some files name it.
    let texts = texts.strip_prefix(&["java"]).unwrap_or(&texts);
    if !texts.first().is_some_and(|word| is_local_flag(word)) {
        return Ok(words);
    }
    let mut translated = vec![program.clone()];
    translated.extend(serve_words(texts)?.into_iter().map(OsString::from));
    Ok(translated)
}

/// A flag of DynamoDB Local or of Java has one dash and a long name. None of ours has.
fn is_local_flag(word: &str) -> bool {
    word.strip_prefix('-').is_some_and(|name| name.len() > 1 && !name.starts_with('-'))
}

fn serve_words(texts: &[&str]) -> Result<Vec<String>, String> {
    let mut serve = vec!["serve".to_owned(), "--like-dynamodb-local".to_owned()];
    let (mut folder, mut is_in_memory) = (None, false);
    let mut texts = texts.iter().copied();
    while let Some(flag) = texts.next() {
        let mut value = || texts.next().ok_or_else(|| format!("{flag} needs a value"));
        match flag {
            "-inMemory" => is_in_memory = true,
            "-dbPath" => folder = Some(value()?.to_owned()),
            "-sharedDb" => serve.push("--shared".to_owned()),
            "-port" => serve.push(format!("--port={}", value()?)),
            "-cors" => serve.push(format!("--cors={}", origins(value()?))),
            "-delayTransientStatuses" => serve.push(format!("--state-delay={STATE_DELAY_MS}")),
            "-jar" => drop(value()?),
            // The store keeps itself in order, and nothing is ever sent.
            "-optimizeDbBeforeStartup" | "-disableTelemetry" => {}
            "-help" => serve.push("--help".to_owned()),
            _ if is_for_java(flag) => {}
            _ => return Err(format!("DynamoDB Local has no flag {flag} that Lodestone knows; {KNOWN}")),
        }
    }
    match (folder, is_in_memory) {
        (Some(_), true) => return Err("-inMemory keeps no files: leave out -dbPath or -inMemory".to_owned()),
        (None, true) => serve.push("--in-memory".to_owned()),
        // DynamoDB Local keeps its file in the working directory.
        (folder, false) => {
            let folder = Path::new(folder.as_deref().unwrap_or(".")).join(FOLDER);
            serve.push(format!("--data={}", folder.display()));
        }
    }
    Ok(serve)
}

const KNOWN: &str = "those are -inMemory, -dbPath, -sharedDb, -port, -cors, -delayTransientStatuses, \
    -optimizeDbBeforeStartup, -disableTelemetry. See `lodestone serve --help` for Lodestone's own";

/// System properties and memory settings.
fn is_for_java(flag: &str) -> bool {
    ["-D", "-X", "-server", "-ea"].iter().any(|start| flag.starts_with(start))
}

/// DynamoDB Local takes bare names of hosts, too.
fn origins(list: &str) -> String {
    let each = list.split(',').map(str::trim).filter(|name| !name.is_empty());
    let origins = each.flat_map(|name| match name.contains("://") || name == "*" {
        true => vec![name.to_owned()],
        false => vec![format!("http://{name}"), format!("https://{name}")],
    });
    origins.collect::<Vec<_>>().join(",")
}

/// How `serve` is like DynamoDB Local.
#[derive(Args)]
pub struct LocalArguments {
    /// Let all accounts and Regions have the same tables, as -sharedDb of DynamoDB Local does
    ///
    /// They are those of account 000000000000 in us-east-1, and have its ARNs.
    #[arg(long, conflicts_with_all = ["access", "region", "dax"], help_heading = "Who can connect")]
    shared: bool,

    /// Print what DynamoDB Local prints, and answer GET / as it does
    #[arg(long, hide = true)]
    like_dynamodb_local: bool,
}

impl LocalArguments {
    pub fn is_shared(&self) -> bool {
        self.shared
    }

    pub fn is_like_local(&self) -> bool {
        self.like_dynamodb_local
    }

    /// Sets up the server's side of it.
    pub fn set(&self, options: &mut server::Options) {
        options.is_shared = self.shared;
        options.health_of_local = self.like_dynamodb_local;
    }
}

/// What DynamoDB Local prints when it starts. Programs wait for the first line, or look for their settings.
pub struct StartingLines<'a> {
    pub port: u16,
    pub folder: Option<&'a Path>,
    pub is_shared: bool,
    pub is_delayed: bool,
    pub cors: &'a [String],
}

impl StartingLines<'_> {
    pub fn text(&self) -> String {
        let or_null = |text: String| if text.is_empty() { "null".to_owned() } else { text };
        let folder = self.folder.map(|folder| folder.display().to_string()).unwrap_or_default();
        format!(
            "Initializing DynamoDB Local with the following configuration:\n\
             Port:\t{}\nInMemory:\t{}\nVersion:\tLodestone {}\nDbPath:\t{}\nSharedDb:\t{}\n\
             shouldDelayTransientStatuses:\t{}\nCorsParams:\t{}\n\n",
            self.port,
            self.folder.is_none(),
            env!("CARGO_PKG_VERSION"),
            or_null(folder),
            self.is_shared,
            self.is_delayed,
            or_null(self.cors.join(",")),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn translate(line: &str) -> Result<String, String> {
        let words = std::iter::once("lodestone").chain(line.split_whitespace()).map(OsString::from).collect();
        let words = translated(words)?;
        let texts: Vec<&str> = words.iter().skip(1).filter_map(|word| word.to_str()).collect();
        Ok(texts.join(" "))
    }

    #[track_caller]
    fn check(line: &str, expected: &str) {
        let expected = format!("serve --like-dynamodb-local {expected}");
        assert_eq!(translate(line).as_deref(), Ok(expected.as_str()), "{line}");
    }

    #[test]
    fn the_flags_of_dynamodb_local_start_a_server() {
        check("-jar DynamoDBLocal.jar -inMemory -sharedDb", "--shared --in-memory");
        check("-jar DynamoDBLocal.jar -sharedDb -dbPath ./data", "--shared --data=./data/lodestone");
        check(
            "java -Djava.library.path=./lib -Xmx256m -jar DynamoDBLocal.jar -port 9000",
            "--port=9000 --data=./lodestone",
        );
        check("-inMemory -delayTransientStatuses -disableTelemetry", "--state-delay=2000 --in-memory");
        check(
            "-inMemory -cors app.example,https://b.example",
            "--cors=http://app.example,https://app.example,https://b.example --in-memory",
        );
        check("-cors * -optimizeDbBeforeStartup -dbPath /data", "--cors=* --data=/data/lodestone");
    }

    #[test]
    fn our_own_commands_stay_as_they_are() {
        for line in ["serve --in-memory", "", "-h", "-V", "--help", "model check a.yaml"] {
            assert_eq!(translate(line).as_deref(), Ok(line));
        }
    }

    #[test]
    fn a_flag_that_is_wrong_is_named() {
        assert!(translate("-jar x.jar -port").is_err_and(|error| error.contains("-port needs a value")));
        assert!(translate("-inMemory -dbPath data").is_err_and(|error| error.contains("-inMemory")));
        assert!(translate("-inMemory -sharedDB").is_err_and(|error| error.contains("-sharedDB")));
    }
}
