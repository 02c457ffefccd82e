//! Metric math: arithmetic over series, as GetMetricData and alarms have it. Pure.
//!
//! An expression is parsed into an [`Expression`] and calculated over the series that are known. Two series are joined
//! where both have a point; where one has none, or a division is by zero, there is no result.

mod parse;

use std::collections::BTreeMap;

use crate::insight::RuleMetric;
use crate::series::Window;
pub use parse::Expression;
use parse::Operator;

/// Points by time, and the window that they are of.
#[derive(Clone, Debug, PartialEq)]
pub struct Series {
    pub points: BTreeMap<u64, f64>,
    pub window: Window,
}

/// What an expression is calculated to.
#[derive(Clone, Debug)]
enum Value {
    Number(f64),
    Series(Series),
    List(Vec<Series>),
    /// `REPEAT`, `LINEAR`.
    Word(String),
}

/// The expressions of queries, each with the Id of its query.
pub fn parse_all<'q>(
    expressions: impl IntoIterator<Item = (&'q str, &'q str)>,
) -> Result<Vec<(&'q str, Expression)>, String> {
    let parse = |(id, text)| Ok((id, parse::parse(text).map_err(|error| in_expression(id, &error))?));
    expressions.into_iter().map(parse).collect()
}

/// What expressions are calculated from.
struct Known<'k> {
    /// The series of queries, by Id.
    series: BTreeMap<String, Series>,
    /// Which of them are metrics.
    metrics: Vec<String>,
    /// A figure of a rule of Contributor Insights, for the query with an Id.
    rule_series: &'k dyn Fn(&str, &str, RuleMetric) -> Option<Series>,
}

/// Adds the results of expressions to the series that are known. An expression may use others, in any order.
pub fn calculate_all(
    mut parsed: Vec<(&str, Expression)>,
    series: BTreeMap<String, Series>,
    rule_series: &dyn Fn(&str, &str, RuleMetric) -> Option<Series>,
) -> Result<BTreeMap<String, Series>, String> {
    let metrics: Vec<String> = series.keys().cloned().collect();
    let mut known = Known { series, metrics, rule_series };
    while !parsed.is_empty() {
        let count = parsed.len();
        let mut waiting = Vec::new();
        for (id, expression) in parsed {
            let is_ready = expression.names().iter().all(|name| known.series.contains_key(*name));
            if !is_ready {
                waiting.push((id, expression));
                continue;
            }
            let value = known.calculate(id, &expression).map_err(|error| in_expression(id, &error))?;
            match value {
                Value::Series(series) => known.series.insert(id.to_owned(), series),
                _ => return Err(in_expression(id, "the result must be one time series")),
            };
        }
        if let (true, Some((id, expression))) = (waiting.len() == count, waiting.first()) {
            let names = expression.names();
            let unknown =
                names.iter().find(|name| !known.series.contains_key(**name)).copied().unwrap_or_default();
            return Err(in_expression(id, &format!("{unknown} is not the Id of another query")));
        }
        parsed = waiting;
    }
    Ok(known.series)
}

fn in_expression(id: &str, error: &str) -> String {
    format!("Error in expression '{id}': {error}")
}

impl Known<'_> {
    /// The value of the expression of a query, or of a part of it.
    fn calculate(&self, id: &str, expression: &Expression) -> Result<Value, String> {
        let part = |part| self.calculate(id, part);
        Ok(match expression {
            Expression::Number(number) => Value::Number(*number),
            Expression::Name(name) => match self.series.get(name) {
                Some(series) => Value::Series(series.clone()),
                None => Value::Word(name.clone()),
            },
            Expression::List(elements) => {
                let elements = elements.iter().map(|element| part(element)?.series());
                Value::List(elements.collect::<Result<_, _>>()?)
            }
            Expression::Negated(operand) => part(operand)?.map(&|value| -value)?,
            Expression::Binary(operator, left, right) => {
                combine(&part(left)?, &part(right)?, &|left, right| operator.apply(left, right))?
            }
            Expression::Call(name, _) if name == "METRICS" => {
                Value::List(self.metrics.iter().filter_map(|id| self.series.get(id).cloned()).collect())
            }
            Expression::Call(name, arguments) => {
                call(name, &arguments.iter().map(part).collect::<Result<Vec<_>, _>>()?)?
            }
            Expression::RuleMetric(rule, metric) => (self.rule_series)(id, rule, *metric)
                .map(Value::Series)
                .ok_or_else(|| format!("the rule {rule} can't be read"))?,
        })
    }
}

impl Operator {
    fn apply(self, left: f64, right: f64) -> f64 {
        let truth = |is_true: bool| if is_true { 1.0 } else { 0.0 };
        match self {
            Operator::Add => left + right,
            Operator::Subtract => left - right,
            Operator::Multiply => left * right,
            Operator::Divide => left / right,
            Operator::Power => left.powf(right),
            Operator::Less => truth(left < right),
            Operator::LessOrEqual => truth(left <= right),
            Operator::Greater => truth(left > right),
            Operator::GreaterOrEqual => truth(left >= right),
            Operator::Equal => truth(left == right),
            Operator::NotEqual => truth(left != right),
            Operator::And => truth(left != 0.0 && right != 0.0),
            Operator::Or => truth(left != 0.0 || right != 0.0),
        }
    }
}

impl Value {
    fn series(self) -> Result<Series, String> {
        match self {
            Value::Series(series) => Ok(series),
            Value::Word(word) => Err(format!("{word} is not the Id of another query")),
            _ => Err("a time series is expected".to_owned()),
        }
    }

    fn map(self, change: &dyn Fn(f64) -> f64) -> Result<Value, String> {
        Ok(match self {
            Value::Number(number) => Value::Number(change(number)),
            Value::Series(series) => Value::Series(series.map(change)),
            Value::List(list) => Value::List(list.into_iter().map(|series| series.map(change)).collect()),
            Value::Word(word) => return Err(format!("{word} is not the Id of another query")),
        })
    }
}

impl Series {
    fn map(self, change: &dyn Fn(f64) -> f64) -> Series {
        self.filter_map(&|_, value| Some(change(value)))
    }

    /// Results that are no numbers are left out.
    fn filter_map(self, change: &dyn Fn(u64, f64) -> Option<f64>) -> Series {
        let points = self.points.iter();
        let points = points.filter_map(|(time, value)| Some((*time, change(*time, *value)?)));
        let points = points.filter(|(_, value)| value.is_finite()).collect();
        Series { points, window: self.window }
    }

    fn join(&self, other: &Series, apply: &dyn Fn(f64, f64) -> f64) -> Series {
        let of = |time: u64, value: f64| Some(apply(value, *other.points.get(&time)?));
        self.clone().filter_map(&of)
    }
}

fn combine(left: &Value, right: &Value, apply: &dyn Fn(f64, f64) -> f64) -> Result<Value, String> {
    Ok(match (left, right) {
        (Value::Number(left), Value::Number(right)) => Value::Number(apply(*left, *right)),
        (Value::Series(left), Value::Series(right)) => Value::Series(left.join(right, apply)),
        (Value::List(left), right @ (Value::Number(_) | Value::Series(_))) => {
            let combined =
                left.iter().map(|left| combine(&Value::Series(left.clone()), right, apply)?.series());
            Value::List(combined.collect::<Result<_, _>>()?)
        }
        (left, Value::Number(right)) => left.clone().map(&|left| apply(left, *right))?,
        (Value::Number(left), right) => right.clone().map(&|right| apply(*left, right))?,
        _ => return Err("these operands can't be combined".to_owned()),
    })
}

fn call(name: &str, arguments: &[Value]) -> Result<Value, String> {
    match (name, arguments) {
        ("SUM" | "AVG" | "MIN" | "MAX" | "STDDEV", [Value::List(list)]) => Ok(across(name, list)),
        ("SUM" | "AVG" | "MIN" | "MAX" | "STDDEV", [Value::Series(series)]) => {
            let values: Vec<f64> = series.points.values().copied().collect();
            Ok(Value::Number(aggregate(name, &values).unwrap_or(0.0)))
        }
        ("ABS", [operand]) => operand.clone().map(&f64::abs),
        ("CEIL", [operand]) => operand.clone().map(&f64::ceil),
        ("FLOOR", [operand]) => operand.clone().map(&f64::floor),
        ("PERIOD", [Value::Series(series)]) => Ok(Value::Number(series.window.period_seconds as f64)),
        ("DIFF", [Value::Series(series)]) => Ok(Value::Series(differences(series, |_| 1.0))),
        ("RATE", [Value::Series(series)]) => Ok(Value::Series(differences(series, |seconds| seconds as f64))),
        ("RUNNING_SUM", [Value::Series(series)]) => {
            let mut sum = 0.0;
            let points = series.points.iter().map(|(time, value)| {
                sum += value;
                (*time, sum)
            });
            Ok(Value::Series(Series { points: points.collect(), window: series.window }))
        }
        ("FILL", [Value::Series(series), with]) => fill(series, with),
        ("FILL", [Value::List(list), with]) => {
            let filled = list.iter().map(|series| fill(series, with)?.series());
            Ok(Value::List(filled.collect::<Result<_, _>>()?))
        }
        ("IF", [condition, then]) => choose(condition, then, None),
        ("IF", [condition, then, otherwise]) => choose(condition, then, Some(otherwise)),
        _ => Err(format!("Lodestone has no function {name} for these arguments")),
    }
}

/// One value from many; none of nothing.
fn aggregate(name: &str, values: &[f64]) -> Option<f64> {
    let count = values.len() as f64;
    let sum: f64 = values.iter().sum();
    let mean = sum / count;
    let value = match name {
        "SUM" => sum,
        "AVG" => mean,
        "MIN" => values.iter().copied().fold(f64::INFINITY, f64::min),
        "MAX" => values.iter().copied().fold(f64::NEG_INFINITY, f64::max),
        _ => (values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / count).sqrt(),
    };
    (!values.is_empty()).then_some(value)
}

/// At each time the aggregate of the series that have a point there.
fn across(name: &str, list: &[Series]) -> Value {
    let mut by_time: BTreeMap<u64, Vec<f64>> = BTreeMap::new();
    for (time, value) in list.iter().flat_map(|series| &series.points) {
        by_time.entry(*time).or_default().push(*value);
    }
    let points = by_time.into_iter().filter_map(|(time, values)| Some((time, aggregate(name, &values)?)));
    let empty = Window { start_seconds: 0, end_seconds: 0, period_seconds: 60 };
    let window = list.first().map_or(empty, |series| series.window);
    Value::Series(Series { points: points.collect(), window })
}

fn differences(series: &Series, divisor: impl Fn(u64) -> f64) -> Series {
    let later = series.points.iter().skip(1);
    let pairs = series.points.iter().zip(later);
    let points = pairs.map(|((before, old), (time, new))| (*time, (new - old) / divisor(time - before)));
    Series { points: points.collect(), window: series.window }
}

/// Gives every period of the window a value.
fn fill(series: &Series, with: &Value) -> Result<Value, String> {
    let Window { start_seconds, end_seconds, period_seconds } = series.window;
    let times = (start_seconds..end_seconds).step_by(period_seconds as usize);
    let missing = |time: u64| -> Result<Option<f64>, String> {
        let before = series.points.range(..time).next_back();
        let after = series.points.range(time..).next();
        match with {
            Value::Number(number) => Ok(Some(*number)),
            Value::Word(word) if word == "REPEAT" => Ok(before.map(|(_, value)| *value)),
            Value::Word(word) if word == "LINEAR" => Ok(before
                .zip(after)
                .map(|((t0, v0), (t1, v1))| v0 + (v1 - v0) * (time - t0) as f64 / (t1 - t0) as f64)),
            _ => Err("FILL takes a number, REPEAT or LINEAR".to_owned()),
        }
    };
    let mut points = series.points.clone();
    for time in times.filter(|time| !series.points.contains_key(time)) {
        if let Some(value) = missing(time)? {
            points.insert(time, value);
        }
    }
    Ok(Value::Series(Series { points, window: series.window }))
}

/// At each time of the condition one value or the other.
fn choose(condition: &Value, then: &Value, otherwise: Option<&Value>) -> Result<Value, String> {
    let at = |value: &Value, time: u64| match value {
        Value::Number(number) => Some(*number),
        Value::Series(series) => series.points.get(&time).copied(),
        _ => None,
    };
    match condition {
        Value::Number(number) if *number != 0.0 => Ok(then.clone()),
        Value::Number(_) => otherwise.cloned().ok_or_else(|| "IF has nothing to choose".to_owned()),
        Value::Series(series) => {
            Ok(Value::Series(series.clone().filter_map(&|time, truth| match truth != 0.0 {
                true => at(then, time),
                false => otherwise.and_then(|otherwise| at(otherwise, time)),
            })))
        }
        _ => Err("IF takes a number or a time series as its condition".to_owned()),
    }
}
