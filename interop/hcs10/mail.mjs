// The story of a store whose record is on the ledger: two agents and a person of ours, a bridge, and an agent outside, which is the
// HCS-10 client of npm as it is. They write to each other, a person decides, they part; then the record is checked, and forged.
// Prints what was seen as JSON.
//
// node mail.mjs, in an empty folder

import { spawn, spawnSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { writeFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { theirs } from "./theirs.mjs";

/// How long something may take that must happen, in seconds.
const PATIENCE = "30";

/// Runs a command, and gives its answer and how it ended.
function run(args) {
    const { status, stdout, stderr } = spawnSync(process.env.INBOX, [...args, "--json"], { encoding: "utf8" });
    const answer = stdout || stderr;
    try {
        return { status, answer: JSON.parse(answer) };
    } catch {
        throw new Error(`inbox ${args.join(" ")}: ${status}\n${stdout}${stderr}`);
    }
}

/// Runs a command that must go well.
function inbox(...args) {
    const { status, answer } = run(args);
    if (status !== 0) throw new Error(`inbox ${args.join(" ")}: ${status}\n${JSON.stringify(answer)}`);
    return answer;
}

/// The last event that was waited for.
let last = 0;

/// Waits for an event, and forgets those before it.
function until(what, is) {
    for (;;) {
        // It ends otherwise than well when nothing happens.
        const { events } = run(["watch", "--after-event", String(last), "--timeout-seconds", PATIENCE]).answer;
        if (events.length === 0) {
            const all = inbox("watch", "--after-event", "0", "--timeout-seconds", "0").events;
            const lines = all.map((event) => `${event.event_id} ${event.thread_id} ${event.source} ${event.event_type} ${event.summary}`);
            throw new Error(`${what} did not happen after event ${last}:\n${lines.join("\n")}\n${JSON.stringify(inbox("bridge", "status"))}`);
        }
        const found = events.find(is);
        last = (found ?? events.at(-1)).event_id;
        if (found) return found;
    }
}
const confirmed = (thread) => until(`a confirmation in ${thread}`, (event) => event.thread_id === thread && event.event_type === "confirmed");
const from = (source, word) => (event) => event.source === source && event.summary.includes(word);

/// The question that waits for the person.
function asked() {
    const { asks } = inbox("desk", "--agent", "operator");
    if (asks.length !== 1) throw new Error(`${asks.length} questions: ${JSON.stringify(asks)}`);
    const [{ sort, thread, message }] = asks;
    return { sort, thread: thread.thread_id, subject: thread.subject, body: message.body, payload: message.payload_json };
}

const thread = (id) => inbox("show", "--thread", id).messages;

// What is too large for a message is a file on the ledger, each way.
const large = [randomBytes(1500), randomBytes(1500)].map((bytes) => bytes.toString("base64"));
/// What is told of a text: itself, or that it is one of those, or how one begins.
const told = (text) => (large.includes(text) ? "LARGE" : text && large[0].startsWith(text) ? "START" : text);
const brief = ({ from_agent, verified, message_type, summary, body }) => ({
    from: from_agent,
    verified,
    type: message_type,
    summary: told(summary),
    body: told(body),
});

const rest = async (path) => (await fetch(`http://127.0.0.1:5551/api/v1/${path}`)).json();
const balance = async (account) => (await rest(`accounts/${account}`)).balance.balance;

/// Changes a text of the store's file, as somebody can who has the file.
function write(field, had, has) {
    const code = [
        "import sqlite3, sys",
        "field, had, has = sys.argv[1:]",
        "store = sqlite3.connect('.agents/coord.db', timeout=30)",
        "changed = store.execute(f'UPDATE entries SET {field} = ? WHERE {field} = ?', [has, had]).rowcount",
        "assert changed == 1, changed",
        "store.commit()",
    ];
    const { status, stderr } = spawnSync("python3", ["-c", code.join("\n"), field, had, has], { encoding: "utf8" });
    if (status !== 0) throw new Error(stderr);
}

/// Changes a letter of a message, looks what is found, and puts it back.
function forge(message, field, has) {
    write(field, message[field], has);
    const found = run(["verify", "--all"]);
    write(field, has, message[field]);
    return { message: message.message_id, ...found };
}

const seen = { took: {} };
let began = Date.now();
const lap = (what) => {
    seen.took[what] = Date.now() - began;
    began = Date.now();
};

inbox("init");
writeFileSync(".agents/inbox.toml", '[ledger]\nnetwork = "local"\n');
inbox("agent", "add", "mindy");
inbox("agent", "add", "quinn");
inbox("agent", "add", "operator", "--kind", "human");
const { agents } = inbox("hcs", "provision", "--all");
const quinn = agents.find((agent) => agent.agent_id === "quinn");
seen.provisioned = agents.map((agent) => agent.agent_id);
const bridge = spawn(process.env.INBOX, ["bridge", "--json"], { stdio: ["ignore", "pipe", "inherit"] });
process.on("exit", () => bridge.kill());
await new Promise((ready) => createInterface(bridge.stdout).once("line", ready));
lap("provision");

const mail = inbox("send", "--agent", "mindy", "--to", "quinn", "--subject", "Count the invoices", "--body", "All of May.");
confirmed(mail.thread.thread_id);
seen.quinn_read = inbox("read", "--agent", "quinn").messages.map(brief);
inbox("reply", "--agent", "quinn", "--thread", mail.thread.thread_id, "--summary", "Forty-two of them.");
confirmed(mail.thread.thread_id);
seen.mindy_read = inbox("read", "--agent", "mindy").messages.map(brief);
lap("mail");

const visitor = await theirs("visitor", {});
seen.visitor = visitor.account;
seen.quinn = quinn.account_id;
const known = await visitor.known({ account: quinn.account_id });
seen.known = known.name;
lap("visitor");

const request = await visitor.request({ inbound: known.inbound });
until("a question", (event) => event.summary.includes("asks quinn for a connection"));
seen.question = asked();
inbox("reply", "--agent", "operator", "--thread", seen.question.thread, "--summary", "accept");
const opened = until("a connection", from(`account-${visitor.account}`, "is connected"));
until("its notice", from("system", "is connected"));
const topic = await visitor.confirmed({ inbound: known.inbound }, request);
seen.connection = topic;
seen.open = await visitor.state(topic);
lap("connect");

await visitor.say(topic, "What does a widget cost?");
until("mail from outside", from(`account-${visitor.account}`, "What does a widget cost?"));
await visitor.say(topic, large[0]);
until("a file from outside", (event) => event.source === `account-${visitor.account}`);
const reply = (...words) => inbox("reply", "--agent", "quinn", "--thread", opened.thread_id, ...words);
reply("--summary", "Four HBAR each.");
confirmed(opened.thread_id);
reply("--summary", "All prices", "--body", large[1]);
confirmed(opened.thread_id);
seen.visitor_read = (await visitor.read(topic)).map(({ from, text }) => ({ from, text: told(text) }));
lap("talk");

const had = await balance(visitor.account);
const proposal = await visitor.propose(topic, quinn.account_id, visitor.account, 1);
until("an approval", (event) => event.summary.includes("asks quinn to sign"));
seen.approval = asked();
seen.schedule = proposal.schedule;
seen.executed = [(await rest(`schedules/${proposal.schedule}`)).executed_timestamp != null];
inbox("reply", "--agent", "operator", "--thread", seen.approval.thread, "--summary", "approve");
seen.signed = until("a signature", from("system", `schedule ${proposal.schedule}`)).summary;
seen.executed.push((await rest(`schedules/${proposal.schedule}`)).executed_timestamp != null);
seen.got = (await balance(visitor.account)) - had;
seen.questions_left = inbox("desk", "--agent", "operator").asks.length;
lap("pay");

await visitor.close(topic);
until("the end of the connection", from("system", "closed the connection"));
seen.closed = await visitor.state(topic);
seen.thread = thread(opened.thread_id).map(brief);
lap("close");

seen.verified = run(["verify", "--all"]);
const said = thread(opened.thread_id).find((message) => message.summary === "What does a widget cost?");
seen.forged = {
    ours: forge(mail.message, "body", "All of Max."),
    theirs: forge(said, "summary", "What does a gidget cost?"),
};
seen.again = run(["verify", "--all"]).status;
lap("verify");

console.log(JSON.stringify(seen));
process.exit(0);
