//! Templates as they are written, to be read by people: `golden/shop.yaml` in each format.
//!
//! `UPDATE_GOLDEN=1 cargo test -p model-format --test formats golden` writes what is written now.

use std::fs;
use std::path::{Path, PathBuf};

use model_format as format;

use super::support::read;

fn path(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/formats/golden").join(name)
}

fn check(format: &str, file: &str) {
    let model = read(&fs::read_to_string(path("shop.yaml")).unwrap());
    let written = format::export(format::format(format).unwrap(), &model).unwrap().text;
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        fs::write(path(file), &written).unwrap();
    }
    let golden = fs::read_to_string(path(file)).unwrap_or_default();
    assert_eq!(written, golden, "{file} differs");
}

#[test]
fn the_cloudformation_template_is_as_it_was() {
    check("cloudformation", "shop.template.yaml");
}

#[test]
fn the_terraform_configuration_is_as_it_was() {
    check("terraform", "shop.tf");
}

#[test]
fn the_cdk_stack_is_as_it_was() {
    check("cdk", "shop-stack.ts");
}
