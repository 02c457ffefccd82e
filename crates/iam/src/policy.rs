//! Policy documents, read strictly: what IAM would refuse, or would read in another way, is an error here.

use std::fmt;

use serde::de::{Deserialize, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};

use crate::condition::{Condition, ConditionError, arn_matches};
use crate::context::Keys;
use crate::pattern::{Pattern, Syntax};
use crate::principal::{Named, Principal};
use crate::{Identity, canonical_policy};

/// The size of a policy document: DynamoDB's limit for resource policies. IAM's own are smaller.
pub const POLICY_BYTES_MAX: usize = 20_480;

/// A policy that can be evaluated.
#[derive(Clone, Debug, PartialEq)]
pub struct Policy {
    pub(crate) statements: Vec<Statement>,
}

/// What a policy is attached to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PolicyUse {
    /// An identity: statements name resources and no principals.
    Identity,
    /// A resource: statements name principals; without a resource they are about the one that has the policy.
    Resource,
}

/// What a statement does to the requests that it matches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names say it")]
pub enum Effect {
    Allow,
    Deny,
}

/// Why a document is not a policy.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs, reason = "the messages say it")]
pub enum PolicyError {
    #[error("a policy has at most {POLICY_BYTES_MAX} bytes")]
    TooLong,
    #[error("Syntax error at position ({line},{column}): {problem}")]
    Syntax { line: usize, column: usize, problem: String },
    #[error("a policy needs at least one statement")]
    NoStatement,
    #[error("the version '{0}' is not 2012-10-17 or 2008-10-17")]
    Version(String),
    #[error("statement {0}: {1}")]
    Statement(usize, String),
    /// Two statements have the same Sid.
    #[error("the Sid '{0}' is used twice")]
    DuplicateSid(String),
    #[error("Invalid principal in policy document.")]
    Principal,
}

/// One statement.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Statement {
    pub sid: Option<String>,
    pub effect: Effect,
    principals: Option<Scope<Principal>>,
    /// Patterns in lower case.
    actions: Scope<Pattern>,
    /// `None` in a resource policy that does not name any: the resource that has the policy.
    resources: Option<Scope<Resource>>,
    conditions: Vec<Condition>,
    /// `Resource` or `NotResource`, and its values as written.
    written_resources: (&'static str, Vec<String>),
    /// Condition keys that variables need. Without one of them the statement matches nothing.
    required_keys: Vec<String>,
}

/// `Action` or `NotAction`, and so on.
#[derive(Clone, Debug, PartialEq)]
enum Scope<T> {
    Only(Vec<T>),
    AllBut(Vec<T>),
}

#[derive(Clone, Debug, PartialEq)]
enum Resource {
    /// `*`
    Any,
    /// The six fields of an ARN.
    Arn(Vec<Pattern>),
}

/// The document as it is written.
#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields, rename_all = "PascalCase")]
pub(crate) struct Document {
    pub version: Option<String>,
    pub id: Option<String>,
    pub statement: OneOrMany<Written>,
}

/// A statement as it is written.
#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields, rename_all = "PascalCase")]
pub(crate) struct Written {
    pub sid: Option<String>,
    pub effect: String,
    pub principal: Option<WrittenPrincipal>,
    pub not_principal: Option<WrittenPrincipal>,
    pub action: Option<OneOrMany<String>>,
    pub not_action: Option<OneOrMany<String>>,
    pub resource: Option<OneOrMany<String>>,
    pub not_resource: Option<OneOrMany<String>>,
    pub condition: Option<Members<Members<OneOrMany<Scalar>>>>,
}

/// One value, or a list of them.
pub(crate) struct OneOrMany<T> {
    pub values: Vec<T>,
}

/// An object whose members keep their order. A name may not be used twice.
pub(crate) struct Members<T>(pub Vec<(String, T)>);

/// `"*"`, or kinds and names.
pub(crate) enum WrittenPrincipal {
    Anyone,
    Named(Members<OneOrMany<String>>),
}

/// A value of a condition: text, a number or a Boolean, all of which are compared as text.
pub(crate) struct Scalar(pub String);

impl Policy {
    /// Reads a JSON document.
    pub fn parse(text: &str, policy_use: PolicyUse) -> Result<Policy, PolicyError> {
        let document = read(text)?;
        let variables = match document.version.as_deref() {
            Some("2012-10-17") => true,
            Some("2008-10-17") | None => false,
            Some(other) => return Err(PolicyError::Version(other.to_owned())),
        };
        let written = document.statement.values;
        if written.is_empty() {
            return Err(PolicyError::NoStatement);
        }
        let mut statements = Vec::with_capacity(written.len());
        for (index, statement) in written.into_iter().enumerate() {
            let statement =
                Statement::read(statement, policy_use, variables).map_err(|fault| match fault {
                    Fault::Principal => PolicyError::Principal,
                    Fault::Text(text) => PolicyError::Statement(index + 1, text),
                })?;
            let is_taken = |other: &Statement| other.sid.is_some() && other.sid == statement.sid;
            if statements.iter().any(is_taken) {
                return Err(PolicyError::DuplicateSid(statement.sid.unwrap_or_default()));
            }
            statements.push(statement);
        }
        Ok(Policy { statements })
    }

    /// Whether a statement allows something to anyone, on no condition. DynamoDB refuses to attach such a policy.
    pub fn is_unbounded(&self) -> bool {
        self.statements.iter().any(|statement| {
            let to_anyone = match &statement.principals {
                Some(Scope::Only(principals)) => principals.contains(&Principal::Anyone),
                Some(Scope::AllBut(_)) => true,
                None => false,
            };
            statement.effect == Effect::Allow && to_anyone && statement.conditions.is_empty()
        })
    }

    /// The document in the one form that DynamoDB gives back.
    pub fn canonical(text: &str) -> Result<String, PolicyError> {
        Ok(canonical_policy::print(read(text)?))
    }
}

fn read(text: &str) -> Result<Document, PolicyError> {
    if text.len() > POLICY_BYTES_MAX {
        return Err(PolicyError::TooLong);
    }
    serde_json::from_str(text).map_err(|error| PolicyError::Syntax {
        line: error.line(),
        column: error.column(),
        problem: error.to_string(),
    })
}

enum Fault {
    Principal,
    Text(String),
}

impl From<&str> for Fault {
    fn from(text: &str) -> Fault {
        Fault::Text(text.to_owned())
    }
}

impl From<String> for Fault {
    fn from(text: String) -> Fault {
        Fault::Text(text)
    }
}

impl From<ConditionError> for Fault {
    fn from(error: ConditionError) -> Fault {
        Fault::Text(error.to_string())
    }
}

impl Statement {
    fn read(written: Written, policy_use: PolicyUse, variables: bool) -> Result<Statement, Fault> {
        let effect = match written.effect.as_str() {
            "Allow" | "allow" => Effect::Allow,
            "Deny" | "deny" => Effect::Deny,
            other => return Err(format!("Effect is Allow or Deny, not '{other}'").into()),
        };
        let principals = scope("Principal", written.principal, written.not_principal)?;
        let principals = match (policy_use, principals) {
            (PolicyUse::Identity, None) => None,
            (PolicyUse::Identity, Some(_)) => return Err("a policy of an identity has no Principal".into()),
            (PolicyUse::Resource, None) => return Err("a resource policy needs a Principal".into()),
            (PolicyUse::Resource, Some(written)) => Some(written.try_map(read_principals)?),
        };
        if effect == Effect::Allow && matches!(principals, Some(Scope::AllBut(_))) {
            return Err("NotPrincipal goes with Deny alone".into());
        }
        let actions = scope("Action", written.action, written.not_action)?;
        let actions = actions.ok_or("a statement needs Action or NotAction")?.try_map(read_actions)?;
        let written_resources = match (&written.resource, &written.not_resource) {
            (None, Some(all_but)) => ("NotResource", all_but.values.clone()),
            (only, _) => ("Resource", only.as_ref().map_or_else(Vec::new, |only| only.values.clone())),
        };
        let resources = scope("Resource", written.resource, written.not_resource)?;
        let resources =
            resources.map(|it| it.try_map(|texts| read_resources(texts, variables))).transpose()?;
        if policy_use == PolicyUse::Identity && resources.is_none() {
            return Err("a statement needs Resource or NotResource".into());
        }
        let mut conditions = Vec::new();
        for (operator, keys) in written.condition.into_iter().flat_map(|members| members.0) {
            for (key, values) in keys.0 {
                let values: Vec<String> = values.values.into_iter().map(|value| value.0).collect();
                conditions.push(Condition::read(&operator, &key, &values, variables)?);
            }
        }
        let of_resources = resources.iter().flat_map(Scope::members).flat_map(Resource::patterns);
        let mut required_keys: Vec<String> = of_resources
            .flat_map(Pattern::required_keys)
            .chain(conditions.iter().flat_map(Condition::required_keys))
            .map(str::to_owned)
            .collect();
        required_keys.sort();
        required_keys.dedup();
        let sid = written.sid;
        Ok(Statement {
            sid,
            effect,
            principals,
            actions,
            resources,
            conditions,
            written_resources,
            required_keys,
        })
    }

    /// How closely the statement names the identity. A policy of an identity is its own.
    pub fn names(&self, identity: &Identity) -> Option<Named> {
        let closest = |principals: &[Principal]| principals.iter().filter_map(|it| it.names(identity)).max();
        match &self.principals {
            None => Some(Named::Exactly),
            Some(Scope::Only(principals)) => closest(principals),
            Some(Scope::AllBut(principals)) => match closest(principals) {
                Some(_) => None,
                None => Some(Named::Broadly),
            },
        }
    }

    /// Whether the statement is about this action, which is in lower case.
    pub fn has_action(&self, action: &str) -> bool {
        self.actions.contains(|pattern| pattern.matches(action, &|_| None))
    }

    pub fn conditions(&self) -> &[Condition] {
        &self.conditions
    }

    /// `Resource` or `NotResource`, and its values as written.
    pub fn written_resources(&self) -> (&'static str, &[String]) {
        (self.written_resources.0, &self.written_resources.1)
    }

    /// Whether it is plain from what is written that all resources of the other statement are resources of this one.
    pub fn covers_resources_of(&self, other: &Statement) -> bool {
        let covers = |ours: &[Resource], theirs: &[Resource]| theirs.iter().all(|it| ours.contains(it));
        match (&self.resources, &other.resources) {
            (Some(Scope::Only(ours)), _) if ours.contains(&Resource::Any) => true,
            (Some(Scope::Only(ours)), Some(Scope::Only(theirs))) => covers(ours, theirs),
            (ours, theirs) => ours == theirs,
        }
    }

    /// Whether the statement is about this action on this resource, and its conditions hold. `attached_to` is the
    /// resource that has the policy.
    pub fn matches(&self, action: &str, resource: &str, attached_to: Option<&str>, keys: &Keys<'_>) -> bool {
        let resolve = |key: &str| keys.variable(key);
        self.has_action(action)
            && self.required_keys.iter().all(|key| resolve(key).is_some())
            && match &self.resources {
                Some(resources) => resources.contains(|it| it.matches(resource, &resolve)),
                None => attached_to.is_some_and(|owner| covers(owner, resource)),
            }
            && self.conditions.iter().all(|condition| condition.holds(keys, self.effect))
    }
}

/// A table's policy covers its indexes.
fn covers(attached_to: &str, resource: &str) -> bool {
    resource.strip_prefix(attached_to).is_some_and(|rest| rest.is_empty() || rest.starts_with("/index/"))
}

impl<T> Scope<T> {
    fn members(&self) -> &[T] {
        match self {
            Scope::Only(members) | Scope::AllBut(members) => members,
        }
    }

    fn contains(&self, fits: impl Fn(&T) -> bool) -> bool {
        match self {
            Scope::Only(members) => members.iter().any(fits),
            Scope::AllBut(members) => !members.iter().any(fits),
        }
    }
}

/// `Action` or `NotAction` as written, before their members are read.
enum WrittenScope<T> {
    Only(T),
    AllBut(T),
}

impl<T> WrittenScope<T> {
    fn try_map<U>(self, read: impl FnOnce(T) -> Result<Vec<U>, Fault>) -> Result<Scope<U>, Fault> {
        Ok(match self {
            WrittenScope::Only(written) => Scope::Only(read(written)?),
            WrittenScope::AllBut(written) => Scope::AllBut(read(written)?),
        })
    }
}

fn scope<T>(name: &str, only: Option<T>, all_but: Option<T>) -> Result<Option<WrittenScope<T>>, Fault> {
    match (only, all_but) {
        (Some(_), Some(_)) => Err(format!("{name} and Not{name} do not go together").into()),
        (Some(only), None) => Ok(Some(WrittenScope::Only(only))),
        (None, Some(all_but)) => Ok(Some(WrittenScope::AllBut(all_but))),
        (None, None) => Ok(None),
    }
}

fn read_principals(written: WrittenPrincipal) -> Result<Vec<Principal>, Fault> {
    let WrittenPrincipal::Named(kinds) = written else { return Ok(vec![Principal::Anyone]) };
    let mut principals = Vec::new();
    for (kind, names) in &kinds.0 {
        for name in &names.values {
            principals.push(Principal::read(kind, name).ok_or(Fault::Principal)?);
        }
    }
    if principals.is_empty() { Err(Fault::Principal) } else { Ok(principals) }
}

fn read_actions(written: OneOrMany<String>) -> Result<Vec<Pattern>, Fault> {
    let action = |text: &String| {
        let lower = text.to_lowercase();
        let has_shape = lower == "*"
            || lower.split_once(':').is_some_and(|(service, name)| {
                !service.is_empty() && !name.is_empty() && !name.contains(':')
            });
        let syntax = Syntax { wildcards: true, variables: false };
        let pattern = has_shape.then(|| Pattern::parse(&lower, syntax)).flatten();
        pattern.ok_or_else(|| Fault::Text(format!("'{text}' is no action such as dynamodb:GetItem")))
    };
    not_empty("Action", written.values.iter().map(action).collect())
}

fn read_resources(written: OneOrMany<String>, variables: bool) -> Result<Vec<Resource>, Fault> {
    let resource = |text: &String| {
        if text == "*" {
            return Ok(Resource::Any);
        }
        let pattern = text
            .starts_with("arn:")
            .then(|| Pattern::parse(text, Syntax { wildcards: true, variables }))
            .flatten()
            .ok_or_else(|| Fault::Text(format!("'{text}' is neither an ARN nor *")))?;
        Ok(Resource::Arn(pattern.fields(6)))
    };
    not_empty("Resource", written.values.iter().map(resource).collect())
}

fn not_empty<T>(name: &str, read: Result<Vec<T>, Fault>) -> Result<Vec<T>, Fault> {
    match read {
        Ok(values) if values.is_empty() => Err(format!("{name} lists nothing").into()),
        read => read,
    }
}

impl Resource {
    fn patterns(&self) -> &[Pattern] {
        match self {
            Resource::Any => &[],
            Resource::Arn(fields) => fields,
        }
    }

    fn matches(&self, resource: &str, resolve: &crate::pattern::Resolve<'_>) -> bool {
        match self {
            Resource::Any => true,
            Resource::Arn(fields) => arn_matches(fields, resource, resolve),
        }
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for OneOrMany<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<OneOrMany<T>, D::Error> {
        struct Values<T>(std::marker::PhantomData<T>);

        impl<'de, T: Deserialize<'de>> Visitor<'de> for Values<T> {
            type Value = OneOrMany<T>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a value or a list of values")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<OneOrMany<T>, A::Error> {
                let mut values = Vec::new();
                while let Some(value) = list.next_element()? {
                    values.push(value);
                }
                Ok(OneOrMany { values })
            }

            fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<OneOrMany<T>, E> {
                one(T::deserialize(serde::de::value::StrDeserializer::new(text))?)
            }

            fn visit_bool<E: serde::de::Error>(self, value: bool) -> Result<OneOrMany<T>, E> {
                one(T::deserialize(serde::de::value::BoolDeserializer::new(value))?)
            }

            fn visit_i64<E: serde::de::Error>(self, value: i64) -> Result<OneOrMany<T>, E> {
                one(T::deserialize(serde::de::value::I64Deserializer::new(value))?)
            }

            fn visit_u64<E: serde::de::Error>(self, value: u64) -> Result<OneOrMany<T>, E> {
                one(T::deserialize(serde::de::value::U64Deserializer::new(value))?)
            }

            fn visit_f64<E: serde::de::Error>(self, value: f64) -> Result<OneOrMany<T>, E> {
                one(T::deserialize(serde::de::value::F64Deserializer::new(value))?)
            }

            fn visit_map<A: MapAccess<'de>>(self, members: A) -> Result<OneOrMany<T>, A::Error> {
                one(T::deserialize(serde::de::value::MapAccessDeserializer::new(members))?)
            }
        }

        fn one<T, E>(value: T) -> Result<OneOrMany<T>, E> {
            Ok(OneOrMany { values: vec![value] })
        }

        deserializer.deserialize_any(Values(std::marker::PhantomData))
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Members<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Members<T>, D::Error> {
        struct Object<T>(std::marker::PhantomData<T>);

        impl<'de, T: Deserialize<'de>> Visitor<'de> for Object<T> {
            type Value = Members<T>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Members<T>, A::Error> {
                let mut found: Vec<(String, T)> = Vec::new();
                while let Some((name, value)) = members.next_entry::<String, T>()? {
                    if found.iter().any(|(other, _)| *other == name) {
                        return Err(A::Error::custom(format!("duplicate field `{name}`")));
                    }
                    found.push((name, value));
                }
                Ok(Members(found))
            }
        }

        deserializer.deserialize_map(Object(std::marker::PhantomData))
    }
}

impl<'de> Deserialize<'de> for WrittenPrincipal {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<WrittenPrincipal, D::Error> {
        struct AnyoneOrNamed;

        impl<'de> Visitor<'de> for AnyoneOrNamed {
            type Value = WrittenPrincipal;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("\"*\" or an object such as {\"AWS\": …}")
            }

            fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<WrittenPrincipal, E> {
                if text == "*" {
                    Ok(WrittenPrincipal::Anyone)
                } else {
                    Err(E::invalid_value(serde::de::Unexpected::Str(text), &self))
                }
            }

            fn visit_map<A: MapAccess<'de>>(self, members: A) -> Result<WrittenPrincipal, A::Error> {
                let members = serde::de::value::MapAccessDeserializer::new(members);
                Ok(WrittenPrincipal::Named(Members::deserialize(members)?))
            }
        }

        deserializer.deserialize_any(AnyoneOrNamed)
    }
}

impl<'de> Deserialize<'de> for Scalar {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Scalar, D::Error> {
        struct AnyScalar;

        impl Visitor<'_> for AnyScalar {
            type Value = Scalar;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("text, a number or a Boolean")
            }

            fn visit_str<E>(self, text: &str) -> Result<Scalar, E> {
                Ok(Scalar(text.to_owned()))
            }

            fn visit_bool<E>(self, value: bool) -> Result<Scalar, E> {
                Ok(Scalar(value.to_string()))
            }

            fn visit_i64<E>(self, value: i64) -> Result<Scalar, E> {
                Ok(Scalar(value.to_string()))
            }

            fn visit_u64<E>(self, value: u64) -> Result<Scalar, E> {
                Ok(Scalar(value.to_string()))
            }

            fn visit_f64<E>(self, value: f64) -> Result<Scalar, E> {
                Ok(Scalar(value.to_string()))
            }
        }

        deserializer.deserialize_any(AnyScalar)
    }
}
