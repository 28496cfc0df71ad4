/** An identity provider that sends users and groups to a server over SCIM. */

import assert from "node:assert/strict";
import { createScimToken } from "../../src/index.ts";
import type { TestProvider } from "./test-provider.ts";

export interface ScimAnswer {
  readonly status: number;
  readonly headers: Headers;
  readonly json: ScimJson;
}

/** Members of users, groups, lists and errors. */
export interface ScimJson {
  readonly id: string;
  readonly userName: string;
  readonly displayName: string;
  readonly externalId: string;
  readonly active: boolean;
  readonly name: Readonly<Record<string, string>>;
  readonly emails: readonly Readonly<Record<string, unknown>>[];
  readonly groups: readonly { readonly value: string; readonly display: string }[];
  readonly members: readonly { readonly value: string }[];
  readonly meta: { readonly location: string };
  readonly Resources: readonly ScimJson[];
  readonly totalResults: number;
  readonly itemsPerPage: number;
  readonly startIndex: number;
  readonly status: string;
  readonly scimType: string;
  readonly detail: string;
}

export class ScimClient {
  readonly server: TestProvider;
  readonly token: string;
  readonly tokenId: string;

  private constructor(server: TestProvider, token: string, tokenId: string) {
    this.server = server;
    this.token = token;
    this.tokenId = tokenId;
  }

  static async create(server: TestProvider): Promise<ScimClient> {
    const order = { name: "provider", expiresAt: null };
    const { token, id } = await createScimToken(server.provider.context, order);
    return new ScimClient(server, token, id);
  }

  async call(method: string, path: string, body?: unknown): Promise<ScimAnswer> {
    const response = await fetch(`${this.server.url}/scim/v2${path}`, {
      method,
      headers: {
        authorization: `Bearer ${this.token}`,
        ...(body !== undefined && { "content-type": "application/scim+json" }),
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    const json = text === "" ? {} : JSON.parse(text);
    return { status: response.status, headers: response.headers, json };
  }

  /** @returns the id of a new user, whose `externalId` is `sub-NAME` unless given */
  async user(userName: string, fields: object = {}): Promise<string> {
    const body = { userName, externalId: `sub-${userName}`, active: true, ...fields };
    const made = await this.call("POST", "/Users", body);
    assert.equal(made.status, 201, JSON.stringify(made.json));
    return made.json.id;
  }

  /** @returns the id of a new group */
  async group(displayName: string, members: readonly string[], fields: object = {}) {
    const values = members.map((value) => ({ value }));
    const made = await this.call("POST", "/Groups", { displayName, members: values, ...fields });
    assert.equal(made.status, 201, JSON.stringify(made.json));
    return made.json.id;
  }

  patch(path: string, ...operations: readonly object[]): Promise<ScimAnswer> {
    const schemas = ["urn:ietf:params:scim:api:messages:2.0:PatchOp"];
    return this.call("PATCH", path, { schemas, Operations: operations });
  }
}

export function assertScimError(answer: ScimAnswer, status: number, scimType?: string): void {
  assert.equal(answer.status, status, JSON.stringify(answer.json));
  assert.equal(answer.headers.get("content-type"), "application/scim+json");
  assert.deepEqual([answer.json.status, answer.json.scimType], [String(status), scimType]);
  assert.match(answer.json.detail, /\.$/);
}

/** The roles and groups of a user, as `project role groups`. */
export async function rolesOf(server: TestProvider, personId: string): Promise<string[]> {
  const rows = await server.provider.context.store.all(
    `select project.name as project, reviewer.role as role, reviewer.group_names as group_names
     from reviewer join project on project.id = reviewer.project_id
     where reviewer.person_id = $1 and reviewer.removed_at is null order by project.name`,
    [personId],
  );
  return rows.map(({ project, role, group_names: groups }) => `${project} ${role} ${groups}`);
}
