//! What happens each minute: scheduled actions that are due, then a step of each target.
//!
//! A step reads the minutes that ended, lets `capacity::scaling` decide, and does it by UpdateTable. A target that
//! can't be scaled at the moment is looked at again in a minute.

use api::Error;
use api::cloudwatch::{Datapoint, GetMetricStatisticsInput, Statistic};
use capacity::scaling::{IN_MINUTES, NotScaled as Reason, Scaler, Step};
use host::{RowsError, uuid};

use crate::alarms::{self, Kind};
use crate::resource::Provisioned;
use crate::service::Shared;
use crate::target::{Activity, Id, NotScaled, Policy, Target};

/// Which server scales.
const LEASE: &str = "auto scaling";
const MINUTE_SECONDS: u64 = 60;
const QUOTA: &str = "Subscriber limit exceeded: Provisioned throughput decreases are limited within a given UTC day. \
                     After the first 4 decreases, each subsequent decrease in the same UTC day can be performed at most \
                     once every 3600 seconds.";

/// A change of units, and why.
struct Change {
    units: u64,
    cause: String,
    /// The policy that asked for it, and its step.
    by: Option<(String, Step)>,
}

impl Shared {
    pub async fn scale(&self) {
        let now_ms = self.environment.now_ms();
        let scheduled_ms = match self.begin_minute(now_ms).await {
            Ok(Some(scheduled_ms)) => scheduled_ms,
            Ok(None) => return,
            Err(error) => {
                return tracing::warn!(%error, "auto scaling failed; it is tried again in a minute");
            }
        };
        for id in self.ids() {
            let _change = self.changes.lock().await;
            let Some(mut target) = self.find(&id) else { continue };
            if let Err(error) = self.scale_one(&mut target, scheduled_ms, now_ms).await {
                tracing::warn!(%error, resource = id.resource_id, "auto scaling failed; it is tried again in a minute");
            }
        }
        if let Err(error) = self.end_schedule(now_ms).await {
            tracing::warn!(%error, "scheduled actions of this minute may be done again");
        }
    }

    /// Learns what other servers have changed. The time since which scheduled actions are due, or none if another
    /// server scales.
    async fn begin_minute(&self, now_ms: u64) -> Result<Option<u64>, RowsError> {
        drop(self.begin_change().await.map_err(|error| RowsError(error.message))?);
        if !self.rows.take_lease(LEASE).await? {
            return Ok(None);
        }
        self.schedule_start(now_ms).await.map(Some)
    }

    async fn scale_one(&self, target: &mut Target, scheduled_ms: u64, now_ms: u64) -> Result<(), Error> {
        if !target.settings.schedule_suspended {
            self.run_scheduled(target, scheduled_ms, now_ms).await?;
        }
        let Some(provisioned) = self.provisioned(target).await? else { return Ok(()) };
        if target.settings.bounds_changed {
            return self.bring_within_bounds(target).await;
        }
        self.refresh_alarms(target, target.resource.units(&provisioned)).await?;
        let units = target.resource.units(&provisioned);
        match self.decide(target, units, now_ms).await? {
            Some(change) => self.carry_out(target, &provisioned, change).await,
            None => Ok(()),
        }
    }

    /// What the target has, if it can be scaled now.
    async fn provisioned(&self, target: &Target) -> Result<Option<Provisioned>, Error> {
        let table = self.tables.describe(&target.id.namespace, &target.resource.table).await?;
        let table = table.filter(|table| target.is_for_table(table.table_id.as_deref()));
        let provisioned = table.and_then(|table| target.resource.provisioned(&table));
        Ok(provisioned.filter(|provisioned| provisioned.is_scalable))
    }

    /// Moves the units to the nearest bound if they are outside. It waits if the table can't be changed now.
    pub async fn bring_within_bounds(&self, target: &mut Target) -> Result<(), Error> {
        let Some(provisioned) = self.provisioned(target).await? else { return Ok(()) };
        target.settings.bounds_changed = false;
        let units = target.resource.units(&provisioned);
        let (min, max) = (target.settings.min, target.settings.max);
        let [least, most] = [min, max].map(|bound| u64::try_from(bound).unwrap_or(1));
        let change = if units < least {
            Change { units: least, cause: format!("minimum capacity was set to {min}"), by: None }
        } else if units > most {
            Change { units: most, cause: format!("maximum capacity was set to {max}"), by: None }
        } else {
            return self.store(target).await;
        };
        self.carry_out(target, &provisioned, change).await
    }

    /// Sets the bounds of the actions that are due, in the order of their names.
    async fn run_scheduled(&self, target: &mut Target, after_ms: u64, now_ms: u64) -> Result<(), Error> {
        let due: Vec<_> =
            target.actions.values().filter(|action| action.is_due(after_ms, now_ms)).cloned().collect();
        for action in due {
            let bounds = action.bounds();
            let min = bounds.min_capacity.unwrap_or(target.settings.min);
            let max = bounds.max_capacity.unwrap_or(target.settings.max);
            let described = match (bounds.min_capacity, bounds.max_capacity) {
                (Some(min), Some(max)) => format!("min capacity to {min} and max capacity to {max}"),
                (Some(min), None) => format!("min capacity to {min}"),
                (_, max) => format!("max capacity to {}", max.unwrap_or_default()),
            };
            let is_possible = min <= max;
            let name = &action.request.scheduled_action_name;
            target.remember(Activity {
                id: uuid(self.environment.random()),
                description: format!("Setting {described}"),
                cause: format!("scheduled action name {name} was triggered"),
                start_ms: now_ms,
                end_ms: now_ms,
                is_success: is_possible,
                message: match is_possible {
                    true => format!("Successfully set {described}"),
                    false => {
                        format!("Failed to set {described}. Reason: the minimum would be above the maximum")
                    }
                },
                not_scaled: None,
            });
            if is_possible {
                (target.settings.min, target.settings.max) = (min, max);
                target.settings.bounds_changed = true;
            }
            self.store(target).await?;
        }
        Ok(())
    }

    /// Sets the thresholds of the alarms again when the units have changed, by auto scaling or by hand.
    async fn refresh_alarms(&self, target: &mut Target, units: u64) -> Result<(), Error> {
        let outdated: Vec<String> = target
            .policies
            .iter()
            .filter(|(_, policy)| policy.state.alarm_units != units)
            .map(|(name, _)| name.clone())
            .collect();
        for name in outdated {
            let Some(policy) = target.policies.get_mut(&name) else { continue };
            policy.state.alarm_units = units;
            let policy = policy.clone();
            self.put_alarms(target, &policy).await?;
            self.store(target).await?;
        }
        Ok(())
    }

    /// What the policies ask for together: out if any of them does, in if all of them do; the largest counts.
    async fn decide(&self, target: &mut Target, units: u64, now_ms: u64) -> Result<Option<Change>, Error> {
        let mut steps = Vec::new();
        for (name, policy) in &target.policies {
            steps.push((name.clone(), self.step(target, policy, units, now_ms).await?));
        }
        let settings = &target.settings;
        let outs = steps.iter().filter(|(_, step)| matches!(step, Step::Out(_)));
        let out = outs.max_by_key(|(_, step)| units_of(step)).filter(|_| !settings.out_suspended);
        let all_in = !steps.is_empty() && steps.iter().all(|(_, step)| matches!(step, Step::In(_)));
        let ins = steps.iter().filter(|_| all_in && !settings.in_suspended);
        let chosen = out.or_else(|| ins.max_by_key(|(_, step)| units_of(step)));
        let Some((name, step)) = chosen.cloned() else {
            self.remember_not_scaled(target, &steps, units, now_ms).await?;
            return Ok(None);
        };
        let kind = if matches!(step, Step::Out(_)) { Kind::High } else { Kind::Low };
        let alarm = target.policies.get(&name).map_or("", |policy| alarms::of_step(policy, kind));
        let cause = format!("monitor alarm {alarm} in state ALARM triggered policy {name}");
        Ok(Some(Change { units: units_of(&step), cause, by: Some((name, step)) }))
    }

    async fn step(&self, target: &Target, policy: &Policy, units: u64, now_ms: u64) -> Result<Step, Error> {
        let mut scaler = Scaler::new();
        for sum in self.minutes(target, policy, units, now_ms).await? {
            scaler.record(sum);
        }
        let out = policy.state.last_out.map(|(at_ms, units)| (at_ms, Step::Out(units)));
        let back = policy.state.last_in.map(|(at_ms, units)| (at_ms, Step::In(units)));
        let mut past: Vec<(u64, Step)> = out.into_iter().chain(back).collect();
        past.sort_by_key(|(at_ms, _)| *at_ms);
        for (at_ms, step) in past {
            scaler.applied(step, at_ms);
        }
        Ok(scaler.decide(&policy.step_policy(&target.settings), units, now_ms))
    }

    /// What was consumed in the minutes that ended, the oldest first, as far back as it is known.
    async fn minutes(
        &self,
        target: &Target,
        policy: &Policy,
        units: u64,
        now_ms: u64,
    ) -> Result<Vec<f64>, Error> {
        let now = now_ms / 1000;
        let end = now - now % MINUTE_SECONDS;
        let start = end.saturating_sub(IN_MINUTES as u64 * MINUTE_SECONDS);
        let customized = policy.configuration().customized_metric_specification.as_ref();
        let statistic = match customized {
            None => Statistic::Sum,
            Some(metric) => metric.statistic.map_or(Statistic::Average, alarms::statistic),
        };
        let consumed = || alarms::consumed_metric(target.resource.access).to_owned();
        let input = GetMetricStatisticsInput {
            namespace: customized
                .and_then(|metric| metric.namespace.clone())
                .unwrap_or("AWS/DynamoDB".to_owned()),
            metric_name: customized.and_then(|metric| metric.metric_name.clone()).unwrap_or_else(consumed),
            dimensions: Some(
                customized
                    .map_or_else(|| alarms::dimensions(&target.resource), alarms::customized_dimensions),
            ),
            start_time: start as f64,
            end_time: end as f64,
            period: MINUTE_SECONDS as i32,
            statistics: Some(vec![statistic]),
            ..GetMetricStatisticsInput::default()
        };
        let points = self.cloudwatch.statistics(&target.id.namespace, input).await?;
        let known_from = policy.state.created_ms.max(self.opened_ms) / 1000;
        let at = |time: u64| points.iter().find(|point| point.timestamp == Some(time as f64));
        let mut sums = Vec::new();
        for back in 1..=IN_MINUTES as u64 {
            let time = end.saturating_sub(back * MINUTE_SECONDS);
            match (at(time).and_then(|point| value(point, statistic)), customized) {
                (Some(sum), None) => sums.push(sum),
                // Utilization is in percent: 100 means that every unit of the minute was consumed.
                (Some(value), Some(_)) => sums.push(units as f64 * MINUTE_SECONDS as f64 * value / 100.0),
                // DynamoDB reports that nothing was consumed, too.
                (None, None) if time >= known_from => sums.push(0.0),
                (None, _) => break,
            }
        }
        sums.reverse();
        Ok(sums)
    }

    /// Sets the units, and remembers how that went.
    async fn carry_out(
        &self,
        target: &mut Target,
        provisioned: &Provisioned,
        change: Change,
    ) -> Result<(), Error> {
        let start_ms = self.environment.now_ms();
        let outcome = self.set_units(&target.id, target, provisioned, change.units, start_ms).await;
        let (units, name) = (change.units, target.resource.units_name());
        let message = match &outcome {
            Ok(()) => {
                format!("Successfully set {name} to {units}. Change successfully fulfilled by dynamodb.")
            }
            Err(error) => format!("Failed to set {name} to {units}. Reason: {}", error.message),
        };
        target.remember(Activity {
            id: uuid(self.environment.random()),
            description: format!("Setting {name} to {units}."),
            cause: change.cause,
            start_ms,
            end_ms: self.environment.now_ms(),
            is_success: outcome.is_ok(),
            message,
            not_scaled: None,
        });
        if outcome.is_ok() {
            let policy = change.by.and_then(|(name, step)| Some((target.policies.get_mut(&name)?, step)));
            match policy {
                Some((policy, Step::Out(units))) => policy.state.last_out = Some((start_ms, units)),
                Some((policy, Step::In(units))) => policy.state.last_in = Some((start_ms, units)),
                _ => {}
            }
        }
        self.store(target).await?;
        match outcome {
            Ok(()) => self.refresh_alarms(target, units).await,
            Err(_) => Ok(()),
        }
    }

    /// A decrease takes one of those that DynamoDB allows in a day.
    async fn set_units(
        &self,
        id: &Id,
        target: &Target,
        provisioned: &Provisioned,
        units: u64,
        now_ms: u64,
    ) -> Result<(), Error> {
        let mut decreases = self.decreases(id);
        let is_decrease = units < target.resource.units(provisioned);
        if is_decrease && !decreases.try_take(now_ms) {
            return Err(Error::limit_exceeded(QUOTA));
        }
        self.tables.update(&id.namespace, target.resource.update(provisioned, units)).await?;
        if is_decrease {
            self.store_decreases(id, decreases).await?;
        }
        Ok(())
    }

    /// An alarm that led to nothing is remembered once.
    async fn remember_not_scaled(
        &self,
        target: &mut Target,
        steps: &[(String, Step)],
        units: u64,
        now_ms: u64,
    ) -> Result<(), Error> {
        let mut reasons = steps.iter().filter_map(|(name, step)| match step {
            Step::NotScaled(reason) => Some((name, code(*reason)?)),
            _ => None,
        });
        let Some((name, code)) = reasons.next_back() else { return Ok(()) };
        let not_scaled = NotScaled { code: code.to_owned(), current: units };
        let is_known = target
            .activities
            .front()
            .is_some_and(|latest| latest.not_scaled.as_ref().is_some_and(|known| *known == not_scaled));
        if is_known {
            return Ok(());
        }
        target.remember(Activity {
            id: uuid(self.environment.random()),
            description: "Attempting to scale due to alarm triggered".to_owned(),
            cause: format!("an alarm in state ALARM triggered policy {name}"),
            start_ms: now_ms,
            end_ms: now_ms,
            is_success: false,
            message: "The capacity was not changed".to_owned(),
            not_scaled: Some(not_scaled),
        });
        self.store(target).await
    }
}

fn units_of(step: &Step) -> u64 {
    match step {
        Step::Out(units) | Step::In(units) => *units,
        Step::Quiet | Step::NotScaled(_) => 0,
    }
}

/// The service has no code for a cooldown.
fn code(reason: Reason) -> Option<&'static str> {
    match reason {
        Reason::AlreadyAtMax => Some("AlreadyAtMaxCapacity"),
        Reason::AlreadyAtMin => Some("AlreadyAtMinCapacity"),
        Reason::AlreadyAtDesired => Some("AlreadyAtDesiredCapacity"),
        Reason::Cooldown => None,
    }
}

fn value(point: &Datapoint, statistic: Statistic) -> Option<f64> {
    match statistic {
        Statistic::SampleCount => point.sample_count,
        Statistic::Average => point.average,
        Statistic::Sum => point.sum,
        Statistic::Minimum => point.minimum,
        Statistic::Maximum => point.maximum,
    }
}
