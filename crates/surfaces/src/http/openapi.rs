//! What the server can do, for programs: OpenAPI, made from the operations' own schemas.

use inbox_core::Code;
use inbox_ops::Effect;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};

use super::table::{Entry, Table};

/// The document, as JSON.
pub(super) fn page(table: &Table, version: &str) -> String {
    let mut generator = SchemaSettings::openapi3().into_generator();
    let mut paths = Map::new();
    for entry in table.entries() {
        let request = (entry.request)(&mut generator).to_value();
        let answer = (entry.answer)(&mut generator).to_value();
        paths.insert(
            format!("/v1/{}", entry.path),
            operation(entry, request, answer),
        );
    }
    paths.insert("/v1/events".to_owned(), events());
    paths.insert("/v1/token".to_owned(), token());
    paths.insert("/health".to_owned(), health());
    let error = generator.subschema_for::<Problem>().to_value();
    let mut schemas: Map<String, Value> = generator.take_definitions(true).into_iter().collect();
    schemas.insert("Refused".to_owned(), refused(&error));
    let document = json!({
        "openapi": "3.0.3",
        "info": {
            "title": "inbox",
            "version": version,
            "description": "A durable inbox for AI agents, and for the people who steer them. Every operation of the command line, with the same answers.",
        },
        "paths": paths,
        "components": {
            "schemas": schemas,
            "securitySchemes": { "token": { "type": "http", "scheme": "bearer" } },
        },
        "security": [{ "token": [] }],
    });
    format!("{document}\n")
}

/// A refusal, for its schema.
#[derive(schemars::JsonSchema)]
#[expect(dead_code, reason = "only its schema is used")]
struct Problem {
    /// What programs match on.
    code: String,
    /// What happened, with the value.
    message: String,
    /// What to do next.
    hint: Option<String>,
    /// Stable values for programs.
    details: Option<Map<String, Value>>,
}

fn refused(error: &Value) -> Value {
    let codes: Vec<_> = Code::ALL.iter().map(|code| code.name()).collect();
    json!({
        "type": "object",
        "required": ["ok", "error"],
        "properties": { "ok": { "type": "boolean", "enum": [false] }, "error": error },
        "description": format!("Codes: {}.", codes.join(", ")),
    })
}

fn operation(entry: &Entry, request: Value, answer: Value) -> Value {
    let header = |name: &str, about: &str| json!({ "name": name, "in": "header", "required": false, "description": about, "schema": { "type": "string" } });
    let mut parameters = vec![header("inbox-session", "The session that calls.")];
    if entry.effect == Effect::Write {
        parameters.push(header("inbox-lease", "The token that proves a claim."));
        parameters.push(header(
            "idempotency-key",
            "A retry with the same key has one effect and gives the first answer.",
        ));
    }
    let envelope = json!({
        "type": "object",
        "required": ["ok", "command"],
        "properties": {
            "ok": { "type": "boolean", "enum": [true] },
            "command": { "type": "string", "enum": [entry.name] },
        },
    });
    json!({
        "post": {
            "operationId": entry.path,
            "summary": (entry.about)(),
            "description": format!("The token must allow {}.", entry.scope),
            "parameters": parameters,
            "requestBody": { "required": false, "content": { "application/json": { "schema": request } } },
            "responses": {
                "200": {
                    "description": "The answer, as the command line gives it with --json.",
                    "content": { "application/json": { "schema": { "allOf": [envelope, answer] } } },
                },
                "default": refusal_response(),
            },
        },
    })
}

fn refusal_response() -> Value {
    json!({
        "description": "A refusal.",
        "content": { "application/json": { "schema": { "$ref": "#/components/schemas/Refused" } } },
    })
}

fn events() -> Value {
    let query = |name: &str, about: &str, kind: &str| json!({ "name": name, "in": "query", "required": false, "description": about, "schema": { "type": kind } });
    json!({
        "get": {
            "operationId": "events",
            "summary": "Follow events as they happen",
            "parameters": [
                query("after", "Begin after this event; Last-Event-ID is stronger.", "integer"),
                query("thread", "Only this thread.", "string"),
            ],
            "responses": {
                "200": { "description": "Server-sent events: id is the event's number, data the event.", "content": { "text/event-stream": {} } },
                "default": refusal_response(),
            },
        },
    })
}

fn token() -> Value {
    json!({
        "get": {
            "operationId": "token",
            "summary": "Show the token of this request: its agent, its scopes, when it ends",
            "responses": {
                "200": { "description": "The token, without its secret." },
                "default": refusal_response(),
            },
        },
    })
}

fn health() -> Value {
    json!({
        "get": {
            "operationId": "health",
            "summary": "Whether the server is there",
            "security": [],
            "responses": { "200": { "description": "It is." } },
        },
    })
}
