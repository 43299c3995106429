//! Configuration: the user's own file, over it the file beside the store, over both the environment.

use std::path::{Path, PathBuf};

use inbox_core::{Code, Refusal};
use inbox_ops::{Cell, Config, Page};
use inbox_store::{Location, private};
use serde_json::{Map, Value, json};

use super::{Context, Ended, find};

/// The file's name, beside the store and in the user's own folder.
const FILE: &str = "inbox.toml";

/// Where a devnet beside the store is: what `up --ledger` writes, in the form of a client's configuration.
pub(crate) const DEVNET: &str = "devnet.json";

/// The most that a file may have, in bytes: it is written by hand.
const MOST: u64 = 1 << 20;

/// A value, and where it came from.
#[derive(Debug)]
struct Setting {
    /// As it is written in a file, with dots between its parts.
    name: String,
    /// Its parts: one of them may have dots of its own.
    path: Vec<String>,
    value: Value,
    origin: String,
}

/// Reads the configuration for a store.
pub(crate) fn load(location: &Location) -> Result<Config, Refusal> {
    load_here(Some(location))
}

/// The same; without a store, as for a server's, the project's configuration alone.
pub(crate) fn load_here(location: Option<&Location>) -> Result<Config, Refusal> {
    // Most stores have no configuration, and then nothing is read or merged.
    let mut config = if is_anything_set(location) {
        read(location)?.0
    } else {
        Config::default()
    };
    config.folder = folder(location);
    // The folder of a store was looked at with the store, or the store was named.
    if !matches!(location, Some(Location::File(_)))
        && let Some(folder) = &config.folder
        && let Ok(Some(problem)) = private::distrust(folder)
    {
        return Err(Refusal::new(Code::NotAllowed, problem)
            .hint("cd to a folder of your own; what stands in .agents there would be yours: settings, skills, archives")
            .detail("path", folder.display().to_string()));
    }
    Ok(config)
}

/// Whether a file or a variable says anything.
fn is_anything_set(location: Option<&Location>) -> bool {
    const GROUPS: [&str; 11] = [
        "EXPIRY_",
        "LEDGER_",
        "MEMORY_",
        "PRESENCE_",
        "GUARD_",
        "NOTIFY_",
        "PROMPT_",
        "ROUTE",
        "RUN_",
        "SESSION_",
        "WAKE_",
    ];
    let is_setting = |name: &str| {
        let name = name.strip_prefix("INBOX_");
        name.is_some_and(|name| GROUPS.iter().any(|group| name.starts_with(group)))
    };
    std::env::vars_os().any(|(name, _)| name.to_str().is_some_and(is_setting))
        || files(location)
            .iter()
            .any(|file| file.symlink_metadata().is_ok())
        || devnet(location).is_some()
}

/// The network of the devnet that runs or ran beside the store, and the file that says so.
pub(crate) fn devnet(location: Option<&Location>) -> Option<(String, PathBuf)> {
    let path = folder(location)?.join(DEVNET);
    if !matches!(private::distrust(&path), Ok(None)) {
        return None;
    }
    let text = text_of(&path).ok()?;
    let value: Value = serde_json::from_str(&text).ok()?;
    let name = match &value["network"] {
        Value::String(name) => name.clone(),
        _ => path.canonicalize().ok()?.to_string_lossy().into_owned(),
    };
    Some((name, path))
}

/// `inbox config`: each value, and where it came from.
pub(crate) fn show(context: &Context) -> Result<Ended, Refusal> {
    let location = match find::store(context.db.as_deref()) {
        Ok(location) => Some(location),
        // Without a store there is still the user's own file.
        Err(refusal) if refusal.code == Code::StoreNotFound => None,
        Err(refusal) => return Err(refusal),
    };
    let (_, mut settings) = read(location.as_ref())?;
    for setting in &mut settings {
        hide(setting);
    }
    if context.printer.is_json() {
        let rows: Vec<Value> = settings
            .iter()
            .map(|setting| {
                json!({ "name": setting.name, "value": setting.value, "origin": setting.origin })
            })
            .collect();
        context
            .printer
            .object("config", true, &json!({ "settings": rows }))?;
    } else {
        let rows = settings.iter().map(|setting| {
            vec![
                Cell::Text(setting.name.clone()),
                Cell::Text(setting.value.to_string()),
                Cell::Text(setting.origin.clone()),
            ]
        });
        let page = Page::default().table(vec!["SETTING", "VALUE", "FROM"], rows.collect());
        context.printer.page(&page)?;
    }
    Ok(Ended::Something)
}

/// Takes out of a value what may be a secret: for many services the path of a webhook is one.
fn hide(setting: &mut Setting) {
    if setting.name == "notify.webhook"
        && let Some(url) = setting.value.as_str()
        && let Ok(host) = inbox_ops::config::webhook_host(url)
    {
        let scheme = url.split_once("://").map_or("", |(scheme, _)| scheme);
        let whole = format!("{scheme}://{host}");
        let shown = if whole == url {
            whole
        } else {
            format!("{whole}/…")
        };
        setting.value = shown.into();
    }
}

fn read(location: Option<&Location>) -> Result<(Config, Vec<Setting>), Refusal> {
    let mut settings = leaves(&to_value(&Config::default())?, "default");
    for path in files(location) {
        let text = match text_of(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => continue,
            Err(error) => return Err(cannot(&path, &error)),
        };
        // It can name commands, which would run as the one who runs this.
        find::must_be_trusted(&path, |place| {
            format!(
                "chown and chmod go-w {place} and its folder if the settings are yours; settings of others are not used"
            )
        })?;
        // Parsed as a whole first: a word that means nothing is a mistake, and it is in this file.
        let wrong = |error: toml::de::Error| cannot(&path, &placed(&error, &text));
        let value: Value = toml::from_str(&text).map_err(wrong)?;
        if let Some(problem) = problem_in(&value) {
            return Err(cannot(&path, &problem));
        }
        let whole: Config = toml::from_str(&text).map_err(wrong)?;
        known_routes(&path, &whole)?;
        let origin = path.display().to_string();
        for leaf in leaves(&value, &origin) {
            put(&mut settings, leaf);
        }
    }
    if let Some((network, path)) = devnet(location)
        && let Some(setting) = settings
            .iter_mut()
            .find(|setting| setting.name == "ledger.network" && setting.value.is_null())
    {
        setting.value = network.into();
        setting.origin = path.display().to_string();
    }
    for setting in &mut settings {
        let name = format!("INBOX_{}", setting.name.replace('.', "_").to_uppercase());
        if let Some(text) = find::variable(&name) {
            setting.value = from_text(&name, &text, &setting.value)?;
            let mut alone = Value::Object(Map::new());
            insert(&mut alone, &setting.path, setting.value.clone());
            if let Some(problem) = problem_in(&alone) {
                return Err(Refusal::input(format!("{name} cannot be used: {problem}"))
                    .hint("inbox config shows every setting and its value"));
            }
            setting.origin = name;
        }
    }
    let mut whole = Value::Object(Map::new());
    for setting in &settings {
        insert(&mut whole, &setting.path, setting.value.clone());
    }
    let config: Config =
        serde_json::from_value(whole).map_err(|error| Refusal::from_carried(&error.to_string()))?;
    check(&config).map_err(|(name, refusal)| from(&settings, name, refusal))?;
    Ok((config, settings))
}

/// A file's text, unless it is larger than anybody writes.
fn text_of(path: &Path) -> std::io::Result<String> {
    String::from_utf8(private::read_any(path, MOST)?)
        .map_err(|_| std::io::Error::other("it is not UTF-8 text"))
}

/// What is wrong with a file and where, without the line itself: it may have a webhook in it, which is a secret.
fn placed(error: &toml::de::Error, text: &str) -> String {
    let before = error.span().and_then(|span| text.get(..span.start));
    let before = before.unwrap_or_default();
    let line = before.split('\n').count();
    let column = before.rsplit('\n').next().unwrap_or("").chars().count() + 1;
    let message = error.message();
    if inbox_core::text::is_secret(message) || message.contains("://") {
        return format!("line {line}, column {column} is not what belongs there");
    }
    format!("line {line}, column {column}: {message}")
}

/// What is wrong with a value, without the value where it may be a secret.
fn unsaid(name: &str, problem: String) -> String {
    let is_secret = name == "notify" || name.starts_with("notify.");
    match (problem.find(" string \""), problem.rfind("\", expected")) {
        (Some(begin), Some(end)) if is_secret && begin < end => {
            format!("{} text{}", &problem[..begin], &problem[end + 1..])
        }
        _ => problem,
    }
}

/// What is wrong with the first setting that cannot be used, with its name.
fn problem_in(value: &Value) -> Option<String> {
    let said = |value: &Value| {
        let error = serde_json::from_value::<Config>(value.clone()).err()?;
        Some(Refusal::from_carried(&error.to_string()).message)
    };
    let whole = said(value)?;
    for leaf in leaves(value, "") {
        // Of a list, each entry by itself: there may be many, and one is wrong.
        let entries = match &leaf.value {
            Value::Array(entries) if leaf.name == "route" => entries
                .iter()
                .enumerate()
                .map(|(n, entry)| {
                    (
                        format!("route {}", n + 1),
                        Value::Array(vec![entry.clone()]),
                    )
                })
                .collect(),
            _ => vec![(leaf.name.clone(), leaf.value.clone())],
        };
        for (name, entry) in entries {
            let mut alone = Value::Object(Map::new());
            insert(&mut alone, &leaf.path, entry);
            if let Some(problem) = said(&alone) {
                return Some(format!("{name}: {}", unsaid(&leaf.name, problem)));
            }
        }
    }
    Some(whole)
}

/// A refusal of a value, with the place that it came from.
fn from(settings: &[Setting], name: &str, refusal: Refusal) -> Refusal {
    let origin = settings.iter().find(|setting| setting.name == name);
    let origin = origin.map_or("default", |setting| setting.origin.as_str());
    Refusal::input(format!("{origin} cannot be used: {}", refusal.message))
        .hint("correct it, or take it away; inbox config then shows every setting and where it came from")
        .detail("path", origin)
}

/// The files that may be there, the weakest first.
fn files(location: Option<&Location>) -> Vec<PathBuf> {
    let own = own_folder().map(|folder| folder.join(FILE));
    let beside = folder(location).map(|folder| folder.join(FILE));
    own.into_iter().chain(beside).collect()
}

/// The folder of the user's own files.
pub(super) fn own_folder() -> Option<PathBuf> {
    find::variable("XDG_CONFIG_HOME")
        .map(PathBuf::from)
        .or_else(|| find::variable("HOME").map(|home| Path::new(&home).join(".config")))
        .map(|folder| folder.join("inbox"))
}

/// The folder beside a store. A database has none: the project's own is the nearest above.
pub(crate) fn folder(location: Option<&Location>) -> Option<PathBuf> {
    match location {
        Some(Location::File(path)) => path.parent().map(|folder| {
            if folder.as_os_str().is_empty() {
                PathBuf::from(".")
            } else {
                folder.to_owned()
            }
        }),
        _ => {
            let here = std::env::current_dir().ok()?;
            here.ancestors()
                .map(|folder| folder.join(".agents"))
                .find(|path| path.is_dir())
        }
    }
}

fn to_value(config: &Config) -> Result<Value, Refusal> {
    serde_json::to_value(config).map_err(|error| Refusal::new(Code::Internal, error.to_string()))
}

/// The values of nested tables by their dotted names. A list is one value.
fn leaves(value: &Value, origin: &str) -> Vec<Setting> {
    let mut found = Vec::new();
    let mut open = vec![(Vec::new(), value)];
    while let Some((path, value)) = open.pop() {
        match value {
            Value::Object(table) => {
                for (key, value) in table.iter().rev() {
                    let mut path: Vec<String> = path.clone();
                    path.push(key.clone());
                    open.push((path, value));
                }
            }
            value => found.push(Setting {
                name: path
                    .iter()
                    .map(|key| written(key))
                    .collect::<Vec<_>>()
                    .join("."),
                path,
                value: value.clone(),
                origin: origin.to_owned(),
            }),
        }
    }
    found
}

/// A key as a file has it: in quotes, unless it is plain.
fn written(key: &str) -> std::borrow::Cow<'_, str> {
    let is_bare = |byte: u8| byte.is_ascii_alphanumeric() || b"_-".contains(&byte);
    if !key.is_empty() && key.bytes().all(is_bare) {
        key.into()
    } else {
        format!("{key:?}").into()
    }
}

fn put(settings: &mut Vec<Setting>, new: Setting) {
    match settings.iter_mut().find(|old| old.path == new.path) {
        Some(old) => *old = new,
        None => settings.push(new),
    }
}

fn insert(whole: &mut Value, path: &[String], value: Value) {
    let mut place = whole;
    for part in path {
        // What stands in the way is of another sort than its neighbours say; whoever reads the whole says so.
        if !place.is_object() {
            *place = Value::Object(Map::new());
        }
        place = &mut place[part.as_str()];
    }
    *place = value;
}

/// A variable's text as a value of the sort that is there: what is not text is JSON.
fn from_text(name: &str, text: &str, like: &Value) -> Result<Value, Refusal> {
    match like {
        Value::String(_) | Value::Null => Ok(text.into()),
        _ => serde_json::from_str(text).map_err(|_| {
            // What tells people elsewhere may hold what is a secret there.
            let setting = name.trim_start_matches("INBOX_");
            let said = if setting.starts_with("NOTIFY_") {
                "text".to_owned()
            } else {
                format!("{text:?}")
            };
            Refusal::input(format!("{name} is {said}, where a number or JSON is meant"))
        }),
    }
}

/// The longest time that makes sense, in hours.
const TEN_YEARS: i64 = inbox_core::limit::TTL_MAX_HOURS;

/// Holds the values to their ranges; gives the name of one that is out of its own.
fn check(config: &Config) -> Result<(), (&'static str, Refusal)> {
    let expiry = &config.expiry;
    let (presence, guard) = (&config.presence, &config.guard);
    for (name, value, least, most) in [
        ("expiry.agent_hours", expiry.agent_hours, 0, TEN_YEARS),
        ("expiry.session_hours", expiry.session_hours, 0, TEN_YEARS),
        ("expiry.role_hours", expiry.role_hours, 0, TEN_YEARS),
        ("expiry.tag_hours", expiry.tag_hours, 0, TEN_YEARS),
        (
            "expiry.broadcast_hours",
            expiry.broadcast_hours,
            0,
            TEN_YEARS,
        ),
        ("expiry.ledger_hours", expiry.ledger_hours, 0, TEN_YEARS),
        (
            "presence.dead_after_minutes",
            presence.dead_after_minutes,
            1,
            TEN_YEARS * 60,
        ),
        (
            "presence.silent_after_minutes",
            presence.silent_after_minutes,
            1,
            TEN_YEARS * 60,
        ),
        ("guard.max_hops", guard.max_hops, 0, i64::from(i32::MAX)),
        ("guard.max_turns", guard.max_turns, 0, i64::from(i32::MAX)),
        (
            "guard.max_repeats",
            guard.max_repeats,
            0,
            i64::from(i32::MAX),
        ),
        (
            "guard.window_minutes",
            guard.window_minutes,
            1,
            TEN_YEARS * 60,
        ),
        (
            "wake.at_most_every_seconds",
            config.wake.at_most_every_seconds,
            0,
            86_400,
        ),
    ] {
        inbox_core::limit::in_range(name, value, least, most).map_err(|refusal| (name, refusal))?;
    }
    config.session.check()?;
    config.ledger.check()?;
    config.notify.check()?;
    config.run.check()?;
    for route in &config.routes {
        if route.on.is_empty() || route.to.is_empty() {
            let problem = format!("the route on {:?} needs an event and addresses", route.on);
            return Err(("route", Refusal::input(problem)));
        }
    }
    Ok(())
}

/// A route on an event that never happens is a mistake in writing.
fn known_routes(path: &Path, config: &Config) -> Result<(), Refusal> {
    for route in &config.routes {
        if !route.is_known() {
            let problem = format!("no event is called {:?}", route.on);
            return Err(cannot(path, &problem).hint(
                "correct the file, and inbox config shows what it says; routes are on task.blocked, task.complete, task.failed, phase.complete, *.note, or a blocker type such as spec_gap",
            ));
        }
    }
    Ok(())
}

fn cannot(path: &Path, error: &dyn std::fmt::Display) -> Refusal {
    let text = error.to_string();
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let text = inbox_core::text::visible(&text, false);
    let text = match text.char_indices().nth(400) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.into_owned(),
    };
    Refusal::input(format!("{} cannot be used: {text}", path.display()))
        .hint("correct the file, or move it away; inbox config then shows every setting and where it came from")
        .detail("path", path.display().to_string())
}

#[cfg(test)]
mod tests;
