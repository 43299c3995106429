//! Profiles of every type, what is forgiven in them, and what is not.

use inbox_hcs::{
    AgentType, Capability, McpService, Profile, ProfileKind, ProfileType, Transport,
    VerificationType,
};
use serde_json::{Value, json};

use crate::{account, named, vector};

fn agent() -> Value {
    serde_json::from_slice(&vector("profile/ai-agent.json")).unwrap()
}

fn read(value: &Value) -> (Profile, Vec<String>) {
    let (profile, deviations) = Profile::read(value.to_string().as_bytes())
        .unwrap_or_else(|refused| panic!("{value:#}: {refused}"));
    (profile, named(&deviations))
}

/// Requires that the profile is written as it was read, without a deviation.
fn whole(value: &Value) -> Profile {
    let (profile, deviations) = read(value);
    assert!(deviations.is_empty(), "{deviations:?}");
    assert_eq!(profile.write().unwrap(), value.to_string());
    profile
}

#[test]
fn the_example_of_the_standard_says_what_it_says() {
    let (profile, deviations) = read(&agent());
    assert_eq!(deviations, [] as [&str; 0]);
    let ProfileKind::AiAgent(agent) = &profile.kind else {
        panic!("not an agent");
    };
    assert_eq!(agent.agent_type, AgentType::Manual);
    let both = [Capability::TextGeneration, Capability::ImageGeneration];
    assert_eq!(
        (agent.capabilities.as_slice(), agent.model.as_str()),
        (&both[..], "gpt-4")
    );
    assert_eq!(profile.tags, [6, 7]);
    assert_eq!(profile.inbound_topic.unwrap().to_string(), "0.0.789101");
    let uptime = &profile.properties.as_ref().unwrap()["uptime_percentage"];
    assert_eq!(uptime.to_string(), "99.9");
}

#[test]
fn a_person_has_everything_that_a_profile_may_have() {
    let profile = whole(&json!({
        "version": "1.0", "type": 0, "display_name": "A person", "uaid": "uaid:aid:abc",
        "base_account": "0.0.4", "alias": "person", "bio": "",
        "socials": [{ "platform": "github", "handle": "person" }],
        "profileImage": "hcs://1/0.0.5", "inboundTopicId": "0.0.6", "outboundTopicId": "0.0.7",
        "properties": { "a": 1.50 },
        "privacy_compliance": {
            "standards": ["GDPR"], "jurisdictions": ["EU"], "consent_topic_id": "0.0.8",
            "processing_topic_id": "0.0.9", "rights_topic_id": "0.0.10", "audit_topic_id": "0.0.11",
            "dpo_contact": "dpo@agents.example", "privacy_policy_url": "https://agents.example/privacy",
            "retention_policy": "30d",
        },
        "appnet": { "id": 1 },
    }));
    assert_eq!(profile.kind.profile_type(), ProfileType::Personal);
    assert_eq!(profile.base_account, Some(account(4)));
}

#[test]
fn a_server_and_a_group_have_their_parts() {
    let server = whole(&json!({
        "version": "1.0", "type": 2, "display_name": "A server", "uaid": "uaid:aid:abc",
        "mcpServer": {
            "version": "2025-03-26",
            "connectionInfo": { "url": "https://mcp.example", "transport": "sse" },
            "services": [0, 1, 15], "description": "Serves",
            "verification": { "type": "dns", "value": "mcp.example", "dns_field": "hedera" },
            "host": { "minVersion": "2024-11-05" },
            "capabilities": ["tools"],
            "resources": [{ "name": "r", "description": "A resource" }],
            "tools": [{ "name": "t", "description": "A tool" }],
            "maintainer": "m", "repository": "https://mcp.example/source", "docs": "https://mcp.example/docs",
        },
    }));
    let ProfileKind::McpServer(server) = server.kind else {
        panic!("not a server");
    };
    assert_eq!(server.transport, Transport::Sse);
    assert_eq!(server.services.last(), Some(&McpService::Orchestration));
    let verification = server.verification.unwrap();
    assert_eq!(verification.verification_type, VerificationType::Dns);

    let group = whole(&json!({
        "version": "1.0", "type": 3, "display_name": "A group", "uaid": "uaid:aid:abc",
        "members": [{ "accountId": "0.0.4" }, { "accountId": "0.0.5" }], "threshold": 2,
        "topics": {
            "communication": "0.0.6", "transaction": "0.0.7", "state": "0.0.8",
            "custom": [{ "name": "n", "topicId": "0.0.9", "description": "d" }],
        },
        "policies": { "join": "all" },
    }));
    assert!(matches!(group.kind, ProfileKind::Flora(flora) if flora.threshold == 2));
}

#[test]
fn every_number_of_the_standard_is_known() {
    for (index, capability) in (0..).zip(Capability::ALL) {
        assert_eq!(capability.code(), index);
    }
    for (index, service) in (0..).zip(McpService::ALL) {
        assert_eq!(service.code(), index);
    }
    assert_eq!((Capability::ALL.len(), McpService::ALL.len()), (19, 16));
    let mut profile = agent();
    profile["uaid"] = json!("u");
    profile["aiAgent"]["capabilities"] = (0..19).collect();
    let (profile, deviations) = read(&profile);
    assert!(deviations.is_empty(), "{deviations:?}");
    assert!(matches!(profile.kind, ProfileKind::AiAgent(agent) if agent.capabilities.len() == 19));
}

#[test]
fn known_faults_are_forgiven_by_name() {
    let with = |pointer: &str, value: Value| {
        let mut profile = agent();
        profile["uaid"] = json!("u");
        let (parent, key) = pointer.rsplit_once('/').unwrap();
        profile.pointer_mut(parent).unwrap()[key] = value;
        profile
    };
    for (pointer, value, deviation) in [
        ("/version", json!("2.0"), "unknown_word /version"),
        ("/type", json!("ai_agent"), "number_as_text /type"),
        ("/type", json!("1"), "number_as_text /type"),
        ("/alias", json!(null), "null_field /alias"),
        ("/color", json!("red"), "unknown_field /color"),
        ("/aiAgent/temper", json!(1), "unknown_field /aiAgent/temper"),
        (
            "/aiAgent/capabilities",
            json!([0, 99]),
            "unknown_number /aiAgent/capabilities/1",
        ),
        ("/mcpServer", json!({}), "other_part /mcpServer"),
        (
            "/socials",
            json!([{ "platform": "x", "handle": "h" }]),
            "unknown_word /socials/0/platform",
        ),
    ] {
        let (profile, deviations) = read(&with(pointer, value));
        assert_eq!(deviations, [deviation]);
        let (again, deviations) = Profile::read(profile.write().unwrap().as_bytes()).unwrap();
        assert_eq!(again, profile);
        assert!(deviations.len() <= 1);
    }
}

#[test]
fn a_profile_that_does_not_say_what_it_must_is_refused() {
    let without = |key: &str| {
        let mut profile = agent();
        profile.as_object_mut().unwrap().shift_remove(key);
        profile
    };
    let with = |pointer: &str, value: Value| {
        let mut profile = agent();
        let (parent, key) = pointer.rsplit_once('/').unwrap();
        profile.pointer_mut(parent).unwrap()[key] = value;
        profile
    };
    for (value, place) in [
        (without("type"), "/type"),
        (without("display_name"), "/display_name"),
        (without("aiAgent"), "/aiAgent"),
        (with("/type", json!(4)), "/type"),
        (with("/type", json!(2)), "/mcpServer"),
        (with("/type", json!("wizard")), "/type"),
        (with("/display_name", json!(" ")), "/display_name"),
        (with("/inboundTopicId", json!("0.0.0")), "/inboundTopicId"),
        (with("/inboundTopicId", json!(5)), "/inboundTopicId"),
        (with("/aiAgent/type", json!(2)), "/aiAgent/type"),
        (with("/aiAgent/model", json!("")), "/aiAgent/model"),
        (
            with("/aiAgent/capabilities", json!([-1])),
            "/aiAgent/capabilities/0",
        ),
        (
            with("/aiAgent/capabilities", json!("all")),
            "/aiAgent/capabilities",
        ),
        (with("/properties", json!([])), "/properties"),
        (json!([]), "the document"),
    ] {
        let refused = Profile::read(value.to_string().as_bytes())
            .unwrap_err()
            .to_string();
        assert!(refused.contains(place), "{place}: {refused}");
    }
    assert!(Profile::new("", ProfileKind::Personal).write().is_err());
    assert!(
        Profile::new("A person", ProfileKind::Personal)
            .write()
            .is_ok()
    );
}

fn group(threshold: u64) -> Value {
    json!({
        "version": "1.0", "type": 3, "display_name": "A group", "uaid": "u",
        "members": [{ "accountId": "0.0.4" }], "threshold": threshold,
        "topics": { "communication": "0.0.6", "transaction": "0.0.7", "state": "0.0.8" },
    })
}

#[test]
fn a_group_must_be_able_to_agree() {
    for threshold in [0, 2] {
        let (profile, deviations) = read(&group(threshold));
        assert_eq!(deviations, ["unknown_number /threshold"]);
        assert!(profile.write().is_err());
    }
}

#[test]
fn a_group_in_an_object_of_its_own_is_read() {
    let mut nested = group(1);
    let fields = nested.as_object_mut().unwrap();
    let part: serde_json::Map<_, _> = ["members", "threshold", "topics"]
        .into_iter()
        .map(|key| (key.to_owned(), fields.shift_remove(key).unwrap()))
        .collect();
    fields.insert("flora".to_owned(), part.into());
    let (profile, deviations) = read(&nested);
    assert_eq!(deviations, ["nested_part /flora"]);
    assert_eq!(profile, whole(&group(1)));
}

#[test]
fn only_a_challenge_has_nothing_to_check() {
    let server = |verification: Value| {
        json!({
            "version": "1.0", "type": 2, "display_name": "A server", "uaid": "u",
            "mcpServer": {
                "version": "1", "connectionInfo": { "url": "u", "transport": "stdio" },
                "services": [1], "description": "d", "verification": verification,
            },
        })
    };
    whole(&server(
        json!({ "type": "challenge", "value": null, "challenge_path": "verify" }),
    ));
    whole(&server(json!({ "type": "signature", "value": "a1b2" })));
    for wrong in [
        json!({ "type": "dns", "value": null }),
        json!({ "type": "dns" }),
        json!({ "type": "trust", "value": "me" }),
    ] {
        let text = server(wrong).to_string();
        assert!(Profile::read(text.as_bytes()).is_err(), "{text}");
    }
}
