/**
 * Policies and what they are about, for tests that publish them: sources, people with powers,
 * groups, and requests of the past.
 */

import assert from "node:assert/strict";
import { uuidV7 } from "@countersign/protocol";
import type { StoredRequest } from "../../src/core/request.ts";
import { insertRequest } from "../../src/storage/sql/requests/requests.ts";
import { type Scene, startScene } from "./scene.ts";
import type { Answer, Lifetime, TestProvider } from "./test-provider.ts";

/** A rule for one tool, with its test. */
export function policySaying(
  verb: "approve" | "ask" | "deny",
  tool: string,
  id = `${verb}-it`,
): string {
  return `version: 1
rules:
  - id: ${id}
    match: { tool: "${tool}" }
    then: ${verb}
tests:
  - given: { tool: "${tool}", args: {} }
    expect: { then: ${verb}, because: ${id} }
`;
}

/** A rule that asks a group of reviewers. */
export function policyAsking(group: string): string {
  return `version: 1
rules:
  - id: ask-them
    match: { tool: "db.*" }
    then: ask
    ask: { from: ["group:${group}"] }
tests:
  - given: { tool: db.drop, args: {} }
    expect: { then: ask, because: ask-them }
`;
}

export interface WirePolicy {
  readonly scope: string;
  readonly number: number;
  readonly sha256: string;
  readonly note?: string;
  readonly published_at: string;
  readonly published_by: string;
  readonly publisher?: string;
  readonly proposer?: string;
  readonly two_person?: true;
  readonly source: string;
}

export interface PolicyScene extends Scene {
  readonly editor: string;
  readonly operator: string;
}

/** With an editor Ed of the project, and an operator Olga of the whole server. */
export async function startPolicyScene(t: Lifetime): Promise<PolicyScene> {
  const scene = await startScene(t);
  const { server } = scene;
  const editor = await server.token({ kind: "reviewer", name: "Ed", role: "editor" });
  const operator = await server.token({ kind: "reviewer", name: "Olga", role: "operator" });
  return { ...scene, editor, operator };
}

/** @param path behind /review/v1, such as `policy/versions/1` */
export async function showPolicy(
  server: TestProvider,
  token: string,
  path = "policy",
): Promise<Partial<WirePolicy>> {
  const answer = await server.call<WirePolicy>("GET", `/review/v1/${path}`, { token });
  assert.equal(answer.status, 200, answer.text);
  return answer.json;
}

export interface WireFinding {
  readonly line: number;
  readonly column: number;
  readonly path: string;
  readonly message: string;
}

export interface WirePublished extends WirePolicy {
  readonly outcome: string;
  readonly warnings: readonly WireFinding[];
  readonly error: {
    readonly code: string;
    readonly message: string;
    readonly param?: string;
    readonly findings?: readonly WireFinding[];
  };
}

export type Place = "policy" | "floor";

export function publish(
  server: TestProvider,
  token: string,
  source: string,
  expected: number,
  { place = "policy", note }: { readonly place?: Place; readonly note?: string } = {},
): Promise<Answer<WirePublished>> {
  const body = { source, expected_number: expected, ...(note !== undefined && { note }) };
  return server.call("POST", `/review/v1/${place}`, { token, body });
}

/** A policy that only requires two people for later changes. */
export const TWO_PERSON = "version: 1\ntwo_person: true\nrules: []\n";

/** The same policy, with the requirement kept. */
export function twoPerson(source: string): string {
  return source.replace("version: 1\n", "version: 1\ntwo_person: true\n");
}

/** From the first version on. */
export async function requireTwo(server: TestProvider, token: string): Promise<void> {
  const answer = await publish(server, token, TWO_PERSON, 0);
  assert.equal(answer.status, 201, answer.text);
}

export interface WireProposal {
  readonly id: string;
  readonly state: string;
  readonly sha256: string;
  readonly note?: string;
  readonly restores?: number;
  readonly proposed_by: string;
  readonly proposer?: string;
  readonly refusal?: string;
  readonly closer?: string;
  readonly reason?: string;
  readonly source: string;
  readonly error: WirePublished["error"];
}

interface At {
  readonly place?: Place;
}

/** @param content the source, or members in its place */
export function propose(
  server: TestProvider,
  token: string,
  content: string | object,
  expected: number,
  { place = "policy", note }: At & { readonly note?: string } = {},
): Promise<Answer<WireProposal>> {
  const of = typeof content === "string" ? { source: content } : content;
  const body = { ...of, expected_number: expected, ...(note !== undefined && { note }) };
  return server.call("POST", `/review/v1/${place}/proposals`, { token, body });
}

export async function readProposal(
  server: TestProvider,
  token: string,
  id: string,
): Promise<WireProposal> {
  const path = `/review/v1/policy/proposals/${id}`;
  const answer = await server.call<WireProposal>("GET", path, { token });
  assert.equal(answer.status, 200, answer.text);
  return answer.json;
}

export function publishProposal(
  server: TestProvider,
  token: string,
  id: string,
  { place = "policy" }: At = {},
): Promise<Answer<WirePublished>> {
  return server.call("POST", `/review/v1/${place}/proposals/${id}/publish`, { token });
}

export function rollBack(
  server: TestProvider,
  token: string,
  number: number,
  expected: number,
): Promise<Answer<WirePublished>> {
  const body = { number, expected_number: expected };
  return server.call("POST", "/review/v1/policy/rollback", { token, body });
}

export async function projectIdOf(server: TestProvider, name = "default"): Promise<string> {
  const { store } = server.provider.context;
  const row = await store.get("select id from project where name = $1", [name]);
  return String(row?.id);
}

/** Puts all reviewers of this name, or all instances, into groups. */
export async function setGroups(
  server: TestProvider,
  table: "reviewer" | "instance",
  groups: readonly string[],
): Promise<void> {
  const { store } = server.provider.context;
  const sql = `update ${table} set group_names = $1`;
  await store.transact((tx) => tx.run(sql, [JSON.stringify([...groups].sort())]));
}

const PER_COMMIT = 500;

/** Requests that were made and decided in the past, the last one a minute ago, one each second. */
export async function storePast(
  server: TestProvider,
  instanceId: string,
  count: number,
  fields: (index: number) => Partial<StoredRequest> = () => ({}),
): Promise<StoredRequest[]> {
  const { store, clock, random } = server.provider.context;
  const row = await store.get("select project_id from instance where id = $1", [instanceId]);
  const last = clock.now() - 60_000;
  const requests = Array.from({ length: count }, (_, index): StoredRequest => {
    const createdAt = last - (count - 1 - index) * 1_000;
    return {
      id: uuidV7(createdAt, random.bytes(10)),
      instanceId,
      projectId: String(row?.project_id),
      tool: '"deploy"',
      arguments: '{"env":"prod"}',
      timeout: "1h",
      agentReasoning: null,
      context: null,
      policy: null,
      server: null,
      status: "pending",
      createdAt,
      deadlineAt: createdAt + 365 * 24 * 3_600_000,
      decision: null,
      ...fields(index),
    };
  });
  for (let from = 0; from < count; from += PER_COMMIT) {
    await store.transact(async (tx) => {
      for (const request of requests.slice(from, from + PER_COMMIT)) {
        await insertRequest(tx, request, request.id);
      }
    });
  }
  return requests;
}
