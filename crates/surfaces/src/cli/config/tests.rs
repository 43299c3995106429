//! What holds of files of settings, whatever they say.

use proptest::prelude::*;

use super::*;
use crate::damage::{cases, damaged_text};

const FILES: &[&str] = &[
    include_str!("../../../../../definitions/inbox.example.toml"),
    "[run.presets.\"a.b\"]\ncommand = [\"x\"]\n[run.presets.a]\ncommand = [\"y\"]\n[run.presets.\"a.command\"]\ncommand = [\"z\"]\n",
    "[notify]\nwebhook = \"https://hooks.example.com/s3cret\"\n[[route]]\non = \"task.blocked\"\nto = [\"quinn\"]\npriority = 2\n",
    "[expiry]\nagent_hours = 9223372036854775807\n[guard]\nmax_hops = -1\n",
];

/// What a file says, as [`read`] puts it together.
fn together(text: &str) -> Result<Config, String> {
    let value: Value = toml::from_str(text).map_err(|error| placed(&error, text))?;
    if let Some(problem) = problem_in(&value) {
        return Err(problem);
    }
    let defaults = to_value(&Config::default()).map_err(|refusal| refusal.message)?;
    let mut settings = leaves(&defaults, "default");
    for leaf in leaves(&value, "file") {
        put(&mut settings, leaf);
    }
    let mut whole = Value::Object(Map::new());
    for setting in &settings {
        insert(&mut whole, &setting.path, setting.value.clone());
    }
    serde_json::from_value(whole).map_err(|error| error.to_string())
}

proptest! {
    #![proptest_config(cases(300))]

    #[test]
    fn whatever_a_file_of_settings_says_it_is_read_or_refused(text in damaged_text(FILES.to_vec())) {
        match together(&text) {
            Ok(config) => {
                let _ = check(&config);
                // Put together from its parts it is what it was as a whole.
                let whole = toml::from_str::<Config>(&text).expect("it was read");
                let named = |config: &Config| config.run.presets.iter()
                    .filter(|(_, preset)| **preset != inbox_ops::config::Preset::default())
                    .map(|(name, preset)| (name.clone(), preset.clone())).collect::<Vec<_>>();
                prop_assert_eq!(named(&config), named(&whole));
            }
            Err(problem) => {
                let refusal = cannot(Path::new("inbox.toml"), &problem);
                prop_assert!(refusal.message.len() < 3_000);
            }
        }
    }

    #[test]
    fn a_mistake_in_a_file_does_not_show_the_url_of_a_webhook(
        secret in "s[a-z0-9]{12}",
        at in 0..40_usize,
        mistake in proptest::sample::select(vec!["\"", "=", "[", "\n", "'", "\\", "webhook = 1\n"]),
    ) {
        let mut text = format!("[notify]\nwebhook = \"https://hooks.example.com/{secret}\"\n");
        text.insert_str(at, mistake);
        if let Err(problem) = together(&text) {
            prop_assert!(!problem.contains(&secret), "{text}: {problem}");
        }
    }
}

#[test]
fn a_preset_may_have_dots_in_its_name() {
    let config = together(FILES[1]).expect("it can be used");
    let names: Vec<&str> = config.run.presets.keys().map(String::as_str).collect();
    assert_eq!(names, ["a", "a.b", "a.command"]);
    assert_eq!(config.run.presets["a.command"].command, ["z"]);
    let shown = leaves(&toml::from_str(FILES[1]).expect("it is TOML"), "");
    let shown: Vec<&str> = shown.iter().map(|setting| setting.name.as_str()).collect();
    assert!(shown.contains(&"run.presets.\"a.b\".command"), "{shown:?}");
}
