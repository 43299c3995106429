//! The presets: how known clients are run without a person.

use std::collections::BTreeMap;

use inbox_core::{Code, Refusal};
use inbox_ops::Config;
use inbox_ops::config::Preset;

/// The presets that are shipped, as they are written.
const SHIPPED: &str = include_str!("../../../definitions/presets.toml");

/// The presets that are shipped.
pub(crate) fn shipped() -> Result<BTreeMap<String, Preset>, Refusal> {
    toml::from_str(SHIPPED)
        .map_err(|error| Refusal::new(Code::Internal, format!("the presets are broken: {error}")))
}

/// The preset of this name: the user's own, else a shipped one.
pub fn preset(config: &Config, name: &str) -> Result<Preset, Refusal> {
    let mut all = shipped()?;
    all.extend(config.run.presets.clone());
    let names: Vec<String> = all.keys().cloned().collect();
    let found = all.remove(name).filter(|preset| !preset.command.is_empty());
    found.ok_or_else(|| {
        Refusal::input(format!("there is no preset {name:?} with a command")).hint(format!(
            "inbox run --preset with one of {}; [run.presets.NAME] in inbox.toml makes another",
            names.join(", ")
        ))
    })
}
