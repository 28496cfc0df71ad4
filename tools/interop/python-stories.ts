/**
 * Stories of the Python package. Each story has tools of its own, so that none finds the
 * requests of another.
 */

import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { ClientFault, type PythonClient } from "./python-client.ts";
import type { Stage } from "./stage.ts";
import type { Story } from "./story.ts";

export interface PythonScene {
  readonly stage: Stage;
  readonly client: PythonClient;
  /** Credential of an instance that polls. */
  readonly token: string;
  /** The interpreter of the environment that the package is in. */
  readonly program: string;
}

/** A request as the package reads it, strictly. */
export interface Shown {
  readonly id: string;
  readonly status: string;
  readonly note: string | null;
  /** From the decision to the end of the approval; null where there is none. */
  readonly may_start_ms: number | null;
  readonly server: string | null;
  /** Whether the approval was used, as the provider says. */
  readonly consumed: boolean;
  /** Status and note, as the provider returns what was reported. */
  readonly outcome: readonly [string, string | null] | null;
}

/** The result of the gate for a call. */
export interface Guarded {
  readonly verdict: "allow" | "deny" | "pending";
  readonly status?: string;
  readonly reason?: string;
  readonly request_id: string | null;
  /** Whether the call would have run. */
  readonly ran?: boolean;
}

interface Resumed extends Shown {
  readonly handle: { readonly framework: string; readonly run: string };
}

/** A number that JSON.parse and doubles lose, and text that careless code mangles. */
const EXACT =
  '{"amount":12345678901234567890,"rate":0.1,"text":"\\u202e ß 🚀 </script>","deep":[[{}]]}';

const POLLING: readonly Story<PythonScene>[] = [
  {
    title: "a client creates a request, a reviewer approves, its long poll returns the approval",
    async play({ stage, client, token }) {
      const call = { token, key: "approved", tool: "interop.approve", arguments: EXACT };
      const created = await client.act<Shown>("create", call);
      assert.equal(created.status, "pending");
      const poll = client.act<Shown>("get", { token, request_id: created.id, wait: 25 });
      await stage.decide(created.id, "approve", "Go ahead.");
      const polled = await poll;
      const read = polled.status === "pending" ? await get(client, token, created.id) : polled;
      assert.deepEqual([read.status, read.note], ["approved", "Go ahead."]);
      assert.equal(read.may_start_ms, 5 * 60_000);
    },
  },
  {
    title: "a denial ends the wait of the gate, and the note reaches the model",
    async play({ stage, client, token }) {
      const call = { token, key: "denied", tool: "interop.deny", arguments: EXACT };
      const guarded = client.act<Guarded>("guard", { ...call, reasoning: "It seems unused." });
      const { id } = await Promise.race([stage.pending(call.tool), early(guarded)]);
      await stage.decide(id, "deny", "Not on a Friday.");
      const { verdict, status, reason, ran } = await guarded;
      assert.deepEqual([verdict, status, ran], ["deny", "denied", false]);
      assert.match(reason ?? "", /Their note: Not on a Friday\.$/);
    },
  },
  {
    title: "without a decision the gate learns that the window has passed",
    async play({ client, token }) {
      const call = { token, key: "expired", tool: "interop.expire", timeout: "1s" };
      const { status, ran, request_id } = await client.act<Guarded>("guard", call);
      assert.deepEqual([status, ran], ["expired", false]);
      assert.equal((await get(client, token, request_id)).status, "expired");
    },
  },
  {
    title: "a gate that gives up takes its request back",
    async play({ stage, client, token }) {
      const call = { token, key: "abandoned", tool: "interop.abandon", wait_limit: 1 };
      const { verdict, ran, request_id } = await client.act<Guarded>("guard", call);
      assert.deepEqual([verdict, ran], ["deny", false]);
      const { status, decided_by } = await stage.ended(request_id ?? "");
      assert.equal(status, "cancelled");
      assert.match(decided_by ?? "", /^instance:/);
    },
  },
  {
    title: "a client cancels, twice, and cannot cancel what is decided",
    async play({ stage, client, token }) {
      const make = (key: string) =>
        client.act<Shown>("create", { token, key, tool: "interop.cancel" });
      const [first, second] = [await make("cancelled"), await make("decided")];
      const cancel = (request_id: string) => client.act<Shown>("cancel", { token, request_id });
      assert.equal((await cancel(first.id)).status, "cancelled");
      assert.equal((await cancel(first.id)).status, "cancelled");
      await stage.decide(second.id, "deny");
      await assert.rejects(cancel(second.id), faultOf("ConflictError", "already_terminal"));
    },
  },
  {
    title: "the same call again is the same request, and other input under its key a conflict",
    async play({ client, token }) {
      const call = { token, key: "replayed", tool: "interop.replay", arguments: EXACT };
      const first = await client.act<Shown>("create", call);
      assert.equal((await client.act<Shown>("create", call)).id, first.id);
      const other = { ...call, arguments: EXACT.replace("890,", "891,") };
      const conflict = faultOf("ConflictError", "idempotency_conflict");
      await assert.rejects(client.act("create", other), conflict);
    },
  },
  {
    title: "policy approves at once: the answer to the creation has the decision",
    async play({ stage, client, token }) {
      const call = { token, key: "policy-approves", tool: "Read" };
      const { id, status, may_start_ms } = await client.act<Shown>("create", call);
      assert.deepEqual([status, may_start_ms], ["approved", 60_000]);
      assert.equal((await stage.read(id)).decided_by, "policy:reads");
    },
  },
  {
    title: "policy denies at once: the gate asks once and polls never",
    async play({ client, token }) {
      await client.act("exchanges");
      const call = { token, key: "policy-denies", tool: "db.drop", arguments: EXACT };
      const { status, reason } = await client.act<Guarded>("guard", call);
      assert.equal(status, "denied");
      assert.match(reason ?? "", /Agents must not drop tables\.$/);
      assert.deepEqual(await client.act("exchanges"), [["POST", "/v1/requests", 201]]);
    },
  },
  {
    title: "with an invalid credential nothing runs, and the package reports that",
    async play({ client }) {
      const call = { token: "csi_none", key: "refused", tool: "Read" };
      const { status, ran, reason } = await client.act<Guarded>("guard", call);
      assert.deepEqual([status, ran], ["error", false]);
      assert.match(reason ?? "", /refused this agent's credential/);
      await assert.rejects(client.act("create", call), faultOf("CredentialRefused"));
    },
  },
];

/** The first starts the receiver that the others use. */
const NOTIFIED: readonly Story<PythonScene>[] = [
  {
    title: "a receiver that does not answer is refused, and nothing is made",
    async play({ stage, client }) {
      const { certificate, certificateKey: key, provisionerToken: provisioner } = stage;
      const { port } = await client.act<{ readonly port: number }>("listen", { certificate, key });
      receiverUrl = `https://localhost:${port}/aap/events`;
      // No server listens at that port of the other address.
      const url = receiverUrl.replace("localhost", "127.0.0.2");
      const refused = faultOf("WebhookVerificationFailed", "webhook_verification_failed");
      // The default key is that of the registration, and a key stays bound to the URL that failed.
      const provision = { provisioner, url, key: "unreachable" };
      await assert.rejects(client.act("provision", provision), refused);
    },
  },
  {
    title: "install: a receiver over TLS is verified, and its instance gets a credential",
    async play({ stage, client }) {
      const provision = { provisioner: stage.provisionerToken, url: receiverUrl };
      const made = await client.act<{ readonly token: string }>("provision", provision);
      receiverToken = made.token;
    },
  },
  {
    title: "asynchronous mode: a denial wakes the paused run, which learns the note",
    async play({ stage, client }) {
      const { request_id, ask } = await pause(client, "interop.async-deny");
      await stage.decide(request_id, "deny", "Ask again tomorrow.");
      const resumed = await client.act<Resumed>("resumed");
      assert.deepEqual([resumed.id, resumed.status], [request_id, "denied"]);
      assert.match((await ask()).reason ?? "", /Their note: Ask again tomorrow\.$/);
    },
  },
  {
    title: "asynchronous mode: an approval wakes the paused run with the handle that it left",
    async play({ stage, client }) {
      const { request_id, run } = await pause(client, "interop.async-approve");
      await stage.decide(request_id, "approve");
      const { id, status, handle } = await client.act<Resumed>("resumed");
      assert.deepEqual([id, status], [request_id, "approved"]);
      assert.deepEqual(handle, { framework: "interop", run });
    },
  },
];

export const PYTHON_STORIES: readonly Story<PythonScene>[] = [...POLLING, ...NOTIFIED];

let receiverUrl = "";
let receiverToken = "";

async function pause(client: PythonClient, tool: string) {
  assert.notEqual(receiverToken, "", "there is no receiver");
  const run = randomUUID();
  const ask = () => client.act<Guarded>("check", { token: receiverToken, key: run, tool });
  const { verdict, request_id } = await ask();
  assert.equal(verdict, "pending");
  return { run, ask, request_id: request_id ?? "" };
}

function get(client: PythonClient, token: string, request_id: string | null): Promise<Shown> {
  return client.act<Shown>("get", { token, request_id });
}

/** A gate that answers before a decision has failed: waiting on would only hide it. */
export async function early(guarded: Promise<Guarded>): Promise<never> {
  throw new Error(`the gate did not wait: ${JSON.stringify(await guarded)}`);
}

export function faultOf(type: string, code?: string): (error: unknown) => boolean {
  return (error) =>
    error instanceof ClientFault &&
    error.type === type &&
    (code === undefined || error.code === code);
}
