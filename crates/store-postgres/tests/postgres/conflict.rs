//! What happens when PostgreSQL breaks off a transaction in favour of another one.
//!
//! The conflicts come from a trigger of the test. It counts with a sequence, which unlike rows keeps
//! its value when the transaction is rolled back.

use store::StoreError;

use crate::support::{fresh_database, increment_while, open, read_number, session};

/// Lets the first `conflicts` writes of rows fail with `code`.
async fn updates_that_meet(url: &str, code: &str, conflicts: u32) -> (Result<(), StoreError>, u32, u64) {
    let store = open(url).await;
    let fault = format!(
        "CREATE SEQUENCE attempt;
         CREATE FUNCTION meet() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
             IF nextval('attempt') <= {conflicts} THEN
                 RAISE EXCEPTION 'met another' USING ERRCODE = '{code}';
             END IF;
             RETURN NULL;
         END $$;
         CREATE TRIGGER meet AFTER INSERT OR UPDATE ON lodestone_row EXECUTE FUNCTION meet();"
    );
    session(url).await.batch_execute(&fault).await.expect("the trigger");
    let mut asked = 0;
    let outcome = increment_while(&store, "row", &mut || asked += 1).await;
    (outcome, asked, read_number(&store, "row").await)
}

#[tokio::test]
async fn an_update_starts_over_after_a_conflict() {
    for code in ["40001", "40P01"] {
        let (outcome, asked, value) = updates_that_meet(&fresh_database().await, code, 3).await;
        outcome.expect("the fourth attempt succeeds");
        assert_eq!((asked, value), (4, 1), "{code}");
    }
}

#[tokio::test]
async fn an_update_that_meets_conflict_after_conflict_gives_up() {
    let (outcome, asked, value) = updates_that_meet(&fresh_database().await, "40001", u32::MAX).await;
    assert!(
        matches!(&outcome, Err(StoreError::Unavailable(reason)) if reason.contains("40001")),
        "{outcome:?}"
    );
    assert_eq!((asked, value), (10, 0));
}

#[tokio::test]
async fn an_error_that_is_no_conflict_is_not_tried_again() {
    let (outcome, asked, value) = updates_that_meet(&fresh_database().await, "53100", 1).await;
    assert!(
        matches!(&outcome, Err(StoreError::Unavailable(reason)) if reason.contains("53100")),
        "{outcome:?}"
    );
    assert_eq!((asked, value), (1, 0));
}
