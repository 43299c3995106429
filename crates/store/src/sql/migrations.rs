//! The schema, step by step.

/// One step of the schema.
#[derive(Debug)]
pub struct Migration {
    /// Its number: the schema's version once it has been applied.
    pub version: i64,
    /// The name of its file, without what it ends in.
    pub name: &'static str,
    /// The text for SQLite.
    pub sqlite: &'static str,
    /// The text for PostgreSQL.
    pub postgres: &'static str,
}

impl Migration {
    /// The statement by which PostgreSQL remembers that it was applied.
    pub(crate) fn recorded(&self) -> String {
        format!(
            "INSERT INTO meta (name, value) VALUES ('schema_version', '{}')
ON CONFLICT (name) DO UPDATE SET value = excluded.value",
            self.version
        )
    }
}

macro_rules! migration {
    ($version:literal $file:literal) => {
        Migration {
            version: $version,
            name: $file,
            sqlite: include_str!(concat!("../../sql/migrations/", $file, ".sql")),
            postgres: include_str!(concat!("../../sql/migrations/", $file, ".sql")),
        }
    };
    ($version:literal $file:literal differs) => {
        Migration {
            version: $version,
            name: $file,
            sqlite: include_str!(concat!("../../sql/migrations/", $file, ".sqlite.sql")),
            postgres: include_str!(concat!("../../sql/migrations/", $file, ".postgres.sql")),
        }
    };
}

/// The schema, step by step. A step that has landed is never edited.
pub static MIGRATIONS: &[Migration] = &[
    migration!(1 "0001_tables"),
    migration!(2 "0002_keys" differs),
    migration!(3 "0003_mail" differs),
    migration!(4 "0004_search" differs),
    migration!(5 "0005_team" differs),
    migration!(6 "0006_speed" differs),
    migration!(7 "0007_tokens" differs),
    migration!(8 "0008_doors"),
    migration!(9 "0009_ledger" differs),
    migration!(10 "0010_places" differs),
    migration!(11 "0011_console" differs),
    migration!(12 "0012_memory" differs),
    migration!(13 "0013_replays" differs),
    migration!(14 "0014_locks"),
];

/// The schema that this program writes.
pub const SCHEMA_VERSION: i64 = 14;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_for_one_database_begins_with_why() {
        for step in MIGRATIONS
            .iter()
            .filter(|step| step.sqlite != step.postgres)
        {
            assert!(step.sqlite.starts_with("-- differs: "), "{}", step.version);
            assert!(
                step.postgres.starts_with("-- differs: "),
                "{}",
                step.version
            );
        }
    }

    #[test]
    fn the_newest_migration_is_the_schemas_version() {
        let versions: Vec<_> = MIGRATIONS.iter().map(|step| step.version).collect();
        assert_eq!(versions, (1..=SCHEMA_VERSION).collect::<Vec<_>>());
    }

    #[test]
    fn a_migration_that_has_landed_is_never_edited() {
        // FNV-1a over both texts. A new step adds a line; a changed line is an edit of the past.
        let landed = [
            0x3562_e4d8_ad9c_a1c9,
            0x0b83_c39c_8a74_eb78,
            0xb835_0963_3b84_685a,
            0xa26f_9348_d6d8_6157,
            0xdf99_d816_80d3_2f2c,
            0xb99e_0e55_29f7_40e9,
            0x314f_fa40_099b_473e,
            0xc791_cbf5_a796_28a5,
            0x3f8a_e66c_90c5_f658,
            0x9459_9177_9573_a9ff,
            0xb942_4d58_41fa_37cb,
            0xa3ee_25b6_a453_9df4,
            0x0e12_5b1c_63f8_710d,
            0xe412_3eed_8b81_10d1,
        ];
        for (step, hash) in MIGRATIONS.iter().zip(landed) {
            let mut found = 0xcbf2_9ce4_8422_2325_u64;
            for byte in step.sqlite.bytes().chain(step.postgres.bytes()) {
                found = (found ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
            }
            assert_eq!(
                found, hash,
                "migration {} has the sum {found:#018x}",
                step.version
            );
        }
        assert_eq!(landed.len(), MIGRATIONS.len());
    }
}
