//! Clocks that are set, by mistake or to correct one.

use std::collections::BTreeSet;
use std::time::Duration;

use serde_json::{Value, json};

use crate::database::Database;
use crate::streams::records;
use crate::support::pass;

const START_S: u64 = 1_800_000_000;
const SECOND_MS: u64 = 1000;
const DAY_MS: u64 = 24 * 60 * 60 * SECOND_MS;
const DAY_S: u64 = DAY_MS / 1000;

fn item(p: &str, expires_s: u64) -> Value {
    json!({"p": {"S": p}, "s": {"S": "s"}, "x": {"N": expires_s.to_string()}})
}

/// A table with recovery, a stream and time to live. Its items expire a day after the start, or never.
struct Clocked {
    database: Database,
    stream: String,
}

impl Clocked {
    async fn new() -> Clocked {
        let database = Database::with_options(engine::Options::default()).await;
        database.with_table("Table").await;
        let recovery = json!({"PointInTimeRecoveryEnabled": true});
        let recovery = json!({"TableName": "Table", "PointInTimeRecoverySpecification": recovery});
        database.ok("UpdateContinuousBackups", recovery).await;
        let expiry = json!({"AttributeName": "x", "Enabled": true});
        let expiry = json!({"TableName": "Table", "TimeToLiveSpecification": expiry});
        database.ok("UpdateTimeToLive", expiry).await;
        let stream = json!({"StreamEnabled": true, "StreamViewType": "KEYS_ONLY"});
        let stream = json!({"TableName": "Table", "StreamSpecification": stream});
        let answer = database.ok("UpdateTable", stream).await;
        let stream = answer["TableDescription"]["LatestStreamArn"].as_str().unwrap().to_owned();
        Clocked { database, stream }
    }

    /// Lets time pass: for the clocks, and for what is done in the background.
    async fn pass_s(&self, time_s: u64) {
        self.database.pass_ms(time_s * SECOND_MS);
        pass(Duration::from_secs(90)).await;
    }

    /// Restores the table to a second after the start, or to the latest, and says which items are there.
    async fn restored(&self, target: &str, after_s: Option<u64>) -> BTreeSet<String> {
        self.database.ok("RestoreTableToPointInTime", restore(target, after_s)).await;
        self.database.until_active(target).await;
        let items = self.database.ok("Scan", json!({"TableName": target})).await["Items"].take();
        items.as_array().unwrap().iter().map(|item| item["p"]["S"].as_str().unwrap().to_owned()).collect()
    }

    async fn refusal(&self, after_s: u64) -> String {
        let failure =
            self.database.call("RestoreTableToPointInTime", restore("Refused", Some(after_s))).await;
        let failure = failure.expect_err("the state at this time is not known");
        assert_eq!(failure.name, "InvalidRestoreTimeException");
        failure.message
    }
}

fn restore(target: &str, after_s: Option<u64>) -> Value {
    let mut input = json!({"SourceTableName": "Table", "TargetTableName": target});
    match after_s {
        Some(after_s) => input["RestoreDateTime"] = json!(START_S + after_s),
        None => input["UseLatestRestorableTime"] = json!(true),
    }
    input
}

fn names(names: &[&str]) -> BTreeSet<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

#[tokio::test(start_paused = true)]
async fn a_clock_that_leaps_ahead_and_comes_back_has_changed_nothing() {
    let table = Clocked::new().await;
    table.database.put(item("before", START_S + DAY_S)).await;
    table.database.set_clock_ms(2 * DAY_MS as i64);
    // Also before the leap is noticed.
    table.database.put(item("at once", START_S + DAY_S)).await;
    table.pass_s(3).await;
    let notice = table.database.engine.clock_notice().expect("the leap is noticed");
    assert!(notice.starts_with("the system's clock was set forward by 2days. Dates go on"), "{notice}");
    table.database.put(item("during", START_S + DAY_S)).await;
    table.database.set_clock_ms(0);
    table.pass_s(3).await;
    assert_eq!(table.database.engine.clock_notice(), None);
    table.database.put(item("behind", START_S + DAY_S)).await;
    table.pass_s(60).await;

    let all = names(&["before", "at once", "during", "behind"]);
    assert_eq!(table.restored("Now", Some(66)).await, all);
    assert_eq!(table.restored("During", Some(4)).await, names(&["before", "at once", "during"]));
    assert_eq!(records(&table.database, &table.stream).await.len(), 4, "nothing is trimmed");
    let items = table.database.ok("Scan", json!({"TableName": "Table"})).await;
    assert_eq!(items["Count"], 4, "nothing has expired");
}

#[tokio::test(start_paused = true)]
async fn a_clock_that_stays_where_it_leapt_to_is_believed() {
    let table = Clocked::new().await;
    table.database.put(item("item", START_S + DAY_S)).await;
    table.database.set_clock_ms(2 * DAY_MS as i64);
    table.pass_s(1).await;
    assert!(table.database.engine.clock_notice().is_some());
    table.pass_s(299).await;
    assert!(table.database.engine.clock_notice().is_some());
    assert_eq!(table.database.ok("Scan", json!({"TableName": "Table"})).await["Count"], 1);
    table.pass_s(1).await;
    assert_eq!(table.database.engine.clock_notice(), None);
    assert_eq!(table.database.ok("Scan", json!({"TableName": "Table"})).await["Count"], 0);
}

#[tokio::test(start_paused = true)]
async fn a_clock_that_is_adjusted_is_followed_in_order() {
    let table = Clocked::new().await;
    table.database.set_clock_ms(-8000);
    for step in 0..20 {
        table.pass_s(2).await;
        table.database.put(item(&format!("item {step:02}"), 0)).await;
        assert_eq!(table.database.engine.clock_notice(), None);
    }
    assert_eq!(table.restored("Followed", Some(32)).await.len(), 20, "the clock shows 40 - 8 seconds");
    assert_eq!(table.restored("Before", Some(25)).await.len(), 16, "when it showed 24, there were 16");
}

#[tokio::test(start_paused = true)]
async fn records_that_are_ahead_of_the_date_are_no_restore_points() {
    let mut table = Clocked::new().await;
    table.database.put(item("right", 0)).await;
    table.pass_s(100).await;
    table.database.put(item("right, too", 0)).await;
    // A start with a wrong clock.
    table.database.set_clock_ms(2 * DAY_MS as i64);
    table.database = table.database.restarted().await;
    table.database.put(item("ahead", 0)).await;
    table.pass_s(100).await;
    table.database.set_clock_ms(0);
    table.database = table.database.restarted().await;
    table.database.put(item("later", 0)).await;
    table.pass_s(100).await;
    let notice = table.database.engine.clock_notice().expect("the records are ahead");
    assert!(notice.starts_with("change records are 1day 23h 58m 20s"), "{notice}");
    assert_eq!(records(&table.database, &table.stream).await.len(), 4, "nothing is trimmed");

    // Now is such a time. Without the refusal, the restored table would have two items.
    let refusal = table.refusal(250).await;
    assert!(refusal.contains("is not known: the server's clock was wrong"), "{refusal}");
    assert!(
        refusal.contains("Name a time up to '2027-01-15T08:01:40.000Z', or the latest time"),
        "{refusal}"
    );
    assert_eq!(table.restored("Earlier", Some(50)).await, names(&["right"]));
    assert_eq!(table.restored("Certain", Some(100)).await, names(&["right", "right, too"]));
    assert_eq!(table.restored("Latest", None).await, names(&["right", "right, too", "ahead", "later"]));

    // It stays so when the date has passed the records.
    table.pass_s(2 * DAY_S).await;
    assert_eq!(table.database.engine.clock_notice(), None);
    table.database.put(item("right again", 0)).await;
    table.database = table.database.restarted().await;
    table.pass_s(100).await;
    let refusal = table.refusal(DAY_S).await;
    assert!(refusal.contains(", a time from '2027-01-17T08:05:00.000Z' on, or the latest time"), "{refusal}");
    let all = names(&["right", "right, too", "ahead", "later", "right again"]);
    assert_eq!(table.restored("Again", Some(2 * DAY_S + 350)).await, all);
}

#[tokio::test(start_paused = true)]
async fn a_clock_that_was_set_back_keeps_what_it_would_have_kept() {
    let table = Clocked::new().await;
    table.pass_s(7200).await;
    table.database.put(item("before", 0)).await;
    table.database.set_clock_ms(-3_600_000);
    table.pass_s(1).await;
    let notice = table.database.engine.clock_notice().expect("the leap is noticed");
    assert!(notice.starts_with("the system's clock was set back by 1h"), "{notice}");
    table.pass_s(300).await;
    table.database.put(item("behind", 0)).await;
    let notice = table.database.engine.clock_notice().expect("the records are ahead");
    assert!(notice.starts_with("change records are 54m 59s ahead"), "{notice}");
    assert!(table.refusal(3900).await.contains("is not known"));
    assert_eq!(table.restored("Latest", None).await, names(&["before", "behind"]));
    assert_eq!(records(&table.database, &table.stream).await.len(), 2);
}
