//! Ids of operations and names of files.

use transfer::id::{file_name, operation_id};

#[test]
fn an_operation_id_has_fourteen_digits_and_eight_hexadecimal_ones() {
    assert_eq!(operation_id(1489602797149, 0x73d8d5bc), "01489602797149-73d8d5bc");
    assert_eq!(operation_id(0, 0), "00000000000000-00000000");
}

#[test]
fn a_file_name_is_the_base32_of_its_bytes() {
    assert_eq!(file_name([0; 16]), "a".repeat(26));
    assert_eq!(file_name([0xFF; 16]), format!("{}4", "7".repeat(25)));
    // RFC 4648's own example, "foobar", followed by zeros.
    assert_eq!(file_name(*b"foobar\0\0\0\0\0\0\0\0\0\0"), "mzxw6ytboiaaaaaaaaaaaaaaaa");
}
