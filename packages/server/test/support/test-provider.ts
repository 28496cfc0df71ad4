/**
 * A real provider on a free port and a folder of its own, for tests that speak HTTP. Every
 * answer to an operation of the contract is checked against contract/openapi.yaml, whatever the
 * test itself checks.
 */

import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setImmediate as nextTurn } from "node:timers/promises";
import {
  AGENT_OPERATIONS,
  type ApprovalRequest,
  type ErrorResponse,
  OPERATIONS,
  type ProvisionInstanceResponse,
} from "@countersign/protocol";
import { loadExtensions, responseValidator } from "../../../../tools/openapi/load-openapi.ts";
import { PROVIDER_LOGOUT_PATH } from "../../src/http/provider-logout-routes.ts";
import {
  createToken,
  type Parts,
  type Provider,
  Report,
  readConfig,
  startProvider,
  type TokenOrder,
  toSecrets,
  toSettings,
} from "../../src/index.ts";
import { databaseSettings } from "./engine.ts";
import { ManualClock } from "./manual-clock.ts";
import { assertDeclared } from "./review-answers.ts";

export interface Call {
  readonly token?: string | undefined;
  readonly key?: string;
  /** Sent as it is when a string or bytes; else as JSON. */
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal;
}

export interface Answer<T = unknown> {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  readonly json: T;
}

export interface TestProviderOptions extends Parts {
  /** Settings by option name, like `{ window_max: "1h" }`. */
  readonly settings?: Readonly<Record<string, string>>;
  /** Variables by name, for settings that may hold a password. */
  readonly environment?: Readonly<Record<string, string>>;
  /** A folder to start on again; the caller removes it. */
  readonly data?: string;
}

export type ReviewedRequest = ApprovalRequest & {
  readonly instance: { readonly id: string; readonly name: string };
  readonly arguments_sha256: string;
  readonly decided_by?: string;
  readonly decider?: string;
  /** Of one request by itself. */
  readonly now?: string;
  readonly line?: { readonly kind: string; readonly text: string };
  readonly signals?: readonly object[];
  readonly policy: Readonly<Record<string, unknown>>;
  readonly requirement: Readonly<Record<string, unknown>>;
  readonly votes: readonly { readonly reviewer: string; readonly at: string; note?: string }[];
  readonly may_decide: { readonly approve: boolean; readonly deny: boolean; reason?: string };
};

const validate = responseValidator();

const validateExtension = responseValidator(loadExtensions());

export const SUBMISSION = { tool: "deploy", arguments: { env: "prod" }, timeout: "1h" };

/** Paths with the errors of their standards: SCIM, AuthZEN, and OAuth for a logout. */
const OTHER_ERRORS = ["/scim/v2/", "/access/v1/", PROVIDER_LOGOUT_PATH];

export class TestProvider {
  readonly provider: Provider;
  readonly data: string;
  readonly #prefix: string;
  #keys = 0;
  #stopped: Promise<void> | undefined;

  constructor(provider: Provider, data: string) {
    this.provider = provider;
    this.data = data;
    this.#prefix = provider.context.settings.pathPrefix;
  }

  get url(): string {
    return this.provider.url;
  }

  /** Stops the provider, once; for tests that start another one on its folder. */
  stop(): Promise<void> {
    this.#stopped ??= this.provider.close();
    return this.#stopped;
  }

  /** A key that no other call of this test has used. */
  freshKey(): string {
    return `key-${++this.#keys}`;
  }

  async token(order: Partial<TokenOrder> & Pick<TokenOrder, "kind">): Promise<string> {
    const defaults = { name: order.kind, project: "default", expiresAt: null };
    const issued = await createToken(this.provider.context, {
      ...defaults,
      ...order,
    } as TokenOrder);
    return issued.token;
  }

  /** Sends one exchange and holds the answer against the contract. */
  async call<T = unknown>(method: string, path: string, call: Call = {}): Promise<Answer<T>> {
    const { token, key, body, headers, signal } = call;
    const raw = typeof body === "string" || body instanceof Uint8Array;
    const response = await fetch(this.url + path, {
      method,
      headers: {
        ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
        ...(key === undefined ? {} : { "idempotency-key": key }),
        ...(body === undefined ? {} : { "content-type": "application/json" }),
        ...headers,
      },
      ...(body === undefined ? {} : { body: raw ? (body as string) : JSON.stringify(body) }),
      ...(signal === undefined ? {} : { signal }),
    });
    // A stream has no end; what it holds is not for here.
    const isStream = response.headers.get("content-type") === "text/event-stream";
    if (isStream) await response.body?.cancel();
    const text = isStream ? "" : await response.text();
    const isOneText = response.headers.get("content-type") !== "application/x-ndjson";
    const json = isOneText && text.startsWith("{") ? (JSON.parse(text) as T) : (undefined as T);
    this.#assertConforms(method, path, response, json);
    assertDeclared(method, path, response.status, json);
    return { status: response.status, headers: response.headers, text, json };
  }

  async provision(token: string, name?: string): Promise<ProvisionInstanceResponse> {
    const body = name === undefined ? {} : { instance_name: name };
    const call = { token, key: this.freshKey(), body };
    const answer = await this.call<ProvisionInstanceResponse>("POST", "/v1/instances", call);
    assert.equal(answer.status, 201, answer.text);
    return answer.json;
  }

  /** A new instance of a new provisioner in `project`. */
  async instance(project = "default"): Promise<{ id: string; token: string; provisioner: string }> {
    const provisioner = await this.token({ kind: "provisioner", project });
    const { instance, credential } = await this.provision(provisioner);
    return { id: instance.id, token: credential.token, provisioner };
  }

  async submit(token: string, fields: object = {}): Promise<ApprovalRequest> {
    const call = { token, key: this.freshKey(), body: { ...SUBMISSION, ...fields } };
    const answer = await this.call<ApprovalRequest>("POST", "/v1/requests", call);
    assert.equal(answer.status, 201, answer.text);
    return answer.json;
  }

  async read(token: string, id: string, query = ""): Promise<ApprovalRequest> {
    const answer = await this.call<ApprovalRequest>("GET", `/v1/requests/${id}${query}`, { token });
    assert.equal(answer.status, 200, answer.text);
    return answer.json;
  }

  /** Decides with the digest of what is stored. */
  async decide(
    reviewer: string,
    id: string,
    verdict: "approve" | "deny",
    fields: object = {},
  ): Promise<Answer<ReviewedRequest & ErrorResponse>> {
    const path = `/review/v1/requests/${id}`;
    const shown = await this.call<ReviewedRequest>("GET", path, { token: reviewer });
    const body = { verdict, arguments_sha256: shown.json.arguments_sha256, ...fields };
    return this.call("POST", `${path}/verdict`, { token: reviewer, body });
  }

  #assertConforms(method: string, path: string, response: Response, body: unknown): void {
    const id = response.headers.get("x-request-id");
    assert.match(id ?? "", /^[0-9a-f-]{36}$/, `${method} ${path} answers without X-Request-ID`);
    const error = (body as Partial<ErrorResponse> | undefined)?.error;
    const hasEnvelope = !OTHER_ERRORS.some((prefix) => path.startsWith(prefix));
    if (response.status >= 400 && hasEnvelope) {
      assert.equal(error?.request_id, id, `${method} ${path}: error.request_id differs`);
    }
    const isContract = path.startsWith(this.#prefix);
    const operation = isContract && operationAt(method, path.slice(this.#prefix.length));
    if (!operation) return;
    const { status, headers } = response;
    const violations =
      operation in AGENT_OPERATIONS
        ? validateExtension(operation, status, headers, body)
        : validate(operation, status, headers, this.#withoutExtensions(body));
    assert.deepEqual(violations, [], `${method} ${path} breaks the description`);
  }

  /** The part of a response in the contract. Only the fields listed here may be added to it. */
  #withoutExtensions(body: unknown): unknown {
    if (typeof body !== "object" || body === null) return body;
    const { extensions } = this.provider.context.settings;
    const disabled = [extensions.server && "server", extensions.consume && "consumption"];
    return Object.fromEntries(Object.entries(body).filter(([name]) => !disabled.includes(name)));
  }
}

/** A test, or `{ after }` of node:test for what all tests of a file share. */
export interface Lifetime {
  after(end: () => Promise<void> | void): void;
}

/** Starts a provider that stops, and whose folder goes, with the test. */
export async function startTestProvider(
  t: Lifetime,
  options: TestProviderOptions = {},
): Promise<TestProvider> {
  const { settings = {}, environment = {}, data, ...parts } = options;
  const directory = data ?? mkdtempSync(join(tmpdir(), "countersign-test-"));
  const database = "database_url" in settings ? {} : await databaseSettings(directory);
  const flags = { data: directory, ...database, port: "0", log_level: "silent", ...settings };
  const report = parts.report ?? new Report("silent", { write: () => {} });
  const config = readConfig(flags, environment);
  const all = { ...parts, report };
  const provider = await startProvider(toSettings(config), toSecrets(config), all);
  const server = new TestProvider(provider, directory);
  t.after(async () => {
    const stopped = server.stop();
    if (parts.clock instanceof ManualClock) await runOut(parts.clock, stopped);
    await stopped;
    if (data === undefined) rmSync(directory, { recursive: true });
  });
  return server;
}

/** Advances a stopped clock: a test that failed halfway must not wait for its grace period. */
async function runOut(clock: ManualClock, stopped: Promise<void>): Promise<void> {
  let hasStopped = false;
  const end = () => {
    hasStopped = true;
  };
  stopped.then(end, end);
  // Exchanges that end by themselves may do so first.
  for (let turn = 0; turn < TURNS_MAX && !hasStopped; turn++) await nextTurn();
  while (!hasStopped) {
    clock.advance(1_000);
    await nextTurn();
  }
}

const TURNS_MAX = 1_000;

function operationAt(method: string, path: string): string | undefined {
  const bare = path.split("?", 1)[0] ?? "";
  for (const [name, operation] of Object.entries({ ...OPERATIONS, ...AGENT_OPERATIONS })) {
    const pattern = new RegExp(`^${operation.path.replace(":id", "[^/]+")}$`);
    if (operation.method === method && pattern.test(bare)) return name;
  }
  return undefined;
}
