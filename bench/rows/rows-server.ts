/**
 * The rows of a provider and nothing else: a bare Fastify that writes for each request, and for
 * each verdict, the rows that the provider writes, by the functions that it writes them with, as
 * durably, and holds who waits in memory. No authentication, no idempotency, no policy, no lock, no
 * reads, no log, no sealing of the audit log. What it reaches is the most that a provider of these
 * rows could reach in one process on these cores. A child process of the benchmark.
 *
 * Called with where the rows go (a file of SQLite or the URL of a database, in which a provider has
 * made an instance) and whether requests are decided at once.
 */

import { randomBytes } from "node:crypto";
import type { AddressInfo } from "node:net";
import { uuidV7 } from "@countersign/protocol";
import {
  type AuditEntry,
  appendAudit,
  appendTwoAudits,
} from "@countersign/server/audit/append-audit";
import { systemRandom } from "@countersign/server/clock";
import type { StoredDecision, StoredRequest } from "@countersign/server/core/request";
import { sha256Hex } from "@countersign/server/secrets/keyring";
import { insertRequest, updateDecision } from "@countersign/server/storage/sql/requests";
import type { Transaction } from "@countersign/server/storage/store";
import { type FastifyReply, fastify } from "fastify";
import { openRows } from "./open-rows.ts";

interface Body {
  readonly tool: string;
  readonly arguments: unknown;
  readonly timeout: string;
  readonly agent_reasoning: string;
  readonly context: unknown;
}

const WINDOW_MS = 604_800_000;
const VALIDITY_MS = 300_000;

/** As long as what the provider records of sixty rules that approve. */
const JUDGEMENT = JSON.stringify({ verb: "approve", because: "rule-1", fired: ["rule-1"] });

const [place = "", manner] = process.argv.slice(2);
const decidesAtOnce = manner === "decided";
const { write, instance } = await openRows(place);
const random = systemRandom();
const pending = new Map<string, StoredRequest>();
const waiting = new Map<string, FastifyReply>();
const decided = new Set<string>();

const app = fastify({ logger: false });

app.post("/v1/requests", async (message, reply) => {
  const request = toRequest(message.body as Body);
  const keyHash = randomBytes(24).toString("base64url");
  if (!decidesAtOnce) pending.set(request.id, request);
  await write((tx) => insertRows(tx, request, keyHash));
  return reply
    .code(201)
    .send({ id: request.id, status: request.status, ...(message.body as Body) });
});

app.get<{ Params: { id: string } }>("/v1/requests/:id", async ({ params: { id } }, reply) => {
  if (decided.delete(id)) return { id, status: "approved" };
  waiting.set(id, reply);
  return reply;
});

app.post<{ Params: { id: string } }>("/review/v1/requests/:id/verdict", async ({ params }) => {
  const { id } = params;
  const request = pending.get(id);
  if (request === undefined) throw new Error("there is no such request");
  pending.delete(id);
  const decision = approval(Date.now());
  await write((tx) => [
    updateDecision(tx, request, decision),
    appendAudit(tx, random, entryOf(request, "request.resolved", decision.decidedAt)),
  ]);
  const poll = waiting.get(id);
  if (poll === undefined) decided.add(id);
  waiting.delete(id);
  poll?.send({ id, status: "approved" });
  return { id, status: "approved" };
});

function insertRows(tx: Transaction, request: StoredRequest, keyHash: string): Promise<unknown>[] {
  const opened = entryOf(request, "request.opened", request.createdAt);
  const { decision } = request;
  if (decision === null) {
    return [insertRequest(tx, request, keyHash), appendAudit(tx, random, opened)];
  }
  const resolved = entryOf(request, "request.resolved", decision.decidedAt);
  return [insertRequest(tx, request, keyHash), appendTwoAudits(tx, random, opened, resolved)];
}

function toRequest(body: Body): StoredRequest {
  const now = Date.now();
  const decision = decidesAtOnce ? approval(now) : null;
  return {
    id: uuidV7(now, random.bytes(10)),
    instanceId: instance.id,
    projectId: instance.projectId,
    tool: JSON.stringify(body.tool),
    arguments: JSON.stringify(body.arguments),
    timeout: body.timeout,
    agentReasoning: JSON.stringify(body.agent_reasoning),
    context: JSON.stringify(body.context),
    status: decision?.status ?? "pending",
    createdAt: now,
    deadlineAt: now + WINDOW_MS,
    decision,
    policy: decidesAtOnce ? JUDGEMENT : null,
    server: null,
  };
}

function approval(now: number): StoredDecision {
  const expiresAt = now + VALIDITY_MS;
  const decidedBy = decidesAtOnce ? "policy:rule-1" : "reviewer:bench";
  return { status: "approved", note: null, decidedAt: now, expiresAt, decidedBy };
}

function entryOf(
  { id, projectId, instanceId, ...request }: StoredRequest,
  kind: "request.opened" | "request.resolved",
  at: number,
): AuditEntry {
  return {
    at,
    projectId,
    kind,
    actor: `instance:${instanceId}`,
    subject: `request:${id}`,
    detail: {
      arguments_sha256: sha256Hex(request.arguments),
      tool_sha256: sha256Hex(request.tool),
    },
  };
}

await app.listen({ host: "127.0.0.1", port: 0 });
process.once("disconnect", () => process.exit());
process.send?.({ port: (app.server.address() as AddressInfo).port });
