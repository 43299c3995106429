"""An agent that speaks the Agent Client Protocol, and does what the file `plan` in its folder says. It writes down what it
hears in `heard`.

A line of the plan is a word and perhaps a text: `greet` (how, as JSON), `session ID`, `say TEXT`, `tool KIND TITLE`, `cost
AMOUNT`, `ask KIND` (for permission), `raw TEXT` (that line as it is), `long MEGABYTES` (a line without an end), `want METHOD`,
`end REASON`, `leave`, `stay` (lives on), `flood`. `turn TEXT` begins what is done when the prompt contains the text.
"""

import json
import signal
import sys
import time

heard = open("heard", "a")
number = 100


def out(value):
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **value}) + "\n")
    sys.stdout.flush()


def hear():
    line = sys.stdin.readline()
    if not line:
        return None
    heard.write(line)
    heard.flush()
    return json.loads(line)


def ask(method, params):
    """Asks, and waits for the answer."""
    global number
    number += 1
    out({"id": number, "method": method, "params": params})
    while True:
        answer = hear()
        if answer is None or answer.get("id") == number:
            return answer


def update(session, what, **more):
    out({"method": "session/update", "params": {"sessionId": session, "update": {"sessionUpdate": what, **more}}})


def turns():
    """Each turn's text and its steps; what comes before the first is for the greeting."""
    found = [("", [])]
    for line in open("plan"):
        word, _, rest = line.rstrip("\n").partition(" ")
        if word == "turn":
            found.append((rest, []))
        elif word:
            found[-1][1].append((word, rest))
    return found


def play(steps, session):
    for word, rest in steps:
        if word == "say":
            update(session, "agent_message_chunk", content={"type": "text", "text": rest.replace("\\n", "\n")})
        elif word == "tool":
            kind, _, title = rest.partition(" ")
            update(session, "tool_call", toolCallId="call", title=title, kind=kind)
        elif word == "cost":
            update(session, "usage_update", used=1, size=2, cost={"amount": float(rest), "currency": "USD"})
        elif word == "ask":
            options = [
                {"optionId": "ever", "name": "Always", "kind": "allow_always"},
                {"optionId": "yes", "name": "Yes", "kind": "allow_once"},
                {"optionId": "no", "name": "No", "kind": "reject_once"},
            ]
            call = {"toolCallId": "call", "kind": rest, "title": "rm"}
            answer = ask("session/request_permission", {"sessionId": session, "toolCall": call, "options": options})
            chosen = answer["result"]["outcome"].get("optionId", "none")
            update(session, "agent_message_chunk", content={"type": "text", "text": f"I was told {chosen}. "})
        elif word == "want":
            answer = ask(rest, {"sessionId": session, "path": "/etc/passwd", "command": "id"})
            code = answer.get("error", {}).get("code")
            update(session, "agent_message_chunk", content={"type": "text", "text": f"{rest}: {code}. "})
        elif word == "raw":
            sys.stdout.write(rest + "\n")
            sys.stdout.flush()
        elif word == "long":
            for _ in range(int(rest)):
                sys.stdout.write("x" * (1 << 20))
            sys.stdout.write("\n")
            sys.stdout.flush()
        elif word == "end":
            usage = {"totalTokens": 15, "inputTokens": 10, "outputTokens": 5}
            out({"id": TURN, "result": {"stopReason": rest, "usage": usage}})
        elif word == "leave":
            sys.exit(0)
        elif word == "stay":
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
            while True:
                time.sleep(1)
        elif word == "flood":
            while True:
                out({"id": 1, "method": "session/request_permission", "params": {}})


TURN = None
plan = turns()
session = "s-1"
while True:
    request = hear()
    if request is None:
        break
    method = request.get("method")
    if method == "initialize":
        can = {"loadSession": True}
        for word, rest in plan[0][1]:
            if word == "greet":
                can = json.loads(rest)
            elif word == "session":
                session = rest
        out({"id": request["id"], "result": {"protocolVersion": 1, "agentCapabilities": can}})
    elif method == "session/new":
        out({"id": request["id"], "result": {"sessionId": session}})
    elif method in ("session/load", "session/resume"):
        session = request["params"]["sessionId"]
        update(session, "agent_message_chunk", content={"type": "text", "text": "What I said long ago."})
        out({"id": request["id"], "result": {}})
    elif method == "session/prompt":
        TURN = request["id"]
        said = request["params"]["prompt"][0]["text"]
        # The last that fits: what is answered is newer than what was asked.
        play([steps for text, steps in plan[1:] if text in said][-1], session)
