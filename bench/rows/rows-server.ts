/**
 * The rows of a provider and nothing else: a bare Fastify that writes for each request, and for
 * each verdict, the rows that the provider writes, by the functions that it writes them with, as
 * durably, and holds who waits in memory. No authentication, no idempotency, no policy, no lock, no
 * reads, no log, no sealing of the audit log. Its rate is the upper bound for a provider of
 * these rows in one process on these cores. A child process of the benchmark.
 *
 * Called with where the rows go (a file of SQLite or the URL of a database, in which a provider has
 * made an instance) and whether requests are decided at once.
 */

import { randomBytes } from "node:crypto";
import type { AddressInfo } from "node:net";
import { type FastifyReply, fastify } from "fastify";
import { appendAudit } from "../../packages/server/src/audit/append-audit.ts";
import { systemRandom } from "../../packages/server/src/clock.ts";
import { sha256Hex } from "../../packages/server/src/core/digest.ts";
import type { StoredDecision, StoredRequest } from "../../packages/server/src/core/request.ts";
import {
  insertRequest,
  updateDecision,
} from "../../packages/server/src/storage/sql/requests/requests.ts";
import type { Transaction } from "../../packages/server/src/storage/store.ts";
import { type CallBody, openedEntry, resolvedEntry, toRequest } from "./call-rows.ts";
import { openRows } from "./open-rows.ts";

const VALIDITY_MS = 300_000;

/** The record that the provider writes about the rule that approves. */
const JUDGEMENT = JSON.stringify({
  verb: "approve",
  because: "small-refunds",
  fired: ["small-refunds"],
  errors: [],
  project: { number: 1, sha256: sha256Hex("policy") },
  floor: null,
});

const [place = "", manner] = process.argv.slice(2);
const decidesAtOnce = manner === "decided";
const { write, instance } = await openRows(place);
const random = systemRandom();
const pending = new Map<string, StoredRequest>();
const waiting = new Map<string, FastifyReply>();
const decided = new Set<string>();

const app = fastify({ logger: false });

app.post("/v1/requests", async (message, reply) => {
  const body = message.body as CallBody;
  const request = decidesAtOnce
    ? decide(toRequest(body, instance, random))
    : toRequest(body, instance, random);
  const keyHash = randomBytes(24).toString("base64url");
  if (!decidesAtOnce) pending.set(request.id, { ...request, keyHash });
  await write((tx) => insertRows(tx, request, keyHash));
  return reply.code(201).send({ id: request.id, status: request.status, ...body });
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
    appendAudit(tx, random, resolvedEntry(request, decision)),
  ]);
  const poll = waiting.get(id);
  if (poll === undefined) decided.add(id);
  waiting.delete(id);
  poll?.send({ id, status: "approved" });
  return { id, status: "approved" };
});

function insertRows(tx: Transaction, request: StoredRequest, keyHash: string): Promise<unknown>[] {
  const { decision } = request;
  const entry = decision === null ? openedEntry(request) : resolvedEntry(request, decision);
  return [insertRequest(tx, request, keyHash), appendAudit(tx, random, entry)];
}

function decide(request: StoredRequest): StoredRequest {
  const decision = approval(request.createdAt);
  return { ...request, status: decision.status, decision, policy: JUDGEMENT };
}

function approval(now: number): StoredDecision {
  const expiresAt = now + VALIDITY_MS;
  const decidedBy = decidesAtOnce ? "policy:small-refunds" : "reviewer:bench";
  return { status: "approved", note: null, decidedAt: now, expiresAt, decidedBy };
}

await app.listen({ host: "127.0.0.1", port: 0 });
process.once("disconnect", () => process.exit());
process.send?.({ port: (app.server.address() as AddressInfo).port });
