//! Other tools' formats: what they hold is taken over, what a model can't hold comes back, what they can't
//! hold is reported.

mod any_model;
mod cloudformation;
mod corpus;
mod create_table;
mod electrodb;
mod examples;
mod golden;
mod javascript;
mod kept;
mod markdown;
mod mcp;
mod nosql_workbench;
mod onetable;
mod sample_data;
mod skill;
mod support;
mod table_contents;
mod terraform;
mod toolbox;

#[test]
fn every_format_is_in_the_documentation() {
    let page = include_str!("../../../../docs/formats.md");
    for format in model_format::FORMATS {
        assert!(page.contains(&format!("`{}`", format.name)), "{}", format.name);
    }
}
