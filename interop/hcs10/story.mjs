// The story of two agents that meet, talk, agree on payments and part. Each is ours, or theirs: the HCS-10 client of npm as it is.
// Prints what was seen as JSON.
//
// node story.mjs REQUESTER RESPONDER
//
// Each is a word, such as `theirs` or `ours+ecdsa+fee`: with a key of the other sort, or a fee for each request.

import { createHash, randomBytes } from "node:crypto";
import { hcs, ours } from "./ours.mjs";
import { theirs } from "./theirs.mjs";

const kinds = { ours, theirs };
const agent = (word, name) => {
    const [kind, ...more] = word.split("+");
    return kinds[kind](name, { ecdsa: more.includes("ecdsa"), fee: more.includes("fee") });
};
const seen = { requester: process.argv[2], responder: process.argv[3], took: {} };
/// Text that does not compress: several pieces of an HCS-1 file.
const much = () => randomBytes(4500).toString("base64");
/// What is told of a text: itself, or its hash.
const told = (text) => (text.length < 100 ? text : createHash("sha256").update(text).digest("hex"));
const all = (texts) => texts.map(({ from, text }) => ({ from, text: told(text) }));

const rest = async (path) => {
    const answer = await fetch(`http://127.0.0.1:5551/api/v1/${path}`);
    return answer.ok ? answer.json() : undefined;
};
const balance = async (agent) => (await rest(`accounts/${agent.account}`)).balance.balance;
const executed = async (proposal) => (await rest(`schedules/${proposal.schedule}`)).executed_timestamp != null;
const topics = ({ account, inbound, outbound, profile }) => ({ account, inbound, outbound, profile });

let began = Date.now();
const lap = (what) => {
    seen.took[what] = Date.now() - began;
    began = Date.now();
};

const asker = await agent(seen.requester, "asker");
const host = await agent(seen.responder, "host");
lap("agents");
seen.asker = topics(asker);
seen.host = topics(host);

seen.registry = await asker.found();
await asker.register(seen.registry);
await host.register(seen.registry);
seen.listed = hcs(["registry", seen.registry]).entries.map((entry) => ({ account: entry.account_id, verified: entry.verified }));
seen.known = [await asker.known(host), await host.known(asker)];
lap("register");

const had = await balance(host);
const request = await asker.request(host);
seen.taken = (await balance(host)) - had;
const topic = await host.accept(request, asker);
seen.connection = topic;
seen.confirmed = await asker.confirmed(host, request);
lap("connect");

seen.open = [await asker.state(topic), await host.state(topic)];
const large = [much(), much()];
await asker.say(topic, "hello");
await host.say(topic, "welcome");
await asker.say(topic, large[0]);
await host.say(topic, large[1]);
seen.large = large.map(told);
seen.read_by_host = all(await host.read(topic));
seen.read_by_asker = all(await asker.read(topic));
lap("talk");

// Each gives the other something: one hbar, and two.
seen.before = [await balance(asker), await balance(host)];
const first = await asker.propose(topic, host.account, asker.account, 1);
await host.approve(topic, first);
const second = await host.propose(topic, asker.account, host.account, 2);
await asker.approve(topic, second);
seen.executed = [await executed(first), await executed(second)];
seen.after = [await balance(asker), await balance(host)];
lap("pay");

await asker.close(topic);
seen.closed = [await asker.state(topic), await host.state(topic)];
lap("close");

// A file of ours in the other compression, which the client gets as it gets every file.
const writer = [asker, host].find((agent) => agent.put);
const reader = [asker, host].find((agent) => agent.get);
if (writer && reader) {
    const text = `${much()}, once more: ${large[0]}`;
    seen.zstd = (await reader.get(await writer.put(text))) === text;
    lap("file");
}

// Everything that is left behind: each history must be whole, and each message readable.
const message = (found) => ({
    kind: found.kind,
    payer: found.payer_account_id,
    verified: found.verified,
    refused: found.refused,
    deviations: found.deviations.map(({ kind, pointer }) => `${kind} ${pointer}`),
    memo: found.transaction_memo,
});
seen.topics = [];
for (let num = Number(asker.account.split(".")[2]); ; num += 1) {
    const id = `0.0.${num}`;
    if (await rest(`topics/${id}`)) {
        const { messages } = hcs(["verify", id]);
        const { topic, type, memo_deviations, messages: found } = hcs(["inspect", id, "--memos"]);
        seen.topics.push({ id, type, memo: topic.memo, memo_deviations, whole: messages, messages: found.map(message) });
    } else if (!(await rest(`accounts/${id}`)) && !(await rest(`schedules/${id}`))) {
        break;
    }
}
lap("verify");

console.log(JSON.stringify(seen));
process.exit(0);
