//! One text as a policy: what can be read can be evaluated, has one canonical form, and means the same in that form.

#![no_main]

use std::time::SystemTime;

use iam::{
    Circumstances, Context, Identity, IdentityKind, Policy, PolicyUse, Question, ResourcePolicy, evaluate,
};
use libfuzzer_sys::fuzz_target;

const TABLE: &str = "arn:aws:dynamodb:us-east-1:111122223333:table/Table";

struct Keys;

impl Context for Keys {
    fn values(&self, key: &str) -> Vec<String> {
        match key {
            "dynamodb:leadingkeys" => vec!["a".to_owned(), "b".to_owned()],
            "dynamodb:select" => vec!["COUNT".to_owned()],
            _ => Vec::new(),
        }
    }
}

fuzz_target!(|text: &str| {
    let Ok(policy) = Policy::parse(text, PolicyUse::Resource) else {
        let _ = Policy::parse(text, PolicyUse::Identity);
        return;
    };
    let canonical = Policy::canonical(text).expect("what can be read has a canonical form");
    assert_eq!(Policy::canonical(&canonical).as_ref(), Ok(&canonical));
    let again = Policy::parse(&canonical, PolicyUse::Resource).expect("the canonical form is a policy");
    let identity = Identity::new("111122223333", IdentityKind::User("alice".to_owned()));
    let circumstances = Circumstances {
        now: SystemTime::UNIX_EPOCH,
        source_ip: Some([127, 0, 0, 1].into()),
        secure_transport: false,
        region: "us-east-1".to_owned(),
        user_agent: None,
    };
    for (action, resource) in [("dynamodb:GetItem", TABLE), ("dynamodb:ListTables", "*")] {
        let decide = |policy: &Policy| {
            let policy = Some(ResourcePolicy { policy, attached_to: TABLE });
            let question = Question { action, resource, owner: "111122223333", policy, context: &Keys };
            evaluate(&identity, &circumstances, &question).is_allowed()
        };
        assert_eq!(decide(&policy), decide(&again));
    }
});
