/**
 * Contests between server processes on one PostgreSQL: everything that can happen to a request is
 * sent to all of them at one time, and every answer is kept.
 */

import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import type { ApprovalRequest, ErrorResponse } from "@countersign/protocol";
import { type Answer, exchange, SUBMISSION } from "@countersign/testing/agents";
import { systemClock } from "../../src/index.ts";
import type { Cluster, ClusterInstance } from "./cluster.ts";
import type { ReviewedRequest } from "./test-provider.ts";

/** Calls to send while a request is open; `submit` is another request of its instance. */
export type MoveName =
  | "approve"
  | "deny"
  | "cancel"
  | "delete"
  | "replay"
  | "submit"
  | "read"
  | "poll";

/** One exchange with one replica. */
export interface Move {
  readonly name: MoveName;
  readonly replica: number;
  /** After the first moment of the contest, ms. */
  readonly late: number;
}

export interface Plan {
  /** How long before the deadline the first moves are made, ms; null when it is far away. */
  readonly beforeDeadline: number | null;
  readonly moves: readonly Move[];
}

export interface Players {
  readonly cluster: Cluster;
  readonly provisioner: string;
  readonly reviewer: string;
}

/** A request that is pending, or was when it was opened. */
export interface OpenContest {
  readonly players: Players;
  readonly instance: ClusterInstance;
  readonly request: ApprovalRequest;
  readonly plan: Plan;
  readonly body: object;
  readonly key: string;
  readonly digest: string;
}

export interface MoveAnswer extends Answer<ApprovalRequest & ErrorResponse> {
  readonly name: MoveName;
  /** The request that another replica showed to the reviewer right after this answer. */
  readonly after: Answer<ReviewedRequest>;
}

/** Leaves time for everything to come before it. */
const SHORT = "2s";

/** Opens a request with all replicas at one time: one makes it, the others replay it. */
export async function openContest(
  players: Players,
  instance: ClusterInstance,
  plan: Plan,
  key: string,
): Promise<OpenContest> {
  const { servers } = players.cluster;
  const timeout = plan.beforeDeadline !== null ? SHORT : "1h";
  const body = { ...SUBMISSION, arguments: { key }, timeout };
  const opened = await Promise.all(
    servers.map(({ url }) =>
      exchange<ApprovalRequest>("POST", `${url}/v1/requests`, instance.token, body, key),
    ),
  );
  const statuses = opened.map(({ status }) => status).sort();
  assert.deepEqual(statuses, [...servers.slice(1).map(() => 200), 201]);
  assert.equal(new Set(opened.map(({ json }) => json.id)).size, 1, "one key made two requests");
  const request = opened[0]?.json as ApprovalRequest;
  const { arguments_sha256: digest } = (await show(players, request.id, 0)).json;
  return { players, instance, request, plan, body, key, digest };
}

/** Makes the moves of its plan. */
export async function playContest(contest: OpenContest): Promise<readonly MoveAnswer[]> {
  const { players, request, plan } = contest;
  const { beforeDeadline } = plan;
  const start = beforeDeadline === null ? 0 : Date.parse(request.deadline_at) - beforeDeadline;
  const moves = plan.moves.map(async (move): Promise<MoveAnswer> => {
    // Polls are to be held before anything happens.
    if (move.name !== "poll") await sleep(Math.max(0, start - systemClock.now()) + move.late);
    const answer = await make(contest, move);
    return { name: move.name, ...answer, after: await show(players, request.id, move.replica + 1) };
  });
  return Promise.all(moves);
}

/** The request as one replica shows it to the reviewer. */
export async function show(
  { cluster, reviewer }: Players,
  id: string,
  replica: number,
): Promise<Answer<ReviewedRequest>> {
  const { servers } = cluster;
  const url = `${servers[replica % servers.length]?.url}/review/v1/requests/${id}`;
  const shown = await exchange<ReviewedRequest>("GET", url, reviewer);
  assert.equal(shown.status, 200, shown.text);
  return shown;
}

function make(
  { players, instance, request, body, key, digest }: OpenContest,
  { name, replica }: Move,
): Promise<Answer<MoveAnswer["json"]>> {
  const { url = "" } = players.cluster.servers[replica] ?? {};
  const one = `${url}/v1/requests/${request.id}`;
  switch (name) {
    case "approve":
    case "deny": {
      const path = `${url}/review/v1/requests/${request.id}/verdict`;
      const verdict = { verdict: name, arguments_sha256: digest, note: name };
      return exchange("POST", path, players.reviewer, verdict);
    }
    case "cancel":
      return exchange("DELETE", one, instance.token);
    case "delete":
      return exchange("DELETE", `${url}/v1/instances/${instance.id}`, players.provisioner);
    case "replay":
      return exchange("POST", `${url}/v1/requests`, instance.token, body, key);
    case "submit":
      return exchange("POST", `${url}/v1/requests`, instance.token, body, randomUUID());
    case "read":
      return exchange("GET", one, instance.token);
    case "poll":
      return exchange("GET", `${one}?wait=20s`, instance.token);
  }
}
