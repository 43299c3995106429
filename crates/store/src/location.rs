//! Where a store is.

use std::path::PathBuf;

/// A SQLite file or a PostgreSQL database.
#[derive(Clone, PartialEq, Eq)]
pub enum Location {
    /// A SQLite file.
    File(PathBuf),
    /// A PostgreSQL URL; it may hold a password, so only [`Location::shown`] is for people.
    Postgres(String),
}

impl Location {
    /// Reads what `--db` was given.
    pub fn parse(text: &str) -> Self {
        if text.starts_with("postgres://") || text.starts_with("postgresql://") {
            Location::Postgres(text.to_owned())
        } else {
            Location::File(text.into())
        }
    }

    /// The place, without a password.
    pub fn shown(&self) -> String {
        match self {
            Location::File(path) => path.display().to_string(),
            Location::Postgres(url) => without_password(url),
        }
    }
}

impl std::fmt::Debug for Location {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Location({})", self.shown())
    }
}

fn without_password(url: &str) -> String {
    let Some((scheme, rest)) = url.split_once("://") else {
        return "postgres://…".to_owned();
    };
    let (authority, tail) = rest.split_at(rest.find(['/', '?']).unwrap_or(rest.len()));
    let shown = match authority.rsplit_once('@') {
        Some((user, host)) => format!("{}@{host}", user.split(':').next().unwrap_or_default()),
        None => authority.to_owned(),
    };
    let tail = tail.split_once('?').map_or(tail, |(path, _)| path);
    format!("{scheme}://{shown}{tail}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_is_never_shown() {
        let shown = Location::parse("postgres://me:s3cret@db:5432/team?password=s3cret").shown();
        assert_eq!(shown, "postgres://me@db:5432/team");
    }
}
