"""The same story of a network, told by the official SDK of Python. Prints what it saw as JSON."""

import json
import threading
import urllib.request
from datetime import datetime, timezone

from hiero_sdk_python import (
    AccountCreateTransaction,
    AccountId,
    Client,
    CryptoGetAccountBalanceQuery,
    Hbar,
    Network,
    PrivateKey,
    ResponseCode,
    ScheduleSignTransaction,
    TopicCreateTransaction,
    TopicDeleteTransaction,
    TopicMessageQuery,
    TopicMessageSubmitTransaction,
    TopicUpdateTransaction,
    TransferTransaction,
)
from hiero_sdk_python.node import _Node

GENESIS = "302e020100300506032b65700422042091132178e72057a1d7528025956fe39b0b847f200ab59b2fdd367017f3087137"
seen = {"sdk": "hiero-sdk-python"}


def client(account, key):
    node = _Node(AccountId(0, 0, 3), "127.0.0.1:50211", None)
    made = Client(Network("devnet", nodes=[node], mirror_address="127.0.0.1:5600"))
    made.set_operator(account, key)
    return made


def done(transaction, by, *keys):
    transaction.freeze_with(by)
    for key in keys:
        transaction.sign(key)
    receipt = transaction.execute(by)
    return ResponseCode(receipt.status).name, receipt


def must(transaction, by, *keys):
    status, receipt = done(transaction, by, *keys)
    assert status == "SUCCESS", status
    return receipt


treasury = client(AccountId(0, 0, 2), PrivateKey.from_string(GENESIS))
ed, ec = PrivateKey.generate_ed25519(), PrivateKey.generate_ecdsa()


def account(key):
    create = AccountCreateTransaction().set_key_without_alias(key.public_key()).set_initial_balance(Hbar(100))
    return must(create, treasury).account_id


one, two = account(ed), account(ec)
other = client(two, ec)

create = TopicCreateTransaction(memo="a memo", admin_key=ed.public_key(), submit_key=ec.public_key())
topic = must(create, treasury, ed).topic_id
seen["topic"] = str(topic)
say = lambda text: TopicMessageSubmitTransaction(topic_id=topic, message=text)
receipt = must(say("hello"), other)
seen["sequence"] = str(receipt._receipt_proto.topicSequenceNumber)
seen["hash_bytes"] = len(receipt._receipt_proto.topicRunningHash)
seen["stranger"] = done(say("no"), treasury)[0]

heard, all_heard = [], threading.Event()


def hear(message):
    heard.append(len(message.contents))
    if len(heard) == 2:
        all_heard.set()


query = TopicMessageQuery(topic_id=topic, start_time=datetime.fromtimestamp(0, timezone.utc), chunking_enabled=True)
handle = query.subscribe(treasury, hear)
must(say("x" * 2500), other)
assert all_heard.wait(60), heard
handle.cancel()
seen["heard"] = heard

must(TopicUpdateTransaction(topic_id=topic, submit_key=ed.public_key()), treasury, ed)
seen["removed"] = done(say("late"), other)[0]

pay = TransferTransaction().add_hbar_transfer(two, -100_000_000).add_hbar_transfer(one, 100_000_000)
made = must(pay.schedule(), treasury)
must(ScheduleSignTransaction(made.schedule_id), other)
seen["again"] = done(ScheduleSignTransaction(made.schedule_id), other)[0]
balance = CryptoGetAccountBalanceQuery(account_id=one).execute(treasury)
seen["balance"] = str(balance.hbars.to_tinybars())

must(TopicDeleteTransaction(topic_id=topic), treasury, ed)
seen["deleted"] = done(say("gone"), treasury, ed)[0]

with urllib.request.urlopen(f"http://127.0.0.1:5600/api/v1/topics/{topic}/messages?limit=100") as page:
    seen["messages"] = json.load(page)["messages"]
print(json.dumps(seen))
