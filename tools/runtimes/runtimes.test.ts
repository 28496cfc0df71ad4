// Tier: slow
// Needs: runtimes, frameworks, tar
// Process: own
/**
 * Runs one agent with the packed SDK on every supported runtime, with a real server and its
 * webhooks.
 */

import assert from "node:assert/strict";
import { once } from "node:events";
import { cpSync, mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { Provisioner, proposeDelivery } from "@countersign/sdk";
import { Child, fileOwner, temporaryFolder } from "@countersign/testing/child";
import { eventually } from "@countersign/testing/eventually";
import { findFreePort } from "@countersign/testing/free-port";
import { createSelfSigned } from "../../packages/server/test/support/self-signed.ts";
import {
  type ReviewedRequest,
  startTestProvider,
} from "../../packages/server/test/support/test-provider.ts";
import {
  type Received,
  startTlsReceiver,
} from "../../packages/server/test/support/tls-receiver.ts";
import { ROOT, TSC } from "../pack/build.ts";
import { installByNpm } from "../pack/install.ts";
import { PUBLISHED } from "../pack/packages.ts";
import { pack } from "../pack/stage.ts";
import { findRuntimes, WORKERS_TYPES } from "./find-runtimes.ts";
import { denoRun, environmentIn, hostsOn, type Start } from "./hosts.ts";

const owner = fileOwner();
const folder = temporaryFolder(owner, "countersign-runtimes-");
const runtimes = findRuntimes();
assert.ok(runtimes, "The runtimes are not installed. Run: npm run runtimes");
const { node22, bun, deno } = runtimes;

/** The project of a user: the packed SDK, and the agent compiled to JavaScript. */
const project = join(folder, "project");
const packages = PUBLISHED.filter(({ folder: name }) => name === "protocol" || name === "sdk");
installByNpm(project, pack(packages, join(folder, "tarballs"), join(folder, "scratch")));
cpSync(join(import.meta.dirname, "consumer"), project, { recursive: true });
mkdirSync(join(project, "types"));
symlinkSync(join(ROOT, "node_modules/@types/node"), join(project, "types/node"));

const AGENT = ["agent.ts", "worker.ts"];
await compile({
  files: [
    ...AGENT,
    "check-files.ts",
    "serve-bun.ts",
    "serve-deno.ts",
    "serve-node.ts",
    "without-permissions.ts",
    "worker-before-requests.ts",
  ],
  options: { lib: ["es2024"], types: ["node"] },
});

const identity = createSelfSigned();
const server = await startTestProvider(owner, {
  ca: [identity.certificate],
  settings: {
    webhook_allow_cidrs: "127.0.0.0/8",
    instance_rate: "0",
    reviewer_rate: "0",
    webhook_account_verifications: "0",
    webhook_host_verifications: "0",
  },
});
const reviewer = await server.token({ kind: "reviewer" });
const provisionerToken = await server.token({ kind: "provisioner" });

function run(command: readonly string[], env: Readonly<Record<string, string>> = {}): Child {
  return new Child(owner, command, { cwd: project, env: { ...environmentIn(project), ...env } });
}

interface Compilation {
  readonly files: readonly string[];
  readonly options: object;
}

async function compile({ files, options }: Compilation): Promise<void> {
  const always = {
    target: "es2024",
    module: "nodenext",
    strict: true,
    exactOptionalPropertyTypes: true,
    rewriteRelativeImportExtensions: true,
    typeRoots: ["./types"],
  };
  const config = join(project, "tsconfig.json");
  writeFileSync(config, JSON.stringify({ compilerOptions: { ...always, ...options }, files }));
  const { code, stdout } = await run([TSC, "-p", config]).ends();
  assert.equal(code, 0, stdout);
}

/** The answer of a step of the agent. */
interface Answer {
  readonly reason: string;
  readonly value: string;
  readonly requestId: string;
  readonly reviewUrl: string;
  readonly note?: string;
  readonly refunds: number;
  readonly pausedMs: number;
}

/** An agent on a runtime, to which the server sends its webhooks through a proxy with TLS. */
async function startAgent(t: TestContext, start: Start) {
  const proxy = await startTlsReceiver(
    t,
    async ({ method, headers, body }, response) => {
      const answer = await send({ method, headers, body });
      response.writeHead(answer.status, Object.fromEntries(answer.headers));
      response.end(Buffer.from(await answer.arrayBuffer()));
    },
    { identity },
  );
  const delivery = proposeDelivery(proxy.url("/webhooks"));
  const provisioner = new Provisioner({ url: server.url, token: provisionerToken });
  const { instance, credential } = await provisioner.create({ name: "agent" });
  const token = credential.take();
  const host = await start(t, project, {
    COUNTERSIGN_URL: server.url,
    COUNTERSIGN_API_KEY: token,
    SIGNING_SECRETS: JSON.stringify({ [delivery.registrationId]: delivery.signingSecret }),
  });
  async function send(
    { method, headers, body }: Pick<Received, "method" | "headers" | "body">,
    step?: string,
  ): Promise<Response> {
    const forwarded = new Headers({ "content-type": "application/json" });
    if (step !== undefined) forwarded.set("x-step", step);
    for (const [name, value] of Object.entries(headers)) {
      if (name.startsWith("webhook-")) forwarded.set(name, String(value));
    }
    return fetch(host.url, { method, headers: forwarded, body: new Uint8Array(body) });
  }
  async function play<T = Answer>(step: string, fields: object = {}): Promise<T> {
    const body = Buffer.from(JSON.stringify(fields));
    const response = await send({ method: "POST", headers: {}, body }, step);
    const text = await response.text();
    assert.equal(response.status, 200, `${text}\n${host.process.stderr}`);
    return JSON.parse(text) as T;
  }
  // The server sends a verification challenge to the agent and waits for its answer.
  await provisioner.update(instance.id, { delivery });
  return { token, host, proxy, send, play };
}

type Agent = Awaited<ReturnType<typeof startAgent>>;

async function decideNext(verdict: "approve" | "deny", fields: object = {}): Promise<void> {
  const { id } = await eventually("a pending request", async () => {
    const path = "/review/v1/requests?state=pending";
    const listed = await server.call<{ requests: ReviewedRequest[] }>("GET", path, {
      token: reviewer,
    });
    return listed.json.requests[0];
  });
  const { status, text } = await server.decide(reviewer, id, verdict, fields);
  assert.equal(status, 200, text);
}

async function checkCalls({ play, host, token }: Agent): Promise<void> {
  const first = { order: "A-1", key: "first" };
  const executing = play("refund", first);
  await decideNext("approve");
  const executed = await executing;
  assert.deepEqual([executed.value, executed.refunds], ["refunded A-1", 1]);
  const again = await play("refund", first);
  assert.deepEqual([again.reason, again.refunds], ["already_used", 1]);

  const denying = play("refund", { order: "A-2", key: "second" });
  await decideNext("deny", { note: "Too large." });
  const denied = await denying;
  assert.deepEqual([denied.reason, denied.note, denied.refunds], ["denied", "Too large.", 1]);

  const third = { order: "A-3", key: "third" };
  const storing = play("stored refund", third);
  await decideNext("approve");
  assert.equal((await storing).refunds, 2);
  const storedAgain = await play("stored refund", third);
  assert.deepEqual([storedAgain.reason, storedAgain.refunds], ["already_used", 2]);

  const abandoned = await play("abandoned refund", { order: "A-4", key: "fourth" });
  assert.deepEqual([abandoned.reason, abandoned.refunds], ["abandoned", 2]);
  await eventually("the cancellation of the abandoned request", async () => {
    const { status } = await server.read(token, abandoned.requestId);
    return status === "cancelled" || undefined;
  });

  const line = `"refunds\\.create" waits for approval until \\S+: ${executed.reviewUrl}`;
  await host.process.prints("stderr", new RegExp(`^Countersign: ${line}$`, "m"));
}

async function checkWebhooks({ play, send, proxy }: Agent): Promise<void> {
  const suspended = await play("suspended refund", { order: "A-5", key: "fifth" });
  assert.equal(suspended.reason, "pending");
  await decideNext("approve");
  await eventually("the resumed call", async () => {
    const resumed = await play<string[]>("resumed");
    return resumed.includes("refunded A-5") || undefined;
  });
  const sent = proxy.requests.find(({ body }) => body.includes(suspended.requestId));
  assert.ok(sent);
  assert.equal((await send(sent)).status, 204, "a duplicate");
  assert.deepEqual(await play("resumed"), ["refunded A-5"]);

  const verified = await send(sent, "verify");
  assert.deepEqual(await verified.json(), { type: "request.resolved" });
  const otherId = crypto.randomUUID();
  const forged = Buffer.from(sent.body.toString().replace(suspended.requestId, otherId));
  const rejected = await send({ ...sent, body: forged }, "verify");
  assert.deepEqual(await rejected.json(), { code: "invalid_signature" });
  assert.equal((await send({ ...sent, body: forged })).status, 401);
}

async function checkOutage({ play }: Agent, reportsRefusal: boolean): Promise<void> {
  const url = `http://127.0.0.1:${await findFreePort()}`;
  const { reason, value, pausedMs } = await play("refund elsewhere", {
    order: "A-6",
    key: "sixth",
    url,
  });
  assert.equal(reason, "no_decision");
  const cause = reportsRefusal ? "ECONNREFUSED" : "connection lost";
  assert.ok(value.includes(`The provider at ${url} could not be reached (${cause}).`), value);
  if (reportsRefusal) assert.equal(pausedMs, 0);
  else assert.ok(pausedMs > 0 && pausedMs < 10_000, `${pausedMs} ms`);
}

/** A redirect would send the key of the agent to another server. */
async function checkRedirect(t: TestContext, { play }: Agent): Promise<void> {
  const paths: (string | undefined)[] = [];
  const redirecting = createServer(({ url }, response) => {
    paths.push(url);
    response.writeHead(307, { location: "/elsewhere" }).end();
  });
  redirecting.listen(0, "127.0.0.1");
  await once(redirecting, "listening");
  t.after(() => {
    redirecting.closeAllConnections();
    redirecting.close();
  });
  const { port } = redirecting.address() as AddressInfo;
  const { reason, value } = await play("refund elsewhere", {
    order: "A-7",
    key: "seventh",
    url: `http://127.0.0.1:${port}`,
  });
  assert.equal(reason, "no_decision");
  assert.match(value, /The provider answered with a redirect\./);
  assert.deepEqual(paths, ["/v1/requests"]);
}

for (const [name, start] of Object.entries(hostsOn(runtimes))) {
  test(`[ours.sdk.runtimes] ${name}: the agent runs approved calls once, and receives webhooks`, async (t) => {
    const agent = await startAgent(t, start);
    await checkCalls(agent);
    await checkWebhooks(agent);
    await checkOutage(agent, !name.startsWith("Cloudflare"));
    await checkRedirect(t, agent);
  });
}

test("[ours.sdk.runtimes] Deno without permissions: each error names the flag that grants one", async () => {
  const { code, stdout, stderr } = await run([
    ...denoRun(deno, []),
    "without-permissions.js",
  ]).ends();
  assert.equal(code, 0, stderr);
  const [variables, development, network] = stdout.split("\n");
  const needed = "--allow-env=COUNTERSIGN_URL,COUNTERSIGN_API_KEY.";
  assert.ok(variables?.includes("SdkError") && variables.endsWith(needed), variables);
  assert.ok(development?.endsWith("--allow-env=NODE_ENV."), development);
  assert.ok(network?.endsWith("--allow-net=approvals.example.com:8443."), network);
});

test("[ours.sdk.runtimes] runtimes with Node's modules: the file stores pass the checks of stores", async () => {
  const outputs = new Set<string>();
  const commands = {
    "Node 24": [process.execPath],
    "Node 22": [node22],
    Bun: [bun],
    Deno: denoRun(deno, [
      "--allow-env=FOLDER",
      `--allow-read=${folder}`,
      `--allow-write=${folder}`,
    ]),
  };
  for (const [name, command] of Object.entries(commands)) {
    const env = { FOLDER: join(folder, name) };
    const { code, stdout, stderr } = await run([...command, "check-files.js"], env).ends();
    assert.equal(code, 0, `${name}: ${stderr}`);
    assert.match(stdout, /^[1-9]\d* checks, true false true 0\n$/, name);
    outputs.add(stdout);
  }
  assert.equal(outputs.size, 1, "the same checks on each runtime");
});

test("[ours.sdk.runtimes] the types compile for service workers, Cloudflare Workers and Deno", async () => {
  const noEmit = true;
  await compile({ files: AGENT, options: { noEmit, lib: ["es2024", "webworker"], types: [] } });
  const types = join(WORKERS_TYPES, "index.d.ts");
  await compile({ files: [types, ...AGENT], options: { noEmit, lib: ["es2024"], types: [] } });
  const { code, stderr } = await run([deno, "check", "--no-remote", "serve-deno.ts"]).ends();
  assert.equal(code, 0, stderr);
});
