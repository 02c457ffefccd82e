//! Connections that are encrypted, and as much of the certificate checked as `sslmode` says.

use store::{Store, StoreError};
use store_postgres::test_server::TestServer;
use store_postgres::{Options, PostgresStore};

use crate::support::{increment, session};

async fn open(url: &str) -> Result<PostgresStore, StoreError> {
    PostgresStore::open(url, Options::default()).await
}

/// How many of the store's connections are encrypted.
async fn encrypted(url: &str) -> i64 {
    const COUNT: &str = "SELECT count(*) FROM pg_stat_ssl JOIN pg_stat_activity USING (pid)
        WHERE ssl AND application_name = 'lodestone' AND datname = current_database()";
    session(url).await.query_one(COUNT, &[]).await.expect("a count").get(0)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn sslmode_says_whether_to_encrypt_and_what_to_check() {
    let server = TestServer::start_with_tls();
    let database = server.create_database().await;
    let named = database.replace("127.0.0.1", "localhost");
    let roots = format!("sslrootcert={}", server.authority().display());
    // The certificate is for localhost, and no authority of the system has signed it.
    for (url, parameters, is_encrypted) in [
        (&database, String::new(), true),
        (&database, "sslmode=disable".to_owned(), false),
        (&database, "sslmode=require".to_owned(), true),
        (&database, format!("sslmode=verify-ca&{roots}"), true),
        (&named, format!("sslmode=verify-full&{roots}"), true),
    ] {
        let store = open(&format!("{url}?{parameters}")).await.expect("the store opens");
        increment(&store, "row").await.expect("a write succeeds");
        assert_eq!(encrypted(&database).await > 0, is_encrypted, "{parameters}");
        store.close().await.expect("the store closes");
        drop(store);
        let other = session(&database).await;
        let open = "SELECT count(*) FROM pg_stat_activity
            WHERE datname = current_database() AND application_name = 'lodestone'";
        crate::support::wait_for_count(&other, open, 0).await;
    }
    for (url, parameters) in [
        (&database, format!("sslmode=verify-full&{roots}")),
        (&named, "sslmode=verify-full".to_owned()),
        (&named, "sslmode=verify-ca".to_owned()),
    ] {
        let outcome = open(&format!("{url}?{parameters}")).await.err();
        assert!(
            matches!(&outcome, Some(StoreError::Unavailable(reason)) if reason.contains("certificate")),
            "{parameters}: {outcome:?}"
        );
    }
}

/// rustls can't read the certificate, also where nothing in it is checked.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_certificate_that_cannot_be_read_is_as_no_tls_if_tls_is_only_preferred() {
    let server = TestServer::start_with_old_certificate();
    let database = server.create_database().await;
    for parameters in ["", "?sslmode=prefer"] {
        let store = open(&format!("{database}{parameters}")).await.expect("the store opens");
        increment(&store, "row").await.expect("a write succeeds");
        assert_eq!(encrypted(&database).await, 0);
    }
    let refused = open(&format!("{database}?sslmode=require")).await.err();
    assert!(
        matches!(&refused, Some(StoreError::Unavailable(reason)) if reason.contains("certificate")),
        "{refused:?}"
    );
}

#[tokio::test]
async fn a_server_without_tls_is_refused_where_tls_is_required() {
    let url = TestServer::shared().create_database().await;
    assert!(open(&format!("{url}?sslmode=require")).await.is_err());
}

#[tokio::test]
async fn of_several_hosts_the_one_that_can_be_written_to_is_used() {
    let url = TestServer::shared().create_database().await;
    // No server listens on the first address; the second takes writes.
    let several = url.replace("127.0.0.1", "127.0.0.1:1,127.0.0.1");
    let store = open(&format!("{several}?target_session_attrs=read-write")).await.expect("the store opens");
    increment(&store, "row").await.expect("a write succeeds");
}
