//! How the records of one shard are delivered, scenario by scenario.

use serde_json::{Value, json};
use triggers::{Condition, Delivery, Filters, Outcome, Position, Window};

use crate::support::*;

const NONE: [u64; 0] = [];

fn ok() -> Outcome {
    Outcome::Answer("null".into())
}

#[test]
fn a_record_is_delivered_as_soon_as_it_is_there() {
    let mut bench = Bench::new(delivery());
    assert_eq!(bench.call(), NONE);
    bench.offer(records([1]));
    assert_eq!(bench.call(), [1]);
    bench.offer(records([2, 3]));
    assert_eq!(bench.call(), NONE, "one call at a time");
    assert_eq!(bench.position(), None, "nothing is delivered yet");
    bench.finish(&ok());
    assert_eq!(bench.position(), Some(1));
    assert_eq!(bench.call(), [2, 3]);
}

#[test]
fn a_batch_is_no_larger_than_its_size() {
    let mut bench = Bench::new(Delivery { batch_size: 2, ..delivery() });
    bench.offer(records(1..=5));
    assert_eq!(bench.call(), [1, 2]);
    bench.finish(&ok());
    assert_eq!(bench.call(), [3, 4]);
    bench.finish(&ok());
    assert_eq!(bench.call(), [5]);
}

#[test]
fn a_batch_waits_for_its_window_unless_it_is_full_or_the_shard_ends() {
    let windowed = || Delivery { batch_size: 3, batching_window_ms: 10_000, ..delivery() };
    let mut bench = Bench::new(windowed());
    bench.offer(records([1]));
    assert_eq!(bench.call(), NONE);
    assert_eq!(bench.wake_at_ms, Some(START_MS + 10_000));
    bench.offer(records([2]));
    assert_eq!(bench.call_later(), [1, 2]);
    // The next window begins when the call ends.
    bench.offer(records([3]));
    bench.now_ms += 4_000;
    bench.finish(&ok());
    assert_eq!(bench.call(), NONE);
    assert_eq!(bench.wake_at_ms, Some(bench.now_ms + 10_000));
    bench.offer(records([4, 5, 6]));
    assert_eq!(bench.call(), [3, 4, 5], "it is full");
    bench.finish(&ok());
    assert_eq!(bench.call(), NONE);
    bench.poller.close();
    assert_eq!(bench.call(), [6], "no more can come");
}

#[test]
fn the_window_of_an_idle_shard_begins_with_the_next_record() {
    let mut bench = Bench::new(Delivery { batching_window_ms: 10_000, ..delivery() });
    bench.now_ms += 60_000;
    bench.offer(records([1]));
    assert_eq!(bench.call(), NONE);
    assert_eq!(bench.wake_at_ms, Some(bench.now_ms + 10_000));
}

#[test]
fn an_event_has_at_most_six_megabytes() {
    let mut bench = Bench::new(Delivery { batching_window_ms: 300_000, ..delivery() });
    let large = |number| {
        let mut entry = record(number);
        let record = json!({"dynamodb": {"SequenceNumber": sequence_number(number)},
                            "text": "x".repeat(2_000_000)});
        entry.json = record.to_string().into();
        entry
    };
    bench.offer((1..=5).map(large).collect());
    let calls = bench.calls();
    assert_eq!(numbers_of(&calls[0].event), [1, 2, 3], "full before its window is over");
    assert!(calls[0].event.len() <= 6 * 1024 * 1024);
    bench.finish(&ok());
    assert!(bench.poller.has_room());
    bench.offer((6..=10).map(large).collect());
    assert!(!bench.poller.has_room(), "what is read ahead is bounded");
}

#[test]
fn filtered_records_only_move_the_position() {
    let filters =
        Filters::parse([r#"{"dynamodb": {"SequenceNumber": [{"suffix": "2"}]}}"#]).expect("a pattern");
    let mut bench = Bench::new(Delivery { filters, ..delivery() });
    bench.offer(records([1]));
    assert_eq!((bench.call(), bench.position()), (vec![], Some(1)));
    bench.offer(records([2, 3]));
    assert_eq!((bench.call(), bench.position()), (vec![2], None));
    bench.finish(&ok());
    assert_eq!(bench.position(), Some(3));
    let metrics = bench.poller.take_metrics();
    assert_eq!((metrics.polled_event_count, metrics.filtered_out_event_count), (3, 2));
    assert_eq!((metrics.invoked_event_count, metrics.invocations), (1, 1));
}

#[test]
fn a_failing_batch_holds_up_its_shard_and_is_tried_with_growing_pauses() {
    let mut bench = Bench::new(delivery());
    bench.offer(records([1, 2]));
    let mut before = bench.now_ms;
    assert_eq!(bench.call(), [1, 2]);
    for pause_ms in [1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 60_000, 60_000] {
        bench.finish(&function_error());
        bench.offer(records([3]));
        assert_eq!(bench.call(), NONE, "not before the pause is over");
        assert_eq!(bench.call_later(), [1, 2]);
        assert_eq!(bench.now_ms - before, pause_ms);
        before = bench.now_ms;
    }
    assert_eq!(bench.poller.last_result(), Some("PROBLEM: Function call failed"));
    bench.finish(&ok());
    assert_eq!(bench.poller.last_result(), Some("OK"));
    assert_eq!(bench.position(), Some(2));
}

#[test]
fn a_batch_is_given_up_after_its_retries_and_reported() {
    let mut bench = Bench::new(Delivery { retries_max: Some(2), ..delivery() });
    bench.offer(records([1, 2]));
    assert_eq!(bench.call(), [1, 2]);
    for _ in 0..2 {
        bench.finish(&function_error());
        assert_eq!(bench.call(), NONE);
        assert_eq!(bench.call_later(), [1, 2]);
    }
    bench.finish(&function_error());
    bench.offer(records([3]));
    assert_eq!(bench.call(), [3], "the shard goes on");
    let [failure] = bench.failures.as_slice() else { panic!("{:?}", bench.failures) };
    assert_eq!((failure.condition, failure.invocations), (Condition::RetryAttemptsExhausted, 3));
    assert_eq!(bench.position(), Some(2));
    assert_eq!(bench.poller.take_metrics().dropped_event_count, 2);
}

#[test]
fn the_report_on_a_batch_has_lambdas_members() {
    let mut bench = Bench::new(Delivery { retries_max: Some(0), ..delivery() });
    bench.offer(vec![record_at(1, 0, START_MS), record_at(2, 0, START_MS + 30_000)]);
    bench.call();
    bench.finish(&function_error());
    bench.call();
    let report = bench.failures[0].to_json("request", START_MS + 60_717);
    let expected = json!({
        "requestContext": {"requestId": "request", "functionArn": FUNCTION,
                           "condition": "RetryAttemptsExhausted", "approximateInvokeCount": 1},
        "responseContext": {"statusCode": 200, "executedVersion": "$LATEST", "functionError": "Unhandled"},
        "version": "1.0",
        "timestamp": "2026-11-17T01:21:00.717Z",
        "DDBStreamBatchInfo": {
            "shardId": "shard-1",
            "startSequenceNumber": sequence_number(1), "endSequenceNumber": sequence_number(2),
            "approximateArrivalOfFirstRecord": "2026-11-17T01:20:00Z",
            "approximateArrivalOfLastRecord": "2026-11-17T01:20:30Z",
            "batchSize": 2, "streamArn": STREAM,
        },
    });
    assert_eq!(report, expected);
}

#[test]
fn calls_that_do_not_reach_the_function_are_no_retries() {
    let mut bench = Bench::new(Delivery { retries_max: Some(0), ..delivery() });
    bench.offer(records([1]));
    assert_eq!(bench.call(), [1]);
    for _ in 0..20 {
        bench.finish(&unreachable());
        assert_eq!(bench.call(), NONE);
        assert_eq!(bench.call_later(), [1]);
    }
    assert_eq!(bench.failures, []);
    let metrics = bench.poller.take_metrics();
    assert_eq!((metrics.invocations, metrics.errors), (0, 0));
}

#[test]
fn records_that_are_too_old_are_given_up_before_a_try() {
    let mut bench = Bench::new(Delivery { record_age_ms_max: 60_000, ..delivery() });
    bench.offer(vec![record_at(1, 0, START_MS), record_at(2, 0, START_MS + 50_000)]);
    assert_eq!(bench.call(), [1, 2]);
    bench.now_ms = START_MS + 60_001;
    bench.finish(&unreachable());
    bench.now_ms += 5_000;
    assert_eq!(bench.call(), [2]);
    let [failure] = bench.failures.as_slice() else { panic!("{:?}", bench.failures) };
    assert_eq!((failure.condition, failure.records.len()), (Condition::MaximumRecordAgeExceeded, 1));
    let report = failure.to_json("", START_MS);
    assert_eq!(report.get("responseContext"), None, "the function was not reached");
    assert_eq!(bench.position(), Some(1));
}

#[test]
fn a_record_is_never_tried_for_longer_than_a_day() {
    let mut bench = Bench::new(delivery());
    bench.offer(records([1]));
    bench.now_ms += 24 * 60 * 60 * 1000 + 1;
    assert_eq!(bench.call(), NONE);
    assert_eq!(bench.failures[0].condition, Condition::MaximumRecordAgeExceeded);
    assert_eq!(bench.failures[0].invocations, 0);
}

#[test]
fn bisecting_finds_the_bad_record_without_using_retries() {
    let mut bench = Bench::new(Delivery { bisects: true, retries_max: Some(0), ..delivery() });
    bench.offer(records(1..=4));
    let mut calls = Vec::new();
    loop {
        let batch = bench.call();
        if batch.is_empty() {
            break;
        }
        bench.finish(&if batch.contains(&3) { function_error() } else { ok() });
        calls.push(batch);
    }
    assert_eq!(calls, [vec![1, 2, 3, 4], vec![1, 2], vec![3, 4], vec![3], vec![4]]);
    let [failure] = bench.failures.as_slice() else { panic!("{:?}", bench.failures) };
    assert_eq!(failure.records, records([3]));
    assert_eq!(bench.position(), Some(4));
}

fn reporting() -> Delivery {
    Delivery { reports_item_failures: true, ..delivery() }
}

#[test]
fn item_failures_repeat_everything_from_the_first_of_them() {
    let mut bench = Bench::new(reporting());
    bench.offer(records(1..=5));
    assert_eq!(bench.call(), [1, 2, 3, 4, 5]);
    bench.finish(&item_failures(&[4, 3]));
    assert_eq!(bench.position(), Some(2));
    assert_eq!(bench.call(), NONE);
    assert_eq!(bench.call_later(), [3, 4, 5]);
    bench.finish(&item_failures(&[]));
    assert_eq!(bench.position(), Some(5));
}

#[test]
fn the_retries_of_item_failures_are_those_of_the_first_record() {
    let mut bench = Bench::new(Delivery { retries_max: Some(1), ..reporting() });
    bench.offer(records(1..=3));
    assert_eq!(bench.call(), [1, 2, 3]);
    bench.finish(&item_failures(&[2]));
    bench.call();
    assert_eq!(bench.call_later(), [2, 3], "its first retry");
    bench.finish(&item_failures(&[3]));
    bench.call();
    assert_eq!(bench.call_later(), [3], "another first record, its first retry");
    bench.finish(&item_failures(&[3]));
    assert_eq!(bench.call(), NONE);
    assert_eq!(bench.failures[0].records, records([3]));
}

#[test]
fn answers_without_item_failures_are_success() {
    for body in ["", " ", "null", "{}", r#"{"batchItemFailures": null}"#, r#"{"batchItemFailures": []}"#] {
        let mut bench = Bench::new(reporting());
        bench.offer(records([1]));
        bench.call();
        bench.finish(&Outcome::Answer(body.into()));
        assert_eq!(bench.position(), Some(1), "{body:?}");
    }
}

#[test]
fn answers_that_make_no_sense_fail_the_whole_batch() {
    let known = sequence_number(2);
    for body in [
        "not JSON".to_owned(),
        r#"{"batchItemFailures": {}}"#.to_owned(),
        r#"{"batchItemFailures": [{"itemIdentifier": ""}]}"#.to_owned(),
        r#"{"batchItemFailures": [{"itemIdentifier": null}]}"#.to_owned(),
        format!(r#"{{"batchItemFailures": [{{"id": "{known}"}}]}}"#),
        format!(r#"{{"batchItemFailures": [{{"itemIdentifier": "{known}"}}, {{"itemIdentifier": "7"}}]}}"#),
    ] {
        // Bisecting splits after errors of the function alone.
        let mut bench = Bench::new(Delivery { bisects: true, ..reporting() });
        bench.offer(records([1, 2]));
        bench.call();
        bench.finish(&Outcome::Answer(body.clone().into()));
        assert_eq!(bench.position(), None, "{body}");
        bench.call();
        assert_eq!(bench.call_later(), [1, 2], "{body}");
    }
}

#[test]
fn an_answer_is_ignored_if_the_mapping_does_not_ask_for_item_failures() {
    for body in ["not JSON", r#"{"batchItemFailures": [{"itemIdentifier": ""}]}"#] {
        let mut bench = Bench::new(delivery());
        bench.offer(records([1]));
        bench.call();
        bench.finish(&Outcome::Answer(body.into()));
        assert_eq!(bench.position(), Some(1), "{body}");
    }
}

#[test]
fn with_bisecting_item_failures_cut_the_batch_and_errors_halve_it() {
    let mut bench = Bench::new(Delivery { bisects: true, retries_max: Some(0), ..reporting() });
    bench.offer(records(1..=5));
    bench.call();
    bench.finish(&item_failures(&[2]));
    assert_eq!(bench.call(), [2, 3, 4, 5], "cut, at once, and no retry");
    bench.finish(&function_error());
    assert_eq!(bench.call(), [2, 3], "halved");
    bench.finish(&ok());
    assert_eq!(bench.call(), [4, 5]);
    bench.finish(&ok());
    assert_eq!(bench.position(), Some(5));
}

#[test]
fn lanes_deliver_side_by_side_and_keep_each_key_in_order() {
    let mut bench = Bench::new(Delivery { lanes: 2, batch_size: 10, ..delivery() });
    bench.offer((1..=6).map(|number| record_at(number, number % 2, START_MS)).collect());
    let calls = bench.calls();
    let lanes: Vec<Vec<u64>> = calls.iter().map(|call| numbers_of(&call.event)).collect();
    assert_eq!(lanes, [vec![2, 4, 6], vec![1, 3, 5]]);
    bench.poller.finish(0, &ok(), START_MS);
    assert_eq!(bench.position(), None, "record 1 is not delivered");
    bench.offer(vec![record_at(7, 0, START_MS), record_at(8, 1, START_MS)]);
    let calls = bench.calls();
    assert_eq!(calls.len(), 1, "the other lane still waits for its answer");
    assert_eq!(numbers_of(&calls[0].event), [7]);
    bench.poller.finish(1, &ok(), START_MS);
    assert_eq!(bench.position(), Some(6));
    bench.poller.finish(0, &ok(), START_MS);
    assert_eq!(bench.position(), Some(7));
}

#[test]
fn a_shard_is_finished_when_its_end_is_read_and_all_is_delivered() {
    let mut bench = Bench::new(delivery());
    bench.offer(records([1]));
    bench.call();
    bench.poller.close();
    assert!(!bench.poller.is_finished());
    bench.finish(&ok());
    assert!(bench.poller.is_finished());
    let position = bench.poller.take_position().expect("a position");
    assert!(position.is_finished);
    // An empty shard, too.
    let mut bench = Bench::new(delivery());
    bench.poller.close();
    assert!(bench.poller.is_finished());
}

#[test]
fn a_poller_that_is_stopped_starts_nothing_and_takes_what_is_under_way() {
    let mut bench = Bench::new(Delivery { batch_size: 1, ..delivery() });
    bench.offer(records([1, 2]));
    assert_eq!(bench.call(), [1]);
    bench.poller.stop();
    bench.finish(&ok());
    assert_eq!(bench.call(), NONE);
    assert_eq!(bench.position(), Some(1));
}

/// Windows of a minute, which begin at full minutes.
fn tumbling() -> Delivery {
    Delivery { tumbling_window_ms: Some(60_000), ..delivery() }
}

fn state(value: Value) -> Outcome {
    answer(json!({ "state": value }))
}

fn event(bench: &mut Bench) -> Value {
    let calls = bench.calls();
    serde_json::from_slice(&calls.first().expect("a call").event).expect("JSON")
}

#[test]
fn a_window_hands_its_state_on_and_ends_with_a_call_of_its_own() {
    let mut bench = Bench::new(tumbling());
    bench.offer(vec![record_at(1, 0, START_MS + 1_000), record_at(2, 0, START_MS + 59_999)]);
    let first = event(&mut bench);
    assert_eq!(first["window"], json!({"start": "2026-11-17T01:20:00Z", "end": "2026-11-17T01:21:00Z"}));
    assert_eq!((&first["state"], &first["shardId"]), (&json!({}), &json!("shard-1")));
    assert_eq!(first["eventSourceARN"], STREAM);
    assert_eq!(first["isFinalInvokeForWindow"], false);
    assert_eq!(first["isWindowTerminatedEarly"], false);
    bench.finish(&state(json!({"sum": 1})));
    bench.offer(vec![record_at(3, 0, START_MS + 60_000)]);
    let last = event(&mut bench);
    assert_eq!((&last["state"], &last["isFinalInvokeForWindow"]), (&json!({"sum": 1}), &json!(true)));
    assert_eq!(last["Records"], json!([]));
    bench.finish(&Outcome::Answer("null".into()));
    let next = event(&mut bench);
    assert_eq!((&next["state"], &next["window"]["start"]), (&json!({}), &json!("2026-11-17T01:21:00Z")));
}

#[test]
fn a_window_ends_by_the_clock_and_with_its_shard() {
    let mut bench = Bench::new(tumbling());
    bench.offer(records([1]));
    bench.call();
    bench.finish(&state(json!({"n": 1})));
    assert_eq!(bench.calls(), []);
    assert_eq!(bench.wake_at_ms, Some(START_MS + 60_000));
    bench.now_ms = START_MS + 60_000;
    assert_eq!(event(&mut bench)["isFinalInvokeForWindow"], true);
    bench.finish(&Outcome::Answer("null".into()));
    bench.offer(vec![record_at(2, 0, bench.now_ms)]);
    bench.call();
    bench.finish(&state(json!({})));
    bench.poller.close();
    assert!(!bench.poller.is_finished(), "its window is open");
    assert_eq!(event(&mut bench)["isFinalInvokeForWindow"], true);
    bench.finish(&Outcome::Answer("null".into()));
    assert!(bench.poller.is_finished());
}

#[test]
fn an_answer_without_a_state_is_a_failure_in_a_window() {
    for body in ["", "null", "{}", r#"{"state": 7}"#, "not JSON"] {
        let mut bench = Bench::new(tumbling());
        bench.offer(records([1]));
        bench.call();
        bench.finish(&Outcome::Answer(body.into()));
        assert_eq!(bench.position(), None, "{body:?}");
        bench.call();
        assert_eq!(bench.call_later(), [1], "{body:?}");
    }
}

#[test]
fn a_state_that_grows_too_large_ends_the_window_early() {
    let mut bench = Bench::new(tumbling());
    bench.offer(records([1]));
    bench.call();
    bench.finish(&state(json!({"text": "x".repeat(1024 * 1024)})));
    bench.offer(records([2]));
    let early = event(&mut bench);
    assert_eq!(early["isWindowTerminatedEarly"], true);
    assert_eq!(early["isFinalInvokeForWindow"], true);
    bench.finish(&Outcome::Answer("null".into()));
    let next = event(&mut bench);
    assert_eq!((&next["state"], &next["window"]["start"]), (&json!({}), &json!("2026-11-17T01:20:00Z")));
}

#[test]
fn an_open_window_is_stored_with_the_position() {
    let mut bench = Bench::new(tumbling());
    bench.offer(records([1]));
    bench.call();
    bench.finish(&state(json!({"n": 1})));
    let position = bench.poller.take_position().expect("a position");
    let row = serde_json::to_vec(&position).expect("JSON");
    let position: Position = serde_json::from_slice(&row).expect("a position");
    let window = Window { start_ms: START_MS, end_ms: START_MS + 60_000, state: json!({"n": 1}) };
    assert_eq!(position.window.as_ref(), Some(&window));
    let mut again = Bench::at(tumbling(), position);
    again.offer(records([2]));
    assert_eq!(event(&mut again)["state"], json!({"n": 1}));
}
