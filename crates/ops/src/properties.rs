//! What holds of every request and setting, whatever stands in it: it is taken and written as it was, or refused; no number in it is too
//! large to be reckoned with.

use inbox_core::record::Millis;
use jiff::tz::TimeZone;
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{Map, Value, json};

use crate::config::{Config, Rhythm, Tinybars, webhook_host};
use crate::damage::{cases, damaged_text};
use crate::{Operation, Visitor, Waiting, each_operation};

/// What fields of requests are, and what they are not.
fn values() -> impl Strategy<Value = Value> {
    let text = select(vec![
        "thr_7k",
        "msg_1",
        "quinn",
        "role:ba",
        "0.0.5",
        "lse_1_1_zz",
        "done",
        "2026-01-01T00:00:00Z",
        "",
        "\u{0}",
        "é\u{202e}",
        "-1",
        "high",
    ]);
    let number = select(vec![
        json!(0),
        json!(-1),
        json!(i64::MAX),
        json!(i64::MIN),
        json!(u64::MAX),
        json!(1e300),
        json!(0.5),
        json!(1),
        json!(true),
        Value::Null,
    ]);
    let leaf = prop_oneof![text.prop_map(Value::from), number];
    leaf.prop_recursive(3, 12, 4, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            proptest::collection::vec(("[a-z_]{1,6}", inner), 0..4)
                .prop_map(|fields| Value::Object(fields.into_iter().collect())),
        ]
    })
}

/// Reads the same fields as a request of every sort, each with names that it has.
struct Reads {
    picks: Vec<(proptest::sample::Index, Value)>,
    taken: usize,
}

impl Reads {
    fn read<O: Operation>(&mut self) {
        let schema = schemars::schema_for!(O).to_value();
        let names: Vec<String> = schema["properties"]
            .as_object()
            .map(|fields| fields.keys().cloned().collect())
            .unwrap_or_default();
        let mut fields = Map::new();
        for (pick, value) in &self.picks {
            if !names.is_empty() {
                fields.insert(pick.get(&names).clone(), value.clone());
            }
        }
        match serde_json::from_value::<O>(Value::Object(fields)) {
            Ok(request) => {
                self.taken += 1;
                let written = serde_json::to_value(&request).expect("it can be written");
                let again: O =
                    serde_json::from_value(written.clone()).expect("what is written is read");
                assert_eq!(
                    serde_json::to_value(&again).ok(),
                    Some(written),
                    "{}",
                    O::NAME
                );
            }
            Err(error) => {
                let refusal = inbox_core::Refusal::from_carried(&error.to_string());
                assert!(!refusal.message.is_empty(), "{}", O::NAME);
            }
        }
    }
}

impl Visitor for Reads {
    fn visit<O: Operation>(&mut self) {
        self.read::<O>();
    }
    fn visit_waiting<O: Waiting>(&mut self) {
        self.read::<O>();
    }
}

proptest! {
    #![proptest_config(cases(60))]

    #[test]
    fn whatever_stands_in_a_request_it_is_taken_as_it_is_or_refused(
        picks in proptest::collection::vec((any::<proptest::sample::Index>(), values()), 0..4),
    ) {
        let mut reads = Reads { picks, taken: 0 };
        each_operation(&mut reads);
        prop_assert!(reads.taken > 0 || !reads.picks.is_empty());
    }
}

proptest! {
    #![proptest_config(cases(800))]

    #[test]
    fn an_amount_is_read_again_as_it_was(text in damaged_text(vec!["2", "0.5", "92233720368.54775807", "0.00000001"])) {
        match text.parse::<Tinybars>() {
            Ok(amount) => {
                prop_assert!(amount.0 >= 0);
                prop_assert_eq!(amount.to_string().parse::<Tinybars>().ok().map(|again| again.0), Some(amount.0));
            }
            Err(refusal) => prop_assert!(refusal.message.len() < 1_500),
        }
    }

    #[test]
    fn a_rhythm_comes_again_whenever_it_was(
        text in damaged_text(vec!["30m", "1h", "2d", "08:30", "23:59"]), last in any::<i64>(), hours in -25..=25_i8,
    ) {
        if let Ok(rhythm) = text.parse::<Rhythm>() {
            let zone = TimeZone::fixed(jiff::tz::offset(hours));
            let last = Millis(last);
            let is_in_calendar = Millis::from(last.timestamp()) == last;
            prop_assert!(rhythm.next(last, &zone) > last || !is_in_calendar || last.0 == i64::MAX);
        }
    }

    #[test]
    fn nothing_of_a_webhook_but_its_host_is_repeated(url in damaged_text(vec![
        "https://hooks.example.com/services/s3cr3tpath?token=s3cr3ttoken", "http://127.0.0.1:8080/s3cr3tpath", "https://s3cr3tuser:s3cr3tpass@host/",
    ])) {
        match webhook_host(&url) {
            Ok(host) => prop_assert!(url.contains(host) && !host.contains(['/', '@', '?', '#'])),
            Err(refusal) => prop_assert!(!refusal.carried().contains("s3cr3t"), "{}", refusal.message),
        }
    }

    #[test]
    fn settings_are_read_or_refused(text in damaged_text(vec![
        r#"{"expiry":{"agent_hours":5},"guard":{"max_hops":3},"route":[{"on":"task.blocked","to":["quinn"],"priority":"high"}]}"#,
        r#"{"session":{"agent":"{client}-{project}","role":["ba"],"tags":["project:x"]},"ledger":{"network":"testnet"},"notify":{"digest":"1h"}}"#,
    ])) {
        if let Ok(config) = serde_json::from_str::<Config>(&text) {
            let _ = (config.session.check(), config.ledger.check(), config.notify.check(), config.run.check());
            let _ = config.session.agent("cl\u{0}ient", "pro/ject é");
            for route in &config.routes {
                let _ = route.is_known();
            }
        }
    }
}
