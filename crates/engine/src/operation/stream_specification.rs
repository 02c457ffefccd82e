//! Switching the stream of a table on and off, in CreateTable and UpdateTable.

use api::{Error, StreamSpecification, StreamViewType};

pub use crate::base::stream::Moment;
use crate::base::table::Table;

/// The view type of a table that is created; none if it has no stream.
pub fn of_new_table(specification: Option<&StreamSpecification>) -> Result<Option<StreamViewType>, Error> {
    match specification {
        None => Ok(None),
        Some(StreamSpecification { stream_enabled: false, stream_view_type: Some(_) }) => {
            Err(Error::invalid_parameter(
                "Table is being created with a stream disabled, UpdateViewType should not be specified",
            ))
        }
        Some(StreamSpecification { stream_enabled: false, stream_view_type: None }) => Ok(None),
        Some(StreamSpecification { stream_enabled: true, stream_view_type }) => {
            wanted_view(*stream_view_type).map(Some)
        }
    }
}

/// Switches the stream of an existing table on or off.
pub fn update(table: &mut Table, specification: &StreamSpecification, moment: &Moment) -> Result<(), Error> {
    match (specification.stream_enabled, &table.stream) {
        (true, Some(_)) => Err(Error::stream_already_enabled(&table.name)),
        (true, None) => {
            table.switch_stream_on(wanted_view(specification.stream_view_type)?, moment);
            Ok(())
        }
        (false, None) => Err(Error::stream_already_disabled(&table.name)),
        (false, Some(_)) => {
            switch_off(table, moment);
            Ok(())
        }
    }
}

fn switch_off(table: &mut Table, moment: &Moment) {
    table.stream = None;
    if table.log.is_open() {
        table.log.roll(moment.now_us);
    }
    table.settle_log(moment.shards, moment.unused, moment.now_us);
}

fn wanted_view(view: Option<StreamViewType>) -> Result<StreamViewType, Error> {
    view.ok_or_else(|| {
        Error::invalid_parameter(
            "Table is being created with a stream enabled, UpdateViewType should be specified",
        )
    })
}
