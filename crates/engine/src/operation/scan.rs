//! Scan: walks a whole table, or one segment of it, in the order of the hashes.

use api::{Error, Operation, ScanInput, ScanOutput};
use expression::{Condition, Projection};
use store::{Direction, Range};

use super::answer_size::AnswerSize;
use super::authorization::access::{self, Access, Detail, Resource};
use super::consumed::consumed;
use super::paging;
use super::parameters::Parameters;
use super::{Kind, Serve, scalar_keys};
use crate::Namespace;
use crate::base::caller::Caller;
use crate::base::key::segment_range;
use crate::operation::Engine;
use crate::read::items::{self, PageRequest, PageWalk};
use crate::read::source::Source;

pub(super) struct Scan;

impl Serve for Scan {
    type Input = ScanInput;
    type Output = ScanOutput;
    const KIND: Kind = Kind::Read;

    fn access<'r>(input: &'r ScanInput, _: &Namespace) -> Vec<Access<'r>> {
        let is_projected = input.projection_expression.is_some() || input.attributes_to_get.is_some();
        let access =
            Access::new("dynamodb:Scan", Resource::source(&input.table_name, input.index_name.as_deref()))
                .with(Detail {
                    listed: access::listed(
                        input.attributes_to_get.as_ref(),
                        [access::keys(input.scan_filter.as_ref())],
                    ),
                    names: input.expression_attribute_names.as_ref(),
                    values: input.expression_attribute_values.as_ref(),
                    filter: input.filter_expression.as_deref(),
                    projection: input.projection_expression.as_deref(),
                    select: access::select(input.select, is_projected),
                    return_consumed_capacity: access::return_consumed_capacity(
                        input.return_consumed_capacity,
                    ),
                    ..Detail::default()
                });
        vec![access]
    }

    fn answer_size(input: &ScanInput) -> AnswerSize {
        AnswerSize::of_page(input.limit, input.select)
    }

    async fn run(engine: &Engine, caller: &Caller, input: ScanInput) -> Result<ScanOutput, Error> {
        input.check()?;
        let (names, values) = (&input.expression_attribute_names, &input.expression_attribute_values);
        let mut parameters = Parameters::of_read(engine, names, values)?;
        let filter = parameters.filter(
            input.filter_expression.as_deref(),
            input.scan_filter.as_ref(),
            input.conditional_operator,
        )?;
        let projection = parameters
            .projection(input.projection_expression.as_deref(), input.attributes_to_get.as_deref())?;
        parameters.finish()?;
        let table = engine.table(caller, &input.table_name)?;
        let source =
            Source::find(&table, input.index_name.as_deref(), input.consistent_read, Operation::Scan)?;
        scalar_keys::check_source(source, filter.iter().flat_map(Condition::paths))?;
        scalar_keys::check_source(source, projection.iter().flat_map(Projection::paths))?;
        source.check_select(input.select, projection.as_ref())?;
        let request = PageRequest {
            operation: Operation::Scan,
            source,
            partition_key: None,
            walk: PageWalk::Scan(range(source, &input)?),
            direction: Direction::Forward,
            mode: paging::read_mode(input.consistent_read),
            limit: paging::limit(input.limit),
            filter: filter.as_ref(),
            projection: projection.as_ref(),
            from_table: source.needs_table(input.select, projection.as_ref()),
            count_only: paging::count_only(input.select),
        };

        let page = items::page(engine, &request).await?;

        Ok(ScanOutput {
            consumed_capacity: consumed(input.return_consumed_capacity, &table, &page.units),
            count: Some(page.count as i32),
            scanned_count: Some(page.scanned as i32),
            last_evaluated_key: page.stopped.map(|stopped| stopped.key),
            items: (!request.count_only).then_some(page.items),
        })
    }
}

/// The segment's hashes, from the start key on.
fn range(source: Source<'_>, input: &ScanInput) -> Result<Range, Error> {
    let (segment, total) = (input.segment.unwrap_or(0), input.total_segments.unwrap_or(1));
    let range = segment_range(source.space(), segment as u32, total as u32);
    let Some(start) = &input.exclusive_start_key else { return Ok(range) };
    source.check_start_key(start.as_ref()).map_err(|_| Error::scan_start_key_invalid())?;
    let position = source.position(start.as_ref());
    if !items::contains(&range, &position) {
        return Err(Error::start_key_outside_segment(segment, total));
    }
    Ok(items::resume(range, Direction::Forward, position))
}
