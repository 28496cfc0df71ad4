/**
 * Clients of a server in another process: an operator that creates tokens and an agent that submits
 * and reads.
 */

import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import type { ApprovalRequest, ProvisionInstanceResponse } from "@countersign/protocol";
import {
  createToken,
  openContext,
  readConfig,
  type TokenOrder,
  toSecrets,
  toSettings,
} from "@countersign/server";
import type { Server } from "./countersign.ts";

export interface Answer<T = unknown> {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  readonly json: T;
}

export const SUBMISSION = { tool: "deploy", arguments: { env: "prod" }, timeout: "1h" };

/**
 * Makes a token beside the running server, as `tokens create` does.
 *
 * @param env of the server, if it names the database
 */
export async function makeToken(
  data: string,
  order: Partial<TokenOrder> & Pick<TokenOrder, "kind">,
  env: Readonly<Record<string, string>> = {},
): Promise<string> {
  const config = readConfig({ data }, env);
  const opened = await openContext(toSettings(config), toSecrets(config));
  try {
    const defaults = { name: order.kind, project: "default", expiresAt: null };
    const issued = await createToken(opened.context, { ...defaults, ...order } as TokenOrder);
    return issued.token;
  } finally {
    await opened.close();
  }
}

export async function exchange<T = unknown>(
  method: string,
  url: string,
  token?: string,
  body?: unknown,
  key?: string,
): Promise<Answer<T>> {
  const response = await fetch(url, {
    method,
    headers: {
      ...(token !== undefined && { authorization: `Bearer ${token}` }),
      ...(key !== undefined && { "idempotency-key": key }),
      ...(body !== undefined && { "content-type": "application/json" }),
    },
    ...(body !== undefined && { body: typeof body === "string" ? body : JSON.stringify(body) }),
  });
  const text = await response.text();
  const json = text.startsWith("{") ? (JSON.parse(text) as T) : (undefined as T);
  return { status: response.status, headers: response.headers, text, json };
}

export class Agent {
  readonly token: string;
  readonly #url: string;

  constructor(url: string, token: string) {
    this.#url = url;
    this.token = token;
  }

  /** The same agent with the address of a restarted server. */
  at(server: Server): Agent {
    return new Agent(server.url, this.token);
  }

  post(key: string, fields: object = {}): Promise<Answer<ApprovalRequest>> {
    const body = { ...SUBMISSION, ...fields };
    return exchange("POST", `${this.#url}/v1/requests`, this.token, body, key);
  }

  async submit(fields: object = {}): Promise<ApprovalRequest> {
    const answer = await this.post(randomUUID(), fields);
    assert.equal(answer.status, 201, answer.text);
    return answer.json;
  }

  async cancel(id: string): Promise<void> {
    const answer = await exchange("DELETE", `${this.#url}/v1/requests/${id}`, this.token);
    assert.equal(answer.status, 200, answer.text);
  }

  get(id: string, query = ""): Promise<Answer<ApprovalRequest>> {
    return exchange("GET", `${this.#url}/v1/requests/${id}${query}`, this.token);
  }

  async read(id: string, query = ""): Promise<ApprovalRequest> {
    const answer = await this.get(id, query);
    assert.equal(answer.status, 200, answer.text);
    return answer.json;
  }
}

export async function provision(
  server: Server,
  provisioner: string,
  key = "first",
): Promise<ProvisionInstanceResponse> {
  const url = `${server.url}/v1/instances`;
  const answer = await exchange<ProvisionInstanceResponse>("POST", url, provisioner, {}, key);
  assert.ok(answer.status === 201 || answer.status === 200, answer.text);
  return answer.json;
}

/** An agent with an instance of its own. */
export async function newAgent(server: Server, project = "default"): Promise<Agent> {
  const provisioner = await makeToken(server.data, { kind: "provisioner", project }, server.env);
  const { credential } = await provision(server, provisioner);
  return new Agent(server.url, credential.token);
}
