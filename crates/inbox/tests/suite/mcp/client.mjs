// Plays one scenario against `inbox mcp` with the official TypeScript SDK, and prints what it saw as JSON.
// Arguments: the binary, the package (sdk or client), the mode (legacy or modern). It runs as quinn; ada is played
// with the command line. With MCP_URL and MCP_TOKEN it calls that server in place of starting one; with MCP_DB in
// place of MCP_URL, what it starts calls the server.
import { execFileSync } from "node:child_process";

const [inbox, kit, mode] = process.argv.slice(2);
const base = "@modelcontextprotocol/";
const { Client } = await import(base + (kit === "sdk" ? "sdk/client/index.js" : "client"));
const { StdioClientTransport } = await import(base + (kit === "sdk" ? "sdk/client/stdio.js" : "client/stdio"));
const updatedNotice = kit === "sdk"
  ? (await import(base + "sdk/types.js")).ResourceUpdatedNotificationSchema
  : "notifications/resources/updated";

const ada = (...args) => JSON.parse(execFileSync(inbox, [...args, "--from", "ada", "--json"], { encoding: "utf8" }));
const seen = {};

// One event after another, waited for and never polled.
const updates = [];
let wake = () => {};
const update = async () => {
  while (updates.length === 0) await new Promise((resolve) => { wake = resolve; });
  return updates.shift();
};

const options = kit === "client" && mode === "modern" ? { versionNegotiation: { mode: { pin: "2026-07-28" } } } : {};
const client = new Client({ name: `test-${kit}`, version: "1" }, options);
client.setNotificationHandler(updatedNotice, (notice) => { updates.push(notice.params.uri); wake(); });
const url = process.env.MCP_URL;
const { StreamableHTTPClientTransport } = await import(base + (kit === "sdk" ? "sdk/client/streamableHttp.js" : "client"));
const far = process.env.MCP_DB ? { INBOX_DB: process.env.MCP_DB, INBOX_TOKEN: process.env.MCP_TOKEN } : {};
const transport = url
  ? new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers: { authorization: `Bearer ${process.env.MCP_TOKEN}` } } })
  : new StdioClientTransport({ command: inbox, args: ["mcp"], env: { ...process.env, INBOX_AGENT: "quinn", ...far } });
await client.connect(transport);

const call = (name, args = {}, more = undefined) =>
  kit === "sdk" ? client.callTool({ name, arguments: args }, undefined, more) : client.callTool({ name, arguments: args }, more);

seen.version = kit === "client" ? client.getNegotiatedProtocolVersion() : transport._protocolVersion ?? null;
seen.server = client.getServerVersion()?.name ?? null;
seen.instructions = client.getInstructions() ?? null;
seen.tools = (await client.listTools()).tools.map((tool) => tool.name);
seen.templates = (await client.listResourceTemplates()).resourceTemplates.map((one) => one.uriTemplate);

const work = ada("send", "--to", "quinn", "--subject", "Add posts", "--body", "as in the brief").thread.thread_id;
seen.mail = (await call("check_inbox")).structuredContent;
seen.claimed = (await call("claim_work")).structuredContent;

// Blocked until somebody answers; the answer comes when the client hears that the tool waits.
let answered = false;
seen.asked = (await call("ask", { thread_id: work, question: "Which auth?", wait_seconds: 60 }, {
  onprogress: () => {
    if (answered) return;
    answered = true;
    ada("reply", "--thread", work, "--summary", "Email");
  },
})).structuredContent;
seen.progressed = answered;
seen.done = (await call("update_work", { thread_id: work, status: "done", summary: "Posts are in" })).structuredContent;

const refused = await call("show_threads", { thread_id: "thr_zz" });
seen.refused = { isError: refused.isError, structured: refused.structuredContent, text: refused.content[0].text };

// A wait that the client gives up, and the server goes on.
const giveUp = new AbortController();
const waiting = call("claim_work", { wait_seconds: 600 }, { signal: giveUp.signal, onprogress: () => giveUp.abort(), timeout: 600_000 });
seen.cancelled = await waiting.then(() => false, () => true);
seen.after = (await call("show_threads", { thread_id: work })).structuredContent.thread.status;

const uri = "inbox://inbox";
let subscription;
if (mode === "modern") subscription = await client.listen({ resourceSubscriptions: [uri] });
else await client.subscribeResource({ uri });
ada("send", "--to", "quinn", "--subject", "Something new", "--kind", "question");
let text = "";
while (!text.includes("Something new")) {
  seen.updated = await update();
  text = (await client.readResource({ uri }, kit === "client" ? { cacheMode: "refresh" } : undefined)).contents[0].text;
}
if (mode === "modern") await subscription.close();
else await client.unsubscribeResource({ uri });
await client.close();
console.log(JSON.stringify(seen));
