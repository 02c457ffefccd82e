//! `lodestone model apply` and `import --from-table` against a running server.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::support::server::Server;

/// The status if nothing failed and the database is not what the model says.
const DIFFERS: i32 = 3;

/// A server, and a folder with models for it.
struct Bench {
    server: Server,
    folder: TempDir,
}

impl Bench {
    fn start(arguments: &[&str]) -> Bench {
        Bench { server: Server::start(arguments), folder: TempDir::new().expect("a folder") }
    }

    /// The status, standard output and standard error of a command.
    fn run(&self, arguments: &[&str]) -> (i32, String, String) {
        run(self.folder.path(), &[arguments, &["--endpoint-url", &self.server.url]].concat())
    }

    /// Applies the model and returns its report.
    fn apply(&self, model: &Path, arguments: &[&str]) -> (i32, Value) {
        let path = model.display().to_string();
        let (status, text, problems) =
            self.run(&[&["model", "apply", path.as_str(), "--json"], arguments].concat());
        (status, serde_json::from_str(&text).unwrap_or_else(|_| panic!("no JSON: {text}{problems}")))
    }

    fn write(&self, text: &str) -> PathBuf {
        let path = self.folder.path().join("model.yaml");
        std::fs::write(&path, text).expect("the folder is ours");
        path
    }

    fn import(&self, table: &str) -> String {
        let (status, text, problems) = self.run(&["model", "import", "--from-table", table]);
        assert_eq!(status, 0, "{problems}");
        text
    }
}

fn run(folder: &Path, arguments: &[&str]) -> (i32, String, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_lodestone"));
    command.current_dir(folder).args(arguments).env("HOME", folder);
    for variable in ["AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_DYNAMODB", "AWS_PROFILE", "AWS_ACCESS_KEY_ID"] {
        command.env_remove(variable);
    }
    let output = command.output().expect("the command runs");
    let text = |bytes| String::from_utf8(bytes).expect("text");
    (output.status.code().expect("it ended by itself"), text(output.stdout), text(output.stderr))
}

fn example(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/models").join(name)
}

/// Each change of a report, and its outcome.
fn changes(report: &Value) -> Vec<(String, String)> {
    let text = |value: &Value| value.as_str().expect("text").to_owned();
    let changes = report["tables"][0]["changes"].as_array().expect("a list");
    changes.iter().map(|change| (text(&change["what"]), text(&change["outcome"]))).collect()
}

/// Sample tickets have expired long ago, and must not be deleted while a test looks at them.
const LONG_LIVED: [&str; 2] = ["--ttl-delay", "3000000000"];

const TICKETS: &str = "
model: tickets
table: { name: tickets, partition: PK, sort: SK, ttl: expiresAt, tags: { team: blue }, deletion-protection: true }
entities:
  Ticket:
    key: { PK: 'DESK#{deskId}', SK: 'TICKET#{openedAt}#{ticketId}' }
    attributes: { openedAt: timestamp, status: [NEW, DONE], priority: { type: number, min: 1, max: 5 }, expiresAt: epoch }
    count: 1K
    size: 300 B
    indexes: { byStatus: { deskStatus: '{deskId}#{status}', openedAt: '{openedAt}' } }
indexes: { byStatus: { project: keys } }
patterns:
  T1: { query: Ticket, by: deskId, order: openedAt desc, limit: 20, rate: 10/s, consistency: eventual }
  T2: { query: Ticket, by: [deskId, status], order: openedAt, limit: 20, read: keys, rate: 5/s, consistency: eventual }
  T3: { create: Ticket, rate: 1/s }
";

#[test]
fn models_are_applied_loaded_and_proven_from_nothing() {
    let bench = Bench::start(&[]);
    for (model, table) in [("m03-order-management.yaml", "app-main"), ("m05-leaderboard.yaml", "game")] {
        let (status, report) = bench.apply(&example(model), &["--samples", "--prove"]);
        assert_eq!(status, 0, "{report:#}");
        let (what, outcome) = &changes(&report)[0];
        assert!(what.starts_with(&format!("create table {table} with")), "{what}");
        assert_eq!(outcome, "done");
        assert!(report["samples"]["written"].as_u64() > Some(20), "{report:#}");
        assert_eq!(report["certificate"]["proven"], true, "{:#}", report["certificate"]);
        assert_eq!(report["certificate"]["patterns"][0]["source"], table, "by the name that the model has");
        let (_, plain, _) =
            run(bench.folder.path(), &["model", "prove", &example(model).display().to_string(), "--json"]);
        let mut in_memory: Value = serde_json::from_str(&plain).expect("JSON");
        in_memory.as_object_mut().expect("a certificate").remove("version");
        assert_eq!(report["certificate"], in_memory, "the same certificate as in memory");
    }
}

#[test]
fn what_is_there_is_left_as_it_is() {
    let bench = Bench::start(&LONG_LIVED);
    let model = bench.write(TICKETS);
    let (status, report) = bench.apply(&model, &["--samples"]);
    assert_eq!(status, 0, "{report:#}");
    let ended = changes(&report);
    let names: Vec<&str> = ended.iter().map(|(what, _)| what.as_str()).collect();
    assert_eq!(names, ["create table tickets with byStatus", "time to live by expiresAt"]);
    assert!(ended.iter().all(|(_, outcome)| outcome == "done"), "{ended:?}");

    let before = bench.import("tickets");
    let (status, again) = bench.apply(&model, &["--samples"]);
    assert_eq!((status, changes(&again)), (0, vec![]), "{again:#}");
    assert_eq!(again["tables"][0]["left"], json!([]));
    assert_eq!(again["samples"]["written"], 0);
    assert_eq!(again["samples"]["present"], report["samples"]["written"]);
    assert_eq!(bench.import("tickets"), before);
}

#[test]
fn a_plan_does_nothing() {
    let bench = Bench::start(&[]);
    let model = bench.write(TICKETS);
    let (status, report) = bench.apply(&model, &["--plan"]);
    assert_eq!(status, DIFFERS, "{report:#}");
    assert_eq!(changes(&report)[0], ("create table tickets with byStatus".to_owned(), "planned".to_owned()));
    let (status, _, problem) = bench.run(&["model", "import", "--from-table", "tickets"]);
    assert_eq!(status, 2);
    assert!(problem.contains("has no table `tickets`"), "{problem}");
}

#[test]
fn a_plan_tells_drift_by_its_status() {
    let bench = Bench::start(&[]);
    let model = bench.write(TICKETS);
    assert_eq!(bench.apply(&model, &[]).0, 0);
    assert_eq!(bench.apply(&model, &["--plan"]).0, 0);
    let drifted = bench.write(&TICKETS.replace("deletion-protection: true", "deletion-protection: false"));
    assert_eq!(bench.apply(&drifted, &["--plan"]).0, DIFFERS);
    assert_eq!(bench.apply(&drifted, &[]).0, 0);
    assert_eq!(bench.apply(&drifted, &["--plan"]).0, 0);
}

#[test]
fn one_more_index_is_added_and_dropped_only_when_asked() {
    // Tables and indexes take a moment, as on AWS: every change waits for the one before.
    let bench = Bench::start(&["--state-delay", "50"]);
    let model = bench.write(TICKETS);
    bench.apply(&model, &["--samples"]);

    let entry = "indexes: { byStatus: { deskStatus: '{deskId}#{status}', openedAt: '{openedAt}' }, byPriority: { deskId: '{deskId}', priority: '{priority}' } }";
    let more = TICKETS
        .replace("indexes: { byStatus: { deskStatus: '{deskId}#{status}', openedAt: '{openedAt}' } }", entry)
        .replace("indexes: { byStatus: { project: keys } }", "indexes: { byStatus: { project: keys }, byPriority: { partition: deskId, sort: { priority: number }, project: [status] } }")
        .replace("deletion-protection: true", "deletion-protection: false");
    let (status, report) = bench.apply(&bench.write(&more), &["--prove"]);
    assert_eq!(status, 0, "{report:#}");
    let done = |what: &str| (what.to_owned(), "done".to_owned());
    assert_eq!(changes(&report), [done("deletion protection off"), done("create index byPriority")]);
    assert!(
        bench
            .import("tickets")
            .contains("byPriority: { partition: deskId, sort: { priority: number }, project: [status] }")
    );

    let (status, report) = bench.apply(&bench.write(TICKETS), &[]);
    assert_eq!((status, changes(&report)), (DIFFERS, vec![done("deletion protection on")]), "{report:#}");
    assert_eq!(
        report["tables"][0]["left"],
        json!(["index byPriority is not in the model (--delete-indexes)"])
    );
    let (_, report) = bench.apply(&bench.write(TICKETS), &["--delete-indexes"]);
    assert_eq!(changes(&report), [done("delete index byPriority")]);
    assert!(!bench.import("tickets").contains("byPriority"));
}

#[test]
fn an_index_with_another_projection_is_made_again_only_when_asked() {
    let bench = Bench::start(&[]);
    bench.apply(&bench.write(TICKETS), &[]);
    let model = bench.write(&TICKETS.replace("project: keys", "project: [priority]"));
    let (status, report) = bench.apply(&model, &[]);
    assert_eq!((status, changes(&report)), (DIFFERS, vec![]));
    let left = report["tables"][0]["left"][0].as_str().expect("a note");
    assert!(left.starts_with("index byStatus: it holds the keys, the model's priority;"), "{left}");
    let (_, report) = bench.apply(&model, &["--delete-indexes"]);
    let names: Vec<String> = changes(&report).into_iter().map(|(what, _)| what).collect();
    assert_eq!(names, ["delete index byStatus", "create index byStatus"]);
    assert_eq!(changes(&bench.apply(&model, &[]).1), []);
}

#[test]
fn a_key_that_differs_is_reported_and_nothing_is_changed() {
    let bench = Bench::start(&[]);
    bench.apply(&bench.write(TICKETS), &[]);
    let other =
        TICKETS.replace("sort: SK", "sort: RK").replace("SK:", "RK:").replace("team: blue", "team: red");
    let (status, report) = bench.apply(&bench.write(&other), &["--samples"]);
    assert_eq!((status, changes(&report)), (1, vec![]), "{report:#}");
    let reason = report["tables"][0]["impossible"][0].as_str().expect("a reason");
    assert!(reason.contains("its key is PK (S), SK (S), the model's PK (S), RK (S)"), "{reason}");
    assert!(report.get("samples").is_none(), "samples go into a table that fits");
}

#[test]
fn samples_do_not_overwrite_what_is_there() {
    let bench = Bench::start(&LONG_LIVED);
    bench.apply(&bench.write(TICKETS), &["--samples"]);
    let larger = bench.write(&TICKETS.replace("size: 300 B", "size: 2 KB"));
    let (_, report) = bench.apply(&larger, &["--samples"]);
    assert_eq!(report["samples"]["written"], 0, "{report:#}");
    assert!(bench.import("tickets").contains("size: 300 B"));
    let (_, report) = bench.apply(&larger, &["--samples", "--overwrite"]);
    assert_eq!((&report["samples"]["kept"], &report["samples"]["present"]), (&json!(0), &json!(0)));
    assert!(bench.import("tickets").contains("size: 2 KB"));
}

#[test]
fn entities_come_back_out_of_the_table_with_their_templates() {
    let bench = Bench::start(&[]);
    bench.apply(&example("m03-order-management.yaml"), &["--samples"]);
    let model = bench.import("app-main");
    for part in [
        "are yours to add",
        "key: { PK: \"CUST#{customerId}\", SK: PROFILE }",
        "key: { PK: \"CUST#{customerId}\", SK: \"ORDER#{createdAt}#{orderId}\" }",
        "key: { PK: \"ORDER#{orderId}\", SK: META }",
        "key: { PK: \"ORDER#{orderId}\", SK: \"ITEM#{line:03}\" }",
        "GSI1: { GSI1PK: \"CUST#{customerId}#{status}\", GSI1SK: \"{createdAt}#{orderId}\" }",
        "GSI1: { partition: GSI1PK, sort: GSI1SK, project: [status, total] }",
        "size: 600 B",
        "billing: on-demand",
    ] {
        assert!(model.contains(part), "{part} is not in\n{model}");
    }
    bench.apply(&example("m05-leaderboard.yaml"), &["--samples"]);
    let model = bench.import("game");
    for part in [
        "key: { partitionId: \"PLAYER#{playerId}\", rangeId: PROFILE }",
        "key: { partitionId: \"PLAYER#{playerId}\", rangeId: \"SEASON#{season}\" }",
        "key: { partitionId: \"PLAYER#{playerId}\", rangeId: \"MATCH#{playedAt}#{matchId}\" }",
    ] {
        assert!(model.contains(part), "{part} is not in\n{model}");
    }
    bench.write(&model);
    let (status, text, _) = run(bench.folder.path(), &["model", "check", "model.yaml"]);
    assert_eq!(status, 1, "only the patterns are missing: {text}");
    assert!(text.contains("error[R5]") && text.contains("1 error"), "{text}");
}

/// A player's matches sort before the profile and the seasons, which a small sample does not reach.
#[test]
fn kinds_behind_a_long_row_of_another_are_found() {
    let bench = Bench::start(&[]);
    bench.apply(&example("m05-leaderboard.yaml"), &["--samples"]);
    let import = ["model", "import", "--from-table", "game", "--sample", "12"];
    let (status, model, notes) = bench.run(&import);
    assert_eq!(status, 0, "{notes}");
    for part in
        ["rangeId: PROFILE }", "rangeId: \"SEASON#{season}\" }", "rangeId: \"MATCH#{playedAt}#{matchId}\" }"]
    {
        assert!(model.contains(part), "{part} is not in\n{model}");
    }
    assert!(notes.contains("the scan did not reach the end of the table"), "{notes}");
}

#[test]
fn a_database_that_does_not_answer_is_reported_with_advice() {
    let folder = TempDir::new().expect("a folder");
    let check = |url: &str, expected: &str| {
        let model = example("m03-order-management.yaml").display().to_string();
        let (status, text, problem) = run(folder.path(), &["model", "apply", &model, "--endpoint-url", url]);
        assert_eq!((status, text.as_str()), (2, ""), "{problem}");
        assert!(problem.contains(expected), "{problem}");
    };
    // A port that was free a moment ago: no server answers there.
    let taken = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port");
    let port = taken.local_addr().expect("an address").port();
    drop(taken);
    check(&format!("http://127.0.0.1:{port}"), "Is a database running there?");
    check("localhost:8000", "is not an endpoint; one looks like http://localhost:8000");
    check("http://db.example.com", "no credentials: set AWS_ACCESS_KEY_ID");
    let (status, _, problem) = run(folder.path(), &["model", "import", "--from-table", "tickets"]);
    assert_eq!(status, 2);
    assert!(problem.contains("say where the database is"), "{problem}");
}
