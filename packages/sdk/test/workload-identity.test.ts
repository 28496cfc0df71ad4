/** API keys that change: from workload identity, a file or a function, at a real server. */

import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import {
  ApprovalClient,
  githubActionsToken,
  keyFile,
  SdkError,
  tokenFile,
  workloadIdentity,
} from "@countersign/sdk";
import { type Scene, startScene } from "../../server/test/support/scene.ts";
import { turns, until } from "../../server/test/support/until.ts";
import {
  AUDIENCE,
  startIssuer,
  type TestClaims,
  type TestIssuer,
  writeWorkloadFile,
} from "../../server/test/support/workload-issuer.ts";
import { manualTiming } from "./support/manual-timing.ts";

const CALL = { tool: "deploy", arguments: { env: "prod" }, timeout: "1h" } as const;

interface WorkloadScene extends Scene {
  readonly issuer: TestIssuer;
  readonly url: string;
  /** Paths of the requests to the server. */
  readonly sent: string[];
  readonly fetch: typeof fetch;
}

async function start(t: TestContext): Promise<WorkloadScene> {
  const issuer = await startIssuer(t);
  const file = writeWorkloadFile(t, {
    issuers: [{ name: "platform", issuer: issuer.url, audience: AUDIENCE }],
    rules: [{ name: "ci", issuer: "platform", claims: { sub: "agent-*" }, instance: "{sub}" }],
  });
  const scene = await startScene(t, { settings: { workload_identity: file } });
  const sent: string[] = [];
  const counting: typeof fetch = (input, init) => {
    sent.push(new URL(String(input)).pathname);
    return fetch(input, init);
  };
  return { ...scene, issuer, url: scene.server.url, sent, fetch: counting };
}

function subjectOf({ issuer, clock }: WorkloadScene, claims: TestClaims = {}) {
  return () => issuer.sign({ sub: "agent-1", ...claims }, { now: clock.now() });
}

function create(client: ApprovalClient) {
  return client.create({ ...CALL, idempotencyKey: crypto.randomUUID() });
}

function exchangesOf({ sent }: WorkloadScene): number {
  return sent.filter((path) => path === "/agent/v1/token").length;
}

function folderOf(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), "countersign-keys-"));
  t.after(() => rmSync(folder, { recursive: true }));
  return folder;
}

test("[ours.workload.sdk] concurrent calls share one exchange, and the key is renewed before it expires", async (t) => {
  const scene = await start(t);
  const timing = manualTiming();
  const { url, fetch } = scene;
  const apiKey = workloadIdentity({ url, subjectToken: subjectOf(scene), fetch, timing });
  const client = new ApprovalClient({ url, apiKey, fetch });
  await Promise.all(Array.from({ length: 10 }, () => create(client)));
  assert.equal(exchangesOf(scene), 1);
  timing.pass(48 * 60_000 - 1_000);
  await create(client);
  assert.equal(exchangesOf(scene), 1);
  timing.pass(1_000);
  await create(client);
  await until(() => exchangesOf(scene) === 2, "the key is renewed");
});

test("[ours.workload.sdk] a platform that returns no token delays no call while the key is valid, and fails after 10 seconds", async (t) => {
  const scene = await start(t);
  const timing = manualTiming();
  const { url } = scene;
  const working = subjectOf(scene);
  const silent = () => new Promise<string>(() => {});
  let subjectToken = working;
  const apiKey = workloadIdentity({ url, subjectToken: () => subjectToken(), timing });
  const key = await apiKey({});
  subjectToken = silent;
  timing.pass(50 * 60_000);
  assert.equal(await apiKey({}), key);
  timing.pass(10 * 60_000);
  await until(async () => {
    const outcome = await Promise.race([apiKey({}), turns()]).catch((error: SdkError) => error);
    timing.pass(1_000);
    return outcome instanceof SdkError && outcome.code === "unavailable";
  }, "the exchange fails");
  subjectToken = working;
  assert.notEqual(await apiKey({}), key);
});

test("[ours.workload.sdk] after a failed renewal, the SDK waits for the time of Retry-After", async (t) => {
  const scene = await start(t);
  const timing = manualTiming();
  const { url } = scene;
  let isBusy = false;
  let renewals = 0;
  const busy: typeof fetch = async (input, init) => {
    if (!isBusy) return fetch(input, init);
    renewals++;
    return new Response("", { status: 503, headers: { "retry-after": "30" } });
  };
  const subjectToken = subjectOf(scene);
  const apiKey = workloadIdentity({ url, subjectToken, fetch: busy, timing });
  const key = await apiKey({});
  isBusy = true;
  timing.pass(50 * 60_000);
  for (const [seconds, expected] of [
    [0, 1],
    [29, 1],
    [1, 2],
  ] as const) {
    timing.pass(seconds * 1_000);
    const use = async () => assert.equal(await apiKey({}), key);
    // The token of the platform is signed in another thread.
    await until(async () => {
      await use();
      return renewals >= expected;
    }, `the SDK tries ${expected} renewals`);
    for (let i = 0; i < 20; i++) {
      await use();
      await turns();
    }
    assert.equal(renewals, expected, `${seconds} s later`);
  }
});

test("[ours.workload.sdk] after a 401, the SDK exchanges once more and repeats the call", async (t) => {
  const scene = await start(t);
  const { url, fetch, clock } = scene;
  const apiKey = workloadIdentity({ url, subjectToken: subjectOf(scene), fetch });
  const client = new ApprovalClient({ url, apiKey, fetch });
  await create(client);
  // The credential expires at the server.
  clock.advance(3_600_000);
  await create(client);
  assert.equal(exchangesOf(scene), 2);
});

test("[ours.workload.sdk] while a renewal fails, the SDK uses the key until it expires", async (t) => {
  const scene = await start(t);
  const timing = manualTiming();
  const { url } = scene;
  let subjectToken = subjectOf(scene);
  const apiKey = workloadIdentity({ url, subjectToken: () => subjectToken(), timing });
  const key = await apiKey({});
  subjectToken = () => Promise.reject(new Error("The platform is not available."));
  timing.pass(59 * 60_000);
  assert.equal(await apiKey({}), key);
  await turns();
  timing.pass(60_000);
  await assert.rejects(async () => apiKey({}), /platform is not available/);
});

test("[ours.workload.sdk] errors name the reason and contain no token", async (t) => {
  const scene = await start(t);
  const { url, fetch } = scene;
  const token = await subjectOf(scene, { sub: "other" })();
  const apiKey = workloadIdentity({ url, subjectToken: () => token, fetch });
  const client = new ApprovalClient({ url, apiKey, fetch });
  const error = await create(client).catch((reason: unknown) => reason);
  assert.ok(error instanceof SdkError);
  assert.equal(error.code, "refused");
  assert.match(error.message, /No rule matches/);
  assert.ok(!error.message.includes(token));
  const plain = await startScene(t);
  const other = workloadIdentity({ url: plain.server.url, subjectToken: () => token });
  await assert.rejects(async () => other({}), { code: "unsupported" });
  const unreachable = workloadIdentity({ url: "http://localhost:1", subjectToken: () => token });
  await assert.rejects(async () => unreachable({}), { code: "unavailable" });
});

test("[ours.workload.sdk] a token of Kubernetes is read from its file before each exchange", async (t) => {
  const scene = await start(t);
  const file = join(folderOf(t), "token");
  writeFileSync(file, `${await subjectOf(scene)()}\n`);
  const { url } = scene;
  const apiKey = workloadIdentity({ url, subjectToken: tokenFile(file) });
  const first = await apiKey({});
  writeFileSync(file, "not-a-token");
  await assert.rejects(async () => apiKey({ refused: first }), { code: "refused" });
});

test("[ours.workload.sdk] a job of GitHub Actions requests its token with the audience", async (t) => {
  const scene = await start(t);
  const { issuer, url } = scene;
  const path = `/github?api-version=2.0&audience=${encodeURIComponent(AUDIENCE)}`;
  const value = await subjectOf(scene)();
  issuer.answers.set(path, (response) => void response.end(JSON.stringify({ value })));
  const subjectToken = githubActionsToken(AUDIENCE);
  await assert.rejects(subjectToken, /id-token: write/);
  setVariables(t, {
    ACTIONS_ID_TOKEN_REQUEST_URL: `${issuer.url}/github?api-version=2.0`,
    ACTIONS_ID_TOKEN_REQUEST_TOKEN: "t",
  });
  const client = new ApprovalClient({ url, apiKey: workloadIdentity({ url, subjectToken }) });
  await create(client);
});

test("[ours.workload.key-file] a key in a file is replaced without a restart", async (t) => {
  const { server, instance } = await startScene(t);
  const file = join(folderOf(t), "key");
  writeFileSync(file, `${instance.token}\n`);
  setVariables(t, { COUNTERSIGN_API_KEY_FILE: file });
  const client = new ApprovalClient({ url: server.url });
  await create(client);
  const other = await server.instance();
  await server.call("DELETE", `/v1/instances/${instance.id}`, { token: instance.provisioner });
  writeFileSync(file, other.token);
  await create(client);
  writeFileSync(file, "two words");
  await assert.rejects(create(client), { code: "invalid_option" });
  rmSync(file);
  await assert.rejects(create(client), /Could not read the file .*ENOENT/);
  assert.throws(() => new ApprovalClient({ url: server.url }), { code: "invalid_option" });
});

test("[ours.workload.key-file] a function that returns the rejected key again is not retried", async (t) => {
  const { server, instance } = await startScene(t);
  await server.call("DELETE", `/v1/instances/${instance.id}`, { token: instance.provisioner });
  const requests: unknown[] = [];
  const counting: typeof fetch = (input, init) => {
    requests.push(input);
    return fetch(input, init);
  };
  const apiKey = () => instance.token;
  const client = new ApprovalClient({ url: server.url, apiKey, fetch: counting });
  await assert.rejects(create(client), { code: "refused", status: 401 });
  assert.equal(requests.length, 1);
  const missing = keyFile("/no/such/file");
  assert.throws(missing, { code: "invalid_option" });
});

/** Restores the variables after the test. */
function setVariables(t: TestContext, variables: Readonly<Record<string, string>>): void {
  for (const [name, value] of Object.entries(variables)) {
    process.env[name] = value;
    t.after(() => delete process.env[name]);
  }
}
