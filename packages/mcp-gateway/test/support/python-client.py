"""Sends one request with the official Python client, and prints the result as a line of JSON.

The only argument is a JSON object with the settings of the server, like in an mcp.json file, and
with `method`, `tool` and `arguments`.
"""

import asyncio
import json
import sys
from contextlib import AsyncExitStack

import httpx2
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client


async def main(order):
    settings = order["server"]
    async with AsyncExitStack() as stack:
        if "url" in settings:
            http = httpx2.AsyncClient(headers=settings["headers"], timeout=60)
            await stack.enter_async_context(http)
            target = streamable_http_client(settings["url"], http_client=http)
        else:
            target = StdioServerParameters(
                command=settings["command"], args=settings["args"], env=settings["env"]
            )
        client = await stack.enter_async_context(Client(target))
        if order["method"] == "tools/list":
            result = await client.list_tools()
        else:
            result = await client.call_tool(order["tool"], order["arguments"])
        answer = result.model_dump(mode="json", by_alias=True, exclude_none=True)
        print(json.dumps({"version": client.protocol_version, "result": answer}))


asyncio.run(main(json.loads(sys.argv[1])))
