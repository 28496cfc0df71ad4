/**
 * Grants as reviewers make them and agents use them.
 */

import assert from "node:assert/strict";
import type { ErrorResponse } from "@countersign/protocol";
import type { TestProject } from "./test-projects.ts";
import type { Answer, ReviewedRequest, TestProvider } from "./test-provider.ts";

export interface ReviewedGrant {
  readonly id: string;
  readonly state: "active" | "revoked" | "exhausted" | "expired";
  readonly instance: { readonly id: string; readonly name: string };
  readonly reviewer: { readonly id: string; readonly name: string };
  readonly tool: string;
  readonly server?: string;
  readonly any_server?: true;
  readonly when?: string;
  readonly session?: string;
  readonly turn?: string;
  readonly note?: string;
  readonly valid_for?: string;
  readonly calls: number;
  readonly calls_max: number;
  readonly created_at: string;
  readonly expires_at: string;
  readonly revoked_at?: string;
  readonly revoked_by?: string;
}

export const GRANTS = "/review/v1/grants";

export function tryGrant(
  server: TestProvider,
  token: string,
  body: unknown,
): Promise<Answer<ReviewedGrant & ErrorResponse>> {
  return server.call("POST", GRANTS, { token, body });
}

export async function makeGrant(
  server: TestProvider,
  token: string,
  body: object,
): Promise<ReviewedGrant> {
  const answer = await tryGrant(server, token, body);
  assert.equal(answer.status, 201, answer.text);
  return answer.json;
}

/** A grant of calls of the tool `edit`, to the first instance of a house. */
export function grantEdits(
  server: TestProvider,
  { reviewer, instance }: TestProject,
  body: object = {},
): Promise<ReviewedGrant> {
  return makeGrant(server, reviewer, { instance_id: instance.id, tool: "edit", ...body });
}

export function showGrant(
  server: TestProvider,
  token: string,
  id: string,
): Promise<Answer<ReviewedGrant & ErrorResponse>> {
  return server.call("GET", `${GRANTS}/${id}`, { token });
}

export function revokeGrant(
  server: TestProvider,
  token: string,
  id: string,
): Promise<Answer<ReviewedGrant & ErrorResponse>> {
  return server.call("POST", `${GRANTS}/${id}/revoke`, { token });
}

export async function listGrants(
  server: TestProvider,
  token: string,
  state: "active" | "ended" = "active",
): Promise<ReviewedGrant[]> {
  const path = `${GRANTS}?state=${state}`;
  const { json } = await server.call<{ grants: ReviewedGrant[] }>("GET", path, { token });
  return json.grants;
}

/** A request of the contract, and who decided it if anybody did. */
export async function decidedBy(
  server: TestProvider,
  reviewer: string,
  id: string,
): Promise<string | undefined> {
  const path = `/review/v1/requests/${id}`;
  const { json } = await server.call<ReviewedRequest>("GET", path, { token: reviewer });
  return json.decided_by;
}
