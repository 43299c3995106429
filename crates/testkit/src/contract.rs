//! The contract of every store: one function a rule, run on SQLite and on PostgreSQL.

#[expect(missing_docs, reason = "the name of a rule says it")]
pub mod addresses;
#[expect(missing_docs, reason = "the name of a rule says it")]
pub mod circles;
#[expect(missing_docs, reason = "the name of a rule says it")]
pub mod cursors;
#[expect(missing_docs, reason = "the name of a rule says it")]
pub mod expiry;
#[expect(missing_docs, reason = "the name of a rule says it")]
pub mod hostile;
#[expect(missing_docs, reason = "the name of a rule says it")]
pub mod keys;
#[expect(missing_docs, reason = "the name of a rule says it")]
pub mod leases;
#[expect(missing_docs, reason = "the name of a rule says it")]
pub mod mail;
#[expect(missing_docs, reason = "the name of a rule says it")]
pub mod queue;
#[expect(missing_docs, reason = "the name of a rule says it")]
pub mod receipts;
#[expect(missing_docs, reason = "the name of a rule says it")]
pub mod roster;
#[expect(missing_docs, reason = "the name of a rule says it")]
pub mod search;

/// Expands to one named test for each rule on each store.
#[macro_export]
macro_rules! store_contract {
    ($($module:ident { $($rule:ident)* })*) => {
        mod sqlite { $(mod $module { $(
            #[test]
            fn $rule() { inbox_testkit::contract::$module::$rule(&inbox_testkit::world::World::sqlite()); }
        )* })* }
        mod postgres { $(mod $module { $(
            #[test]
            fn $rule() { inbox_testkit::contract::$module::$rule(&inbox_testkit::world::World::postgres()); }
        )* })* }
    };
}
