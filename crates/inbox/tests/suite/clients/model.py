"""A stand-in for the models of the known clients, and the loopback that a network of its own has.

It answers Anthropic's Messages, OpenAI's Responses and Chat Completions, and Gemini's generateContent, whatever is asked, with
what its heir says.
"""

import fcntl
import json
import socket
import struct
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

PORT = 8765
READ, WRITTEN = 10, 5


def serve(model):
    """Answers at the port in a network that has nothing yet."""
    raise_loopback()
    server = ThreadingHTTPServer(("127.0.0.1", PORT), model)
    threading.Thread(target=server.serve_forever, daemon=True).start()


def raise_loopback():
    """What `ip link set lo up` does, where there is no such program."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        request = struct.pack("16sH14x", b"lo", 0x1 | 0x40)  # IFF_UP | IFF_RUNNING
        fcntl.ioctl(sock, 0x8914, request)  # SIOCSIFFLAGS


class Model(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def said(self, raw):
        """What is answered to a request."""
        raise NotImplementedError

    def note(self, path, body):
        """Called for whatever is asked, but not for counts of tokens, before it is answered."""

    def log_message(self, *_):
        pass

    def do_HEAD(self):
        self.plain({})

    def do_GET(self):
        self.plain({"data": [], "models": [], "object": "list"})

    def do_POST(self):
        raw = self.rfile.read(int(self.headers.get("content-length") or 0))
        try:
            body = json.loads(raw)
        except ValueError:
            body = {}
        path = self.path.split("?")[0]
        if path.endswith("count_tokens"):
            self.plain({"input_tokens": READ})
            return
        if path.endswith("countTokens"):
            self.plain({"totalTokens": READ})
            return
        ways = [
            ("/messages", self.as_anthropic),
            ("/responses", self.as_responses),
            ("/chat/completions", self.as_chat),
            ("generateContent", self.as_gemini),
            ("streamGenerateContent", self.as_gemini),
        ]
        answer = next((way for end, way in ways if path.endswith(end)), None)
        if answer is None:
            self.plain({})
            return
        self.note(path, body)
        answer(body, self.said(raw.decode(errors="replace")))

    def plain(self, value):
        text = json.dumps(value).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(text)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(text)

    def stream(self, events, is_named=True, end=""):
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("connection", "close")
        self.end_headers()
        for event in events:
            name = f"event: {event['type']}\n" if is_named else ""
            self.wfile.write(f"{name}data: {json.dumps(event)}\n\n".encode())
        self.wfile.write(end.encode())
        self.wfile.flush()
        self.close_connection = True

    def as_anthropic(self, body, said):
        usage = {"input_tokens": READ, "output_tokens": WRITTEN}
        message = {
            "id": "msg_1", "type": "message", "role": "assistant", "model": body.get("model", "stand-in"),
            "content": [], "stop_reason": None, "stop_sequence": None, "usage": usage,
        }
        if not body.get("stream"):
            text = [{"type": "text", "text": said}]
            self.plain({**message, "content": text, "stop_reason": "end_turn"})
            return
        self.stream([
            {"type": "message_start", "message": message},
            {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
            {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": said}},
            {"type": "content_block_stop", "index": 0},
            {"type": "message_delta", "delta": {"stop_reason": "end_turn", "stop_sequence": None}, "usage": usage},
            {"type": "message_stop"},
        ])

    def as_responses(self, _body, said):
        part = {"type": "output_text", "text": said, "annotations": []}
        item = {"type": "message", "id": "item_1", "role": "assistant", "status": "completed", "content": [part]}
        usage = {
            "input_tokens": READ, "input_tokens_details": {"cached_tokens": 0},
            "output_tokens": WRITTEN, "output_tokens_details": {"reasoning_tokens": 0}, "total_tokens": READ + WRITTEN,
        }
        answer = {"id": "resp_1", "object": "response", "status": "completed", "output": [item], "usage": usage}
        begun = {**answer, "status": "in_progress", "output": []}
        self.stream([
            {"type": "response.created", "response": begun},
            {"type": "response.output_item.added", "output_index": 0, "item": {**item, "content": []}},
            {"type": "response.output_text.delta", "item_id": "item_1", "output_index": 0, "content_index": 0, "delta": said},
            {"type": "response.output_item.done", "output_index": 0, "item": item},
            {"type": "response.completed", "response": answer},
        ])

    def as_chat(self, body, said):
        usage = {"prompt_tokens": READ, "completion_tokens": WRITTEN, "total_tokens": READ + WRITTEN}
        whole = {"id": "chat_1", "object": "chat.completion", "created": 1, "model": body.get("model", "stand-in")}
        message = {"role": "assistant", "content": said}
        if not body.get("stream"):
            self.plain({**whole, "choices": [{"index": 0, "message": message, "finish_reason": "stop"}], "usage": usage})
            return
        piece = {**whole, "object": "chat.completion.chunk"}
        self.stream([
            {**piece, "choices": [{"index": 0, "delta": message, "finish_reason": None}]},
            {**piece, "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}], "usage": usage},
        ], is_named=False, end="data: [DONE]\n\n")

    def as_gemini(self, _body, said):
        content = {"role": "model", "parts": [{"text": said}]}
        usage = {"promptTokenCount": READ, "candidatesTokenCount": WRITTEN, "totalTokenCount": READ + WRITTEN}
        answer = {"candidates": [{"index": 0, "content": content, "finishReason": "STOP"}], "usageMetadata": usage}
        if "streamGenerateContent" in self.path:
            self.stream([answer], is_named=False)
        else:
            self.plain(answer)
