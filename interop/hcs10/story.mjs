// The story of two agents that meet, talk, agree on a payment and part, told by the HCS-10 client of npm as it is.
// Prints what it saw as JSON.
//
// node story.mjs REQUESTER RESPONDER

import { createHash, randomBytes } from "node:crypto";
import { theirs } from "./theirs.mjs";

const kinds = { theirs };
const [one, other] = process.argv.slice(2).map((word) => kinds[word]);
const seen = { requester: process.argv[2], responder: process.argv[3], took: {} };
/// Text that does not compress: several pieces of an HCS-1 file.
const much = () => randomBytes(4500).toString("base64");
/// What is told of a text: itself, or its hash.
const told = (text) => (text.length < 100 ? text : createHash("sha256").update(text).digest("hex"));
const all = (texts) => texts.map(({ from, text }) => ({ from, text: told(text) }));

let began = Date.now();
const lap = (what) => {
    seen.took[what] = Date.now() - began;
    began = Date.now();
};

const asker = await one("asker");
const host = await other("host");
lap("agents");
seen.asker = asker.topics();
seen.host = host.topics();

seen.registry = await asker.found();
await asker.register(seen.registry);
await host.register(seen.registry);
lap("register");

const request = await asker.request(host);
const topic = await host.accept(request, asker);
seen.connection = topic;
seen.confirmed = await asker.confirmed(host, request);
lap("connect");

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
seen.before = [await asker.balance(), await host.balance()];
const first = await asker.propose(topic, host.account, asker.account, 1);
await host.approve(topic, first);
const second = await host.propose(topic, asker.account, host.account, 2);
await asker.approve(topic, second);
seen.executed = [await asker.executed(first), await host.executed(second)];
seen.after = [await asker.balance(), await host.balance()];
lap("pay");

await asker.close(topic);
seen.closed = [await asker.isClosed(topic), await host.isClosed(topic)];
lap("close");

console.log(JSON.stringify(seen));
process.exit(0);
