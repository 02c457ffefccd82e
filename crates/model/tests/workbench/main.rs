//! The workbench as a whole: model files in, rules, predictions, costs, designs, code and other formats out.

mod code;
mod cost;
mod design;
mod documentation;
mod editor;
mod examples;
mod facts;
mod file;
mod format;
mod golden;
mod heat;
mod hostile;
mod kept;
mod migrate;
mod plan;
mod predict;
mod rule_pages;
mod rules;
mod sample;
mod scaling;
mod simulate;
mod support;
mod template;
mod write;
