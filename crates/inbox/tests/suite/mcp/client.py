# Plays one scenario against `inbox mcp` with the official Python SDK, and prints what it saw as JSON.
# Arguments: the binary, and the mode (legacy or 2026-07-28). It runs as quinn; ada is played with the command line.
# With MCP_URL and MCP_TOKEN it calls that server in place of starting one; with MCP_DB in place of MCP_URL, what it starts
# calls the server.
import json
import os
import subprocess
import sys
import warnings

import anyio
import httpx2
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client

warnings.simplefilter("ignore")
inbox, mode = sys.argv[1:3]
uri = "inbox://inbox"


def ada(*args):
    done = subprocess.run([inbox, *args, "--from", "ada", "--json"], capture_output=True, check=True)
    return json.loads(done.stdout)


async def main():
    seen = {}
    send, updates = anyio.create_memory_object_stream(100)

    async def heard(message):
        if getattr(message, "method", None) == "notifications/resources/updated":
            await send.send(str(message.params.uri))

    url = os.environ.get("MCP_URL")
    if url:
        bearer = {"authorization": "Bearer " + os.environ["MCP_TOKEN"]}
        server = streamable_http_client(url, http_client=httpx2.AsyncClient(headers=bearer, timeout=120))
    else:
        env = {**os.environ, "INBOX_AGENT": "quinn"}
        if "MCP_DB" in env:
            env |= {"INBOX_DB": env["MCP_DB"], "INBOX_TOKEN": env["MCP_TOKEN"]}
        server = StdioServerParameters(command=inbox, args=["mcp"], env=env)
    async with Client(server, mode=mode, message_handler=heard) as client:
        seen["version"] = client.protocol_version
        seen["tools"] = [tool.name for tool in (await client.list_tools()).tools]

        work = ada("send", "--to", "quinn", "--subject", "Add posts", "--body", "as in the brief")["thread"]["thread_id"]
        seen["mail"] = (await client.call_tool("check_inbox", {})).structured_content
        seen["claimed"] = (await client.call_tool("claim_work", {})).structured_content

        answered = []

        async def progress(*_):
            if not answered:
                answered.append(True)
                await anyio.to_thread.run_sync(lambda: ada("reply", "--thread", work, "--summary", "Email"))

        asked = await client.call_tool(
            "ask", {"thread_id": work, "question": "Which auth?", "wait_seconds": 60}, progress_callback=progress
        )
        seen["asked"] = asked.structured_content
        seen["progressed"] = bool(answered)
        done = await client.call_tool("update_work", {"thread_id": work, "status": "done", "summary": "Posts are in"})
        seen["done"] = done.structured_content
        refused = await client.call_tool("show_threads", {"thread_id": "thr_zz"})
        seen["refused"] = {
            "isError": refused.is_error,
            "structured": refused.structured_content,
            "text": refused.content[0].text,
        }

        # A wait that the client gives up, and the server goes on.
        seen["cancelled"] = False
        async with anyio.create_task_group() as group:

            async def wait():
                try:
                    await client.call_tool("claim_work", {"wait_seconds": 600}, progress_callback=give_up)
                except anyio.get_cancelled_exc_class():
                    seen["cancelled"] = True
                    raise

            async def give_up(*_):
                group.cancel_scope.cancel()

            group.start_soon(wait)
        after = await client.call_tool("show_threads", {"thread_id": work})
        seen["after"] = after.structured_content["thread"]["status"]

        async def until_new(next_update):
            ada("send", "--to", "quinn", "--subject", "Something new", "--kind", "question")
            text = ""
            while "Something new" not in text:
                seen["updated"] = await next_update()
                text = (await client.read_resource(uri, **fresh)).contents[0].text

        if mode == "legacy":
            fresh = {}
            await client.subscribe_resource(uri)
            await until_new(updates.receive)
            await client.unsubscribe_resource(uri)
        else:
            fresh = {"cache_mode": "refresh"}
            async with client.listen(resource_subscriptions=[uri]) as subscription:

                async def next_update():
                    return str((await anext(subscription)).uri)

                await until_new(next_update)
    print(json.dumps(seen))


anyio.run(main)
