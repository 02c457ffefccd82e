//! The checker of single items refuses wrong histories and accepts right ones.

use simulation::linearizability::{Call, LinearizabilityViolation, check};
use simulation::{Action, Answer, Condition, Content};

type ItemCall = Call<(Action, Answer)>;

const GET: Action = Action::Get;
const ALWAYS: Condition = Condition::Always;

fn call(invoked: u64, returned: u64, action: Action, answer: Answer) -> ItemCall {
    Call { invoked, returned: Some(returned), operation: (action, answer) }
}

fn pending(invoked: u64, action: Action) -> ItemCall {
    Call { invoked, returned: None, operation: (action, Answer::Unknown) }
}

fn item(version: u64) -> Option<Content> {
    Some(Content { version: Some(version), count: None })
}

fn put(version: u64, condition: Condition) -> Action {
    Action::Put(Content { version: Some(version), count: None }, condition)
}

fn right(calls: &[ItemCall]) {
    assert_eq!(check(None, calls), Ok(()));
}

fn wrong(calls: &[ItemCall]) {
    let found = check(None, calls);
    assert!(matches!(found, Err(LinearizabilityViolation::NotLinearizable { .. })), "{found:?}");
}

#[test]
fn a_read_sees_the_write_that_ended_before_it_began() {
    let written = [call(0, 1, put(1, ALWAYS), Answer::Done), call(2, 3, put(2, ALWAYS), Answer::Done)];
    let then_read = |seen| [&written[..], &[call(4, 5, GET, Answer::Read(seen))]].concat();
    right(&then_read(item(2)));
    wrong(&then_read(item(1)));
    wrong(&then_read(None));
}

#[test]
fn a_read_beside_a_write_sees_either_state() {
    for seen in [None, item(1)] {
        right(&[call(0, 3, put(1, ALWAYS), Answer::Done), call(1, 2, GET, Answer::Read(seen))]);
    }
}

#[test]
fn reads_do_not_go_back_in_time() {
    let beside = |first, second| {
        [
            call(0, 9, put(1, ALWAYS), Answer::Done),
            call(1, 2, GET, Answer::Read(first)),
            call(3, 4, GET, Answer::Read(second)),
        ]
    };
    right(&beside(None, item(1)));
    wrong(&beside(item(1), None));
}

#[test]
fn of_two_conditional_puts_of_an_absent_item_one_is_refused() {
    let absent = Condition::Version(None);
    let both = |second| [call(0, 3, put(1, absent), Answer::Done), call(1, 2, put(2, absent), second)];
    right(&both(Answer::Refused));
    right(&both(Answer::RefusedBecauseOf(item(1))));
    wrong(&both(Answer::Done));
    wrong(&both(Answer::RefusedBecauseOf(None)));
}

#[test]
fn a_refusal_needs_a_reason() {
    wrong(&[
        call(0, 1, put(1, ALWAYS), Answer::Done),
        call(2, 3, put(2, Condition::Version(Some(1))), Answer::Refused),
    ]);
}

#[test]
fn increments_are_not_lost() {
    let add = |invoked, count| call(invoked, 9, Action::Add(1, ALWAYS), Answer::Counted(count));
    right(&[add(0, 2), add(1, 3), add(2, 1)]);
    wrong(&[add(0, 1), add(1, 1)]);
    wrong(&[add(0, 1), add(1, 3)]);
    let read = |count| call(10, 11, GET, Answer::Read(Some(Content { version: None, count: Some(count) })));
    right(&[add(0, 1), add(1, 2), read(2)]);
    wrong(&[add(0, 1), add(1, 2), read(1)]);
}

#[test]
fn what_a_write_replaced_was_there() {
    let first = call(0, 1, put(1, ALWAYS), Answer::Done);
    let delete = |seen| call(2, 3, Action::Delete(ALWAYS), Answer::Replaced(seen));
    right(&[first.clone(), delete(item(1)), call(4, 5, GET, Answer::Read(None))]);
    wrong(&[first.clone(), delete(None)]);
    wrong(&[first, delete(item(1)), call(4, 5, GET, Answer::Read(item(1)))]);
}

#[test]
fn a_delete_may_wait_for_what_it_deletes() {
    // Either delete could have found no item, but then nothing removed what the first read saw.
    let delete = |invoked, returned| call(invoked, returned, Action::Delete(ALWAYS), Answer::Done);
    let read = |invoked, seen| call(invoked, invoked + 1, GET, Answer::Read(seen));
    right(&[
        delete(0, 9),
        delete(1, 8),
        call(2, 7, put(1, ALWAYS), Answer::Done),
        read(3, item(1)),
        read(10, None),
    ]);
}

#[test]
fn an_index_tells_the_version_that_the_item_has() {
    let written = call(0, 1, put(1, ALWAYS), Answer::Done);
    right(&[written.clone(), call(2, 3, GET, Answer::ReadVersion(Some(1)))]);
    wrong(&[written.clone(), call(2, 3, GET, Answer::ReadVersion(None))]);
    wrong(&[
        written,
        call(2, 3, Action::Delete(ALWAYS), Answer::Done),
        call(4, 5, GET, Answer::ReadVersion(Some(1))),
    ]);
}

#[test]
fn a_write_of_unknown_outcome_happened_late_or_never_but_not_early_nor_twice() {
    let read = |invoked, seen| call(invoked, invoked + 1, GET, Answer::Read(seen));
    right(&[pending(0, put(1, ALWAYS)), read(2, None), read(4, None)]);
    right(&[pending(0, put(1, ALWAYS)), read(2, None), read(4, item(1))]);
    wrong(&[read(0, item(1)), pending(2, put(1, ALWAYS))]);
    wrong(&[pending(0, put(1, ALWAYS)), read(2, item(1)), read(4, None)]);
    let add = |invoked, count| call(invoked, invoked + 1, Action::Add(1, ALWAYS), Answer::Counted(count));
    right(&[pending(0, Action::Add(1, ALWAYS)), add(2, 1), add(4, 3)]);
    wrong(&[pending(0, Action::Add(1, ALWAYS)), add(2, 1), add(4, 4)]);
}

/// Groups of concurrent writers. After each group one of its writes is read; until then every order of the group is
/// possible.
fn groups(count: u64, writers: u64) -> Vec<ItemCall> {
    let mut calls = Vec::new();
    for group in 0..count {
        let start = group * 100;
        let version = |writer| group * writers + writer;
        for writer in 0..writers {
            let action = put(version(writer), ALWAYS);
            calls.push(call(start + writer, start + 50 + writer, action, Answer::Done));
        }
        calls.push(call(start + 80, start + 81, GET, Answer::Read(item(version((group * 7) % writers)))));
    }
    calls
}

#[test]
fn many_writes_at_once_are_searched_quickly() {
    right(&groups(50, 8));
}

#[test]
fn one_wrong_read_behind_many_writes_at_once_is_found() {
    let calls = groups(10, 6);
    let behind = |seen| [&calls[..], &[call(2000, 2001, GET, Answer::Read(seen))]].concat();
    right(&behind(item(9 * 6 + (9 * 7) % 6)));
    wrong(&behind(item(9 * 6 + (9 * 7 + 1) % 6)));
}
