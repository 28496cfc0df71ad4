/**
 * Calls of the Python package outside the contract: a server refuses them by default, and accepts
 * them with the setting.
 */

import assert from "node:assert/strict";
import { faultOf, type Guarded, type PythonScene, type Shown } from "./python-stories.ts";
import type { Departure } from "./story.ts";

/** The package's way of saying that it got no answer it could trust. */
const FAIL_CLOSED = /could not obtain a valid AAP decision/;

export const PYTHON_DEPARTURES: readonly Departure<PythonScene>[] = [
  {
    title: "the gate consumes an approval at a provider without the extension",
    row: [
      "`POST /v1/requests/{id}/consume` after an approval: `Gate`, `AsyncGate`, integrations",
      "404 `not_found`",
      "**No approved call runs.** The gate blocks the call; the request stays approved",
      "`extensions: consume`",
    ],
    admitted: {
      title: "the gate consumes an approval at a provider with the extension, and the call runs",
      async play({ stage, client, token }) {
        await client.act("exchanges");
        const call = { token, key: "consumed", tool: "Read" };
        const { verdict, ran, request_id } = await client.act<Guarded>("guard", call);
        assert.deepEqual([verdict, ran], ["allow", true]);
        assert.deepEqual(await client.act("exchanges"), [
          ["POST", "/v1/requests", 201],
          ["POST", `/v1/requests/${request_id}/consume`, 200],
          ["POST", `/v1/requests/${request_id}/outcome`, 200],
        ]);
        assert.notEqual((await stage.read(request_id ?? "")).consumption, undefined);
      },
    },
    async play({ stage, client, token }) {
      await client.act("exchanges");
      const call = { token, key: "consumed", tool: "Read" };
      const { status, ran, reason, request_id } = await client.act<Guarded>("guard", call);
      assert.deepEqual([status, ran], ["error", false]);
      assert.match(reason ?? "", FAIL_CLOSED);
      assert.deepEqual(await client.act("exchanges"), [
        ["POST", "/v1/requests", 201],
        ["POST", `/v1/requests/${request_id}/consume`, 404, "not_found"],
      ]);
      assert.equal((await stage.read(request_id ?? "")).status, "approved");
      const asynchronous = await client.act<Guarded>("check", { ...call, key: "consumed-async" });
      assert.equal(asynchronous.status, "error");
      assert.match(asynchronous.reason ?? "", FAIL_CLOSED);
    },
  },
  {
    title: "a client reports what became of a call, which the contract does not know",
    row: [
      "`POST /v1/requests/{id}/outcome`: `report_outcome`, and the gate after a call that ran",
      "404 `not_found`",
      "`report_outcome` raises `NotFound`; the gate logs that it could not report",
      "`extensions: consume,outcome`",
    ],
    admitted: {
      title: "a client reports what became of a call to a provider that admits it",
      async play({ stage, client, token }) {
        const call = { token, key: "reported", tool: "Read" };
        const { id: request_id } = await client.act<Shown>("create", call);
        await client.act("consume", { token, request_id, key: "one" });
        const reported = await client.act<Shown>("report", { token, request_id });
        assert.deepEqual(reported.outcome, ["succeeded", null]);
        const { consumption } = await stage.read(request_id);
        assert.equal(consumption?.outcome?.status, "succeeded");
      },
    },
    async play({ client, token }) {
      const call = { token, key: "reported", tool: "Read" };
      const { id } = await client.act<Shown>("create", call);
      await client.act("exchanges");
      const report = client.act("report", { token, request_id: id });
      await assert.rejects(report, faultOf("NotFound"));
      const sent = ["POST", `/v1/requests/${id}/outcome`, 404, "not_found"];
      assert.deepEqual(await client.act("exchanges"), [sent]);
    },
  },
  {
    title: "a call of an MCP server names it in `server`, which the contract forbids",
    row: [
      "`server` in `POST /v1/requests`, if `Call` has a server",
      "400 `invalid_request`, `param` is `server`",
      "The gate blocks the call, and the server stores no request",
      "`extensions: server`",
    ],
    admitted: {
      title: "a call of an MCP server names it in `server` to a provider that admits it",
      async play({ stage, client, token }) {
        const call = { token, key: "server", tool: "Read", server: "github" };
        const { ran, request_id } = await client.act<Guarded>("guard", call);
        assert.equal(ran, true);
        const read = await client.act<Shown>("get", { token, request_id });
        assert.equal(read.server, "github");
        const shown = await stage.read(request_id ?? "");
        assert.deepEqual([shown.server, shown.decided_by], ["github", "policy:reads-of-github"]);
      },
    },
    async play({ client, token }) {
      await client.act("exchanges");
      const call = { token, key: "server", tool: "Read", server: "github" };
      const { status, ran, reason } = await client.act<Guarded>("guard", call);
      assert.deepEqual([status, ran], ["error", false]);
      assert.match(reason ?? "", FAIL_CLOSED);
      const sent = ["POST", "/v1/requests", 400, "invalid_request", "server"];
      assert.deepEqual(await client.act("exchanges"), [sent]);
    },
  },
];
