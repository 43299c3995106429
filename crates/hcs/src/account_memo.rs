//! The memo of an account (HCS-11): where its profile is.

use std::fmt;
use std::str::FromStr;

use crate::hrl::Hrl;
use crate::memo::{deviation, must_fit};
use crate::report::{Deviation, DeviationKind, Refused};

/// Where a profile is.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum ProfileReference {
    /// On a topic.
    Topic(Hrl),
    /// Somewhere else.
    Elsewhere(Elsewhere),
}

/// A place that is no topic: `ipfs://`, `ar://` or `https://`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Elsewhere(String);

impl Elsewhere {
    /// The whole reference.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for Elsewhere {
    type Err = Refused;
    fn from_str(text: &str) -> Result<Self, Refused> {
        let is_known = ["ipfs://", "ar://", "https://"]
            .into_iter()
            .filter_map(|scheme| text.strip_prefix(scheme))
            .any(|rest| !rest.is_empty() && rest.bytes().all(|byte| byte.is_ascii_graphic()));
        if is_known {
            Ok(Elsewhere(text.to_owned()))
        } else {
            Err(Refused::text(text, "a reference of ipfs, ar or https"))
        }
    }
}

impl fmt::Display for ProfileReference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ProfileReference::Topic(hrl) => hrl.fmt(f),
            ProfileReference::Elsewhere(place) => f.write_str(&place.0),
        }
    }
}

impl FromStr for ProfileReference {
    type Err = Refused;
    fn from_str(text: &str) -> Result<Self, Refused> {
        if text.starts_with("hcs://") {
            text.parse().map(ProfileReference::Topic)
        } else {
            text.parse().map(ProfileReference::Elsewhere)
        }
    }
}

/// The memo of an agent's account: `hcs-11:{reference}`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct AccountMemo(ProfileReference);

/// The standards under which a profile can be kept on a topic: a file, a registry, a smart registry.
const PROFILE_PROTOCOLS: [u16; 3] = [1, 2, 7];

impl AccountMemo {
    /// The memo for a profile that is there; refused when it would not fit.
    pub fn new(profile: ProfileReference) -> Result<Self, Refused> {
        let memo = AccountMemo(profile);
        must_fit(&memo.to_string())?;
        Ok(memo)
    }

    /// Where the profile is.
    pub const fn profile(&self) -> &ProfileReference {
        &self.0
    }

    /// Reads what somebody wrote, with what was forgiven.
    pub fn read(text: &str) -> Result<(Self, Vec<Deviation>), Refused> {
        must_fit(text)?;
        let wrong = || Refused::text(text, "an account memo such as hcs-11:hcs://1/0.0.12345");
        let rest = text.strip_prefix("hcs-11:").ok_or_else(wrong)?;
        let mut deviations = Vec::new();
        let profile = if let Ok(topic) = rest.parse() {
            let expected = Hrl::file(topic);
            deviations.push(deviation(
                DeviationKind::BareTopic,
                expected.to_string(),
                rest,
            ));
            ProfileReference::Topic(expected)
        } else {
            rest.parse().map_err(|_| wrong())?
        };
        if let ProfileReference::Topic(hrl) = &profile
            && !PROFILE_PROTOCOLS.contains(&hrl.protocol)
        {
            deviations.push(deviation(
                DeviationKind::UnknownNumber,
                "a profile under HCS-1, HCS-2 or HCS-7",
                rest,
            ));
        }
        Ok((AccountMemo(profile), deviations))
    }
}

impl fmt::Display for AccountMemo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "hcs-11:{}", self.0)
    }
}
