//! Ids and times, between the texts of HCS and the messages of the network.

use inbox_hcs::{AccountId, ScheduleId, Timestamp, TopicId};

use crate::proto;

/// A part of an id: those of HCS end where the network's do.
fn part(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

impl From<AccountId> for proto::AccountId {
    fn from(id: AccountId) -> Self {
        proto::AccountId {
            shard: part(id.shard()),
            realm: part(id.realm()),
            account: Some(proto::AccountIdKind::Num(part(id.number()))),
        }
    }
}

impl proto::AccountId {
    /// Its id as HCS writes it; nothing when it is named by an alias.
    pub fn id(&self) -> Option<AccountId> {
        let Some(proto::AccountIdKind::Num(num)) = self.account else {
            return None;
        };
        let part = |number: i64| u64::try_from(number).ok();
        AccountId::new(part(self.shard)?, part(self.realm)?, part(num)?)
    }
}

macro_rules! entity {
    ($($name:ident)*) => {
        $(impl From<$name> for proto::$name {
            fn from(id: $name) -> Self {
                proto::$name {
                    shard: part(id.shard()),
                    realm: part(id.realm()),
                    num: part(id.number()),
                }
            }
        }

        impl proto::$name {
            /// Its id as HCS writes it; nothing when it names nothing.
            pub fn id(&self) -> Option<$name> {
                let part = |number: i64| u64::try_from(number).ok();
                $name::new(part(self.shard)?, part(self.realm)?, part(self.num)?)
            }
        })*
    };
}

entity!(TopicId ScheduleId);

impl From<Timestamp> for proto::Timestamp {
    fn from(time: Timestamp) -> Self {
        proto::Timestamp {
            seconds: part(time.seconds()),
            nanos: i32::try_from(time.nanos()).unwrap_or_default(),
        }
    }
}

impl proto::Timestamp {
    /// The time as HCS has it; nothing for one before 1970 or with more nanoseconds than a second has.
    pub fn time(self) -> Option<Timestamp> {
        Timestamp::new(self.seconds.try_into().ok()?, self.nanos.try_into().ok()?)
    }

    /// The time so many nanoseconds later.
    pub fn later(self, nanos: u32) -> Self {
        let sum = i64::from(self.nanos) + i64::from(nanos);
        proto::Timestamp {
            seconds: self.seconds.saturating_add(sum.div_euclid(SECOND)),
            nanos: i32::try_from(sum.rem_euclid(SECOND)).unwrap_or_default(),
        }
    }
}

const SECOND: i64 = 1_000_000_000;
