//! Random policies and requests, decided twice: by the crate, and by a second evaluator that is slow and plain. It works
//! on the JSON of the policies, matches wildcards by recursion and knows nothing of how the first one is built.
//!
//! `POLICY_DECISIONS` is how many decisions; `cargo xtask policies` asks for a million.

use std::collections::BTreeMap;
use std::time::{Duration, SystemTime};

use iam::{
    Circumstances, Context, Decision, Denial, Identity, IdentityKind, Policy, PolicyKind, PolicyUse,
    Question, ResourcePolicy, evaluate,
};
use serde_json::{Map, Value, json};

const ACCOUNT: &str = "111122223333";
const OTHER: &str = "444455556666";
const TABLE: &str = "arn:aws:dynamodb:us-east-1:111122223333:table/Games";

#[test]
fn two_evaluators_agree() {
    let decisions =
        std::env::var("POLICY_DECISIONS").ok().and_then(|text| text.parse().ok()).unwrap_or(20_000);
    let seed = std::env::var("POLICY_SEED").ok().and_then(|text| text.parse().ok()).unwrap_or(1);
    let mut random = fastrand::Rng::with_seed(seed);
    let mut counts: BTreeMap<String, u64> = BTreeMap::new();
    for number in 0..decisions {
        let case = Case::random(&mut random);
        let (found, expected) = (case.decided(), case.expected());
        assert_eq!(found, expected, "decision {number} of seed {seed}: {case:#?}");
        *counts.entry(found).or_default() += 1;
    }
    // The cases must not all be decided for one reason.
    assert!(counts.len() >= 8 && counts.values().all(|count| *count >= decisions / 1000), "{counts:?}");
}

#[derive(Debug)]
struct Case {
    account: &'static str,
    role: bool,
    root: bool,
    policies: Vec<Value>,
    boundary: Option<Value>,
    session: Option<Value>,
    resource_policy: Option<Value>,
    action: &'static str,
    resource: &'static str,
    keys: BTreeMap<String, Vec<String>>,
}

const ACTIONS: [&str; 4] = ["dynamodb:GetItem", "dynamodb:PutItem", "dynamodb:Query", "dynamodb:ListTables"];
const ACTION_PATTERNS: [&str; 7] =
    ["*", "dynamodb:*", "dynamodb:GetItem", "DynamoDB:get*", "dynamodb:*Item", "dynamodb:?uery", "s3:*"];
const RESOURCES: [&str; 4] = [
    TABLE,
    "arn:aws:dynamodb:us-east-1:111122223333:table/Games/index/ByUser",
    "arn:aws:dynamodb:us-east-1:111122223333:table/alice",
    "*",
];
const RESOURCE_PATTERNS: [&str; 8] = [
    "*",
    TABLE,
    "arn:aws:dynamodb:*:*:table/Games/index/*",
    "arn:aws:dynamodb:us-*:111122223333:table/G?mes*",
    "arn:aws:dynamodb:us-east-1:111122223333:table/${aws:username}",
    "arn:aws:dynamodb:eu-west-1:*:*",
    "arn:aws:dynamodb",
    "arn:aws:dynamodb:*:*:table/${aws:PrincipalTag/team, 'Games'}",
];
const OPERATORS: [(&str, &[&str]); 14] = [
    ("StringEquals", &["a", "b", "${aws:username}"]),
    ("StringNotEquals", &["a", "b"]),
    ("StringEqualsIgnoreCase", &["A", "b"]),
    ("StringLike", &["a*", "?", "${dynamodb:Missing}"]),
    ("StringNotLike", &["a*", "b?"]),
    ("NumericLessThan", &["5", "10"]),
    ("NumericNotEquals", &["5", "7"]),
    ("NumericGreaterThanEquals", &["5", "7.5"]),
    ("DateGreaterThan", &["2026-01-01T00:00:00Z", "2027-01-01"]),
    ("Bool", &["true", "false"]),
    ("IpAddress", &["10.0.0.0/8", "192.168.1.1"]),
    ("NotIpAddress", &["10.1.0.0/16"]),
    ("ArnLike", &["arn:aws:iam::*:user/al*", "arn:aws:iam::111122223333:role/app"]),
    ("Null", &["true", "false"]),
];
const KEYS: [&str; 8] = [
    "dynamodb:LeadingKeys",
    "dynamodb:Attributes",
    "dynamodb:Number",
    "aws:CurrentTime",
    "aws:SourceIp",
    "aws:PrincipalArn",
    "aws:SecureTransport",
    "aws:username",
];

impl Case {
    fn random(random: &mut fastrand::Rng) -> Case {
        let role = random.u8(..4) == 0;
        let mut keys = BTreeMap::new();
        for (key, values) in [
            ("dynamodb:leadingkeys", ["a", "b", "ab"]),
            ("dynamodb:attributes", ["a", "B", "c"]),
            ("dynamodb:number", ["5", "7.5", "12"]),
        ] {
            let count = random.usize(..3);
            keys.insert(key.to_owned(), (0..count).map(|_| pick(random, &values).to_owned()).collect());
        }
        let some = |random: &mut fastrand::Rng, one_in: u8| random.u8(..one_in) == 0;
        let policies = (0..random.usize(..3)).map(|_| document(random, false)).collect();
        let boundary = some(random, 4).then(|| document(random, false));
        let session = (role && some(random, 3)).then(|| document(random, false));
        let resource_policy = some(random, 2).then(|| document(random, true));
        Case {
            account: if some(random, 3) { OTHER } else { ACCOUNT },
            root: !role && some(random, 12),
            role,
            policies,
            boundary,
            session,
            resource_policy,
            action: pick(random, &ACTIONS),
            resource: pick(random, &RESOURCES),
            keys,
        }
    }

    fn identity(&self) -> Identity {
        let kind = match (self.role, self.root) {
            (true, _) => IdentityKind::Session { role: "app".to_owned(), session: "s1".to_owned() },
            (false, true) => IdentityKind::Root,
            (false, false) => IdentityKind::User("alice".to_owned()),
        };
        let read = |document: &Value| {
            let text = document.to_string();
            let policy = Policy::parse(&text, PolicyUse::Identity);
            ("p".to_owned(), policy.unwrap_or_else(|error| panic!("{text}: {error}")))
        };
        let mut identity = Identity::new(self.account, kind);
        // The root has no policies of its own.
        if !self.root {
            identity.policies = self.policies.iter().map(read).collect();
            identity.boundary = self.boundary.as_ref().map(read);
            identity.session_policy = self.session.as_ref().map(read);
        }
        identity
    }

    fn decided(&self) -> String {
        let policy = self.resource_policy.as_ref().map(|document| {
            let text = document.to_string();
            Policy::parse(&text, PolicyUse::Resource).unwrap_or_else(|error| panic!("{text}: {error}"))
        });
        let circumstances = Circumstances {
            now: SystemTime::UNIX_EPOCH + Duration::from_secs(1_794_830_400),
            source_ip: Some([10, 1, 2, 3].into()),
            secure_transport: false,
            region: "us-east-1".to_owned(),
            user_agent: None,
        };
        struct Keys<'a>(&'a BTreeMap<String, Vec<String>>);
        impl Context for Keys<'_> {
            fn values(&self, key: &str) -> Vec<String> {
                self.0.get(key).cloned().unwrap_or_default()
            }
        }
        let question = Question {
            action: self.action,
            resource: self.resource,
            owner: ACCOUNT,
            policy: policy.as_ref().map(|policy| ResourcePolicy { policy, attached_to: TABLE }),
            context: &Keys(&self.keys),
        };
        match evaluate(&self.identity(), &circumstances, &question) {
            Decision::Allowed(_) => "allowed".to_owned(),
            Decision::Denied(Denial::Explicit(statement)) => format!("explicit {:?}", statement.kind),
            Decision::Denied(Denial::Implicit(kind)) => format!("implicit {kind:?}"),
        }
    }

    // What follows is the second evaluator.

    fn expected(&self) -> String {
        let (mut own, mut boundary, mut session) =
            (self.policies.clone(), self.boundary.clone(), self.session.clone());
        if self.root {
            (own, boundary, session) = (Vec::new(), None, None);
        }
        let denies = |document: &Value| self.strength(document, "Deny") > 0;
        let allows = |document: &Value| self.strength(document, "Allow") > 0;
        if own.iter().any(denies) {
            return format!("explicit {:?}", PolicyKind::Identity);
        }
        if boundary.as_ref().is_some_and(denies) {
            return format!("explicit {:?}", PolicyKind::Boundary);
        }
        if session.as_ref().is_some_and(denies) {
            return format!("explicit {:?}", PolicyKind::Session);
        }
        if self.resource_policy.as_ref().is_some_and(denies) {
            return format!("explicit {:?}", PolicyKind::Resource);
        }
        let same_account = self.account == ACCOUNT;
        if self.root && same_account {
            return "allowed".to_owned();
        }
        let granted = self.resource_policy.as_ref().map_or(0, |document| self.strength(document, "Allow"));
        if same_account && granted == 3 {
            return "allowed".to_owned();
        }
        let identity_allows = self.root || own.iter().any(allows);
        if !(identity_allows || same_account && granted == 2) {
            return format!("implicit {:?}", PolicyKind::Identity);
        }
        if boundary.is_some() && !boundary.as_ref().is_some_and(allows) {
            return format!("implicit {:?}", PolicyKind::Boundary);
        }
        if session.is_some() && !session.as_ref().is_some_and(allows) {
            return format!("implicit {:?}", PolicyKind::Session);
        }
        if !same_account && granted == 0 {
            return format!("implicit {:?}", PolicyKind::Resource);
        }
        "allowed".to_owned()
    }

    /// 0: no statement with this effect matches; else how closely the closest names the caller: 1 by account, 2 by role
    /// or as anyone, 3 exactly.
    fn strength(&self, document: &Value, effect: &str) -> u8 {
        let variables = document["Version"] == "2012-10-17";
        let statements = many(&document["Statement"]);
        let matching = statements.iter().filter(|it| it["Effect"] == effect && self.matches(it, variables));
        matching.map(|statement| self.named(statement)).max().unwrap_or(0)
    }

    fn named(&self, statement: &Value) -> u8 {
        let level = |principal: &Value| -> u8 {
            if principal == "*" {
                return 2;
            }
            let names = many(&principal["AWS"]);
            names.iter().map(|name| self.level(name.as_str().unwrap())).max().unwrap_or(0)
        };
        match (statement.get("Principal"), statement.get("NotPrincipal")) {
            (Some(principal), _) => level(principal),
            (None, Some(principal)) => {
                if level(principal) > 0 {
                    0
                } else {
                    2
                }
            }
            (None, None) => 3,
        }
    }

    fn level(&self, name: &str) -> u8 {
        let account = self.account;
        let own = match (self.role, self.root) {
            (true, _) => format!("arn:aws:sts::{account}:assumed-role/app/s1"),
            (false, true) => format!("arn:aws:iam::{account}:root"),
            (false, false) => format!("arn:aws:iam::{account}:user/alice"),
        };
        if name == own || self.root && name == account {
            3
        } else if name == "*" || self.role && name == format!("arn:aws:iam::{account}:role/app") {
            2
        } else if name == account || name == format!("arn:aws:iam::{account}:root") {
            1
        } else {
            0
        }
    }

    fn matches(&self, statement: &Value, variables: bool) -> bool {
        if self.named(statement) == 0 {
            return false;
        }
        let text = statement.to_string();
        if variables && text.contains("${dynamodb:Missing}") {
            return false;
        }
        if variables && text.contains("${aws:username}") && (self.role || self.root) {
            return false;
        }
        let fits_action =
            |pattern: &Value| like(&pattern.as_str().unwrap().to_lowercase(), &self.action.to_lowercase());
        let actions = match statement.get("Action") {
            Some(listed) => many(listed).iter().any(fits_action),
            None => !many(&statement["NotAction"]).iter().any(fits_action),
        };
        let fits_resource = |pattern: &Value| {
            let pattern = pattern.as_str().unwrap();
            pattern == "*" || arn_like(&self.filled(pattern, variables), self.resource)
        };
        let resources = match (statement.get("Resource"), statement.get("NotResource")) {
            (Some(listed), _) => many(listed).iter().any(fits_resource),
            (None, Some(listed)) => !many(listed).iter().any(fits_resource),
            (None, None) => self.resource == TABLE || self.resource.starts_with(&format!("{TABLE}/index/")),
        };
        actions && resources && self.conditions_hold(statement, variables)
    }

    /// With variables replaced. The values that are used here have no wildcards in them.
    fn filled(&self, text: &str, variables: bool) -> String {
        if !variables {
            return text.to_owned();
        }
        text.replace("${aws:username}", "alice").replace("${aws:PrincipalTag/team, 'Games'}", "Games")
    }

    fn conditions_hold(&self, statement: &Value, variables: bool) -> bool {
        let Some(conditions) = statement.get("Condition").and_then(Value::as_object) else { return true };
        conditions.iter().all(|(operator, keys)| {
            keys.as_object().unwrap().iter().all(|(key, listed)| {
                let listed: Vec<String> =
                    many(listed).iter().map(|it| self.filled(it.as_str().unwrap(), variables)).collect();
                holds(operator, &self.values(key), &listed, statement["Effect"] == "Deny")
            })
        })
    }

    fn values(&self, key: &str) -> Vec<String> {
        let account = self.account;
        match key {
            "aws:CurrentTime" => vec!["2026-11-16T12:00:00Z".to_owned()],
            "aws:SourceIp" => vec!["10.1.2.3".to_owned()],
            "aws:SecureTransport" => vec!["false".to_owned()],
            "aws:username" if self.role || self.root => Vec::new(),
            "aws:username" => vec!["alice".to_owned()],
            "aws:PrincipalArn" if self.role => vec![format!("arn:aws:iam::{account}:role/app")],
            "aws:PrincipalArn" if self.root => vec![format!("arn:aws:iam::{account}:root")],
            "aws:PrincipalArn" => vec![format!("arn:aws:iam::{account}:user/alice")],
            key => self.keys.get(&key.to_lowercase()).cloned().unwrap_or_default(),
        }
    }
}

fn holds(operator: &str, values: &[String], listed: &[String], deny: bool) -> bool {
    if operator == "Null" {
        return listed.iter().any(|it| (it == "true") == values.is_empty());
    }
    let (set, rest) = match operator.split_once(':') {
        Some((set, rest)) => (set, rest),
        None => ("", operator),
    };
    let if_exists = rest.ends_with("IfExists");
    let name = rest.trim_end_matches("IfExists");
    let negated = name.contains("Not");
    if values.is_empty() {
        return if_exists || set == "ForAllValues" || (set.is_empty() && negated);
    }
    let passes = |value: &String| listed.iter().any(|it| fits(name, value, it)) != negated;
    let all = set == "ForAllValues" || (set.is_empty() && !deny);
    if all { values.iter().all(passes) } else { values.iter().any(passes) }
}

fn fits(name: &str, value: &str, listed: &str) -> bool {
    let numbers = || Some((value.parse::<f64>().ok()?, listed.parse::<f64>().ok()?));
    match name {
        "StringEquals" | "StringNotEquals" => value == listed,
        "StringEqualsIgnoreCase" => value.eq_ignore_ascii_case(listed),
        "StringLike" | "StringNotLike" => like(listed, value),
        "NumericLessThan" => numbers().is_some_and(|(value, listed)| value < listed),
        "NumericNotEquals" => numbers().is_some_and(|(value, listed)| value == listed),
        "NumericGreaterThanEquals" => numbers().is_some_and(|(value, listed)| value >= listed),
        // Dates of one form are in the order of their text; what is no date fits nothing.
        "DateGreaterThan" => match value.parse::<i64>() {
            Ok(seconds) => seconds > if listed.starts_with("2026") { 1_767_225_600 } else { 1_798_761_600 },
            Err(_) => value.len() == 20 && value > &listed[..10],
        },
        "Bool" => value == listed,
        "IpAddress" | "NotIpAddress" => match listed {
            "10.0.0.0/8" => value.starts_with("10.") && value.matches('.').count() == 3,
            "10.1.0.0/16" => value.starts_with("10.1.") && value.matches('.').count() == 3,
            one => value == one,
        },
        "ArnLike" => arn_like(listed, value),
        other => panic!("{other} is not an operator of these tests"),
    }
}

fn arn_like(pattern: &str, arn: &str) -> bool {
    let mut fields: Vec<&str> = pattern.splitn(6, ':').collect();
    fields.resize(6, "*");
    let parts: Vec<&str> = arn.splitn(6, ':').collect();
    parts.len() == 6 && fields.iter().zip(parts).all(|(field, part)| like(field, part))
}

fn like(pattern: &str, text: &str) -> bool {
    let (mut pattern, mut text) = (pattern.chars(), text.chars());
    let Some(first) = pattern.next() else { return text.next().is_none() };
    match first {
        '*' => {
            let rest = text.as_str();
            let ends = rest.char_indices().map(|(index, _)| index).chain([rest.len()]);
            ends.into_iter().any(|index| like(pattern.as_str(), &rest[index..]))
        }
        '?' => text.next().is_some() && like(pattern.as_str(), text.as_str()),
        character => text.next() == Some(character) && like(pattern.as_str(), text.as_str()),
    }
}

fn many(value: &Value) -> Vec<Value> {
    value.as_array().cloned().unwrap_or_else(|| vec![value.clone()])
}

fn pick<'a>(random: &mut fastrand::Rng, from: &[&'a str]) -> &'a str {
    from[random.usize(..from.len())]
}

fn document(random: &mut fastrand::Rng, of_resource: bool) -> Value {
    let statements: Vec<Value> = (0..random.usize(1..4)).map(|_| statement(random, of_resource)).collect();
    match random.u8(..5) {
        0 => json!({"Statement": statements}),
        1 if statements.len() == 1 => json!({"Version": "2012-10-17", "Statement": statements[0]}),
        _ => json!({"Version": "2012-10-17", "Statement": statements}),
    }
}

fn statement(random: &mut fastrand::Rng, of_resource: bool) -> Value {
    let mut members = Map::new();
    let effect = if random.u8(..4) == 0 { "Deny" } else { "Allow" };
    members.insert("Effect".to_owned(), json!(effect));
    let list = |random: &mut fastrand::Rng, from: &[&str]| match random.u8(..2) {
        0 => json!(pick(random, from)),
        _ => json!((0..random.usize(1..3)).map(|_| pick(random, from)).collect::<Vec<_>>()),
    };
    let name = |random: &mut fastrand::Rng, name: &str| match random.u8(..6) {
        0 => format!("Not{name}"),
        _ => name.to_owned(),
    };
    members.insert(name(random, "Action"), list(random, &ACTION_PATTERNS));
    if !of_resource || random.bool() {
        members.insert(name(random, "Resource"), list(random, &RESOURCE_PATTERNS));
    }
    if of_resource {
        let principals = [
            "*",
            ACCOUNT,
            OTHER,
            "arn:aws:iam::111122223333:root",
            "arn:aws:iam::111122223333:user/alice",
            "arn:aws:iam::444455556666:user/alice",
            "arn:aws:iam::111122223333:role/app",
            "arn:aws:sts::111122223333:assumed-role/app/s1",
        ];
        let named = if effect == "Deny" { name(random, "Principal") } else { "Principal".to_owned() };
        let principal =
            if random.u8(..8) == 0 { json!("*") } else { json!({"AWS": list(random, &principals)}) };
        members.insert(named, principal);
    }
    let mut conditions = Map::new();
    for _ in 0..random.usize(..3) {
        let (operator, values) = OPERATORS[random.usize(..OPERATORS.len())];
        let prefix = match random.u8(..4) {
            0 if operator != "Null" => "ForAllValues:",
            1 if operator != "Null" => "ForAnyValue:",
            _ => "",
        };
        let suffix = if operator != "Null" && random.u8(..5) == 0 { "IfExists" } else { "" };
        let keys = json!({pick(random, &KEYS): list(random, values)});
        conditions.insert(format!("{prefix}{operator}{suffix}"), keys);
    }
    if !conditions.is_empty() {
        members.insert("Condition".to_owned(), Value::Object(conditions));
    }
    Value::Object(members)
}
