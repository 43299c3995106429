// An agent that the HCS-10 client of npm is, as it is: it believes to be on the public test network.

import * as S from "@hashgraphonline/standards-sdk";
import * as H from "@hashgraph/sdk";

const GENESIS = "302e020100300506032b65700422042091132178e72057a1d7528025956fe39b0b847f200ab59b2fdd367017f3087137";
const client = (operatorId, operatorPrivateKey, keyType) =>
    new S.HCS10Client({ network: "testnet", operatorId, operatorPrivateKey, keyType, logLevel: "error", silent: true });

/// An account as the client makes it, or with a key that it cannot make but must be able to use.
async function account(isEcdsa) {
    const treasury = client("0.0.2", GENESIS, "ed25519");
    if (!isEcdsa) return treasury.createAccount(100);
    const key = H.PrivateKey.generateECDSA();
    const create = new H.AccountCreateTransaction().setKeyWithoutAlias(key.publicKey).setInitialBalance(new H.Hbar(100));
    const { accountId } = await (await create.execute(treasury.getClient())).getReceipt(treasury.getClient());
    return { accountId: accountId.toString(), privateKey: key.toStringDer() };
}

export async function theirs(name, { ecdsa, fee }) {
    const { accountId, privateKey } = await account(ecdsa);
    const mine = client(accountId, privateKey, ecdsa ? "ecdsa" : "ed25519");
    const builder = new S.AgentBuilder()
        .setName(name)
        .setBio(`the ${name} of a test`)
        .setAgentType("manual")
        .setCapabilities([S.AIAgentCapability.TEXT_GENERATION])
        .setModel("none")
        .setNetwork("testnet")
        .setInboundTopicType(fee ? S.InboundTopicType.FEE_BASED : S.InboundTopicType.PUBLIC);
    const logger = new S.Logger({ level: "error", silent: true });
    if (fee) builder.setFeeConfig(S.FeeConfigBuilder.forHbar(2, undefined, "testnet", logger));
    const made = await mine.createAgent(builder);
    if (!made.profileTopicId) throw new Error(`${name} has no profile: ${JSON.stringify(made)}`);
    return new Theirs(mine, accountId, made);
}

class Theirs {
    constructor(client, account, made) {
        Object.assign(this, { client, account, inbound: made.inboundTopicId, outbound: made.outboundTopicId });
        this.profile = made.profileTopicId;
    }

    async found() {
        const made = await this.client.createRegistryTopic();
        if (!made.success) throw new Error(made.error);
        return made.topicId;
    }

    async register(registry) {
        await this.client.registerAgent(registry, this.account, this.inbound, "here I am");
    }

    /// What another says of itself.
    async known(other) {
        const { success, profile, error } = await this.client.retrieveProfile(other.account, true);
        if (!success) throw new Error(error);
        return { name: profile.display_name, inbound: profile.inboundTopicId, outbound: profile.outboundTopicId };
    }

    /// Asks for a connection; the number of the request on the other's inbound topic.
    async request(other) {
        const receipt = await this.client.submitConnectionRequest(other.inbound, "let us talk");
        return Number(receipt.topicSequenceNumber);
    }

    async accept(request, other) {
        const { messages } = await this.client.getMessages(this.inbound);
        const asked = messages.find((message) => message.sequence_number === request);
        if (asked?.op !== "connection_request") throw new Error(`no request ${request}`);
        const from = asked.operator_id.split("@")[1];
        if (from !== other.account) throw new Error(`${from} asked`);
        return (await this.client.handleConnectionRequest(this.inbound, from, request)).connectionTopicId;
    }

    async confirmed(other, request) {
        const { connectionTopicId } = await this.client.waitForConnectionConfirmation(other.inbound, request, 10, 500);
        return connectionTopicId;
    }

    async say(topic, text) {
        await this.client.sendMessage(topic, text);
    }

    async read(topic) {
        const { messages } = await this.client.getMessages(topic);
        const texts = [];
        for (const message of messages.filter((message) => message.op === "message")) {
            const content = await this.client.getMessageContent(message.data);
            texts.push({ from: message.operator_id.split("@")[1], text: content });
        }
        return texts;
    }

    async get(file) {
        return this.client.getMessageContent(`hcs://1/${file}`);
    }

    async propose(topic, from, to, hbars) {
        const pay = new H.TransferTransaction()
            .addHbarTransfer(from, new H.Hbar(-hbars))
            .addHbarTransfer(to, new H.Hbar(hbars));
        const { scheduleId, receipt } = await this.client.sendTransaction(topic, pay, `${hbars} for ${to}`);
        return { schedule: scheduleId, sequence: Number(receipt.topicSequenceNumber) };
    }

    async approve(topic, proposal) {
        const requests = await this.client.getTransactionRequests(topic);
        const found = requests.find((request) => request.sequence_number === proposal.sequence);
        const sign = new H.ScheduleSignTransaction().setScheduleId(found.schedule_id);
        await (await sign.execute(this.client.getClient())).getReceipt(this.client.getClient());
    }

    /// The client has no call for it; what it would write is what it reads.
    async close(topic) {
        const operator_id = await this.client.getOperatorId();
        const close = { p: "hcs-10", op: "close_connection", operator_id, reason: "done" };
        await this.client.submitPayload(topic, close);
    }

    /// Where a connection stands, in its own words.
    async state(topic) {
        const connections = new S.ConnectionsManager({ baseClient: this.client, logLevel: "error", silent: true });
        await connections.fetchConnectionData(this.account);
        return connections.getConnectionByTopicId(topic)?.status;
    }
}
