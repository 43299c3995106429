"""A stage for a real client: a terminal, a stand-in for its model, and no network but loopback.

Run in namespaces of its own: `unshare -rnpf --kill-child --mount-proc python3 stage.py ENVIRONMENT PROGRAM ARGUMENT…`, where
the environment is an object of JSON. It speaks in lines of JSON.

Out: {"event": "ready"}, {"event": "request", "path", "body"} for each call of the model, {"event": "output", "bytes"} (base64)
for what the client draws, {"event": "exit", "status"}.
In: {"do": "type", "text"}, {"do": "hold"} (the model keeps its answers back), {"do": "go"}, {"do": "end"}.

The end of its input is the end of the client too. It is the first process of its namespace, so nothing that the client
has started outlives it.
"""

import base64
import contextlib
import fcntl
import json
import os
import pty
import re
import signal
import struct
import sys
import termios
import threading

import model

out = threading.Lock()
may_answer = threading.Event()
may_answer.set()


def tell(event, **more):
    with out:
        sys.stdout.write(json.dumps({"event": event, **more}) + "\n")
        sys.stdout.flush()


class Model(model.Model):
    def said(self, _):
        return "Noted."

    def note(self, path, body):
        tell("request", path=path, body=body)
        may_answer.wait()


# What a terminal is asked, and what this one says.
ANSWERS = [
    (re.compile(rb"\x1b\[6n"), b"\x1b[1;1R"),
    (re.compile(rb"\x1b\[5n"), b"\x1b[0n"),
    (re.compile(rb"\x1b\[\?u"), b"\x1b[?0u"),
    (re.compile(rb"\x1b\[0?c"), b"\x1b[?62;22c"),
    (re.compile(rb"\x1b\]10;\?(?:\x07|\x1b\\)"), b"\x1b]10;rgb:ffff/ffff/ffff\x1b\\"),
    (re.compile(rb"\x1b\]11;\?(?:\x07|\x1b\\)"), b"\x1b]11;rgb:0000/0000/0000\x1b\\"),
]
# A question that is longer is none of them.
LONGEST = 16


def answer(terminal, seen):
    """Answers what was asked; what may be the beginning of a question."""
    end = 0
    for asked, said in ANSWERS:
        for found in asked.finditer(seen):
            os.write(terminal, said)
            end = max(end, found.end())
    return seen[max(end, len(seen) - LONGEST) :]


def watch(terminal, child):
    seen = b""
    while True:
        try:
            piece = os.read(terminal, 65536)
        except OSError:
            piece = b""
        if not piece:
            break
        seen = answer(terminal, seen + piece)
        tell("output", bytes=base64.b64encode(piece).decode())
    _, status = os.waitpid(child, 0)
    tell("exit", status=os.waitstatus_to_exitcode(status))


def main():
    model.serve(Model)
    child, terminal = pty.fork()
    if child == 0:
        os.execvpe(sys.argv[2], sys.argv[2:], json.loads(sys.argv[1]))
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 50, 160, 0, 0))
    watcher = threading.Thread(target=watch, args=(terminal, child), daemon=True)
    watcher.start()
    tell("ready")
    for line in sys.stdin:
        asked = json.loads(line)
        if asked["do"] == "type":
            os.write(terminal, asked["text"].encode())
        elif asked["do"] == "hold":
            may_answer.clear()
        elif asked["do"] == "go":
            may_answer.set()
        elif asked["do"] == "end":
            break
    may_answer.set()
    # As when a person closes the window; who does not listen to that is ended.
    for way in (signal.SIGHUP, signal.SIGKILL):
        if watcher.is_alive():
            # It may end by itself at this moment.
            with contextlib.suppress(ProcessLookupError):
                os.kill(child, way)
            watcher.join(5)


main()
