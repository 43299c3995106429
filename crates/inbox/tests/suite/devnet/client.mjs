// One story of a network, told by an official SDK. Prints what it saw as JSON.
//
// node client.mjs PACKAGE

const H = await import(process.argv[2]);
const seen = { sdk: process.argv[2] };
const NODE = { "127.0.0.1:50211": new H.AccountId(3) };
const GENESIS = "302e020100300506032b65700422042091132178e72057a1d7528025956fe39b0b847f200ab59b2fdd367017f3087137";

const as = (account, key) => H.Client.forNetwork(NODE).setMirrorNetwork(["127.0.0.1:5600"]).setOperator(account, key);
const treasury = as("0.0.2", GENESIS);
const done = async (transaction, client, ...keys) => {
    const frozen = transaction.freezeWith(client);
    for (const key of keys) await frozen.sign(key);
    return (await frozen.execute(client)).getReceipt(client);
};
const refusal = async (attempt) => {
    try {
        await attempt();
        return "it succeeded";
    } catch (error) {
        return String(error.status);
    }
};

const ed = H.PrivateKey.generateED25519();
const ec = H.PrivateKey.generateECDSA();
const account = async (key) => {
    const create = new H.AccountCreateTransaction().setKeyWithoutAlias(key.publicKey).setInitialBalance(new H.Hbar(100));
    return (await done(create, treasury)).accountId;
};
const one = await account(ed);
const two = await account(ec);
const other = as(two, ec);

// A topic that either of two keys may write to.
const either = new H.KeyList([ed.publicKey, ec.publicKey], 1);
const create = new H.TopicCreateTransaction().setTopicMemo("a memo").setAdminKey(ed.publicKey).setSubmitKey(either);
const topic = (await done(create, treasury, ed)).topicId;
seen.topic = topic.toString();
const say = (text, to = topic) => new H.TopicMessageSubmitTransaction().setTopicId(to).setMessage(text);
const first = await done(say("hello"), other);
seen.sequence = first.topicSequenceNumber.toString();
seen.hash_bytes = first.topicRunningHash.length;
seen.stranger = await refusal(() => done(say("no"), treasury));

// What is streamed, a message in three pieces among it.
const heard = [];
const all = new Promise((resolve) => {
    new H.TopicMessageQuery().setTopicId(topic).setStartTime(0).subscribe(treasury, null, (message) => {
        heard.push(Buffer.from(message.contents).toString());
        if (heard.length === 2) resolve();
    });
});
for (const response of await say("x".repeat(2500)).executeAll(other)) await response.getReceipt(other);
await all;
seen.heard = heard.map((text) => text.length);

const alone = new H.TopicUpdateTransaction().setTopicId(topic).setSubmitKey(ed.publicKey).setTopicMemo("");
await done(alone, treasury, ed);
seen.removed = await refusal(() => done(say("late"), other));
const info = await new H.TopicInfoQuery().setTopicId(topic).execute(treasury);
seen.info = { memo: info.topicMemo, sequence: info.sequenceNumber.toString() };

// A schedule that its giver signs.
const pay = new H.TransferTransaction().addHbarTransfer(two, new H.Hbar(-1)).addHbarTransfer(one, new H.Hbar(1));
const made = await done(new H.ScheduleCreateTransaction().setScheduledTransaction(pay), treasury);
const sign = () => done(new H.ScheduleSignTransaction().setScheduleId(made.scheduleId), other);
await sign();
const schedule = await new H.ScheduleInfoQuery().setScheduleId(made.scheduleId).execute(treasury);
seen.executed = schedule.executed != null;
seen.again = await refusal(sign);

// A topic with a fee of its own.
const fee = new H.CustomFixedFee().setHbarAmount(new H.Hbar(2)).setFeeCollectorAccountId(one);
const toll = (await done(new H.TopicCreateTransaction().setCustomFees([fee]), treasury)).topicId;
const limit = (tinybars) => {
    const most = new H.CustomFixedFee().setAmount(tinybars);
    return say("paid", toll).addCustomFeeLimit(new H.CustomFeeLimit().setAccountId(two).setFees([most]));
};
seen.limited = await refusal(() => done(limit(1), other));
await done(limit(200_000_000), other);
const balance = await new H.AccountBalanceQuery().setAccountId(one).execute(treasury);
seen.balance = balance.hbars.toTinybars().toString();

seen.token = await refusal(() => {
    const token = new H.TokenCreateTransaction().setTokenName("a").setTokenSymbol("A").setTreasuryAccountId("0.0.2");
    return done(token, treasury);
});
await done(new H.TopicDeleteTransaction().setTopicId(topic), treasury, ed);
seen.deleted = await refusal(() => done(say("gone"), treasury, ed));

// What the mirror has of it all.
const rest = async (path) => (await fetch(`http://127.0.0.1:5551${path}`)).json();
seen.messages = [];
for (let next = `/api/v1/topics/${topic}/messages?limit=2`; next; ) {
    const page = await rest(next);
    seen.messages.push(...page.messages);
    next = page.links.next;
}
seen.account = await rest(`/api/v1/accounts/${two}`);
const [payer, start] = made.scheduledTransactionId.toString().split("?")[0].split("@");
const paid = await rest(`/api/v1/transactions/${payer}-${start.replace(".", "-")}?scheduled=true`);
seen.paid = paid.transactions.map((transaction) => transaction.result);

console.log(JSON.stringify(seen));
process.exit(0);
