// An agent of ours, which its commands are.

import { spawnSync } from "node:child_process";

/// Runs a command of `inbox hcs`, and gives its answer.
export function hcs(args, input) {
    const { status, stdout, stderr } = spawnSync(process.env.INBOX, ["hcs", ...args, "--json"], { input, encoding: "utf8" });
    if (status !== 0) throw new Error(`inbox hcs ${args.join(" ")}: ${status}\n${stdout}${stderr}`);
    return JSON.parse(stdout);
}

export async function ours(name, { ecdsa, fee }) {
    const { account } = hcs(["account", "create", name, "--hbar", "100", ...(ecdsa ? ["--ecdsa"] : [])]);
    const made = hcs(["profile", "publish", "--agent", name, ...(fee ? ["--inbound", "fee", "--fee", "2"] : [])]);
    return new Ours(name, account.account_id, made);
}

class Ours {
    constructor(name, account, made) {
        Object.assign(this, { name, account, inbound: made.inbound_topic_id, outbound: made.outbound_topic_id });
        this.profile = made.reference.replace("hcs://1/", "");
    }

    hcs(args, input) {
        return hcs([...args, "--agent", this.name], input);
    }

    async found() {
        return this.hcs(["registry", "create"]).registry_topic_id;
    }

    async register(registry) {
        this.hcs(["register", "--registry", registry]);
    }

    async known(other) {
        const { profile, trouble, deviations } = this.hcs(["profile", "show", other.account]);
        if (trouble || deviations.length > 0) throw new Error(JSON.stringify({ trouble, deviations }));
        return { name: profile.display_name, inbound: profile.inboundTopicId, outbound: profile.outboundTopicId };
    }

    async request(other) {
        return this.hcs(["connect", other.account, "--max-fee", "2"]).request_id;
    }

    async accept(request, other) {
        const asked = this.find((connection) => connection.request_id === request && connection.role === "responder");
        if (asked?.other !== other.account) throw new Error(`${asked?.other} asked`);
        return this.hcs(["accept", String(request)]).topic_id;
    }

    find(is) {
        return this.hcs(["connections"]).connections.find(is);
    }

    async confirmed(other, request) {
        const found = this.find((one) => one.other === other.account && one.request_id === request && one.role === "requester");
        return found?.topic_id;
    }

    async say(topic, text) {
        this.hcs(["say", topic, "--file", "-"], text);
    }

    async read(topic) {
        const { messages } = this.hcs(["read", topic]);
        const unsure = messages.find((message) => !message.verified);
        if (unsure) throw new Error(`not verified: ${JSON.stringify(unsure)}`);
        const said = messages.filter((message) => message.kind === "message");
        return said.map((message) => ({ from: message.payer_account_id, text: message.text }));
    }

    async put(text) {
        return this.hcs(["file", "put", "-", "--mime", "text/plain", "--compress", "zstd"], text).topic_id;
    }

    async propose(topic, from, to, hbars) {
        const made = this.hcs(["propose", topic, "--transfer", `${from}:${to}:${hbars}`]);
        return { schedule: made.schedule_id, sequence: made.sequence_number };
    }

    async approve(topic, proposal) {
        const { executed } = this.hcs(["approve", topic, String(proposal.sequence), "--yes"]);
        if (!executed) throw new Error(`${JSON.stringify(proposal)} waits for others`);
    }

    async close(topic) {
        this.hcs(["close", topic, "--reason", "done"]);
    }

    /// Where a connection stands, in its own words.
    async state(topic) {
        return this.find((one) => one.topic_id === topic)?.state;
    }
}
