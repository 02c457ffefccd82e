//! What a placeholder of a name or a value looks like.

use item::Placeholder;

#[test]
fn a_placeholder_is_its_sign_and_a_word() {
    for text in ["#a", "#0", "#_", "#Some_Name1"] {
        assert!(Placeholder::Name.matches(text), "{text}");
        assert!(!Placeholder::Value.matches(text), "{text}");
    }
    for text in ["", "#", "a", "#a b", "#a-b", "##a", "#é", ":a"] {
        assert!(!Placeholder::Name.matches(text), "{text}");
    }
    assert_eq!(Placeholder::Value.length(":a1 = :b"), Some(3));
    assert_eq!(Placeholder::Value.of("a1"), ":a1");
}
