//! The workbench as a whole: model files in, rules, predictions, costs, heat, designs and migrations out.

mod cost;
mod cures;
mod defects;
mod design;
mod documentation;
mod editor;
mod examples;
mod facts;
mod file;
mod gate;
mod golden;
mod heat;
mod hostile;
mod migrate;
mod plan;
mod predict;
mod rows;
mod rule_pages;
mod rules;
mod sample;
mod scaling;
mod simulate;
mod support;
mod template;
mod write;
