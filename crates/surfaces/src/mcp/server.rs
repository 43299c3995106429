//! The protocol's server: what a client can ask for, answered by tools and resources.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use inbox_core::Refusal;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, CustomRequest,
    CustomResult, ErrorCode, Implementation, JsonObject, ListResourceTemplatesResult,
    ListResourcesResult, ListToolsResult, MetaObject, PaginatedRequestParams,
    ProgressNotificationParam, ReadResourceRequestParams, ReadResourceResponse, ReadResourceResult,
    ResourceContents, ServerCapabilities, ServerConfig, SubscribeRequestParams, SubscriptionFilter,
    Tool, UnsubscribeRequestParams,
};
use rmcp::service::{RequestContext, SubscriptionContext};
use rmcp::{ErrorData, RoleServer, ServerHandler};
use serde_json::json;
use tokio::sync::watch;
use tokio::task::JoinSet;

use super::desk::{Desk, Ending};
use super::notices::{Ear, Notices, SUBSCRIPTIONS, Subscribed};
use super::resource::{self, Place};
use super::tool::{self, Told};
use super::{INSTRUCTIONS, TOOLS, text};

/// How often a wait says that it goes on.
const BEAT: Duration = Duration::from_secs(10);

/// The methods that take parameters and are served.
const KNOWN: [&str; 8] = [
    "initialize",
    "tools/call",
    "tools/list",
    "resources/read",
    "resources/list",
    "resources/subscribe",
    "resources/unsubscribe",
    "subscriptions/listen",
];

/// Where the JSON of an answer stands for clients that would show it in place of the text.
const ANSWER: &str = "inbox/answer";

/// Serves one caller.
#[derive(Clone)]
pub struct Server {
    desk: Desk,
    tools: Arc<Vec<Tool>>,
    /// Becomes true when the client has gone.
    gone: watch::Receiver<bool>,
    subscribed: Arc<Subscribed>,
    /// Where notices wait, for a client that fetches them.
    notices: Option<Arc<Notices>>,
}

impl Server {
    /// A server at this desk. `gone` becomes true when the client has gone: waits end then, with what they have.
    pub fn new(desk: Desk, gone: watch::Receiver<bool>) -> Self {
        Server {
            desk,
            tools: TOOLS_READ.get_or_init(|| Arc::new(tools())).clone(),
            gone,
            subscribed: Arc::default(),
            notices: None,
        }
    }

    /// The same, for a client that fetches its notices by another way than it asks.
    pub fn with_notices(self, notices: Option<Arc<Notices>>) -> Self {
        Server { notices, ..self }
    }

    fn subscribed(&self) -> &Subscribed {
        let kept = self.notices.as_ref().map(|notices| &notices.subscribed);
        kept.unwrap_or(&self.subscribed)
    }

    /// What goes on beside a wait: the client is told now and then, and may end it.
    async fn meanwhile(&self, context: &RequestContext<RoleServer>) -> Ending {
        let mut gone = self.gone.clone();
        let mut beat = tokio::time::interval(BEAT);
        let began = tokio::time::Instant::now();
        let token = context.meta.get_progress_token();
        loop {
            tokio::select! {
                () = context.ct.cancelled() => return Ending::Now,
                () = until_gone(&mut gone) => return Ending::WithLastLook,
                _ = beat.tick() => {
                    let Some(token) = token.clone() else { continue };
                    let progress = began.elapsed().as_secs_f64().round();
                    let notice = ProgressNotificationParam::new(token, progress).with_message("waiting");
                    // A client that does not listen is no reason to stop.
                    let _ = context.peer.notify_progress(notice).await;
                }
            }
        }
    }
}

async fn until_gone(gone: &mut watch::Receiver<bool>) {
    if gone.wait_for(|gone| *gone).await.is_err() {
        // Nobody says when: then it is not by this.
        std::future::pending::<()>().await;
    }
}

/// The tools, read once.
static TOOLS_READ: OnceLock<Arc<Vec<Tool>>> = OnceLock::new();

/// The tools; a text of our own that cannot be read is a fault that the tests find.
fn tools() -> Vec<Tool> {
    serde_json::from_str(TOOLS).unwrap_or_default()
}

/// Whether a client gives its model the structured form in place of the text. Then the mail would have no frame,
/// and cost four times as much.
fn hides_text(client: Option<&Implementation>) -> bool {
    client.is_some_and(|client| {
        let name = client.name.to_ascii_lowercase();
        name.starts_with("claude-code") || name.starts_with("codex")
    })
}

fn result(told: Result<Told, Refusal>, is_text_only: bool) -> CallToolResult {
    let (mut result, json) = match told {
        Ok(told) => (
            CallToolResult::success(vec![ContentBlock::text(told.text)]),
            told.json,
        ),
        Err(refusal) => (
            CallToolResult::error(vec![ContentBlock::text(text::of_refusal(&refusal))]),
            json!({ "ok": false, "error": refusal }),
        ),
    };
    if is_text_only {
        let mut meta = JsonObject::new();
        meta.insert(ANSWER.to_owned(), json);
        result.meta = Some(MetaObject(meta));
    } else {
        result.structured_content = Some(json);
    }
    result
}

impl ServerHandler for Server {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder()
            .enable_tools()
            .enable_resources()
            .enable_resources_subscribe()
            .build();
        ServerConfig::new(capabilities)
            .with_server_info(Implementation::new("inbox", env!("CARGO_PKG_VERSION")))
            .with_instructions(INSTRUCTIONS)
    }

    async fn list_tools(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(self.tools.to_vec()))
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        self.tools.iter().find(|tool| tool.name == name).cloned()
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let arguments = request.arguments.unwrap_or_default();
        let meanwhile = self.meanwhile(&context);
        let told = tool::call(&self.desk, &request.name, arguments, meanwhile).await;
        let Some(told) = told else {
            let names: Vec<&str> = self.tools.iter().map(|tool| tool.name.as_ref()).collect();
            return Err(ErrorData::invalid_params(
                format!("unknown tool {:?}", request.name),
                Some(json!({ "tools": names })),
            ));
        };
        if context.ct.is_cancelled() && request.name == "claim_work" {
            tool::take_back(&self.desk, told).await;
            return Err(ErrorData::internal_error("the call was cancelled", None));
        }
        let is_text_only = hides_text(context.client_info().as_ref());
        Ok(result(told, is_text_only).into())
    }

    async fn on_custom_request(
        &self,
        request: CustomRequest,
        _context: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        // A known method is here only because its parameters could not be read.
        if KNOWN.contains(&request.method.as_str()) {
            let problem = format!("the parameters of {} do not fit", request.method);
            return Err(ErrorData::invalid_params(problem, None));
        }
        Err(ErrorData::new(
            ErrorCode::METHOD_NOT_FOUND,
            format!("unknown method {:?}", request.method),
            None,
        ))
    }

    async fn list_resources(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        Ok(ListResourcesResult::with_all_items(resource::list()))
    }

    async fn list_resource_templates(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        Ok(ListResourceTemplatesResult::with_all_items(
            resource::templates(),
        ))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let text = resource::read(&self.desk, Place::named(&request.uri)?).await?;
        let contents = vec![ResourceContents::text(text, request.uri)];
        Ok(ReadResourceResult::new(contents).into())
    }

    async fn subscribe(
        &self,
        request: SubscribeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        let ear = match &self.notices {
            Some(notices) => Ear::of(notices),
            None => Ear::Peer(context.peer),
        };
        let subscribed = self.subscribed();
        subscribed.add(ear, &self.desk, request.uri).await
    }

    async fn unsubscribe(
        &self,
        request: UnsubscribeRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.subscribed().remove(&request.uri);
        Ok(())
    }

    fn accepted_subscription_filter(
        &self,
        requested: &SubscriptionFilter,
    ) -> Option<SubscriptionFilter> {
        let uris = requested.resource_subscriptions.iter().flatten();
        let known: Vec<String> = uris
            .filter(|uri| Place::of(uri).is_some())
            .take(SUBSCRIPTIONS)
            .cloned()
            .collect();
        let mut accepted = SubscriptionFilter::new();
        accepted.resource_subscriptions = (!known.is_empty()).then_some(known);
        Some(accepted)
    }

    async fn listen(&self, context: SubscriptionContext) -> Result<(), ErrorData> {
        let mut tasks = JoinSet::new();
        let uris = context.accepted().resource_subscriptions.clone();
        for uri in uris.into_iter().flatten() {
            let Some(place) = Place::of(&uri) else {
                continue;
            };
            let after = resource::now(&self.desk, place)
                .await
                .map_err(|refusal| resource::as_error(&refusal))?;
            let ear = Ear::Sink(context.sink().clone());
            // It was acknowledged before there was a place to begin: what came in between is told of so.
            if ear.tell(&uri).await {
                tasks.spawn(ear.tell_all(self.desk.clone(), uri, place, after));
            }
        }
        let mut gone = self.gone.clone();
        tokio::select! {
            () = context.cancelled() => {}
            () = until_gone(&mut gone) => {}
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_are_at_most_eight_tools_and_each_has_a_schema() {
        let tools = tools();
        assert!((1..=8).contains(&tools.len()));
        for tool in &tools {
            assert_eq!(tool.input_schema.get("type"), Some(&json!("object")));
            assert!(tool.description.is_some(), "{}", tool.name);
        }
    }

    #[test]
    fn a_client_that_hides_the_text_gets_the_json_elsewhere() {
        let told = || {
            Ok(Told {
                text: "lean".to_owned(),
                json: json!({ "ok": true }),
            })
        };
        let client = Implementation::new("claude-code", "2");
        assert!(hides_text(Some(&client)));
        let hidden = result(told(), true);
        assert!(hidden.structured_content.is_none() && hidden.meta.is_some());
        let shown = result(told(), false);
        assert!(shown.structured_content.is_some() && shown.meta.is_none());
    }
}
