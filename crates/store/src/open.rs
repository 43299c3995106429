//! How a store is made, opened and brought up to this program's schema.

use std::sync::atomic::AtomicI64;
use std::sync::{Arc, Mutex};

use inbox_core::record::Millis;

use crate::bell::Bell;
use crate::driver::{Driver, Mode};
use crate::error::StoreError;
use crate::location::Location;
use crate::{Clock, DEAD_AFTER_MS, Store, fail, moving, postgres, sql, sqlite};

/// What `init` found or made.
#[derive(Debug, Clone, Copy)]
pub struct Initialised {
    /// The schema that the store has now.
    pub schema_version: i64,
    /// Whether it was made just now.
    pub created: bool,
}

impl Store {
    /// Makes a store unless there is one, and brings an older one up to this program's schema.
    pub fn init(location: &Location) -> Result<Initialised, StoreError> {
        let for_tests = std::env::var_os("INBOX_TEST_STORE").is_some();
        let created = match location {
            Location::File(path) => {
                refuse_network(path, None)?;
                let armed = if for_tests {
                    fail::Armed::from_environment()
                } else {
                    fail::Armed::default()
                };
                sqlite::init(path, armed, for_tests)?
            }
            Location::Postgres(url) => {
                let (mut driver, created) = postgres::Postgres::create(url)?;
                upgrade(&mut driver, location)?;
                if created && for_tests {
                    driver.begin(Mode::Write)?;
                    driver.query(&sql::SAVE_META, &["purpose".into(), "test".into()])?;
                    driver.commit()?;
                }
                created
            }
        };
        Store::open(location)?;
        Ok(Initialised {
            schema_version: sql::SCHEMA_VERSION,
            created,
        })
    }

    /// Opens a store that exists.
    pub fn open(location: &Location) -> Result<Store, StoreError> {
        // Nothing of this on a store that was not made for tests, whatever the environment says.
        let mut armed = fail::Armed::default();
        let (mut driver, bell): (Box<dyn Driver>, Bell) = match location {
            Location::File(path) => {
                refuse_network(path, None)?;
                let mut driver = sqlite::Sqlite::open(path)?;
                if fail::is_asked_for() && is_for_tests(&mut driver)? {
                    armed = fail::Armed::from_environment();
                    driver.arm(armed);
                    let pretended = std::env::var("INBOX_PRETEND_FS").ok();
                    refuse_network(
                        path,
                        pretended.and_then(|magic| u64::from_str_radix(&magic, 16).ok()),
                    )?;
                }
                let bell = driver.bell()?;
                (Box::new(driver), bell)
            }
            Location::Postgres(url) => {
                let mut driver = postgres::Postgres::connect(url)?;
                if fail::is_asked_for() && is_for_tests(&mut driver)? {
                    armed = fail::Armed::from_environment();
                    driver.arm(armed);
                }
                let bell = driver.bell();
                (Box::new(driver), bell)
            }
        };
        upgrade(driver.as_mut(), location)?;
        let clock = match std::env::var("INBOX_NOW")
            .ok()
            .and_then(|now| now.parse::<Millis>().ok())
        {
            Some(now) if is_for_tests(driver.as_mut())? => {
                Clock::Manual(Arc::new(AtomicI64::new(now.0)))
            }
            _ => Clock::Database,
        };
        Ok(Store {
            driver: Mutex::new(driver),
            bell,
            clock,
            location: location.clone(),
            dead_after_ms: DEAD_AFTER_MS,
            armed,
            index: Mutex::new(None),
            shared: None,
            #[cfg(feature = "sabotage")]
            put_off: std::sync::atomic::AtomicBool::new(false),
        })
    }
}

pub(crate) fn is_for_tests(driver: &mut dyn Driver) -> Result<bool, StoreError> {
    driver.begin(Mode::Read)?;
    let found = driver.query(&sql::LOAD_META, &["purpose".into()]);
    driver.rollback();
    Ok(found?
        .first_mut()
        .and_then(|row| row.text().ok())
        .as_deref()
        == Some("test"))
}

fn upgrade(driver: &mut dyn Driver, location: &Location) -> Result<(), StoreError> {
    let found = driver.schema_version()?;
    let known = sql::SCHEMA_VERSION;
    if found < 0 {
        return Err(StoreError::Moving {
            from: moving::source_of(driver).unwrap_or_else(|| "another store".into()),
            to: location.named(),
        });
    }
    if found > known {
        return Err(StoreError::Newer { found, known });
    }
    sql::MIGRATIONS
        .iter()
        .filter(|step| step.version > found)
        .try_for_each(|step| driver.migrate(step))
}

fn refuse_network(path: &std::path::Path, pretended: Option<u64>) -> Result<(), StoreError> {
    if std::env::var_os("INBOX_ALLOW_NETWORK_FS").is_some() {
        return Ok(());
    }
    let place = if path.exists() {
        path
    } else {
        path.parent().unwrap_or(path)
    };
    match sqlite::is_network_fs(place, pretended) {
        None => Ok(()),
        Some(name) => Err(StoreError::Network(format!(
            "{} is on a network file system ({name}), where SQLite's locks do not hold",
            path.display()
        ))),
    }
}
