//! The server of the tests cleans up after itself.

use store_postgres::test_server::TestServer;
use tokio_postgres::NoTls;

#[tokio::test]
async fn a_dropped_server_is_gone_even_with_a_client_still_connected() {
    let server = TestServer::start();
    let url = server.url.clone();
    let (client, connection) = tokio_postgres::connect(&url, NoTls).await.expect("a running server");
    let connection = tokio::spawn(connection);
    client.batch_execute("SELECT 1").await.expect("an answer");
    drop(server);
    assert!(connection.await.expect("no panic").is_err(), "the connection was cut");
    assert!(tokio_postgres::connect(&url, NoTls).await.is_err(), "no server listens any more");
}
