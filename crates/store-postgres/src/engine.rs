//! The engines that speak the protocol. Every point in which this store treats them differently is a
//! method of [`Engine`].

use std::fmt;
use std::str::FromStr;

use tokio_postgres::Client;
use tokio_postgres::error::SqlState;

use crate::failure::Failure;

/// What answers behind the URL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Engine {
    /// One PostgreSQL, with or without standbys.
    Postgres,
    /// PostgreSQL with the extension Citus: rows are distributed over the workers by their shard.
    Citus,
    /// YugabyteDB.
    Yugabyte,
    /// CockroachDB.
    Cockroach,
}

/// The tables that are distributed. A key begins with the shard, or holds it, so that an engine can keep
/// the rows of one shard on one node; see `schema`.
const SHARDED: [&str; 6] = [
    "lodestone_row",
    "lodestone_lock",
    "lodestone_log",
    "lodestone_record",
    "lodestone_commit",
    "lodestone_member",
];

/// Every node has the row of the format, so that servers may connect to any of them.
const FORMAT_EVERYWHERE: &str = "SELECT create_reference_table('lodestone_format')";

/// Citus refuses to write a reference table after a statement that ran on several connections, in the same transaction.
const SEQUENTIAL: &str = "SET LOCAL citus.multi_shard_modify_mode = 'sequential'";

impl Engine {
    /// All engines, in the order in which help texts name them.
    pub const ALL: [Engine; 4] = [Engine::Postgres, Engine::Citus, Engine::Yugabyte, Engine::Cockroach];

    /// Its name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Engine::Postgres => "postgres",
            Engine::Citus => "citus",
            Engine::Yugabyte => "yugabyte",
            Engine::Cockroach => "cockroach",
        }
    }

    /// Which engine answers on this connection.
    pub(crate) async fn recognise(client: &Client) -> Result<Engine, Failure> {
        let version: String = client.query_one("SELECT version()", &[]).await?.try_get(0)?;
        if version.contains("CockroachDB") {
            return Ok(Engine::Cockroach);
        }
        if version.contains("-YB-") {
            return Ok(Engine::Yugabyte);
        }
        const CITUS: &str = "SELECT 1 FROM pg_extension WHERE extname = 'citus'";
        let has_citus = client.query_opt(CITUS, &[]).await?.is_some();
        Ok(if has_citus { Engine::Citus } else { Engine::Postgres })
    }

    /// A primary key in this order. YugabyteDB hashes the first column unless the statement says `ASC`, which
    /// PostgreSQL's syntax does not have there.
    pub(crate) fn primary_key(self, columns: &[&str]) -> String {
        let word = if self == Engine::Yugabyte { " ASC" } else { "" };
        let columns: Vec<String> = columns.iter().map(|column| format!("{column}{word}")).collect();
        format!("PRIMARY KEY ({})", columns.join(", "))
    }

    /// What follows the creation of the tables, in the same transaction.
    pub(crate) fn distribute(self) -> String {
        if self != Engine::Citus {
            return String::new();
        }
        let [first, others @ ..] = SHARDED;
        let others = others.iter().map(|table| {
            format!("SELECT create_distributed_table('{table}', 'shard', colocate_with => '{first}');")
        });
        format!(
            "{SEQUENTIAL}; {FORMAT_EVERYWHERE}; SELECT create_distributed_table('{first}', 'shard');{}",
            others.collect::<String>()
        )
    }

    /// What makes the tables of an earlier version like those of [`Engine::distribute`]. It may be repeated.
    pub(crate) fn upgrade(self) -> Option<String> {
        let is_local = "NOT EXISTS (SELECT FROM pg_dist_partition \
                        WHERE logicalrelid = 'lodestone_format'::regclass)";
        (self == Engine::Citus).then(|| format!("{FORMAT_EVERYWHERE} WHERE {is_local}"))
    }

    /// Settings of every session.
    ///
    /// Each statement of this store is a lookup or a range of a primary key, but new tables have no
    /// statistics that would tell the planner. So other plans are ruled out, and the remaining one is
    /// made once.
    pub(crate) fn settings(self) -> &'static str {
        match self {
            Engine::Postgres | Engine::Yugabyte => {
                "SET enable_seqscan = off; SET enable_bitmapscan = off; \
                 SET plan_cache_mode = force_generic_plan; SET jit = off;"
            }
            // One connection to each worker, so that a transaction sees one moment of it. Citus can't plan a scan over
            // several shards without the values of its parameters, so it chooses the kind of plan itself.
            Engine::Citus => {
                "SET enable_seqscan = off; SET enable_bitmapscan = off; SET jit = off; \
                 SET citus.max_adaptive_executor_pool_size = 1;"
            }
            Engine::Cockroach => "",
        }
    }

    /// Whether it plans a statement on the rows of several keys, which are given as arrays. Citus refuses to; the others
    /// were never asked.
    pub(crate) fn plans_joins(self) -> bool {
        self == Engine::Postgres
    }

    /// Whether this error means that the transaction was aborted in favour of another one and may be
    /// started again.
    pub(crate) fn is_conflict(self, code: &SqlState) -> bool {
        // 40001 and 40P01, the same on all four. A node that lost a race for a row it was to insert
        // answers with a unique violation; no statement of an update causes one by itself.
        let conflicts = [SqlState::T_R_SERIALIZATION_FAILURE, SqlState::T_R_DEADLOCK_DETECTED];
        conflicts.contains(code) || (self != Engine::Postgres && *code == SqlState::UNIQUE_VIOLATION)
    }

    /// Whether a REPEATABLE READ transaction shows one moment of all nodes. Without it, reads of several keys
    /// and snapshots take the lock rows. A scan does not: it may see a part of a write set that spans nodes.
    pub(crate) fn has_cluster_snapshot(self) -> bool {
        self != Engine::Citus
    }
}

impl fmt::Display for Engine {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name())
    }
}

impl FromStr for Engine {
    type Err = String;

    fn from_str(name: &str) -> Result<Engine, String> {
        Engine::ALL.into_iter().find(|engine| engine.name() == name).ok_or_else(|| {
            let names = Engine::ALL.map(Engine::name).join(", ");
            format!("not an engine: {name}. There are {names}")
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn citus_has_the_format_on_every_node_and_the_rest_by_shard() {
        let statements = Engine::Citus.distribute();
        let format = statements.find("create_reference_table('lodestone_format')").expect("it is there");
        for table in SHARDED {
            let distributed = statements.find(&format!("create_distributed_table('{table}', 'shard'"));
            assert!(distributed.is_some_and(|at| at > format), "{table} comes after it: {statements}");
        }
        assert_eq!(Engine::Postgres.distribute(), "");
    }

    #[test]
    fn only_citus_has_something_to_catch_up_with() {
        let upgraded: Vec<Engine> = Engine::ALL.into_iter().filter(|it| it.upgrade().is_some()).collect();
        assert_eq!(upgraded, [Engine::Citus]);
    }
}
