//! The program as its users run it, and the library as a process embeds it.

mod access_check;
mod administration;
mod checkpoint_command;
mod configuration;
mod golden;
mod histories;
mod hostile_requests;
mod kinesis;
mod local_flags;
mod migrate_command;
mod model_apply;
mod model_command;
mod model_diff;
mod model_gate;
mod model_learn;
mod model_migrate;
mod model_prove;
mod pages;
mod private_files;
mod regions;
mod repair_command;
mod serve_command;
mod support;
mod table_commands;
mod verify_command;
