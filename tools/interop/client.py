"""Does with the package agentapprovalprotocol what the stories say.

A line of JSON on stdin is one act, {"id", "act", ...}; a line on stdout answers it, {"id",
"result"} or {"id", "error": {"type", "code", "message"}}. Acts overlap: a guard waits while a
reviewer decides. Only the public names of the package are used. Ends with its stdin.

Called by: python-client.ts.
"""

import asyncio
import contextlib
import json
import os
import socket
import sys

import httpx
import uvicorn
from agentapprovalprotocol import Allow, AsyncClient, AsyncGate, Call, Client, Deny, Gate, Receiver

URL = os.environ["PROVIDER_URL"]
#: What the package sent, in its order: method, path, status of the answer, and of an error its code
#: and param.
exchanges = []
#: What the receiver of this process woke.
resumed = asyncio.Queue()
receiver = None


def seen(response):
    response.read()
    record(response)


async def seen_async(response):
    await response.aread()
    record(response)


def record(response):
    request = response.request
    error = response.json()["error"] if response.status_code >= 400 else {}
    named = [error[member] for member in ("code", "param") if member in error]
    exchanges.append([request.method, request.url.path, response.status_code, *named])


def client(act):
    http = httpx.Client(timeout=40.0, follow_redirects=False, event_hooks={"response": [seen]})
    return Client(URL, act["token"], http=http)


def async_client(token):
    hooks = {"response": [seen_async]}
    http = httpx.AsyncClient(timeout=40.0, follow_redirects=False, event_hooks=hooks)
    return AsyncClient(URL, token, http=http)


def call_of(act, resume=None):
    return Call(
        key=act["key"],
        tool=act["tool"],
        arguments=json.loads(act.get("arguments", "{}")),
        server=act.get("server"),
        reasoning=act.get("reasoning"),
        resume=resume,
    )


def to_answer(verdict):
    if isinstance(verdict, Deny):
        kind = {"verdict": "deny", "reason": verdict.reason, "status": verdict.status}
    else:
        kind = {"verdict": "allow" if isinstance(verdict, Allow) else "pending"}
    return {**kind, "request_id": verdict.request_id}


def shown(request):
    decision = request.decision
    return {
        "id": request.id,
        "status": request.status,
        "note": decision.note if decision else None,
        "may_start_ms": (decision.expires_at - decision.decided_at).total_seconds() * 1000
        if decision and decision.expires_at
        else None,
        "server": request.server,
        "consumed": request.consumption is not None,
        "outcome": outcome_of(request),
    }


def outcome_of(request):
    outcome = request.consumption.outcome if request.consumption else None
    return [outcome.status, outcome.note] if outcome else None


def create(act):
    arguments = json.loads(act.get("arguments", "{}"))
    body = {"tool": act["tool"], "arguments": arguments, "timeout": "10m"}
    return shown(client(act).create(body, act["key"]))


class ToolBroke(Exception):
    """What a tool of a story raises."""


def guard(act):
    gate = Gate(client(act), timeout=act.get("timeout"), wait_limit=act.get("wait_limit", 540.0))
    ran = False
    with contextlib.suppress(ToolBroke), gate.guard(call_of(act)) as verdict:
        if verdict:
            ran = True
            if act.get("breaks"):
                raise ToolBroke
    return {**to_answer(verdict), "ran": ran}


async def guard_async(act):
    gate = AsyncGate(async_client(act["token"]))
    ran = False
    with contextlib.suppress(ToolBroke):
        async with gate.guard(call_of(act)) as verdict:
            if verdict:
                ran = True
                if act.get("breaks"):
                    raise ToolBroke
    return {**to_answer(verdict), "ran": ran}


async def check(act):
    """Asynchronous mode: the answer is pending until a reviewer has decided."""
    gate = AsyncGate(async_client(act["token"]), mode="async")
    return to_answer(await gate.check(call_of(act, resume={"framework": "interop", "run": act["key"]})))


async def run_framework(name, act):
    """An agent of a framework, whose only tool counts how often it ran; see frameworks.py."""
    import frameworks

    return await getattr(frameworks, name)(async_client(act["token"]), act)


async def listen(act):
    global receiver

    def wake(handle, request):
        resumed.put_nowait({"handle": handle, **shown(request)})

    receiver = Receiver(resumers={"interop": wake})
    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    options = {"lifespan": "off", "log_level": "warning"}
    files = {"ssl_certfile": act["certificate"], "ssl_keyfile": act["key"]}
    server = uvicorn.Server(uvicorn.Config(receiver.asgi(), **files, **options))
    serving = asyncio.create_task(server.serve(sockets=[listener]))
    while not server.started:
        if serving.done():
            serving.result()
        await asyncio.sleep(0.01)
    return {"port": listener.getsockname()[1]}


async def provision(act):
    made = await receiver.provision(
        provider_url=URL,
        provisioner_token=act["provisioner"],
        url=act["url"],
        idempotency_key=act.get("key"),
    )
    return {"instance_id": made.instance_id, "token": made.token}


async def take_exchanges(_act):
    taken = list(exchanges)
    exchanges.clear()
    return taken


async def next_resumed(_act):
    return await resumed.get()


WAITING = {
    "create": create,
    "guard": guard,
    "get": lambda act: shown(client(act).get(act["request_id"], wait=act.get("wait"))),
    "cancel": lambda act: shown(client(act).cancel(act["request_id"])),
    "consume": lambda act: shown(client(act).consume(act["request_id"], act["key"])),
    "report": lambda act: shown(
        client(act).report_outcome(
            act["request_id"], act.get("status", "succeeded"), act.get("note")
        )
    ),
}
AT_ONCE = {
    "check": check,
    "guard_async": guard_async,
    "langgraph": lambda act: run_framework("langgraph_story", act),
    "pydantic-ai": lambda act: run_framework("pydantic_ai_story", act),
    "listen": listen,
    "provision": provision,
    "exchanges": take_exchanges,
    "resumed": next_resumed,
}


async def play(act):
    try:
        if act["act"] in WAITING:
            result = await asyncio.to_thread(WAITING[act["act"]], act)
        else:
            result = await AT_ONCE[act["act"]](act)
        answer = {"result": result}
    except Exception as fault:  # whatever the package raises is part of a story
        code = getattr(fault, "code", None)
        answer = {"error": {"type": type(fault).__name__, "code": code, "message": str(fault)}}
    print(json.dumps({"id": act["id"], **answer}), flush=True)


async def main():
    acts = set()
    while line := await asyncio.to_thread(sys.stdin.readline):
        act = asyncio.create_task(play(json.loads(line)))
        acts.add(act)
        act.add_done_callback(acts.discard)
    # What still waits is of no interest to anybody any more.
    os._exit(0)


asyncio.run(main())
