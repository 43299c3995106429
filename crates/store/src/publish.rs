//! The view `inbox` in another schema of the database, for roles that have no right on the store.

use inbox_core::{Code, Refusal};

use crate::error::Abort;
use crate::{Location, Store, sql};

/// What every visitor of a Supabase project is, or can become by signing up.
const EVERYBODY: &[&str] = &["public", "anon", "authenticated"];

/// Refuses what can be published nowhere, before anything is made.
pub fn may_publish(location: &Location, roles: &[String]) -> Result<(), Refusal> {
    if let Location::File(_) = location {
        return Err(Refusal::input(format!(
            "{} is a SQLite file, which has no schemas to publish in",
            location.shown()
        ))
        .hint("inbox init --db postgres://… publishes; in a file the view inbox is there for whoever may open it"));
    }
    if roles.iter().any(String::is_empty) {
        return Err(Refusal::input("--grant is empty")
            .hint("inbox init --grant takes the name of a role of the database"));
    }
    match roles.iter().find(|role| EVERYBODY.contains(&role.as_str())) {
        Some(role) => Err(Refusal::input(format!(
            "{role} is everybody, and mail is not for everybody"
        ))
        .hint("inbox init --grant takes the role of one program, such as service_role")),
        None => Ok(()),
    }
}

impl Store {
    /// Shows the view `inbox` in a schema of the same database and lets these roles read it, write to
    /// it and acknowledge. What is shown there already stays, with the roles that it has.
    pub fn publish(&self, schema: &str, roles: &[String]) -> Result<(), Refusal> {
        may_publish(self.location(), roles)?;
        let nobody = [String::new()];
        let roles = if roles.is_empty() { &nobody } else { roles };
        self.write(|tx| {
            for role in roles {
                let params = [schema.into(), role.as_str().into()];
                let mut found = tx.rows(&sql::PUBLISH_PROBLEM, &params)?;
                let problem = match found.first_mut() {
                    Some(row) => row.text()?,
                    None => String::new(),
                };
                refuse(&problem, schema, role)
                    .map_or(Ok(()), |refusal| Err(Abort::from(refusal)))?;
                tx.rows(&sql::PUBLISH, &params)?;
            }
            Ok(())
        })
        .map(drop)
    }
}

/// What stands in the way, in words.
fn refuse(problem: &str, schema: &str, role: &str) -> Option<Refusal> {
    Some(match problem {
        "" => return None,
        "own" => Refusal::input(format!(
            "{schema} is the schema of the store itself, whose view stays private"
        ))
        .hint("inbox init --publish-inbox takes another schema, such as public"),
        "schema" => Refusal::input(format!(
            "the database has no schema {schema:?} to publish in"
        ))
        .hint("psql -c 'CREATE SCHEMA …' makes one; inbox makes no schema but its own"),
        "taken" => Refusal::new(
            Code::AlreadyExists,
            format!("{schema} has an inbox already, which this store did not publish"),
        )
        .hint(
            "psql -c 'ALTER TABLE … RENAME TO …' moves it out of the way; inbox never replaces it",
        ),
        "create" => Refusal::new(
            Code::NotAllowed,
            format!("the role that owns the store may make nothing in the schema {schema:?}"),
        )
        .hint("psql -c 'GRANT CREATE ON SCHEMA … TO …', as the owner of the schema, lets it"),
        "role" => Refusal::input(format!("the database has no role {role:?}"))
            .hint("psql -c '\\du' lists the roles; names of roles are case-sensitive here"),
        _ => Refusal::new(
            Code::NotAllowed,
            format!(
                "the role {role:?} may not use the schema {schema:?}, and would not find the view"
            ),
        )
        .hint("psql -c 'GRANT USAGE ON SCHEMA … TO …', as the owner of the schema, lets it in"),
    })
}
