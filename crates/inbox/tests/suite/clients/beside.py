"""A program beside a stand-in for its model, in a network of its own.

Run in namespaces of its own: `unshare -rnpf --kill-child --mount-proc python3 beside.py LOG PROGRAM ARGUMENT…`. It ends as the
program ends, and nothing that the program has started outlives it.

The model answers with a question as a blocked Wire until somebody says "The blue one" in the conversation, and then with a
result. Each request is a line of JSON in LOG.
"""

import json
import os
import signal
import subprocess
import sys
import threading

import model

ANSWER = "The blue one"
RESULT = "Used the blue one."
QUESTION = json.dumps({
    "wire": "1.0", "type": "blocked", "sender": "quinn", "ts": "2026-04-28T00:00:00Z",
    "payload": {"task_id": "x", "agent": "quinn", "reason": "Red or blue?", "blocker_type": "ambiguity"},
})

writing = threading.Lock()


class Model(model.Model):
    def said(self, raw):
        return RESULT if ANSWER in raw else "I looked at both.\n" + QUESTION

    def note(self, path, body):
        with writing, open(sys.argv[1], "a") as log:
            log.write(json.dumps({"path": path, "body": body}) + "\n")


def main():
    model.serve(Model)
    child = subprocess.Popen(sys.argv[2:])
    signal.signal(signal.SIGTERM, lambda *_: child.send_signal(signal.SIGTERM))
    os._exit(child.wait() & 0xFF)


main()
