"""A stage for a real client: a terminal, a stand-in for its model, and no network but loopback.

Run in namespaces of its own: `unshare -rnpf --kill-child --mount-proc python3 stage.py ENVIRONMENT PROGRAM ARGUMENT…`, where
the environment is an object of JSON. It speaks in lines of JSON.

Out: {"event": "ready"}, {"event": "request", "path", "body"} for each call of the model, {"event": "output", "text"} for
what the client draws, {"event": "exit", "status"}.
In: {"do": "type", "text"}, {"do": "hold"} (the model keeps its answers back), {"do": "go"}, {"do": "end"}.

The end of its input is the end of the client too. It is the first process of its namespace, so nothing that the client
has started outlives it.
"""

import fcntl
import json
import os
import pty
import re
import signal
import socket
import struct
import sys
import termios
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

PORT = 8765
SAID = "Noted."

out = threading.Lock()
may_answer = threading.Event()
may_answer.set()


def tell(event, **more):
    with out:
        sys.stdout.write(json.dumps({"event": event, **more}) + "\n")
        sys.stdout.flush()


def raise_loopback():
    """What `ip link set lo up` does, where there is no such program."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        request = struct.pack("16sH14x", b"lo", 0x1 | 0x40)  # IFF_UP | IFF_RUNNING
        fcntl.ioctl(sock, 0x8914, request)  # SIOCSIFFLAGS


class Model(BaseHTTPRequestHandler):
    """Answers Anthropic's Messages and OpenAI's Responses, whatever is asked, in one short sentence."""

    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def do_HEAD(self):
        self.plain({})

    def do_GET(self):
        self.plain({"data": [], "models": [], "object": "list"})

    def do_POST(self):
        length = int(self.headers.get("content-length") or 0)
        raw = self.rfile.read(length)
        path = self.path.split("?")[0]
        try:
            body = json.loads(raw)
        except ValueError:
            body = {}
        if path.endswith("/count_tokens"):
            self.plain({"input_tokens": 10})
        elif path.endswith("/messages"):
            tell("request", path=path, body=body)
            may_answer.wait()
            self.as_anthropic(body)
        elif path.endswith("/responses"):
            tell("request", path=path, body=body)
            may_answer.wait()
            self.as_openai()
        else:
            self.plain({})

    def plain(self, value):
        text = json.dumps(value).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(text)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(text)

    def stream(self, events):
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("connection", "close")
        self.end_headers()
        for event in events:
            line = f"event: {event['type']}\ndata: {json.dumps(event)}\n\n"
            self.wfile.write(line.encode())
        self.wfile.flush()
        self.close_connection = True

    def as_anthropic(self, body):
        usage = {"input_tokens": 10, "output_tokens": 1}
        message = {
            "id": "msg_1", "type": "message", "role": "assistant", "model": body.get("model", "stand-in"),
            "content": [], "stop_reason": None, "stop_sequence": None, "usage": usage,
        }
        if not body.get("stream"):
            text = [{"type": "text", "text": SAID}]
            self.plain({**message, "content": text, "stop_reason": "end_turn"})
            return
        self.stream([
            {"type": "message_start", "message": message},
            {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
            {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": SAID}},
            {"type": "content_block_stop", "index": 0},
            {"type": "message_delta", "delta": {"stop_reason": "end_turn", "stop_sequence": None}, "usage": usage},
            {"type": "message_stop"},
        ])

    def as_openai(self):
        part = {"type": "output_text", "text": SAID, "annotations": []}
        item = {"type": "message", "id": "item_1", "role": "assistant", "status": "completed", "content": [part]}
        usage = {
            "input_tokens": 10, "input_tokens_details": {"cached_tokens": 0},
            "output_tokens": 1, "output_tokens_details": {"reasoning_tokens": 0}, "total_tokens": 11,
        }
        answer = {"id": "resp_1", "object": "response", "status": "completed", "output": [item], "usage": usage}
        self.stream([
            {"type": "response.created", "response": {**answer, "status": "in_progress", "output": []}},
            {"type": "response.output_item.added", "output_index": 0, "item": {**item, "content": []}},
            {"type": "response.output_text.delta", "item_id": "item_1", "output_index": 0, "content_index": 0,
             "delta": SAID},
            {"type": "response.output_item.done", "output_index": 0, "item": item},
            {"type": "response.completed", "response": answer},
        ])


# What a terminal is asked, and what this one says.
ANSWERS = [
    (re.compile(rb"\x1b\[6n"), b"\x1b[1;1R"),
    (re.compile(rb"\x1b\[5n"), b"\x1b[0n"),
    (re.compile(rb"\x1b\[\?u"), b"\x1b[?0u"),
    (re.compile(rb"\x1b\[0?c"), b"\x1b[?62;22c"),
    (re.compile(rb"\x1b\]10;\?(?:\x07|\x1b\\)"), b"\x1b]10;rgb:ffff/ffff/ffff\x1b\\"),
    (re.compile(rb"\x1b\]11;\?(?:\x07|\x1b\\)"), b"\x1b]11;rgb:0000/0000/0000\x1b\\"),
]
DRAWN = re.compile(rb"\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|\x1b[PX^_].*?\x1b\\|\x1b\[[0-?]*[ -/]*[@-~]|\x1b[ -/]*[0-~]")


def watch(terminal, child):
    while True:
        try:
            piece = os.read(terminal, 65536)
        except OSError:
            piece = b""
        if not piece:
            break
        for asked, answer in ANSWERS:
            for _ in asked.findall(piece):
                os.write(terminal, answer)
        tell("output", text=DRAWN.sub(b"", piece).decode(errors="replace"))
    _, status = os.waitpid(child, 0)
    tell("exit", status=os.waitstatus_to_exitcode(status))


def main():
    raise_loopback()
    model = ThreadingHTTPServer(("127.0.0.1", PORT), Model)
    threading.Thread(target=model.serve_forever, daemon=True).start()
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
            os.kill(child, way)
            watcher.join(5)


main()
