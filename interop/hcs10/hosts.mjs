// What the HCS-10 client of npm finds on the public network and cannot do without, for this rig alone: the mirror, which is the
// devnet's, and the services that write and read HCS-1 files. The files are real, on the ledger, and this is a second
// implementation of them: what it writes we must be able to read, and it reads what we wrote.
//
// node hosts.mjs, in a folder with key.pem and certificate.pem. Prints the addresses of the public network's nodes when it is ready.

import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import http from "node:http";
import http2 from "node:http2";
import zlib from "node:zlib";
import * as H from "@hashgraph/sdk";
import { decompress } from "fzstd";

const GENESIS = "302e020100300506032b65700422042091132178e72057a1d7528025956fe39b0b847f200ab59b2fdd367017f3087137";
const REST = "http://127.0.0.1:5551";
const MIRROR = "http://127.0.0.1:5600";
const SERVICE = "0.0.2";
const ledger = H.Client.forNetwork({ "127.0.0.1:50211": new H.AccountId(3) }).setOperator(SERVICE, GENESIS);

const done = async (transaction) => (await transaction.execute(ledger)).getReceipt(ledger);
const rest = async (path) => {
    const answer = await fetch(REST + path);
    if (!answer.ok) throw new Error(`${answer.status} for ${path}`);
    return answer.json();
};
const sha256 = (bytes) => createHash("sha256").update(bytes).digest("hex");

/// Writes a file: no admin key, a submit key, and the last piece first, since any order must do.
async function write(bytes, type) {
    const packed = zlib.brotliCompressSync(bytes).toString("base64");
    const text = `data:${type};base64,${packed}`;
    const key = H.PrivateKey.fromStringDer(GENESIS).publicKey;
    const create = new H.TopicCreateTransaction().setTopicMemo(`${sha256(bytes)}:brotli:base64`).setSubmitKey(key);
    const { topicId } = await done(create);
    const pieces = text.match(/.{1,990}/gs).map((c, o) => JSON.stringify({ o, c }));
    for (const piece of pieces.reverse()) {
        await done(new H.TopicMessageSubmitTransaction().setTopicId(topicId).setMessage(piece));
    }
    return topicId.toString();
}

/// Reads a file, and believes nothing of it: keys, order, hash.
async function read(topic) {
    const info = await rest(`/api/v1/topics/${topic}`);
    if (info.admin_key || !info.submit_key) throw new Error(`${topic} has the wrong keys for a file`);
    const [hash, algorithm, encoding] = info.memo.split(":");
    if (encoding !== "base64") throw new Error(`${topic} is in ${encoding}`);
    const pieces = [];
    for (let next = `/api/v1/topics/${topic}/messages?limit=100`; next; ) {
        const page = await rest(next);
        pieces.push(...page.messages.map((message) => JSON.parse(Buffer.from(message.message, "base64"))));
        next = page.links.next;
    }
    const text = pieces.sort((one, other) => one.o - other.o).map((piece) => piece.c).join("");
    const [, type, packed] = text.match(/^data:([^;]*);base64,(.*)$/s);
    const unpack = { brotli: zlib.brotliDecompressSync, zstd: (bytes) => Buffer.from(decompress(bytes)) }[algorithm];
    const bytes = unpack(Buffer.from(packed, "base64"));
    if (sha256(bytes) !== hash) throw new Error(`${topic} is not what its memo says`);
    return { type, bytes };
}

/// What was asked to be written, by the payment that it waits for.
const asked = new Map();
const dashed = (id) => id.toString().replace(/@(\d+)\./, "-$1-");

async function start(body) {
    const id = H.TransactionId.generate(body.holderId);
    const pay = new H.TransferTransaction()
        .setTransactionId(id)
        .addHbarTransfer(body.holderId, new H.Hbar(-0.01))
        .addHbarTransfer(SERVICE, new H.Hbar(0.01))
        .freezeWith(ledger);
    // The client takes every text for bytes; the name knows better.
    const type = body.fileName.endsWith(".json") ? "application/json" : body.fileMimeType;
    asked.set(dashed(id), { bytes: Buffer.from(body.fileBase64, "base64"), type, id: id.toString() });
    return { tx_id: id.toString(), transactionBytes: Buffer.from(pay.toBytes()).toString("base64") };
}

async function retrieve(id) {
    const job = asked.get(id);
    const { transactions } = await rest(`/api/v1/transactions/${id}`);
    if (transactions[0].result !== "SUCCESS") throw new Error(`${id} was not paid`);
    job.topic ??= write(job.bytes, job.type);
    return { tx_id: job.id, status: "completed", completed: true, mode: "file", topic_id: await job.topic };
}

/// The services by host and path; each gives JSON.
async function serve(host, path, query, body) {
    switch (`${host}${path}`) {
        case "kiloscribe.com/api/auth/request-signature":
            return { message: "sign this" };
        case "kiloscribe.com/api/auth/authenticate":
            return { user: { sessionToken: "of nobody" }, apiKey: "of nobody" };
        case "v2-api.tier.bot/api/inscriptions/start-inscription":
            return start(body);
        case "v2-api.tier.bot/api/inscriptions/retrieve-inscription":
            return retrieve(query.get("id"));
    }
}

function forward(request, response) {
    const { method, headers, url } = request;
    const passed = http.request(REST + url, { method, headers: { ...headers, host: "127.0.0.1" } }, (answer) => {
        response.writeHead(answer.statusCode, answer.headers);
        answer.pipe(response);
    });
    request.pipe(passed);
}

/// A call of gRPC, which the mirror answers on the same port: what tells how it ended comes after the messages.
function call(request, response) {
    const mirror = http2.connect(MIRROR);
    const passed = mirror.request({ ...request.headers, ":authority": "127.0.0.1", ":scheme": "http" });
    const plain = (headers) => Object.fromEntries(Object.entries(headers).filter(([name]) => !name.startsWith(":")));
    passed.on("response", (headers) => {
        response.writeHead(headers[":status"], plain(headers));
        passed.pipe(response);
    });
    passed.on("trailers", (trailers) => Object.entries(trailers).forEach((pair) => response.setTrailer(...pair)));
    const end = () => {
        response.stream.destroy();
        mirror.destroy();
    };
    for (const part of [mirror, passed, response.stream]) part.on("error", end);
    response.stream.on("close", end);
    request.pipe(passed);
}

async function answer(request, response) {
    if (request.headers["content-type"]?.startsWith("application/grpc")) return call(request, response);
    const url = new URL(request.url, `https://${request.headers.host}`);
    if (url.hostname === "testnet.mirrornode.hedera.com") return forward(request, response);
    const file = url.pathname.match(/^\/api\/inscription-cdn\/([\d.]+)$/);
    if (url.hostname === "kiloscribe.com" && file) {
        const { type, bytes } = await read(file[1]);
        response.writeHead(200, { "content-type": type, "content-length": bytes.length });
        return response.end(request.method === "HEAD" ? undefined : bytes);
    }
    const chunks = [];
    for await (const chunk of request) chunks.push(chunk);
    const body = chunks.length > 0 ? JSON.parse(Buffer.concat(chunks)) : undefined;
    const found = await serve(url.hostname, url.pathname, url.searchParams, body);
    response.writeHead(found ? 200 : 404, { "content-type": "application/json" });
    response.end(JSON.stringify(found ?? { error: "there is no such thing" }));
}

const tls = { key: readFileSync("key.pem"), cert: readFileSync("certificate.pem"), allowHTTP1: true };
const server = http2.createSecureServer(tls, (request, response) => {
    answer(request, response).catch((error) => {
        console.error(`hosts: ${request.url}: ${error.message}`);
        if (!response.headersSent) response.writeHead(500, { "content-type": "application/json" });
        response.end(JSON.stringify({ error: error.message }));
    });
});
server.listen(443, "127.0.0.1", () => {
    const addresses = Object.keys(H.Client.forTestnet().network).map((address) => address.split(":")[0]);
    console.log(JSON.stringify({ addresses }));
});
