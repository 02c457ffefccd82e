//! `cargo xtask vectors`: a large vector index is made while its table is written to, searched, written to while it is
//! searched, killed with `kill -9` and searched again. A computation over all vectors is the judge.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Instant;

use ::bench::connection::Connection;
use ::bench::server::Server;
use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::victim::{Victim, call, until_active};
use crate::wait;

const TABLE: &str = "Vectors";
const TOP_K: usize = 10;
const RECALL_MIN: f64 = 0.95;
const CLUSTERS: usize = 1000;
/// Items of a request.
const BATCH: usize = 25;
/// Searches that read all rows, to compare their time: the first one asks for a copy, which later ones may have.
const WALKS: usize = 1;
/// Vectors that are written and at once searched for.
const WRITES: usize = 300;

#[derive(clap::Args)]
pub struct VectorsOptions {
    /// How many vectors the index holds
    #[arg(long, default_value_t = 100_000)]
    vectors: usize,
    #[arg(long, default_value_t = 128)]
    dimensions: usize,
    /// How many searches are judged
    #[arg(long, default_value_t = 200)]
    queries: usize,
    /// From how many rows on the server copies an index
    #[arg(long, default_value_t = 5_000)]
    rows_min: usize,
    /// Repeats an earlier run
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Test this binary instead of building one
    #[arg(long, value_name = "BINARY")]
    lodestone: Option<PathBuf>,
}

pub fn run(options: &VectorsOptions) -> Result<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    for kind in [Kind::Random, Kind::Clustered] {
        runtime.block_on(campaign(options, kind)).with_context(|| format!("{kind:?} vectors"))?;
    }
    Ok(())
}

#[derive(Clone, Copy, Debug)]
enum Kind {
    Random,
    Clustered,
}

/// Where vectors come from.
struct Source {
    kind: Kind,
    dimensions: usize,
    random: fastrand::Rng,
    centers: Vec<Vec<f32>>,
}

impl Source {
    fn new(options: &VectorsOptions, kind: Kind) -> Source {
        let mut random = fastrand::Rng::with_seed(options.seed);
        let mut center = |_| (0..options.dimensions).map(|_| bell(&mut random)).collect();
        let centers = (0..CLUSTERS).map(&mut center).collect();
        Source { kind, dimensions: options.dimensions, random, centers }
    }

    fn vector(&mut self) -> Vec<f32> {
        let random = &mut self.random;
        match self.kind {
            Kind::Random => (0..self.dimensions).map(|_| bell(random)).collect(),
            Kind::Clustered => {
                let center = &self.centers[random.usize(..CLUSTERS)];
                center.iter().map(|number| number + 0.25 * bell(random)).collect()
            }
        }
    }
}

/// Numbers around zero, most of them small.
fn bell(random: &mut fastrand::Rng) -> f32 {
    (0..12).map(|_| random.f32()).sum::<f32>() - 6.0
}

/// All that was acknowledged, by key.
type Known = BTreeMap<String, Vec<f32>>;

async fn campaign(options: &VectorsOptions, kind: Kind) -> Result<()> {
    let mut source = Source::new(options, kind);
    let mut known: Known = (0..options.vectors).map(|number| (number.to_string(), source.vector())).collect();
    let rows_min = options.rows_min.to_string();
    let victim = Victim::new("vectors", options.lodestone.as_ref(), None, &["--vector-rows-min", &rows_min])?;
    victim.note("seed", options.seed);
    let server = victim.start().await?;
    let mut connection = Connection::open(server.address).await?;
    fill(&mut connection, options, &known).await?;

    let walked = searches(&mut connection, &mut source, &known, WALKS).await?;
    until_copied(&server, options.vectors).await?;
    let copied = searches(&mut connection, &mut source, &known, options.queries).await?;
    write_and_search(&mut connection, &mut source, &mut known, WRITES).await?;
    let memory_mb = server.resident_bytes()? / 1_000_000;

    // One more write is under way while the server is killed. It may be there or not.
    let lost = ("lost".to_owned(), source.vector());
    let put = encode_put(&lost.0, &lost.1);
    let mut other = Connection::open(server.address).await?;
    let writing = tokio::spawn(async move { call(&mut other, "PutItem", &put).await.is_ok() });
    server.kill().await?;
    let is_known = writing.await?;
    let server = victim.start().await?;
    let mut connection = Connection::open(server.address).await?;
    let key = json!({"TableName": TABLE, "Key": {"p": {"S": lost.0}}, "ConsistentRead": true});
    let is_there = call(&mut connection, "GetItem", &key).await?.get("Item").is_some();
    ensure!(is_there || !is_known, "an acknowledged write is gone");
    if is_there {
        known.insert(lost.0, lost.1);
    }
    let after_kill = searches(&mut connection, &mut source, &known, WALKS).await?;
    until_copied(&server, known.len()).await?;
    let again = searches(&mut connection, &mut source, &known, options.queries).await?;
    server.stop().await?;

    for (name, measured) in [
        ("by rows", &walked),
        ("by a copy", &copied),
        ("by rows after a kill", &after_kill),
        ("by a copy after it", &again),
    ] {
        ensure!(measured.recall >= RECALL_MIN, "{name}: a recall of {}", measured.recall);
    }
    println!(
        "vectors: {} {kind:?} ones of {} dimensions: recall at {TOP_K} is {:.4} and {:.4} after kill -9; a search took {:.1} ms \
         (median; 99%: {:.1} ms), and the first one, which read all rows, {:.1} ms; {memory_mb} MB resident",
        options.vectors,
        options.dimensions,
        copied.recall,
        again.recall,
        copied.percentile_ms(0.5),
        copied.percentile_ms(0.99),
        walked.percentile_ms(0.5),
    );
    victim.passed();
    Ok(())
}

fn encode_vector(vector: &[f32]) -> Value {
    vector.iter().map(|number| json!({"N": number.to_string()})).collect()
}

fn item(key: &str, vector: &[f32]) -> Value {
    json!({"p": {"S": key}, "v": {"L": encode_vector(vector)}})
}

fn encode_put(key: &str, vector: &[f32]) -> Value {
    json!({"TableName": TABLE, "Item": item(key, vector)})
}

/// Writes the vectors. The index is made when half of them are there, while the others are written.
async fn fill(connection: &mut Connection, options: &VectorsOptions, known: &Known) -> Result<()> {
    let definition = json!([{"AttributeName": "p", "AttributeType": "S"}]);
    let create = json!({
        "TableName": TABLE, "BillingMode": "PAY_PER_REQUEST", "AttributeDefinitions": definition,
        "KeySchema": [{"AttributeName": "p", "KeyType": "HASH"}],
    });
    call(connection, "CreateTable", &create).await?;
    until_active(connection, TABLE).await?;
    let all: Vec<(&String, &Vec<f32>)> = known.iter().collect();
    let (first, second) = all.split_at(all.len() / 2);
    write(connection, first).await?;
    let index = json!({
        "IndexName": "ByV", "VectorAttribute": {"AttributeName": "v"}, "Dimensions": options.dimensions,
        "DistanceFunction": "COSINE", "Projection": {"ProjectionType": "KEYS_ONLY"},
    });
    let update = json!({"TableName": TABLE, "VectorIndexUpdates": [{"Create": index}]});
    call(connection, "UpdateTable", &update).await?;
    write(connection, second).await?;
    wait::until("the index is ACTIVE", async || {
        let shown = call(connection, "DescribeTable", &json!({"TableName": TABLE})).await?;
        Ok(shown["Table"]["VectorIndexes"][0]["IndexStatus"] == "ACTIVE")
    })
    .await
}

async fn write(connection: &mut Connection, vectors: &[(&String, &Vec<f32>)]) -> Result<()> {
    for batch in vectors.chunks(BATCH) {
        let puts: Value =
            batch.iter().map(|(key, vector)| json!({"PutRequest": {"Item": item(key, vector)}})).collect();
        let answer = call(connection, "BatchWriteItem", &json!({"RequestItems": {TABLE: puts}})).await?;
        let left = answer["UnprocessedItems"].as_object().is_some_and(|left| !left.is_empty());
        ensure!(!left, "an item was not written");
    }
    Ok(())
}

/// The keys that a search finds, with their scores.
async fn search(connection: &mut Connection, query: &[f32], top_k: usize) -> Result<Vec<(String, f64)>> {
    let body =
        json!({"TableName": TABLE, "IndexName": "ByV", "SearchVector": encode_vector(query), "TopK": top_k});
    let answer = call(connection, "SearchVectors", &body).await?;
    let results = answer["SearchResults"].as_array().context("a search has results")?;
    let result =
        |result: &Value| Some((result["Item"]["p"]["S"].as_str()?.to_owned(), result["Score"].as_f64()?));
    results.iter().map(|it| result(it).context("a result has a key and a score")).collect()
}

/// How many of the nearest were found, and how long it took.
struct Measured {
    recall: f64,
    times_ms: Vec<f64>,
}

impl Measured {
    fn percentile_ms(&self, share: f64) -> f64 {
        self.times_ms[((self.times_ms.len() - 1) as f64 * share) as usize]
    }
}

/// Searches for new vectors, and judges what is found.
async fn searches(
    connection: &mut Connection,
    source: &mut Source,
    known: &Known,
    count: usize,
) -> Result<Measured> {
    let (mut right, mut times_ms) = (0, Vec::new());
    for _ in 0..count {
        let query = source.vector();
        let began = Instant::now();
        let found = search(connection, &query, TOP_K).await?;
        times_ms.push(began.elapsed().as_secs_f64() * 1000.0);
        ensure!(found.len() == TOP_K, "{} items were found", found.len());
        let mut scores: Vec<f64> = known.values().map(|vector| cosine(&query, vector)).collect();
        scores.sort_by(f64::total_cmp);
        for (key, score) in &found {
            let vector = known.get(key).with_context(|| format!("{key} was never written"))?;
            ensure!((cosine(&query, vector) - score).abs() < 1e-9, "{key} has a wrong score");
            right += usize::from(*score <= scores[TOP_K - 1] + 1e-9);
        }
    }
    times_ms.sort_by(f64::total_cmp);
    Ok(Measured { recall: right as f64 / (count * TOP_K) as f64, times_ms })
}

fn cosine(left: &[f32], right: &[f32]) -> f64 {
    let dot = |left: &[f32], right: &[f32]| -> f64 {
        left.iter().zip(right).map(|(left, right)| f64::from(*left) * f64::from(*right)).sum()
    };
    1.0 - dot(left, right) / (dot(left, left) * dot(right, right)).sqrt()
}

/// Waits until the server searches by a copy of the index.
async fn until_copied(server: &Server, vectors: usize) -> Result<()> {
    let expected = format!("\nlodestone_copied_vectors {vectors}\n");
    wait::until("the index is copied", async || Ok(metrics(server).await?.contains(&expected))).await
}

async fn metrics(server: &Server) -> Result<String> {
    let mut stream = TcpStream::connect(server.address).await?;
    let request = format!("GET /metrics HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n\r\n", server.address);
    stream.write_all(request.as_bytes()).await?;
    let mut text = String::new();
    stream.read_to_string(&mut text).await?;
    Ok(text)
}

/// Writes vectors while others are changed, and finds each at once.
async fn write_and_search(
    connection: &mut Connection,
    source: &mut Source,
    known: &mut Known,
    count: usize,
) -> Result<()> {
    let mut other = connection.again().await?;
    let changed: Vec<(String, Vec<f32>)> =
        known.keys().take(2 * count).cloned().map(|key| (key, source.vector())).collect();
    let changing = changed.clone();
    let changes = tokio::spawn(async move {
        for (key, vector) in &changing {
            call(&mut other, "PutItem", &encode_put(key, vector)).await?;
        }
        anyhow::Ok(())
    });
    for number in 0..count {
        let (key, vector) = (format!("new-{number}"), source.vector());
        call(connection, "PutItem", &encode_put(&key, &vector)).await?;
        let found = search(connection, &vector, 1).await?;
        ensure!(found.first().is_some_and(|(first, _)| *first == key), "{key} was not found: {found:?}");
        known.insert(key, vector);
    }
    changes.await??;
    known.extend(changed);
    let gone: Vec<String> =
        known.keys().filter(|key| key.starts_with("new-")).take(count / 2).cloned().collect();
    for key in gone {
        call(connection, "DeleteItem", &json!({"TableName": TABLE, "Key": {"p": {"S": key}}})).await?;
        let vector = known.remove(&key).context("it was there")?;
        let found = search(connection, &vector, 1).await?;
        ensure!(found.first().is_some_and(|(first, _)| *first != key), "{key} is found after its deletion");
    }
    Ok(())
}
