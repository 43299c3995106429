//! The Agent Card: the specification's reference card, each rule broken alone, and references.

use inbox_wire::{Known, is_unknown_version, parse_card, route_address, validate_card};
use serde_json::{Value, json};

use crate::{only, with, without};

/// The reference card of the specification.
pub(crate) fn quinn() -> Value {
    json!({
        "card_version": "1.0",
        "identity": {
            "slug": "quinn",
            "name": "Quinn",
            "department": "dev",
            "reports_to": "vikram",
            "model": "claude-sonnet-4-6",
        },
        "scope": "I implement tasks in the developer work queue — nothing more, nothing less.",
        "capabilities": [
            "Full-stack code implementation (Python, JS/TS, SQL)",
            "Git workflow — feature branches, commits, PRs",
            "Supabase schema and query work",
            "VPS deployment via scp + systemd",
            "HCS message posting",
        ],
        "constraints": [
            "I never commit directly to main or marketplace",
            "I never extend scope beyond the task brief",
            "I never fill in spec gaps — spec gaps go to Priya via task.blocked",
            "I never self-review after completing a task",
            "I never pick up the next task without runner triggering a new cycle",
            "I never use sudo on the VPS",
        ],
        "escalation_rules": [
            {
                "trigger": "Brief is missing required information I cannot infer from the codebase",
                "route_to": "roles.ba",
                "via": "task.blocked",
            },
            {
                "trigger": "Brief is ambiguous but I could proceed with a potentially wrong assumption",
                "route_to": "mindy",
                "via": "inbox",
            },
        ],
        "output_types": ["code_commit", "output_ref_file"],
        "working_style": "I read the brief, implement exactly what it specifies, verify my output, and stop. I do not improvise. I do not extend scope.",
        "voice": {
            "description": "Terse and technical. Facts, not feelings.",
            "example": "Implemented auth middleware. Tests pass. output_ref written to Storage. Branch: feature/auth-v2.",
        },
        "values": [
            "Exactness over improvisation",
            "Scope discipline",
            "Clean commits",
            "No broken builds",
        ],
    })
}

pub(crate) fn known() -> Known {
    let set = |names: &[&str]| names.iter().map(ToString::to_string).collect();
    Known {
        agents: set(&["quinn", "vikram", "mindy"]),
        roles: set(&["ba", "developer", "mindy"]),
        contracts: set(&["code_commit", "output_ref_file"]),
    }
}

#[test]
fn the_reference_card_is_valid_and_comes_back_as_it_was() {
    assert_eq!(validate_card(&quinn(), &known()), []);
    let card = parse_card(&quinn()).unwrap();
    assert_eq!(serde_json::to_value(card).unwrap(), quinn());
}

#[test]
fn the_templates_of_the_specification_are_valid() {
    let card = json!({
        "card_version": "1.0",
        "identity": { "slug": "a", "name": "A", "reports_to": "human" },
        "scope": "One sentence: what I own and what I don't.",
        "capabilities": ["What I can do — one phrase per item"],
        "constraints": ["I never X — declarative, not advisory"],
        "escalation_rules": [
            { "trigger": "Condition that fires this rule", "route_to": "exec", "via": "exec.gate" },
        ],
        "working_style": "2–3 sentences max. How I approach problems.",
        "voice": {
            "description": "1–2 sentences on communication style.",
            "example": "One example of how I communicate.",
        },
        "values": ["What I optimize for — one phrase per item"],
        "x_note": 1,
    });
    assert_eq!(validate_card(&card, &Known::default()), []);
}

#[test]
fn each_rule_of_a_card_is_held() {
    let cases: Vec<(&str, Value, &str, &str)> = vec![
        ("", json!("card"), "", "must be an object"),
        (
            "/card_version",
            json!(1),
            "/card_version",
            "must be a string",
        ),
        (
            "/identity",
            json!("quinn"),
            "/identity",
            "must be an object",
        ),
        (
            "/identity/slug",
            json!("Quinn"),
            "/identity/slug",
            "is not a slug",
        ),
        ("/identity/name", json!(""), "/identity/name", "is empty"),
        (
            "/identity/name",
            json!("A\nB"),
            "/identity/name",
            "one line",
        ),
        (
            "/identity/department",
            json!(""),
            "/identity/department",
            "is empty",
        ),
        (
            "/identity/reports_to",
            json!("the boss"),
            "/identity/reports_to",
            "is not a slug",
        ),
        (
            "/identity/model",
            json!(4),
            "/identity/model",
            "must be a string",
        ),
        (
            "/identity/email",
            json!("x"),
            "/identity/email",
            "is unknown",
        ),
        ("/scope", json!(""), "/scope", "is empty"),
        (
            "/scope",
            json!("I own this. I own that."),
            "/scope",
            "has 2 sentences",
        ),
        ("/scope", json!("a\nb"), "/scope", "one line"),
        ("/capabilities", json!([]), "/capabilities", "at least one"),
        (
            "/capabilities",
            json!("all"),
            "/capabilities",
            "must be a list",
        ),
        ("/capabilities/0", json!(""), "/capabilities/0", "is empty"),
        (
            "/capabilities/0",
            json!("This. That."),
            "/capabilities/0",
            "has 2 sentences",
        ),
        (
            "/capabilities/0",
            json!("x".repeat(1_001)),
            "/capabilities/0",
            "the most is 1000",
        ),
        (
            "/constraints/0",
            json!("You should avoid X"),
            "/constraints/0",
            "I never",
        ),
        (
            "/constraints/0",
            json!("I never"),
            "/constraints/0",
            "I never",
        ),
        (
            "/constraints/0",
            json!("I never  x"),
            "/constraints/0",
            "I never",
        ),
        (
            "/constraints/0",
            json!("i never x"),
            "/constraints/0",
            "I never",
        ),
        (
            "/constraints/0",
            json!(" I never x"),
            "/constraints/0",
            "I never",
        ),
        (
            "/constraints/0",
            json!(0),
            "/constraints/0",
            "must be a string",
        ),
        (
            "/escalation_rules",
            json!({}),
            "/escalation_rules",
            "must be a list",
        ),
        (
            "/escalation_rules/0",
            json!("ask"),
            "/escalation_rules/0",
            "must be an object",
        ),
        (
            "/escalation_rules/0/trigger",
            json!(" "),
            "/escalation_rules/0/trigger",
            "is empty",
        ),
        (
            "/escalation_rules/0/route_to",
            json!("role:ba"),
            "/escalation_rules/0/route_to",
            "is not a slug",
        ),
        (
            "/escalation_rules/0/via",
            json!("mail"),
            "/escalation_rules/0/via",
            "is not one of task.blocked",
        ),
        (
            "/escalation_rules/0/when",
            json!("x"),
            "/escalation_rules/0/when",
            "is unknown",
        ),
        (
            "/output_types/0",
            json!("Code Commit"),
            "/output_types/0",
            "is not a slug",
        ),
        (
            "/output_types",
            json!("x"),
            "/output_types",
            "must be a list",
        ),
        (
            "/working_style",
            json!("A. Bee. See. Dee. Eee."),
            "/working_style",
            "the most is 3",
        ),
        ("/working_style", json!(""), "/working_style", "is empty"),
        ("/voice", json!("terse"), "/voice", "must be an object"),
        (
            "/voice/description",
            json!("One. Two. Three."),
            "/voice/description",
            "the most is 2",
        ),
        (
            "/voice/example",
            json!(["one", "two"]),
            "/voice/example",
            "must be a string",
        ),
        (
            "/voice/examples",
            json!([]),
            "/voice/examples",
            "is unknown",
        ),
        ("/values/0", json!(false), "/values/0", "must be a string"),
        ("/persona", json!("x"), "/persona", "is unknown"),
    ];
    for (pointer, value, place, words) in cases {
        let name = format!("{pointer} = {value}");
        only(
            &validate_card(&with(&quinn(), pointer, value), &known()),
            place,
            words,
            &name,
        );
    }
    for field in [
        "/card_version",
        "/identity",
        "/identity/slug",
        "/identity/name",
        "/identity/reports_to",
        "/scope",
        "/capabilities",
        "/escalation_rules/0/trigger",
        "/escalation_rules/0/route_to",
        "/escalation_rules/0/via",
        "/voice/description",
        "/voice/example",
    ] {
        only(
            &validate_card(&without(&quinn(), field), &known()),
            field,
            "is required",
            field,
        );
    }
}

#[test]
fn a_card_of_another_version_has_one_problem() {
    let card = json!({ "card_version": "2.0", "identity": 7 });
    let problems = validate_card(&card, &known());
    only(&problems, "/card_version", "is not known", "2.0");
    assert!(is_unknown_version(&problems));
}

#[test]
fn what_a_card_refers_to_must_be_there() {
    for (pointer, slug, words) in [
        ("/identity/reports_to", "nobody", "there is no agent"),
        ("/identity/reports_to", "ba", "there is no agent"),
        (
            "/escalation_rules/0/route_to",
            "nobody",
            "no agent and no role",
        ),
        (
            "/escalation_rules/0/route_to",
            "roles.nobody",
            "no agent and no role",
        ),
        (
            "/escalation_rules/1/route_to",
            "roles.quinn",
            "no agent and no role",
        ),
        ("/output_types/1", "poem", "no output contract"),
    ] {
        let card = with(&quinn(), pointer, json!(slug));
        only(&validate_card(&card, &known()), pointer, words, slug);
    }
    for (pointer, slug) in [
        ("/identity/reports_to", "human"),
        ("/escalation_rules/0/route_to", "human"),
        ("/escalation_rules/0/route_to", "exec"),
        ("/escalation_rules/0/route_to", "ba"),
        ("/escalation_rules/0/route_to", "vikram"),
    ] {
        assert_eq!(
            validate_card(&with(&quinn(), pointer, json!(slug)), &known()),
            [],
            "{slug}"
        );
    }
    let problems = validate_card(&quinn(), &Known::default());
    assert_eq!(problems.len(), 5, "{problems:#?}");
}

#[test]
fn a_route_is_an_address() {
    let route = |to: &str| route_address(to, &known());
    assert_eq!(route("exec").as_deref(), Some("human"));
    assert_eq!(route("human").as_deref(), Some("human"));
    assert_eq!(route("roles.ba").as_deref(), Some("role:ba"));
    assert_eq!(route("ba").as_deref(), Some("role:ba"));
    // An agent comes before a role of the same name; the role can still be named in full.
    assert_eq!(route("mindy").as_deref(), Some("mindy"));
    assert_eq!(route("roles.mindy").as_deref(), Some("role:mindy"));
    assert_eq!(route("nobody"), None);
}
