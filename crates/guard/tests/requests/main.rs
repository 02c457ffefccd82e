mod examples;
mod items;
mod red_flags;
mod reports;
mod requests;
mod support;
