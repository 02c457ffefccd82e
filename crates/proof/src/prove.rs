//! The proof of a model: data, then pattern by pattern.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use api::limits;
use model::check::check;
use model::diagnostic::Level;
use model::model::{EntityId, Grouping, Pattern};
use model::plan::{ActionPlan, Gap, Plan, ReadOperation, ReadPlan, plan};
use model::predict::item::size_bytes;
use model::request::{Given, PlannedRead, Unsendable, given, group, write_case};
use model::sample::{Sample, SampleItem, Scale, key_of, rows, sample};
use model::template::plain_text;
use model::{Diagnostic, Model};

use crate::certificate::{Certificate, Finding, PartCapacity, PatternProof, Verdict};
use crate::database::{Database, ItemAddress, address};
use crate::experiment::Experiment;
use crate::extreme::HotKey;
use crate::fault::Fault;
use crate::neighbour::Neighbours;
use crate::trial::{Trial, name_of};
use crate::{adversary, crowd, expectation, extreme, group_read, literal, page};

/// How many kinds of failure are shown for one pattern.
const FINDINGS_MAX: usize = 3;
/// How many items of a data set are shown.
const SHOWN_MAX: usize = 4;
/// The most items that a transaction reads or writes.
const TRANSACTION_ITEMS_MAX: u64 = api::limits::TRANSACTION_ACTIONS_MAX as u64;
/// The most requests sent for one read pattern: a wide fan-out is tried less often.
const REQUESTS_MAX: usize = 1_000;
/// The rules about conditions that only a filter checks.
const FILTER_RULES: [u8; 3] = [2, 13, 16];
/// The rule about items that have expired.
const TTL_RULE: u8 = 27;
/// The rule on reads of a whole table.
const SCAN_RULE: u8 = 1;
/// What one request of a Scan reads at most, with room for the last item.
const SCAN_BYTES_MAX: usize = 512 * 1024;
/// The rule about attributes with two templates.
const TEMPLATES_RULE: u8 = 49;
/// The rule about keys that do not keep an `id` unique.
const IDENTITY_RULE: u8 = 50;
/// A lower limit with which reads that have one are tried too.
const LOWER_LIMIT: u64 = 2;

/// Proves every pattern of the model in memory, or shows why not. The same model gives the same certificate.
pub fn prove(model: &Model) -> Certificate {
    prove_with(model, |_| ())
}

/// The same; `turn` is called with each pattern before it is tried.
pub fn prove_with(model: &Model, turn: impl Fn(&str)) -> Certificate {
    prove_some(model, |pattern| {
        turn(pattern);
        true
    })
}

/// The patterns that are `wanted`, on the data of the whole model.
pub fn prove_some(model: &Model, wanted: impl Fn(&str) -> bool) -> Certificate {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build();
    let proof = async {
        let database = Database::open_partly(model).await.map_err(Fault::from);
        certify(model, database.as_ref().map_err(Fault::clone), wanted).await
    };
    runtime.expect("a runtime without threads needs nothing").block_on(proof)
}

/// The same on a database that has the model's tables, empty. `turn` is called with each pattern before it is tried.
pub async fn prove_on(model: &Model, database: &Database, turn: impl Fn(&str)) -> Certificate {
    let all = |pattern: &str| {
        turn(pattern);
        true
    };
    certify(model, Ok(database), all).await
}

async fn certify(
    model: &Model,
    database: Result<&Database, Fault>,
    wanted: impl Fn(&str) -> bool,
) -> Certificate {
    let concerns = concerns(model);
    let mut findings: Vec<Finding> = two_templates(&concerns).collect();
    let data = self::data(model, &mut findings).await;
    findings.extend(stored_twice(model, &data, &concerns).await);
    let mut refusals: Vec<Refusal> = too_large(model).collect();
    let (database, data) = match database {
        Ok(database) => (Some(database), load(model, database, data, &mut refusals).await),
        Err(fault) => {
            findings.push(Finding::of(fault));
            (None, Vec::new())
        }
    };
    findings.extend(expectation::collisions(model));
    let unused = refusals.iter().filter(|one| one.entity.is_none_or(|id| !is_used(model, id)));
    findings.extend(unused.map(|one| one.finding.clone()));
    let hot = extreme::hot_keys(model, &concerns);
    let prover = Prover {
        model,
        database,
        beside: None,
        data: Cow::Borrowed(&data),
        refusals: &refusals,
        concerns: &concerns,
        hot: &hot,
    };
    let neighbours = Neighbours::of(model);
    let mut patterns = Vec::new();
    for pattern in model.patterns.iter().filter(|pattern| wanted(&pattern.id.value)) {
        patterns.push(prover.near(&neighbours, pattern).pattern(pattern).await);
    }
    Certificate { model: model.name.value.clone(), items: data.len(), findings, patterns }
}

/// An attribute with two values: what that does to the patterns is reported beside them, this is why.
fn two_templates(concerns: &[Diagnostic]) -> impl Iterator<Item = Finding> {
    let found = concerns.iter().filter(|one| one.rule.is_some_and(|rule| rule.0 == TEMPLATES_RULE));
    found.map(|one| {
        let other = one.related.first().map_or("", |(_, text)| text.as_str());
        Finding::of(Fault::Gap(format!("{}: {other}, {}", one.message, one.label)))
    })
}

/// Entities of which two items with the same `id` can be created.
async fn stored_twice(model: &Model, data: &[SampleItem], concerns: &[Diagnostic]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for id in model.entity_ids() {
        let entity = model.entity(id);
        let is_here = |one: &&Diagnostic| entity.span.contains(one.span);
        let mut concerns = concerns.iter().filter(|one| one.rule.is_some_and(|rule| rule.0 == IDENTITY_RULE));
        let Some((one, other)) = concerns.find(is_here).and_then(|_| adversary::doubles(model, id, data))
        else {
            continue;
        };
        if extreme::overwrites(model, &one, &other).await == Some(false) {
            let parts = entity.identity.iter().filter_map(|name| one.get(name));
            let id = parts.map(|value| plain_text(&value)).collect::<Vec<_>>().join(" ");
            let fault = Fault::Twice { entity: entity.name.value.clone(), id };
            findings.push(Finding { data: shown(model, &[one, other]), ..Finding::of(fault) });
        }
    }
    findings
}

/// An item that the database refuses: the patterns that need such items fail, and no others.
struct Refusal {
    entity: Option<EntityId>,
    finding: Finding,
}

fn is_used(model: &Model, id: EntityId) -> bool {
    model.patterns.iter().any(|pattern| touches(pattern, id))
}

fn touches(pattern: &Pattern, id: EntityId) -> bool {
    let read = pattern.reads().any(|(_, read)| read.entities.iter().any(|one| one.value == id));
    read || pattern.writes().any(|(_, write)| write.entity.value == id)
}

/// What the rules find and the file does not allow.
fn concerns(model: &Model) -> Vec<Diagnostic> {
    check(model).into_iter().filter(|one| one.allowed.is_none()).collect()
}

/// The same on existing data, which is not changed.
pub async fn certify_on(model: &Model, database: &Database, data: Vec<SampleItem>) -> Certificate {
    let beside = Database::open(model).await.ok();
    let concerns = concerns(model);
    let prover = Prover::on_existing(model, database, beside.as_ref(), &data, &concerns);
    let mut patterns = Vec::new();
    for pattern in &model.patterns {
        patterns.push(prover.pattern(pattern).await);
    }
    let items = data.len();
    Certificate { model: model.name.value.clone(), items, findings: Vec::new(), patterns }
}

/// Tries reads on existing data, even if their plan has gaps.
pub async fn try_reads<'m>(
    model: &'m Model,
    database: &Database,
    data: Vec<SampleItem>,
    patterns: impl Iterator<Item = &'m Pattern>,
) -> Vec<PatternProof> {
    let beside = Database::open(model).await.ok();
    let concerns = concerns(model);
    let prover = Prover::on_existing(model, database, beside.as_ref(), &data, &concerns);
    let mut proofs = Vec::new();
    for pattern in patterns {
        let plan = plan(model, pattern);
        let mut proof = prover.blank(pattern, &plan);
        prover.try_out(pattern, &plan, database, &mut proof).await;
        proofs.push(proof);
    }
    proofs
}

/// Ordinary items and those that try to break the model, each key once. Colliding keys are reported on the way.
async fn data(model: &Model, findings: &mut Vec<Finding>) -> Vec<SampleItem> {
    let mut data = sample(model, Scale::default()).items;
    data.retain(|item| item.entity.is_some_and(|id| model.entity(id).key.is_some()));
    let collided = collisions(model, &data, findings);
    for id in model.entity_ids().filter(|id| !collided.contains(&Some(*id))) {
        let Some((one, other)) = adversary::twins(model, id, &data) else { continue };
        if extreme::overwrites(model, &one, &other).await != Some(false) {
            findings.push(collision(model, &[one, other]));
        }
    }
    data.extend(adversary::items(model, &data));
    data
}

/// Generated items are never larger than DynamoDB allows; the file may declare larger ones.
fn too_large(model: &Model) -> impl Iterator<Item = Refusal> {
    let declared = model.entity_ids().filter_map(|id| Some((id, model.entity(id).size.as_ref()?.most())));
    declared.filter(|(_, bytes)| *bytes > limits::ITEM_BYTES_MAX as u64).map(|(id, bytes)| {
        let name = &model.entity(id).name.value;
        let fault = Fault::Refused(format!("an item takes 400 KB at most, `{name}` has {bytes} bytes"));
        Refusal { entity: Some(id), finding: Finding::of(fault) }
    })
}

/// One finding for each pair of entities whose items overwrite each other; returns the entities. A row
/// of the file may be equal to a generated item: that proves nothing.
fn collisions(model: &Model, data: &[SampleItem], findings: &mut Vec<Finding>) -> Vec<Option<EntityId>> {
    let literal = rows(model).items;
    let is_literal =
        |item: &SampleItem| literal.iter().any(|row| row.name == item.name && row.values == item.values);
    let mut collided: Vec<Option<EntityId>> = Vec::new();
    let mut seen: Vec<[Option<EntityId>; 2]> = Vec::new();
    let made = Sample { items: data.to_vec() };
    for (one, other) in made.collisions(model) {
        let pair = [made.items[one].clone(), made.items[other].clone()];
        let entities = [pair[0].entity, pair[1].entity];
        if is_literal(&pair[0]) != is_literal(&pair[1]) || seen.contains(&entities) {
            continue;
        }
        seen.push(entities);
        collided.extend(entities);
        findings.push(collision(model, &pair));
    }
    collided
}

pub fn collision(model: &Model, pair: &[SampleItem]) -> Finding {
    let key = name_of(model, pair[0].table, &pair[0].values);
    Finding { data: shown(model, pair), ..Finding::of(Fault::Collision { key }) }
}

/// Puts the data into the database and returns what it accepts: the later of two items with the same key. Items with
/// the longest keys are tried too, and not kept.
async fn load(
    model: &Model,
    database: &Database,
    data: Vec<SampleItem>,
    refusals: &mut Vec<Refusal>,
) -> Vec<SampleItem> {
    let mut loaded: Vec<SampleItem> = Vec::new();
    let mut positions: BTreeMap<ItemAddress, usize> = BTreeMap::new();
    let longest = adversary::longest(model, &data);
    let kept = data.len();
    for (position, item) in data.into_iter().chain(longest).enumerate() {
        if database.refusal(item.table).is_some() {
            continue;
        }
        if let Err(error) = database.put(model, &item).await {
            let fault = Fault::Refused(error.message);
            let known = |one: &Refusal| one.entity == item.entity && one.finding.fault == fault;
            if !refusals.iter().any(known) {
                let finding =
                    Finding { data: shown(model, std::slice::from_ref(&item)), ..Finding::of(fault) };
                refusals.push(Refusal { entity: item.entity, finding });
            }
            continue;
        }
        if position >= kept {
            continue;
        }
        match positions.entry(address(model, item.table, &item.values).0) {
            Entry::Occupied(earlier) => loaded[*earlier.get()] = item,
            Entry::Vacant(free) => {
                free.insert(loaded.len());
                loaded.push(item);
            }
        }
    }
    loaded
}

/// Items for display, and no more than a person wants to see.
fn shown(model: &Model, items: &[SampleItem]) -> Vec<(String, model::predict::item::Values)> {
    let named = |item: &SampleItem| (model.table(item.table).name.value.clone(), item.values.clone());
    items.iter().take(SHOWN_MAX).map(named).collect()
}

struct Prover<'m> {
    model: &'m Model,
    /// Holds the data; `None` if it could not be created.
    database: Option<&'m Database>,
    /// Where other data is tried; `None` if the database itself may hold it for a while.
    beside: Option<&'m Database>,
    data: Cow<'m, [SampleItem]>,
    refusals: &'m [Refusal],
    /// Findings of the rules that the file does not allow.
    concerns: &'m [Diagnostic],
    /// Keys that get more load than a partition takes.
    hot: &'m [HotKey],
}

/// An experiment, and its own data if it needs any.
struct Setup<'a> {
    experiment: Experiment<'a>,
    data: Option<Vec<SampleItem>>,
}

impl<'m> Prover<'m> {
    /// On data that is not changed.
    fn on_existing(
        model: &'m Model,
        database: &'m Database,
        beside: Option<&'m Database>,
        data: &'m [SampleItem],
        concerns: &'m [Diagnostic],
    ) -> Prover<'m> {
        let data = Cow::Borrowed(data);
        Prover { model, database: Some(database), beside, data, refusals: &[], concerns, hot: &[] }
    }

    /// The same on the items that requests of the pattern can find or move. A scan finds all.
    fn near(&self, neighbours: &Neighbours, pattern: &Pattern) -> Prover<'m> {
        let scans = plan(self.model, pattern).reads().any(|read| read.operation == ReadOperation::Scan);
        let read = pattern.reads().flat_map(|(_, read)| read.entities.iter().map(|id| id.value));
        let entities = read.chain(pattern.writes().map(|(_, write)| write.entity.value));
        let data = match scans {
            true => self.data.clone(),
            false => Cow::Owned(neighbours.items(&self.data, entities)),
        };
        Prover { data, ..*self }
    }

    async fn pattern(&self, pattern: &Pattern) -> PatternProof {
        let plan = plan(self.model, pattern);
        let mut proof = self.blank(pattern, &plan);
        if pattern.external.is_some() {
            proof.verdict = Verdict::Elsewhere;
            return proof;
        }
        let gaps = plan.gaps().filter(|gap| !self.is_meant(pattern, gap));
        proof.findings.extend(gaps.map(|gap| Finding::of(Fault::Gap(gap.describe(self.model)))));
        let refused = self.refusals.iter().filter(|one| one.entity.is_some_and(|id| touches(pattern, id)));
        proof.findings.extend(refused.map(|one| one.finding.clone()));
        if let Some(reason) = self.database.and_then(|database| no_table(database, &plan)) {
            proof.findings.push(Finding::of(Fault::Refused(reason.to_owned())));
            return proof;
        }
        if let Some(database) = self.database {
            self.try_out(pattern, &plan, database, &mut proof).await;
            let paged = proof.findings.iter().any(|finding| matches!(finding.fault, Fault::Pages { .. }));
            if !paged {
                proof.findings.extend(page::findings(self.model, pattern, &plan, &self.data).await);
            }
            if proof.findings.is_empty() {
                proof.findings.extend(self.in_crowd(pattern, &plan).await);
            }
            proof.findings.extend(self.expired(pattern, &plan, database).await);
            proof.findings.extend(self.of_one_moment(pattern, &plan).await);
            let throttled = extreme::throttled(self.model, pattern, &plan, self.hot, &self.data);
            proof.findings.extend(throttled.await);
            let laboratory = self.beside.unwrap_or(database);
            proof.findings.extend(expectation::findings(self.model, laboratory, pattern, &plan).await);
            proof.findings.extend(literal::findings(self.model, pattern, &plan, &self.data).await);
        }
        let failed = !proof.findings.is_empty() || proof.tries == 0;
        proof.verdict = if failed { Verdict::NotProven } else { Verdict::Proven };
        proof
    }

    /// Whether the rule has a finding in the pattern that the file does not allow.
    fn is_concerned(&self, pattern: &Pattern, rules: &[u8]) -> bool {
        let mut concerns = self.concerns.iter().filter(|one| pattern.span.contains(one.span));
        concerns
            .any(|one| one.level >= Level::Warning && one.rule.is_some_and(|rule| rules.contains(&rule.0)))
    }

    /// A filter that the file declares, or allows with a reason, is part of what the pattern means.
    fn is_meant(&self, pattern: &Pattern, gap: &Gap) -> bool {
        // A declared scan is what the pattern means, unless R1 has an error.
        if *gap == Gap::Scans {
            let mut concerns = self.concerns.iter().filter(|one| pattern.span.contains(one.span));
            return !concerns
                .any(|one| one.level == Level::Error && one.rule.is_some_and(|rule| rule.0 == SCAN_RULE));
        }
        let Gap::SelectsByFilter { attributes } = gap else { return false };
        let declared = |name: &String| {
            let filters = pattern.reads().flat_map(|(_, read)| &read.filter);
            filters.flat_map(|filter| &filter.terms).any(|term| term.attribute.value == *name)
        };
        let allowed = self
            .model
            .allowances
            .iter()
            .any(|one| FILTER_RULES.contains(&one.rule.0) && one.scope.contains(pattern.span));
        (attributes.iter().all(declared) || allowed) && !self.is_concerned(pattern, &FILTER_RULES)
    }

    /// Whether items that a filter drops are expected: because they are meant, or because they have expired.
    fn filters(&self, pattern: &Pattern, plan: &ReadPlan) -> bool {
        let selects = |gap: &&Gap| matches!(gap, Gap::SelectsByFilter { .. });
        plan.gaps.iter().filter(selects).all(|gap| self.is_meant(pattern, gap))
    }

    /// An item that has expired and comes back, if readers are warned of it.
    async fn expired(&self, pattern: &Pattern, plan: &Plan, database: &Database) -> Option<Finding> {
        let (_, read) = pattern.reads().next().filter(|_| self.is_concerned(pattern, &[TTL_RULE]))?;
        let read = PlannedRead::new(self.model, read, plan.reads().next()?);
        let wanted = |item: &&SampleItem| {
            item.entity.is_some_and(|id| read.plan.entities.contains(&id))
                && adversary::is_expired(self.model, item)
        };
        let item = self.data.iter().find(wanted)?;
        let given = given::tries(self.model, read.read, std::slice::from_ref(item)).into_iter().next()?;
        let key = key_of(self.model, item.table, &item.values);
        let found = crate::read::fetch(read, database, &given).await.ok()?;
        found.iter().find(|one| key_of(self.model, item.table, one) == key)?;
        let fault = Fault::Expired { items: vec![name_of(self.model, item.table, &item.values)] };
        Some(Finding { fault, given, data: shown(self.model, std::slice::from_ref(item)), more: 0 })
    }

    /// A query among as many items as the file declares.
    async fn in_crowd(&self, pattern: &Pattern, plan: &Plan) -> Option<Finding> {
        let (_, read) = pattern.reads().next().filter(|_| pattern.grouping == Grouping::Single)?;
        let plan = plan.reads().next().filter(|plan| self.is_keyed(plan))?;
        let filters = self.filters(pattern, plan);
        let read = PlannedRead { filters, ..PlannedRead::new(self.model, read, plan) };
        crowd::findings(read, &self.data).await
    }

    async fn of_one_moment(&self, pattern: &Pattern, plan: &Plan) -> Option<Finding> {
        let (_, read) = pattern.reads().next().filter(|_| pattern.grouping == Grouping::Single)?;
        let plan = plan.reads().next().filter(|plan| self.is_keyed(plan))?;
        extreme::of_one_moment(PlannedRead::new(self.model, read, plan), &self.data).await
    }

    fn blank(&self, pattern: &Pattern, plan: &Plan) -> PatternProof {
        PatternProof {
            pattern: pattern.id.value.clone(),
            span: pattern.id.span,
            operation: plan.operation(),
            source: plan.source(self.model),
            verdict: Verdict::NotProven,
            tries: 0,
            requests: 0,
            pages: 0,
            returned: 0,
            examined: 0,
            capacity: Vec::new(),
            findings: Vec::new(),
        }
    }

    async fn try_out(&self, pattern: &Pattern, plan: &Plan, database: &Database, proof: &mut PatternProof) {
        let setups = match self.setups(pattern, plan) {
            Ok(setups) => setups,
            Err(fault) => return proof.findings.push(Finding::of(fault)),
        };
        if setups.is_empty() {
            let fault = Fault::NoData("item that the pattern asks for".to_owned());
            proof.findings.push(Finding::of(fault));
        }
        let mut most_expensive = -1.0;
        for Setup { experiment, data } in &setups {
            let trial = self.trial(experiment, database, data.as_deref()).await;
            let data = data.as_deref().unwrap_or(&self.data);
            self.note(&trial, &mut most_expensive, proof);
            for fault in &trial.faults {
                let known = proof.findings.iter().any(|finding| finding.fault.is_like(fault));
                if !known && proof.findings.len() < FINDINGS_MAX {
                    proof.findings.push(self.smallest(experiment, data, fault).await);
                }
            }
        }
    }

    /// On its own data, or on that of the proof.
    async fn trial(
        &self,
        experiment: &Experiment<'_>,
        database: &Database,
        data: Option<&[SampleItem]>,
    ) -> Trial {
        match (data, self.beside) {
            (None, None) => experiment.run(self.model, database, &self.data).await,
            (None, Some(_)) => experiment.run_on(self.model, database, &self.data).await,
            (Some(data), None) => experiment.run(self.model, database, data).await,
            (Some(data), Some(beside)) => experiment.run(self.model, beside, data).await,
        }
    }

    fn note(&self, trial: &Trial, most_expensive: &mut f64, proof: &mut PatternProof) {
        proof.tries += 1;
        proof.requests = proof.requests.max(trial.requests);
        proof.pages = proof.pages.max(trial.pages);
        proof.returned = proof.returned.max(trial.returned);
        proof.examined = proof.examined.max(trial.examined);
        if trial.faults.is_empty() && trial.consumed.total() > *most_expensive {
            *most_expensive = trial.consumed.total();
            let predicted = trial.predicted.parts(self.model);
            let consumed = trial.consumed.parts(self.model);
            let part = |((part, predicted), (_, consumed)): ((String, f64), (String, f64))| PartCapacity {
                part,
                predicted,
                consumed,
            };
            proof.capacity = predicted.into_iter().zip(consumed).map(part).collect();
        }
    }

    async fn smallest(&self, experiment: &Experiment<'_>, data: &[SampleItem], fault: &Fault) -> Finding {
        let (small, fault) = experiment.shrink(self.model, data, fault).await;
        let given = match experiment {
            Experiment::Read { given, read } => {
                let mut given = given.clone();
                let declared = read.read.limit.as_ref().map(|limit| limit.value);
                if let Some(limit) = read.limit.filter(|limit| Some(*limit) != declared) {
                    given.set("Limit", limit.into());
                }
                given
            }
            _ => Given::default(),
        };
        let more = small.len().saturating_sub(SHOWN_MAX);
        Finding { fault, given, data: shown(self.model, &small), more }
    }

    /// All experiments for a pattern.
    fn setups<'a>(&'a self, pattern: &'a Pattern, plan: &'a Plan) -> Result<Vec<Setup<'a>>, Fault> {
        check_length(pattern, plan)?;
        let (reads, writes) = (pattern.reads().next(), pattern.writes().next());
        match (pattern.grouping, reads, writes) {
            (_, Some(_), Some(_)) => Err(Unsendable::mixed().into()),
            (Grouping::Single, Some((_, read)), None) => {
                let Some(plan) = plan.reads().next().filter(|plan| self.is_keyed(plan)) else {
                    return Err(Fault::NoData("key".to_owned()));
                };
                let filters = self.filters(pattern, plan);
                let read = PlannedRead { filters, ..PlannedRead::new(self.model, read, plan) };
                // Also with a lower limit, which cuts off even the little data there is here.
                let lower = read.limit.filter(|limit| *limit > LOWER_LIMIT);
                let lower = lower.map(|_| PlannedRead { limit: Some(LOWER_LIMIT), ..read });
                let mut setups = Vec::new();
                let tries =
                    (REQUESTS_MAX / usize::try_from(plan.fan_out).unwrap_or(usize::MAX).max(1)).max(1);
                for given in given::tries(self.model, read.read, &self.data).into_iter().take(tries) {
                    for read in std::iter::once(read).chain(lower) {
                        let experiment = Experiment::Read { read, given: given.clone() };
                        let scans = plan.operation == ReadOperation::Scan;
                        setups.push(Setup { experiment, data: scans.then(|| self.of_one_page()) });
                    }
                }
                Ok(setups)
            }
            (_, Some(_), None) => {
                let group = group::choose(self.model, pattern, plan, &self.data)?;
                let data = group_read::data(&group, self.model, &self.data);
                Ok(vec![Setup { experiment: Experiment::Group(group), data: Some(data) }])
            }
            _ => {
                let cases = write_case::cases(self.model, pattern, plan, &self.data)?.into_iter();
                let setup = |case: write_case::Case<'a>| Setup {
                    experiment: Experiment::Write { pattern, touches: case.touches },
                    data: Some(case.data),
                };
                Ok(cases.map(setup).collect())
            }
        }
    }

    /// As many items as one page of a Scan holds.
    fn of_one_page(&self) -> Vec<SampleItem> {
        let mut bytes = 0;
        let fits = |item: &&SampleItem| {
            let size = size_bytes(&item.values);
            let fits = bytes + size <= SCAN_BYTES_MAX;
            bytes += if fits { size } else { 0 };
            fits
        };
        self.data.iter().filter(fits).cloned().collect()
    }

    fn is_keyed(&self, plan: &ReadPlan) -> bool {
        plan.entities.iter().all(|id| self.model.entity(*id).key.is_some())
    }
}

/// Why a table of the pattern could not be made.
fn no_table<'d>(database: &'d Database, plan: &Plan) -> Option<&'d str> {
    let tables = plan.steps.iter().map(|step| match &step.kind {
        ActionPlan::Read(read) => read.table,
        ActionPlan::Write(write) => write.table,
    });
    tables.into_iter().find_map(|table| database.refusal(table))
}

/// DynamoDB's message would name a member of its JSON; this one names the part of the model.
fn check_length(pattern: &Pattern, plan: &Plan) -> Result<(), Fault> {
    let most = match (pattern.grouping, pattern.is_read()) {
        (Grouping::Single, _) => return Ok(()),
        (Grouping::Transaction, _) => TRANSACTION_ITEMS_MAX,
        (Grouping::Batch, true) => limits::BATCH_GET_KEYS_MAX as u64,
        (Grouping::Batch, false) => limits::BATCH_WRITE_REQUESTS_MAX as u64,
    };
    let named = pattern.actions.iter().fold(0u64, |sum, action| sum.saturating_add(action.times));
    if named <= most {
        return Ok(());
    }
    Err(Fault::Refused(format!("{} takes {most} items at most, these are {named}", plan.operation())))
}
