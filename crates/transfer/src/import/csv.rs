//! CSV: a header, then one item a record. Records may span lines, between quotes.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use csv_core::{ReadRecordResult, Reader, ReaderBuilder};
use item::{ItemBuilder, Number, Type, Value, ValueBuf, ValueError};

use super::CsvOptions;
use crate::format::{LineFault, PutRecord};
use crate::reader::{RECORD_BYTES_MAX, ReadError, TextReader};

/// How many columns a record may have. An attribute takes at least a byte for its name, so no item has more.
const COLUMNS_MAX: usize = 400 << 10;

/// Reads one object.
pub struct CsvReader {
    core: Reader,
    /// The text of the fields, one behind the other, and where each ends.
    fields: Vec<u8>,
    ends: Vec<usize>,
    /// How much of both the record has so far. A call that was dropped is continued by the next one.
    length: usize,
    columns: usize,
    header: Option<Vec<String>>,
}

impl CsvReader {
    pub fn new(options: &CsvOptions) -> CsvReader {
        CsvReader {
            core: ReaderBuilder::new().delimiter(options.delimiter).build(),
            fields: vec![0; 4 << 10],
            ends: vec![0; 64],
            length: 0,
            columns: 0,
            header: options.header.clone(),
        }
    }

    /// The next item; `None` at the end of the object.
    pub async fn next(
        &mut self,
        options: &CsvOptions,
        text: &mut TextReader,
    ) -> Result<Option<Result<PutRecord, LineFault>>, ReadError> {
        if self.header.is_none() {
            let Some(columns) = self.record(text).await? else { return Ok(None) };
            match self.texts(columns).map(|fields| fields.map(str::to_owned).collect()) {
                Ok(header) => self.header = Some(header),
                Err(_) => {
                    let what = "The header of the CSV file is not UTF-8".to_owned();
                    return Ok(Some(Err(LineFault::Unparseable(what))));
                }
            }
        }
        let Some(columns) = self.record(text).await? else { return Ok(None) };
        let item = self.item(options, columns).map_err(LineFault::Refused);
        Ok(Some(item.map(|item| PutRecord { item, ..PutRecord::default() })))
    }

    /// Reads one record into `fields` and `ends` and returns the number of its columns.
    async fn record(&mut self, text: &mut TextReader) -> Result<Option<usize>, ReadError> {
        loop {
            let piece = text.piece().await?;
            let (result, read, written, ended) =
                self.core.read_record(piece, &mut self.fields[self.length..], &mut self.ends[self.columns..]);
            text.consume(read);
            self.length += written;
            self.columns += ended;
            match result {
                ReadRecordResult::InputEmpty => {}
                ReadRecordResult::OutputFull => grow(&mut self.fields, RECORD_BYTES_MAX)?,
                ReadRecordResult::OutputEndsFull => grow(&mut self.ends, COLUMNS_MAX)?,
                ReadRecordResult::Record => {
                    self.length = 0;
                    return Ok(Some(std::mem::take(&mut self.columns)));
                }
                ReadRecordResult::End => return Ok(None),
            }
        }
    }

    /// The fields of the record that was read last.
    fn texts(&self, columns: usize) -> Result<impl Iterator<Item = &str>, String> {
        let ends = &self.ends[..columns];
        let all = &self.fields[..ends.last().copied().unwrap_or(0)];
        let mut start = 0;
        let fields =
            ends.iter().map(|end| std::str::from_utf8(&all[std::mem::replace(&mut start, *end)..*end]));
        let fields: Result<Vec<&str>, _> = fields.collect();
        fields.map(Vec::into_iter).map_err(|_| "A field of the record is not UTF-8".to_owned())
    }

    /// An empty field is an attribute that the item does not have.
    fn item(&self, options: &CsvOptions, columns: usize) -> Result<item::Item, String> {
        let header = self.header.as_deref().unwrap_or_default();
        if columns != header.len() {
            return Err(format!("The record has {columns} fields, the header has {}", header.len()));
        }
        let mut item = ItemBuilder::default();
        for (name, text) in header.iter().zip(self.texts(columns)?).filter(|(_, text)| !text.is_empty()) {
            if name.is_empty() {
                return Err(ValueError::EmptyName.to_string());
            }
            let kind = options.key_types.get(name).copied().unwrap_or(Type::S);
            item.put(name, value(kind, text)?.as_ref());
        }
        Ok(item.build())
    }
}

fn value(kind: Type, text: &str) -> Result<ValueBuf, String> {
    match kind {
        Type::N => Number::parse(text).map(ValueBuf::from).map_err(|error| error.to_string()),
        Type::B => {
            let bytes = STANDARD.decode(text).map_err(|error| format!("A field is not base64: {error}"))?;
            Ok(Value::B(bytes).into())
        }
        _ => Ok(ValueBuf::from(text)),
    }
}

fn grow<T: Clone + Default>(buffer: &mut Vec<T>, length_max: usize) -> Result<(), ReadError> {
    if buffer.len() >= length_max {
        return Err(ReadError::LongRecord);
    }
    buffer.resize((2 * buffer.len()).min(length_max), T::default());
    Ok(())
}
