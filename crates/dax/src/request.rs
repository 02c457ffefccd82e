//! Requests as they come in: a service, a method and its arguments, one CBOR value after the other.
//!
//! What needs a table's key schema (keys, items) stays bytes here; `service.rs` reads it.

use api::{ReturnConsumedCapacity, ReturnItemCollectionMetrics, ReturnValue, Select};

use crate::attribute_list;
use crate::cbor::{Malformed, Reader};

/// The first value of a connection.
pub const MAGIC: &str = "J7yne5G";

/// The values that a connection starts with: the magic text, layering, the session's id, properties, types.
pub const GREETING_VALUES: usize = 5;

/// The only service that there is.
pub const SERVICE: i64 = 1;

/// What can be called, by its number on the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    AuthorizeConnection,
    Endpoints,
    DefineKeySchema,
    DefineAttributeListId,
    DefineAttributeList,
    GetItem,
    PutItem,
    UpdateItem,
    DeleteItem,
    Query,
    Scan,
    BatchGetItem,
    BatchWriteItem,
    TransactGetItems,
    TransactWriteItems,
    Methods,
    Services,
}

impl Method {
    pub const ALL: [Method; 17] = [
        Method::AuthorizeConnection,
        Method::Endpoints,
        Method::DefineKeySchema,
        Method::DefineAttributeListId,
        Method::DefineAttributeList,
        Method::GetItem,
        Method::PutItem,
        Method::UpdateItem,
        Method::DeleteItem,
        Method::Query,
        Method::Scan,
        Method::BatchGetItem,
        Method::BatchWriteItem,
        Method::TransactGetItems,
        Method::TransactWriteItems,
        Method::Methods,
        Method::Services,
    ];

    pub fn number(self) -> i64 {
        match self {
            Method::AuthorizeConnection => 1_489_122_155,
            Method::Endpoints => 455_855_874,
            Method::DefineKeySchema => -742_646_399,
            Method::DefineAttributeListId => -1_230_579_644,
            Method::DefineAttributeList => 670_678_385,
            Method::GetItem => 263_244_906,
            Method::PutItem => -2_106_490_455,
            Method::UpdateItem => 1_425_579_023,
            Method::DeleteItem => 1_013_539_361,
            Method::Query => -931_250_863,
            Method::Scan => -1_875_390_620,
            Method::BatchGetItem => -697_851_100,
            Method::BatchWriteItem => 116_217_951,
            Method::TransactGetItems => 1_866_287_579,
            Method::TransactWriteItems => -1_160_037_738,
            Method::Methods => 785_068_263,
            Method::Services => -1_016_793_520,
        }
    }

    pub fn from_number(number: i64) -> Option<Method> {
        Method::ALL.into_iter().find(|method| method.number() == number)
    }

    /// DynamoDB's name of it; none if it is no operation of DynamoDB.
    pub fn operation(self) -> Option<&'static str> {
        Some(match self {
            Method::GetItem => "GetItem",
            Method::PutItem => "PutItem",
            Method::UpdateItem => "UpdateItem",
            Method::DeleteItem => "DeleteItem",
            Method::Query => "Query",
            Method::Scan => "Scan",
            Method::BatchGetItem => "BatchGetItem",
            Method::BatchWriteItem => "BatchWriteItem",
            Method::TransactGetItems => "TransactGetItems",
            Method::TransactWriteItems => "TransactWriteItems",
            _ => return None,
        })
    }

    /// How many values follow the method's number.
    pub fn argument_count(self) -> usize {
        match self {
            Method::Endpoints | Method::Methods | Method::Services => 0,
            Method::DefineKeySchema | Method::DefineAttributeListId | Method::DefineAttributeList => 1,
            Method::Scan | Method::BatchGetItem | Method::BatchWriteItem => 2,
            Method::GetItem | Method::UpdateItem | Method::DeleteItem | Method::Query => 3,
            Method::PutItem | Method::TransactGetItems => 4,
            Method::AuthorizeConnection => 5,
            Method::TransactWriteItems => 9,
        }
    }

    /// How much memory its answer may take beyond what every request has: a page has 1 MB and a batch 16 MB, and
    /// items are there twice, as they were read and as they are sent.
    pub fn answer_bytes(self) -> usize {
        match self {
            Method::Query | Method::Scan => 4 << 20,
            Method::TransactGetItems => 8 << 20,
            Method::BatchGetItem => 32 << 20,
            _ => 0,
        }
    }
}

/// A request, its arguments understood as far as that needs no table.
#[derive(Debug)]
pub enum Request<'b> {
    AuthorizeConnection {
        access_key: &'b str,
        signature: &'b str,
        string_to_sign: &'b str,
        session_token: Option<&'b str>,
        user_agent: Option<&'b str>,
    },
    Endpoints,
    DefineKeySchema {
        table: &'b str,
    },
    DefineAttributeListId {
        names: Vec<String>,
    },
    DefineAttributeList {
        id: i64,
    },
    GetItem {
        table: &'b str,
        key: &'b [u8],
        options: Options<'b>,
    },
    PutItem {
        table: &'b str,
        key: &'b [u8],
        values: &'b [u8],
        options: Options<'b>,
    },
    UpdateItem {
        table: &'b str,
        key: &'b [u8],
        options: Options<'b>,
    },
    DeleteItem {
        table: &'b str,
        key: &'b [u8],
        options: Options<'b>,
    },
    Query {
        table: &'b str,
        key_condition: Option<&'b [u8]>,
        options: Options<'b>,
    },
    Scan {
        table: &'b str,
        options: Options<'b>,
    },
    BatchGetItem {
        tables: Vec<TableKeys<'b>>,
        options: Options<'b>,
    },
    BatchWriteItem {
        tables: Vec<TableWrites<'b>>,
        options: Options<'b>,
    },
    TransactGetItems {
        gets: Vec<TransactGet<'b>>,
        options: Options<'b>,
    },
    TransactWriteItems {
        writes: Vec<TransactWrite<'b>>,
        options: Options<'b>,
    },
    Methods,
    Services,
}

impl Request<'_> {
    /// The tables that it names, each once.
    pub fn tables(&self) -> Vec<String> {
        let mut tables: Vec<&str> = match self {
            Request::GetItem { table, .. }
            | Request::PutItem { table, .. }
            | Request::UpdateItem { table, .. }
            | Request::DeleteItem { table, .. }
            | Request::Query { table, .. }
            | Request::Scan { table, .. } => vec![table],
            Request::BatchGetItem { tables, .. } => tables.iter().map(|one| one.table).collect(),
            Request::BatchWriteItem { tables, .. } => tables.iter().map(|one| one.table).collect(),
            Request::TransactGetItems { gets, .. } => gets.iter().map(|one| one.table).collect(),
            Request::TransactWriteItems { writes, .. } => writes.iter().map(|one| one.table).collect(),
            _ => Vec::new(),
        };
        tables.sort_unstable();
        tables.dedup();
        tables.into_iter().map(str::to_owned).collect()
    }
}

/// What BatchGetItem reads of one table.
#[derive(Debug)]
pub struct TableKeys<'b> {
    pub table: &'b str,
    pub consistent_read: bool,
    pub projection: Option<&'b [u8]>,
    pub keys: Vec<&'b [u8]>,
}

/// What BatchWriteItem writes to one table: keys, and the values of items that are put.
#[derive(Debug)]
pub struct TableWrites<'b> {
    pub table: &'b str,
    pub writes: Vec<(&'b [u8], Option<&'b [u8]>)>,
}

#[derive(Debug)]
pub struct TransactGet<'b> {
    pub table: &'b str,
    pub key: &'b [u8],
    pub projection: Option<&'b [u8]>,
}

#[derive(Debug)]
pub struct TransactWrite<'b> {
    pub action: Action,
    pub table: &'b str,
    pub key: &'b [u8],
    pub values: Option<&'b [u8]>,
    pub returns_old_on_failure: bool,
    pub condition: Option<&'b [u8]>,
    pub update: Option<&'b [u8]>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    Put,
    Update,
    Delete,
    ConditionCheck,
}

/// The optional parameters of a request.
#[derive(Debug, Default)]
pub struct Options<'b> {
    pub projection: Option<&'b [u8]>,
    pub consistent_read: Option<bool>,
    pub return_consumed_capacity: Option<ReturnConsumedCapacity>,
    pub condition: Option<&'b [u8]>,
    pub return_item_collection_metrics: Option<ReturnItemCollectionMetrics>,
    pub return_values: Option<ReturnValue>,
    pub update: Option<&'b [u8]>,
    pub exclusive_start_key: Option<&'b [u8]>,
    pub filter: Option<&'b [u8]>,
    pub index: Option<&'b str>,
    pub limit: Option<i32>,
    pub scan_index_forward: Option<bool>,
    pub select: Option<Select>,
    pub segment: Option<i32>,
    pub total_segments: Option<i32>,
    pub client_request_token: Option<&'b str>,
}

impl<'b> Request<'b> {
    /// Reads the arguments of a method.
    pub fn read(method: Method, arguments: &'b [u8]) -> Result<Request<'b>, Malformed> {
        let reader = &mut Reader(arguments);
        Ok(match method {
            Method::AuthorizeConnection => Request::AuthorizeConnection {
                access_key: reader.text()?,
                signature: reader.text()?,
                string_to_sign: reader.name()?,
                session_token: reader.optional(Reader::text)?,
                user_agent: reader.optional(Reader::text)?,
            },
            Method::Endpoints => Request::Endpoints,
            Method::Methods => Request::Methods,
            Method::Services => Request::Services,
            Method::DefineKeySchema => Request::DefineKeySchema { table: reader.name()? },
            Method::DefineAttributeListId => {
                Request::DefineAttributeListId { names: attribute_list::read_names(reader)? }
            }
            Method::DefineAttributeList => Request::DefineAttributeList { id: reader.int()? },
            Method::GetItem => Request::GetItem {
                table: reader.name()?,
                key: reader.bytes()?,
                options: Options::read(reader)?,
            },
            Method::PutItem => Request::PutItem {
                table: reader.name()?,
                key: reader.bytes()?,
                values: reader.bytes()?,
                options: Options::read(reader)?,
            },
            Method::UpdateItem => Request::UpdateItem {
                table: reader.name()?,
                key: reader.bytes()?,
                options: Options::read(reader)?,
            },
            Method::DeleteItem => Request::DeleteItem {
                table: reader.name()?,
                key: reader.bytes()?,
                options: Options::read(reader)?,
            },
            Method::Query => Request::Query {
                table: reader.name()?,
                key_condition: reader.optional(Reader::bytes)?,
                options: Options::read(reader)?,
            },
            Method::Scan => Request::Scan { table: reader.name()?, options: Options::read(reader)? },
            Method::BatchGetItem => {
                Request::BatchGetItem { tables: tables(reader, table_keys)?, options: Options::read(reader)? }
            }
            Method::BatchWriteItem => Request::BatchWriteItem {
                tables: tables(reader, table_writes)?,
                options: Options::read(reader)?,
            },
            Method::TransactGetItems => {
                Request::TransactGetItems { gets: gets(reader)?, options: Options::read(reader)? }
            }
            Method::TransactWriteItems => {
                Request::TransactWriteItems { writes: writes(reader)?, options: Options::read(reader)? }
            }
        })
    }
}

impl<'b> Options<'b> {
    /// A null, or a map. Of a key that is there twice the last value counts; clients send some expressions first as
    /// text and then as a tree, and only trees are looked at.
    fn read(reader: &mut Reader<'b>) -> Result<Options<'b>, Malformed> {
        let mut options = Options::default();
        if reader.null()? {
            return Ok(options);
        }
        let mut left = reader.map()?;
        while reader.more(&mut left)? {
            match reader.int()? {
                0 => options.projection = tree(reader)?,
                2 => options.consistent_read = Some(reader.flag()?),
                3 => options.return_consumed_capacity = Some(consumed_capacity(reader.int()?)?),
                4 => options.condition = tree(reader)?,
                6 => {
                    options.return_item_collection_metrics = Some(match reader.int()? {
                        0 => ReturnItemCollectionMetrics::None,
                        _ => ReturnItemCollectionMetrics::Size,
                    });
                }
                7 => options.return_values = Some(return_values(reader.int()?)?),
                8 => options.update = tree(reader)?,
                9 => options.exclusive_start_key = Some(reader.bytes()?),
                10 => options.filter = tree(reader)?,
                11 => options.index = Some(reader.name()?),
                13 => options.limit = Some(small(reader)?),
                14 => options.scan_index_forward = Some(reader.flag()?),
                15 => options.select = Some(select(reader.int()?)?),
                16 => options.segment = Some(small(reader)?),
                17 => options.total_segments = Some(small(reader)?),
                19 => options.client_request_token = reader.optional(Reader::text)?,
                // The names and values of expressions, which their trees have already; and what is not known.
                _ => {
                    reader.skip()?;
                }
            }
        }
        Ok(options)
    }
}

fn tree<'b>(reader: &mut Reader<'b>) -> Result<Option<&'b [u8]>, Malformed> {
    match reader.peek()? {
        crate::cbor::Head::Bytes(_) => reader.bytes().map(Some),
        _ => reader.skip().map(|_| None),
    }
}

fn small(reader: &mut Reader<'_>) -> Result<i32, Malformed> {
    i32::try_from(reader.int()?).map_err(|_| Malformed("the integer is too large"))
}

fn consumed_capacity(number: i64) -> Result<ReturnConsumedCapacity, Malformed> {
    Ok(match number {
        0 => ReturnConsumedCapacity::None,
        1 => ReturnConsumedCapacity::Total,
        2 => ReturnConsumedCapacity::Indexes,
        _ => return Err(Malformed("no such value of ReturnConsumedCapacity")),
    })
}

fn return_values(number: i64) -> Result<ReturnValue, Malformed> {
    Ok(match number {
        1 => ReturnValue::None,
        2 => ReturnValue::AllOld,
        3 => ReturnValue::UpdatedOld,
        4 => ReturnValue::AllNew,
        5 => ReturnValue::UpdatedNew,
        _ => return Err(Malformed("no such value of ReturnValues")),
    })
}

fn select(number: i64) -> Result<Select, Malformed> {
    Ok(match number {
        1 => Select::AllAttributes,
        2 => Select::AllProjectedAttributes,
        3 => Select::Count,
        4 => Select::SpecificAttributes,
        _ => return Err(Malformed("no such value of Select")),
    })
}

fn tables<'b, T>(
    reader: &mut Reader<'b>,
    read: fn(&'b str, &mut Reader<'b>) -> Result<T, Malformed>,
) -> Result<Vec<T>, Malformed> {
    let mut tables = Vec::new();
    let mut left = reader.map()?;
    while reader.more(&mut left)? {
        let table = reader.name()?;
        tables.push(read(table, reader)?);
    }
    Ok(tables)
}

fn table_keys<'b>(table: &'b str, reader: &mut Reader<'b>) -> Result<TableKeys<'b>, Malformed> {
    let mut left = reader.array()?;
    let mut part = |reader: &mut Reader<'b>| match reader.more(&mut left)? {
        true => Ok(()),
        false => Err(Malformed("the keys of a table have three parts")),
    };
    part(reader)?;
    let consistent_read = reader.flag()?;
    part(reader)?;
    let projection = reader.optional(Reader::bytes)?;
    part(reader)?;
    let keys = reader.elements(Reader::bytes)?;
    match reader.more(&mut left)? {
        false => Ok(TableKeys { table, consistent_read, projection, keys }),
        true => Err(Malformed("the keys of a table have three parts")),
    }
}

fn table_writes<'b>(table: &'b str, reader: &mut Reader<'b>) -> Result<TableWrites<'b>, Malformed> {
    let mut left = reader.array()?;
    let mut writes = Vec::new();
    while reader.more(&mut left)? {
        let key = reader.bytes()?;
        if !reader.more(&mut left)? {
            return Err(Malformed("a key of a batch has a value or null"));
        }
        writes.push((key, reader.optional(Reader::bytes)?));
    }
    Ok(TableWrites { table, writes })
}

fn gets<'b>(reader: &mut Reader<'b>) -> Result<Vec<TransactGet<'b>>, Malformed> {
    let tables = reader.elements(Reader::name)?;
    let keys = reader.elements(Reader::bytes)?;
    let projections = nullable(reader, tables.len(), Reader::bytes)?;
    if keys.len() != tables.len() {
        return Err(LENGTHS);
    }
    let gets = tables.into_iter().zip(keys).zip(projections);
    Ok(gets.map(|((table, key), projection)| TransactGet { table, key, projection }).collect())
}

const LENGTHS: Malformed = Malformed("the parts of a transaction have different lengths");

fn writes<'b>(reader: &mut Reader<'b>) -> Result<Vec<TransactWrite<'b>>, Malformed> {
    let actions = reader.elements(|reader| {
        Ok(match reader.int()? {
            2 => Action::Put,
            6 | 9 => Action::Update,
            7 => Action::Delete,
            12 => Action::ConditionCheck,
            _ => return Err(Malformed("no such action of a transaction")),
        })
    })?;
    let count = actions.len();
    let tables = reader.elements(Reader::name)?;
    let keys = reader.elements(Reader::bytes)?;
    let values = nullable(reader, count, Reader::bytes)?;
    // ReturnValues, which transactions don't have.
    reader.skip()?;
    let on_failure = nullable(reader, count, Reader::int)?;
    let conditions = nullable(reader, count, Reader::bytes)?;
    let updates = nullable(reader, count, Reader::bytes)?;
    if tables.len() != count || keys.len() != count {
        return Err(LENGTHS);
    }
    let write = |place: usize| TransactWrite {
        action: actions[place],
        table: tables[place],
        key: keys[place],
        values: values[place],
        returns_old_on_failure: on_failure[place] == Some(2),
        condition: conditions[place],
        update: updates[place],
    };
    Ok((0..count).map(write).collect())
}

/// As many values as there are actions, each of which may be null, as may all of them together.
fn nullable<'b, T: Clone>(
    reader: &mut Reader<'b>,
    count: usize,
    read: fn(&mut Reader<'b>) -> Result<T, Malformed>,
) -> Result<Vec<Option<T>>, Malformed> {
    if reader.null()? {
        return Ok(vec![None; count]);
    }
    let values = reader.elements(|reader| reader.optional(read))?;
    if values.len() == count { Ok(values) } else { Err(LENGTHS) }
}
