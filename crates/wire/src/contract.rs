//! The output contracts that inbox ships as examples. A project's own are files that the caller reads.

use serde_json::Value;

/// A shipped output contract.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ContractExample {
    /// The slug by which briefs and cards refer to it.
    pub slug: &'static str,
    /// Its JSON Schema.
    pub text: &'static str,
}

macro_rules! shipped {
    ($($slug:literal)*) => {
        const SHIPPED: &[ContractExample] = &[$(ContractExample {
            slug: $slug,
            text: include_str!(concat!("../../../definitions/contracts/", $slug, ".json")),
        },)*];
    };
}

shipped! { "code_commit" "message" "output_ref_file" "report" }

/// Every shipped contract, by slug.
pub const fn contracts() -> &'static [ContractExample] {
    SHIPPED
}

/// The JSON Schema of a shipped contract.
pub fn contract(slug: &str) -> Option<Value> {
    let shipped = SHIPPED.iter().find(|contract| contract.slug == slug)?;
    crate::decode::decode(shipped.text).ok()
}
