//! Policies that look as if they limited keys or attributes, and do not.
//!
//! A condition is asked about what a request names. A request that names nothing passes `ForAllValues:`, and an answer
//! may hold more than its request names. Each [`Gap`] is one such request. A statement has the gap if it sets the limit,
//! allows the request all the same, and no other statement of the identity's policies denies it.
//!
//! The search errs on the side of a warning: of conditions on other keys it assumes that an Allow's hold, and that a
//! Deny's do not.

use std::time::UNIX_EPOCH;

use serde_json::{Value, json};

use crate::context::Keys;
use crate::policy::Statement;
use crate::{Circumstances, Context, Effect, Identity, Policy, PolicyKind, StatementName};

/// A statement that allows more than it seems to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Weakness {
    /// Where it is.
    pub statement: StatementName,
    /// What is allowed all the same.
    pub problem: &'static str,
    /// A statement in JSON that closes it.
    pub remedy: String,
}

/// A kind of request that passes a limit.
struct Gap {
    /// The condition keys that set the limit.
    limits: &'static [&'static str],
    actions: &'static [&'static str],
    /// The values of the condition keys of such a request. Those of the limit itself are none.
    values: &'static [(&'static str, &'static [&'static str])],
    problem: &'static str,
    /// The condition of the statement that denies such requests.
    remedy: fn() -> Option<Value>,
}

const KEYS: &[&str] = &[
    "dynamodb:leadingkeys",
    "dynamodb:firstpartitionkeyvalues",
    "dynamodb:secondpartitionkeyvalues",
    "dynamodb:thirdpartitionkeyvalues",
    "dynamodb:fourthpartitionkeyvalues",
];
const ATTRIBUTES: &[&str] = &["dynamodb:attributes"];

const GAPS: &[Gap] = &[
    Gap {
        limits: KEYS,
        actions: &["dynamodb:Scan"],
        values: &[],
        problem: "it limits keys, but a Scan names no key, so it passes and returns the items of all keys",
        remedy: || Some(json!({"Null": {"dynamodb:LeadingKeys": "true"}})),
    },
    Gap {
        limits: KEYS,
        actions: &["dynamodb:PartiQLSelect"],
        values: &[("dynamodb:fulltablescan", &["true"])],
        problem: "it limits keys, but a SELECT without a partition key names none, so it passes and returns the items \
                  of all keys",
        remedy: || Some(json!({"Null": {"dynamodb:LeadingKeys": "true"}})),
    },
    Gap {
        limits: ATTRIBUTES,
        actions: &[
            "dynamodb:PutItem",
            "dynamodb:UpdateItem",
            "dynamodb:DeleteItem",
            "dynamodb:PartiQLUpdate",
            "dynamodb:PartiQLDelete",
        ],
        values: &[("dynamodb:returnvalues", &["ALL_OLD"])],
        problem: "it limits attributes, but a write with ReturnValues ALL_NEW or ALL_OLD returns all attributes",
        remedy: || Some(json!({"StringEquals": {"dynamodb:ReturnValues": ["ALL_OLD", "ALL_NEW"]}})),
    },
    Gap {
        limits: ATTRIBUTES,
        actions: &[
            "dynamodb:PutItem",
            "dynamodb:UpdateItem",
            "dynamodb:DeleteItem",
            "dynamodb:ConditionCheckItem",
            "dynamodb:PartiQLInsert",
            "dynamodb:PartiQLUpdate",
            "dynamodb:PartiQLDelete",
        ],
        values: &[],
        problem: "it limits attributes, but a write whose condition fails returns all attributes if it asks for \
                  ReturnValuesOnConditionCheckFailure, and no condition key tells such writes from others: only \
                  denying the writes closes it",
        remedy: || None,
    },
];

impl Gap {
    fn has_limit(&self, statement: &Statement) -> bool {
        statement.conditions().iter().any(|condition| self.limits.contains(&condition.key()))
    }

    /// Whether the value of the key is known for such a request.
    fn knows(&self, key: &str) -> bool {
        self.limits.contains(&key) || self.values.iter().any(|(known, _)| *known == key)
    }
}

impl Context for Gap {
    fn values(&self, key: &str) -> Vec<String> {
        let known = self.values.iter().find(|(known, _)| *known == key);
        known.map_or_else(Vec::new, |(_, values)| values.iter().map(|value| (*value).to_owned()).collect())
    }
}

/// What is weak in the policies of an identity, in the order of its statements.
pub fn weaknesses(identity: &Identity) -> Vec<Weakness> {
    let circumstances = Circumstances {
        now: UNIX_EPOCH,
        source_ip: None,
        secure_transport: false,
        region: String::new(),
        user_agent: None,
    };
    let search = Search { identity, circumstances };
    let mut found = Vec::new();
    for (name, policy) in &identity.policies {
        for (index, statement) in policy.statements.iter().enumerate() {
            for gap in GAPS.iter().filter(|gap| statement.effect == Effect::Allow && gap.has_limit(statement))
            {
                let open = search.open_actions(gap, statement);
                if !open.is_empty() {
                    let sid = statement.sid.clone();
                    let kind = PolicyKind::Identity;
                    let statement_name = StatementName { kind, policy: name.clone(), number: index + 1, sid };
                    let remedy = denial(&open, statement, (gap.remedy)());
                    found.push(Weakness { statement: statement_name, problem: gap.problem, remedy });
                }
            }
        }
    }
    found
}

/// The statement that denies these actions on the resources of another one.
fn denial(actions: &[&str], statement: &Statement, condition: Option<Value>) -> String {
    let (member, resources) = statement.written_resources();
    let mut denial = json!({"Effect": "Deny", "Action": actions});
    denial[member] = json!(resources);
    if let Some(condition) = condition {
        denial["Condition"] = condition;
    }
    denial.to_string()
}

struct Search<'a> {
    identity: &'a Identity,
    circumstances: Circumstances,
}

impl Search<'_> {
    /// The actions of the gap that the statement allows and that nothing denies.
    fn open_actions(&self, gap: &Gap, statement: &Statement) -> Vec<&'static str> {
        let is_open = |action: &&&str| {
            let action = action.to_lowercase();
            self.allows(gap, statement, &action)
                && self
                    .limits()
                    .all(|policy| policy.statements.iter().any(|it| self.allows(gap, it, &action)))
                && !self.all_statements().any(|it| self.denies(gap, it, statement, &action))
        };
        gap.actions.iter().filter(is_open).copied().collect()
    }

    fn allows(&self, gap: &Gap, statement: &Statement, action: &str) -> bool {
        let may_hold = |key: &str| !gap.knows(key);
        let mut conditions = statement.conditions().iter();
        // How a limit on attributes is met is up to the request, which names only attributes that it may.
        let is_met = |key: &str| gap.limits == ATTRIBUTES && ATTRIBUTES.contains(&key);
        statement.effect == Effect::Allow
            && statement.has_action(action)
            && conditions
                .all(|it| may_hold(it.key()) || is_met(it.key()) || it.holds(&self.keys(gap), Effect::Allow))
    }

    fn denies(&self, gap: &Gap, denial: &Statement, statement: &Statement, action: &str) -> bool {
        let mut conditions = denial.conditions().iter();
        denial.effect == Effect::Deny
            && denial.has_action(action)
            && denial.covers_resources_of(statement)
            && conditions.all(|it| gap.knows(it.key()) && it.holds(&self.keys(gap), Effect::Deny))
    }

    fn keys<'a>(&'a self, gap: &'a Gap) -> Keys<'a> {
        Keys { identity: self.identity, circumstances: &self.circumstances, request: gap }
    }

    fn limits(&self) -> impl Iterator<Item = &Policy> {
        let Identity { boundary, session_policy, .. } = self.identity;
        boundary.iter().chain(session_policy).map(|(_, policy)| policy)
    }

    fn all_statements(&self) -> impl Iterator<Item = &Statement> {
        let own = self.identity.policies.iter().map(|(_, policy)| policy);
        own.chain(self.limits()).flat_map(|policy| &policy.statements)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{IdentityKind, PolicyUse};

    fn of(statements: &Value) -> Vec<Weakness> {
        let text = json!({"Version": "2012-10-17", "Statement": statements}).to_string();
        let mut identity = Identity::new("000000000000", IdentityKind::User("alice".to_owned()));
        let policy = Policy::parse(&text, PolicyUse::Identity).expect("a policy");
        identity.policies.push(("own".to_owned(), policy));
        weaknesses(&identity)
    }

    /// The statement has this number of weaknesses, and none with all remedies.
    #[track_caller]
    fn check(statement: &Value, weak: usize) {
        let found = of(&json!([statement]));
        assert_eq!(found.len(), weak, "{found:#?}");
        let remedies = found.iter().map(|it| serde_json::from_str(&it.remedy).expect("JSON"));
        let closed: Vec<Value> = [statement.clone()].into_iter().chain(remedies).collect();
        assert_eq!(of(&json!(closed)), []);
    }

    fn allow(actions: &Value, condition: &Value) -> Value {
        let resource = "arn:aws:dynamodb:*:*:table/Songs";
        json!({"Effect": "Allow", "Action": actions, "Resource": [resource], "Condition": condition})
    }

    #[test]
    fn a_limit_on_keys_that_requests_without_keys_pass_is_weak() {
        let own = json!({"dynamodb:LeadingKeys": ["${aws:username}"]});
        let for_all = json!({"ForAllValues:StringEquals": own});
        check(&allow(&json!("dynamodb:*"), &for_all), 2);
        check(&allow(&json!(["dynamodb:GetItem", "dynamodb:Scan"]), &for_all), 1);
        check(&allow(&json!(["dynamodb:PartiQLSelect"]), &for_all), 1);
        check(&allow(&json!("dynamodb:*"), &json!({"StringEqualsIfExists": own})), 2);
        // Requests that name keys are limited by them.
        check(&allow(&json!(["dynamodb:GetItem", "dynamodb:Query"]), &for_all), 0);
        check(&allow(&json!("dynamodb:*"), &json!({"StringEquals": own})), 0);
        check(&allow(&json!("dynamodb:*"), &json!({"ForAnyValue:StringEquals": own})), 0);
        let present = json!({"ForAllValues:StringEquals": own, "Null": {"dynamodb:LeadingKeys": "false"}});
        check(&allow(&json!("dynamodb:*"), &present), 0);
        let no_scan = json!({"ForAllValues:StringEquals": own, "Bool": {"dynamodb:FullTableScan": "false"}});
        check(&allow(&json!("dynamodb:PartiQLSelect"), &no_scan), 0);
    }

    #[test]
    fn a_limit_on_attributes_that_answers_pass_is_weak() {
        let names = json!({"dynamodb:Attributes": ["id", "name"]});
        let for_all = json!({"ForAllValues:StringEquals": names});
        check(&allow(&json!("dynamodb:UpdateItem"), &for_all), 2);
        check(&allow(&json!("dynamodb:ConditionCheckItem"), &for_all), 1);
        check(&allow(&json!("dynamodb:GetItem"), &for_all), 0);
        let no_values = json!({
            "ForAllValues:StringEquals": names,
            "StringEqualsIfExists": {"dynamodb:ReturnValues": ["NONE", "UPDATED_NEW"]},
        });
        check(&allow(&json!("dynamodb:UpdateItem"), &no_values), 1);
    }

    #[test]
    fn a_denial_elsewhere_or_on_a_further_condition_closes_nothing() {
        let statement = allow(
            &json!("dynamodb:Scan"),
            &json!({"ForAllValues:StringEquals": {"dynamodb:LeadingKeys": ["a"]}}),
        );
        let deny = |resource: &str, condition: &Value| json!({"Effect": "Deny", "Action": "dynamodb:Scan", "Resource": resource, "Condition": condition});
        let null = json!({"Null": {"dynamodb:LeadingKeys": "true"}});
        let from = json!({"IpAddress": {"aws:SourceIp": "10.0.0.0/8"}});
        assert_eq!(of(&json!([statement, deny("*", &null)])), []);
        assert_eq!(of(&json!([statement, deny("arn:aws:dynamodb:*:*:table/Other", &null)])).len(), 1);
        assert_eq!(of(&json!([statement, deny("*", &from)])).len(), 1);
    }
}
