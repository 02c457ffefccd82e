//! Requests that ask for their consumed capacity, by table and index. An application seldom does; a proof always does.

use api::{
    BatchGetItemInput, BatchWriteItemInput, DeleteItemInput, GetItemInput, PutItemInput, QueryInput,
    ReturnConsumedCapacity, ScanInput, TransactGetItemsInput, TransactWriteItemsInput, UpdateItemInput,
};

pub trait Measured {
    fn measured(self) -> Self;
}

macro_rules! measured {
    ($($input:ident),*) => {
        $(impl Measured for $input {
            fn measured(self) -> $input {
                $input { return_consumed_capacity: Some(ReturnConsumedCapacity::Indexes), ..self }
            }
        })*
    };
}

measured!(
    BatchGetItemInput,
    BatchWriteItemInput,
    DeleteItemInput,
    GetItemInput,
    PutItemInput,
    QueryInput,
    ScanInput,
    TransactGetItemsInput,
    TransactWriteItemsInput,
    UpdateItemInput
);
