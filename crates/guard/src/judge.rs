//! A request against the models: which patterns it can be, or what is wrong with it.
//!
//! 1. [`Guard::judge`]: before the request is carried out. Which patterns fit, and what a write would store.
//! 2. [`Guard::settle`]: with the figures of its answer. What it read and returned, and the units that it used.

use std::hash::{DefaultHasher, Hash, Hasher};

use api::Request;
use model::model::{Entity, Grouping, Pattern, ReadVerb, TableId};
use model::plan::{self, Plan, ReadOperation, WriteOperation};
use model::{Model, RuleId, Source, Span};

use crate::closest::{self, Closest};
use crate::compare::{Planned, fits_key};
use crate::contents::{self, Fault};
use crate::finding::{Finding, Place, Rule};
use crate::request::{self, Asked, AskedAction, AskedKind, ReadBy, Reading};
use crate::{advice, units};

/// A filter that drops fewer items is harmless in a test, whatever its share.
const DROPPED_MIN: u64 = 10;
/// A filter that keeps less than this share is wasteful; it is R2's `kept`.
const KEPT_MIN: f64 = 0.5;
/// The rule of `model check` whose allowance also allows a wasteful filter.
const FILTER_RULE: RuleId = RuleId(2);

/// The models, ready to judge requests.
pub struct Guard {
    models: Vec<Guarded>,
}

/// A model, with what is known of its patterns before the first request.
pub(crate) struct Guarded {
    pub(crate) source: Source,
    pub(crate) model: Model,
    plans: Vec<Plan>,
    /// The most units of a request; `None` if the model does not declare enough.
    units: Vec<Option<f64>>,
    allows_filter: Vec<bool>,
}

/// A request as it was sent.
#[derive(Clone, Copy)]
pub struct Sent<'r> {
    pub request: &'r Request,
    /// Its JSON, for advice.
    pub body: &'r [u8],
}

/// What is known of a request before it is carried out.
#[derive(Clone, Debug, Default)]
pub struct Verdict {
    /// Whether it is a request that a model can say something about.
    pub is_judged: bool,
    pub is_write: bool,
    pub findings: Vec<Finding>,
    operation: &'static str,
    table: String,
    fit: Option<Fit>,
    has_filter: bool,
    pub(crate) single_read: Option<SingleRead>,
}

/// The pattern that a request is.
#[derive(Clone, Copy, Debug)]
struct Fit {
    pattern: PatternOf,
    units_max: Option<f64>,
}

/// Which pattern of which model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PatternOf {
    model: usize,
    pattern: usize,
}

/// A GetItem: of which pattern, and of which key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SingleRead {
    pub(crate) pattern: PatternOf,
    pub(crate) key: u64,
}

/// What the answer shows.
#[derive(Clone, Copy, Debug, Default)]
pub struct Figures {
    pub units: f64,
    /// Items that a Query or Scan read, and that it returned.
    pub scanned: Option<u64>,
    pub returned: Option<u64>,
}

impl Guard {
    /// Each model with the file that it was read from.
    pub fn new(models: impl IntoIterator<Item = (Source, Model)>) -> Guard {
        let guarded = |(source, model): (Source, Model)| {
            let plans = model.patterns.iter().map(|pattern| plan::plan(&model, pattern)).collect();
            let allows_filter = model.patterns.iter().map(|pattern| allows_filter(&model, pattern)).collect();
            Guarded { plans, units: units::limits(&model), allows_filter, source, model }
        };
        Guard { models: models.into_iter().map(guarded).collect() }
    }

    /// Judges a request by what it says.
    pub fn judge(&self, sent: Sent<'_>) -> Verdict {
        let operation = sent.request.operation().name();
        let verdict = Verdict { operation, ..Verdict::default() };
        match request::read(sent.request) {
            Reading::NotJudged => verdict,
            Reading::Unread(reason) => Verdict {
                is_judged: true,
                // Whatever it may change is not changed.
                is_write: true,
                findings: vec![unread(operation, reason)],
                ..verdict
            },
            Reading::Asked(asked) => self.judge_asked(sent, &asked, verdict),
        }
    }

    fn judge_asked(&self, sent: Sent<'_>, asked: &Asked<'_>, mut verdict: Verdict) -> Verdict {
        verdict.is_judged = true;
        verdict.is_write = asked.actions.iter().any(|action| matches!(action.kind, AskedKind::Write(_)));
        verdict.table = asked.actions[0].table.to_owned();
        let tables = |guarded: &Guarded| -> Option<Vec<TableId>> {
            asked.actions.iter().map(|one| guarded.table(one.table)).collect()
        };
        let found = self.models.iter().enumerate().find_map(|(model, one)| Some((model, one, tables(one)?)));
        let Some((model, guarded, tables)) = found else {
            verdict.findings.push(self.unknown_table(asked, verdict.operation));
            return verdict;
        };
        let fits = guarded.fits(asked, &tables);
        let first = asked.actions.first();
        verdict.has_filter =
            first.is_some_and(|one| matches!(&one.kind, AskedKind::Read(read) if read.filter.is_some()));
        if fits.is_empty() {
            verdict.findings.push(guarded.unknown_pattern(sent, asked, &tables, &verdict));
        } else {
            let pattern = PatternOf { model, pattern: fits[0] };
            verdict.single_read = guarded.single_read(asked, pattern);
            // A group has as many actions as the application likes.
            let units_max = (asked.grouping == Grouping::Single).then(|| guarded.units_max(&fits)).flatten();
            verdict.fit = Some(Fit { pattern, units_max });
        }
        for (action, table) in asked.actions.iter().zip(&tables) {
            let faults = guarded.faults(action, *table);
            verdict
                .findings
                .extend(faults.iter().map(|fault| guarded.of_fault(fault, action, verdict.operation)));
        }
        verdict
    }

    /// The findings, now that it is answered.
    pub fn settle(&self, verdict: Verdict, figures: Figures) -> Vec<Finding> {
        let mut findings = verdict.findings;
        let (scanned, returned) = (figures.scanned.unwrap_or(0), figures.returned.unwrap_or(0));
        let is_wasteful = verdict.has_filter
            && scanned.saturating_sub(returned) >= DROPPED_MIN
            && (returned as f64) < KEPT_MIN * scanned as f64;
        let read = format!("It read {scanned} items to return {returned}, for {} units.", figures.units);
        if let Some(finding) = findings.first_mut().filter(|_| figures.scanned.is_some()) {
            finding.message = format!("{} {read}", finding.message);
            if is_wasteful && finding.rule == Rule::UnknownPattern {
                finding.rule = Rule::WastefulFilter;
            }
        }
        let Some(fit) = verdict.fit else { return findings };
        let (guarded, pattern) = self.pattern(fit.pattern);
        let finding = |rule, message: String, help: &str| Finding {
            rule,
            operation: verdict.operation,
            table: verdict.table.clone(),
            message,
            help: help.to_owned(),
            place: Some(guarded.place(pattern.id.span)),
        };
        let what = || format!("{} for pattern `{}`", verdict.operation, pattern.id.value);
        if is_wasteful && !guarded.allows_filter[fit.pattern.pattern] {
            let what = what();
            let help =
                "put what it filters by into a key, or accept it with `allow: { R2: reason }` at the pattern";
            findings.push(finding(Rule::WastefulFilter, format!("{what} filters. {read}"), help));
        }
        if let Some(most) = fit.units_max.filter(|most| figures.units > *most) {
            let message =
                format!("{} used {} units. By the model it uses at most {:.1}.", what(), figures.units, most);
            let help = "make items or answers smaller, or declare them as large as they are: `size`, `returns` or \
                        `count` with a `max`";
            findings.push(finding(Rule::Units, message, help));
        }
        findings
    }

    /// This many reads of single items, one after the other.
    pub fn repeated(&self, verdict: &Verdict, reads: usize) -> Option<Finding> {
        let (guarded, pattern) = self.pattern(verdict.fit?.pattern);
        Some(Finding {
            rule: Rule::RepeatedRequest,
            operation: verdict.operation,
            table: verdict.table.clone(),
            message: format!("{reads} requests in a row ask `{}`, each for another item.", pattern.id.value),
            help: "ask once: a Query, if the items have one partition key, or a BatchGetItem".to_owned(),
            place: Some(guarded.place(pattern.id.span)),
        })
    }

    fn pattern(&self, of: PatternOf) -> (&Guarded, &Pattern) {
        let guarded = &self.models[of.model];
        (guarded, &guarded.model.patterns[of.pattern])
    }

    fn unknown_table(&self, asked: &Asked<'_>, operation: &'static str) -> Finding {
        let is_known = |name: &str| self.models.iter().any(|one| one.table(name).is_some());
        let tables = || asked.actions.iter().map(|action| action.table);
        let table = tables().find(|name| !is_known(name)).or_else(|| tables().next()).unwrap_or_default();
        let known = self
            .models
            .iter()
            .flat_map(|one| &one.model.tables)
            .map(|table| format!("`{}`", table.name.value));
        let known: Vec<String> = known.collect();
        Finding {
            rule: Rule::UnknownTable,
            operation,
            table: table.to_owned(),
            message: format!("{operation} of table `{table}`: the models have {} alone.", known.join(", ")),
            help: "add its model with a further --guard FILE, or name the table as the model does".to_owned(),
            place: None,
        }
    }
}

impl Guarded {
    fn table(&self, name: &str) -> Option<TableId> {
        self.model.table_ids().find(|id| self.model.table(*id).name.value == name)
    }

    pub(crate) fn planned(&self, pattern: usize, action: usize) -> Option<Planned<'_>> {
        let (one, plan) = (self.model.patterns.get(pattern)?, self.plans.get(pattern)?);
        let (action, plan) = (one.actions.get(action)?, plan.steps.get(action)?);
        Some(Planned { model: &self.model, pattern: one, action, plan })
    }

    /// The patterns that a request can be, by their position. A batch can be several patterns together.
    fn fits(&self, asked: &Asked<'_>, tables: &[TableId]) -> Vec<usize> {
        let all = 0..self.model.patterns.len();
        match asked.grouping {
            Grouping::Single => {
                all.filter(|pattern| self.is_single(*pattern, &asked.actions[0], tables[0])).collect()
            }
            Grouping::Transaction => all.filter(|pattern| self.is_group(*pattern, asked, tables)).collect(),
            Grouping::Batch => {
                let whole: Vec<usize> =
                    all.clone().filter(|one| self.is_group(*one, asked, tables)).collect();
                if !whole.is_empty() {
                    return whole;
                }
                let mut each = asked.actions.iter().zip(tables);
                let first = each.by_ref().map(|(action, table)| {
                    all.clone().find(|pattern| self.is_part_of_batch(*pattern, action, *table))
                });
                first.collect::<Option<Vec<usize>>>().unwrap_or_default()
            }
        }
    }

    fn is_single(&self, pattern: usize, asked: &AskedAction<'_>, table: TableId) -> bool {
        self.model.patterns[pattern].grouping == Grouping::Single && self.is_action(pattern, 0, asked, table)
    }

    /// A batch is many requests in one: each may be a pattern of its own.
    fn is_part_of_batch(&self, pattern: usize, asked: &AskedAction<'_>, table: TableId) -> bool {
        let one = &self.model.patterns[pattern];
        one.grouping != Grouping::Transaction
            && (0..one.actions.len()).any(|action| self.is_action(pattern, action, asked, table))
    }

    fn is_action(&self, pattern: usize, action: usize, asked: &AskedAction<'_>, table: TableId) -> bool {
        let planned = self.planned(pattern, action);
        planned.is_some_and(|planned| planned.table_id() == table && planned.is(asked))
    }

    /// Whether each action of the request is one of the pattern; and, in a transaction, the other way round.
    fn is_group(&self, pattern: usize, asked: &Asked<'_>, tables: &[TableId]) -> bool {
        let one = &self.model.patterns[pattern];
        if one.grouping != asked.grouping {
            return false;
        }
        let mut is_met = vec![false; one.actions.len()];
        let is_one = |(action, table): (&AskedAction<'_>, &TableId)| {
            let mut fitting =
                (0..one.actions.len()).filter(|at| self.is_action(pattern, *at, action, *table));
            // Of equal actions, one that is not met yet.
            let first = fitting.next()?;
            let free = std::iter::once(first).chain(fitting).find(|at| !is_met[*at]);
            is_met[free.unwrap_or(first)] = true;
            Some(())
        };
        let all = asked.actions.iter().zip(tables).map(is_one).collect::<Option<Vec<()>>>().is_some();
        all && (asked.grouping == Grouping::Batch || is_met.iter().all(|met| *met))
    }

    /// A request that can be several patterns may use what the most expensive of them may.
    fn units_max(&self, fits: &[usize]) -> Option<f64> {
        fits.iter().try_fold(0.0, |most: f64, one| Some(most.max(self.units[*one]?)))
    }

    /// A GetItem, unless its pattern says that it takes several requests.
    fn single_read(&self, asked: &Asked<'_>, pattern: PatternOf) -> Option<SingleRead> {
        let one = &self.model.patterns[pattern.pattern];
        let [AskedAction { kind: AskedKind::Read(read), .. }] = asked.actions.as_slice() else { return None };
        let ReadBy::Key(key) = read.by else { return None };
        if asked.grouping != Grouping::Single || one.fan_out.is_some() {
            return None;
        }
        let mut hasher = DefaultHasher::new();
        key.clone().into_stored().hash(&mut hasher);
        Some(SingleRead { pattern, key: hasher.finish() })
    }

    fn faults(&self, action: &AskedAction<'_>, table: TableId) -> Vec<Fault> {
        let AskedKind::Write(write) = &action.kind else { return Vec::new() };
        match (write.operation, &write.update) {
            (WriteOperation::PutItem, _) => contents::of_item(&self.model, table, write.item),
            (WriteOperation::UpdateItem, Some(update)) => {
                let schema = self.model.table(table).key.as_ref();
                let fits = |entity: &Entity| {
                    entity.key.is_some() && schema.is_some_and(|schema| fits_key(entity, schema, write.item))
                };
                let entities =
                    self.model.entities_of(table).map(|(_, entity)| entity).filter(|one| fits(one));
                let faults = entities
                    .map(|entity| contents::of_update(self.model.table(table), entity, write.item, update));
                faults.min_by_key(Vec::len).unwrap_or_default()
            }
            _ => Vec::new(),
        }
    }

    fn of_fault(&self, fault: &Fault, action: &AskedAction<'_>, operation: &'static str) -> Finding {
        let entity = fault.entity().and_then(|name| self.model.entity_named(name));
        let span = entity.map(|id| self.model.entity(id).name.span);
        Finding {
            rule: if fault.is_of_index() { Rule::IndexKey } else { Rule::Item },
            operation,
            table: action.table.to_owned(),
            message: format!("{operation} of table `{}`: {}.", action.table, fault.describe()),
            help: fault.help(),
            place: span.map(|span| self.place(span)),
        }
    }

    fn unknown_pattern(
        &self,
        sent: Sent<'_>,
        asked: &Asked<'_>,
        tables: &[TableId],
        verdict: &Verdict,
    ) -> Finding {
        let is_scan = asked
            .actions
            .iter()
            .any(|one| matches!(&one.kind, AskedKind::Read(read) if read.operation == ReadOperation::Scan));
        let closest = closest::find(self, asked, tables);
        let (operation, file) = (verdict.operation, &self.source.path);
        let what = closest::described(asked, operation);
        let near = closest.as_ref().map(|one| format!(" Closest is `{}`: {}.", one.pattern, one.differences));
        let learned = advice::pattern(&self.model, operation, sent.body);
        let (rule, message) = match is_scan {
            true => (Rule::Scan, format!("{what} reads everything, and no pattern of {file} scans.")),
            false => (Rule::UnknownPattern, format!("{what} is no pattern of {file}.")),
        };
        Finding {
            rule,
            operation,
            table: verdict.table.clone(),
            message: message + &near.unwrap_or_default(),
            help: help(is_scan, closest.as_ref(), learned),
            place: Some(closest.map_or(Place { file: file.clone(), line: 1 }, |one| self.place(one.span))),
        }
    }

    pub(crate) fn place(&self, span: Span) -> Place {
        Place { file: self.source.path.clone(), line: self.source.position(span.start).0 }
    }
}

fn help(is_scan: bool, closest: Option<&Closest>, learned: Option<String>) -> String {
    let change = match (is_scan, closest) {
        (true, _) => "ask by a key, with a Query or GetItem".to_owned(),
        (false, Some(one)) => format!("send what `{}` asks", one.pattern),
        (false, None) => "correct the request".to_owned(),
    };
    match learned {
        Some(learned) => format!("{change}; or, if it is meant, add to `patterns`: {learned}"),
        None => format!("{change}; or, if it is meant, add it to `patterns`"),
    }
}

/// Whether the file accepts that the pattern's filter drops most of what it reads; a Scan has been accepted as such.
fn allows_filter(model: &Model, pattern: &Pattern) -> bool {
    let is_inside = |scope: Span| scope.start <= pattern.span.start && pattern.span.end <= scope.end;
    model.allowances.iter().any(|one| one.rule == FILTER_RULE && is_inside(one.scope))
        || pattern.reads().any(|(_, read)| read.verb == ReadVerb::Scan)
}

fn unread(operation: &'static str, reason: &str) -> Finding {
    Finding {
        rule: Rule::Unread,
        operation,
        table: String::new(),
        message: format!("{operation} can't be compared with the model: {reason}."),
        help: "use the operations on items with expressions, or pause the guard for it".to_owned(),
        place: None,
    }
}
