//! `docs/reference/` is made from the code: each page is made again here and compared with the one
//! that is checked in. `make docs` writes them.

mod commands;
mod environment;
mod errors;
mod json;
mod schema;
mod state_machine;

use crate::check_document;

/// What stands at the top of every page.
fn page(title: &str, about: &str, body: &str) -> String {
    format!(
        "# {title}\n\n<!-- Made by make docs. Change the code that it describes. -->\n\n{about}\n\n{body}"
    )
}

/// A table; `|` in a cell is kept from ending it.
fn table(headings: &[&str], rows: impl IntoIterator<Item = Vec<String>>) -> String {
    let line = |cells: Vec<String>| {
        let cells: Vec<_> = cells
            .iter()
            .map(|cell| cell.replace('|', "\\|").replace('\n', " "))
            .collect();
        format!("| {} |\n", cells.join(" | "))
    };
    let mut out = line(headings.iter().map(ToString::to_string).collect());
    out.push_str(&format!("|{}\n", "---|".repeat(headings.len())));
    rows.into_iter().for_each(|row| out.push_str(&line(row)));
    out
}

#[test]
fn the_page_of_commands_is_what_the_parser_takes() {
    check_document("docs/reference/commands.md", &commands::document());
}

#[test]
fn the_page_of_errors_is_the_table_of_core() {
    check_document("docs/reference/errors.md", &errors::document());
}

#[test]
fn the_page_of_answers_is_what_the_schemas_say() {
    check_document("docs/reference/json.md", &json::document());
}

#[test]
fn the_page_of_the_state_machine_is_what_core_decides() {
    check_document(
        "docs/reference/state-machine.md",
        &state_machine::document(),
    );
}

#[test]
fn the_page_of_the_schema_is_what_a_fresh_store_has() {
    check_document("docs/reference/schema.md", &schema::document());
}

#[test]
fn the_page_of_the_environment_names_every_variable_that_is_read() {
    check_document("docs/reference/environment.md", &environment::document());
    let named: Vec<_> = environment::VARIABLES
        .iter()
        .map(|(name, ..)| *name)
        .collect();
    let mut read = environment::read_by_the_sources();
    read.retain(|name| !named.contains(&name.as_str()));
    assert!(read.is_empty(), "not on the page: {read:?}");
}
