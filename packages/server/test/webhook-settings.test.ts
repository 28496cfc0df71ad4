import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { Agent, exchange, makeToken } from "@countersign/testing/agents";
import { temporaryFolder } from "@countersign/testing/child";
import {
  countersign,
  type Server,
  type ServerOptions,
  startServer,
} from "@countersign/testing/countersign";
import { withStore } from "@countersign/testing/deliveries";
import { eventually } from "@countersign/testing/eventually";
import { type ConnectProxy, startConnectProxy } from "./support/connect-proxy.ts";
import { startTlsReceiver } from "./support/tls-receiver.ts";
import { answerChallenge, typeOf } from "./support/webhook-scene.ts";
import {
  arrived,
  decided,
  deliveryTo,
  newNotifiedAgent,
  startWebhookServer,
  trusting,
  tryProvisioning,
  untilNothingWaits,
} from "./support/webhook-server.ts";

const LOOPBACK = { COUNTERSIGN_WEBHOOK_ALLOW_CIDRS: "127.0.0.0/8" };

/** A server, and the answer to a provisioning that proposes each of these receivers. */
async function tryReceivers(
  t: TestContext,
  options: ServerOptions,
  urls: readonly string[],
): Promise<{ readonly server: Server; readonly answers: readonly string[] }> {
  const server = await startServer(t, options);
  const provisioner = await makeToken(server.data, { kind: "provisioner" });
  const answers: string[] = [];
  for (const url of urls) {
    const { status, json } = await tryProvisioning(server, provisioner, deliveryTo(url));
    answers.push([status, json.error?.code, json.error?.param].join(" ").trimEnd());
  }
  return { server, answers };
}

/** Settings with which a server must not start. */
async function refuse(
  t: TestContext,
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<string[]> {
  const data = join(temporaryFolder(t), "data");
  const serve = ["serve", "--port", "0", "--data", data, ...args];
  const { code, stdout, stderr } = await countersign(t, serve, { env });
  assert.deepEqual([code, stdout], [2, ""], stderr);
  assert.equal(existsSync(data), false);
  return stderr.trimEnd().split("\n");
}

test("[ours.webhooks.off] every delivery is rejected and nothing is sent; queued messages arrive when webhooks are on again", async (t) => {
  const webhooks = await startWebhookServer(t);
  const { server, receiver, provisioner, delivery, notifications } = webhooks;
  const agent = await newNotifiedAgent(webhooks);
  webhooks.onNotification = ({ answer }) => void answer(503);
  const before = await decided(agent);
  const { instance_id } = (await arrived(webhooks, 1)).event;
  await server.stop();
  const { connections } = receiver;

  const off = await startServer(t, { data: server.data, args: ["--webhooks-off"] });
  // The retry is due.
  const sql = "update notification set next_at = 0";
  assert.equal(await withStore(off, (store) => store.transact((tx) => tx.run(sql))), 1);
  const meanwhile = await decided(agent.at(off));
  const path = `${off.url}/v1/instances/${instance_id}`;
  const refusals = [
    await tryProvisioning(off, provisioner, delivery),
    await exchange("PATCH", path, provisioner, { delivery }, "key"),
  ];
  for (const { status, text } of refusals) {
    assert.equal(status, 400);
    assert.match(text, /"unsupported_delivery_type"/);
  }
  await off.stop();
  assert.equal(receiver.connections, connections);
  const counts = "select attempts from notification order by created_at";
  const rows = await withStore(off, (store) => store.all(counts));
  assert.deepEqual(
    rows.map(({ attempts }) => attempts),
    [1, 0],
  );

  webhooks.onNotification = ({ answer }) => void answer(204);
  await webhooks.restart();
  await untilNothingWaits(webhooks);
  const notified = new Set(notifications.map(({ event }) => event.request_id));
  assert.deepEqual(notified, new Set([before, meanwhile]));
});

test("[ours.webhooks.allow-cidrs] unless the operator lists its network, a receiver on this machine returns 400 and the server does not connect to it", async (t) => {
  const receiver = await startTlsReceiver(t, answerChallenge);
  const env = trusting(temporaryFolder(t), receiver);
  const byAddress = `https://127.0.0.1:${receiver.port}/`;
  const byName = receiver.url();
  const refused = "400 invalid_webhook_url delivery.url";
  const unlisted = await tryReceivers(t, { env }, [byAddress, byName]);
  assert.deepEqual(unlisted.answers, [refused, refused]);
  const args = ["--webhook-allow-cidrs", "10.0.0.0/8,::1/128"];
  const others = await tryReceivers(t, { env, args }, [byAddress, byName]);
  assert.deepEqual(others.answers, [refused, refused]);
  assert.equal(receiver.connections, 0);

  const listed = { ...env, ...LOOPBACK };
  const { answers } = await tryReceivers(t, { env: listed }, [byAddress, byName]);
  assert.deepEqual(answers, ["201", "201"]);
});

test("[ours.webhooks.allow-cidrs] with NODE_ENV=production, a list needs the second setting, and the error names both", async (t) => {
  const receiver = await startTlsReceiver(t, answerChallenge);
  const production = { ...trusting(temporaryFolder(t), receiver), NODE_ENV: "production" };
  const env = { ...production, ...LOOPBACK };
  const [line = "", ...others] = await refuse(t, [], env);
  assert.deepEqual(others, []);
  assert.match(line, /^countersign: webhook_allow_cidrs: .*NODE_ENV is production/);
  assert.match(line, /webhook_allow_cidrs_in_production/);

  const args = ["--webhook-allow-cidrs-in-production"];
  const { answers } = await tryReceivers(t, { env, args }, [receiver.url()]);
  assert.deepEqual(answers, ["201"]);
  const without = await startServer(t, { env: production });
  await without.stop();
});

test("[ours.config.faults] [ours.webhooks.allow-cidrs] [ours.webhooks.proxy] networks, prefixes and proxies that are none are all named at once", async (t) => {
  const lines = await refuse(t, [
    "--webhook-allow-cidrs",
    "127.0.0.0/8,10.0.0.1/8,localhost",
    "--webhook-nat64-prefixes",
    "64:ff9b::/96,64:ff9b::/64",
    "--webhook-proxy",
    "http://me:s3cret@proxy.internal:4750",
    "--webhook-host-in-flight-max",
    "0",
  ]);
  const named = lines.map((line) => /^countersign: (\w+): /.exec(line)?.[1]);
  assert.deepEqual(named.sort(), [
    "webhook_allow_cidrs",
    "webhook_allow_cidrs",
    "webhook_host_in_flight_max",
    "webhook_nat64_prefixes",
    "webhook_proxy",
  ]);
  const text = lines.join("\n");
  for (const part of ["10.0.0.1/8", "localhost", "64:ff9b::/64"]) assert.ok(text.includes(part));
  assert.doesNotMatch(text, /s3cret/);
});

/** Everything by which an environment asks for a proxy. */
function asking({ url }: ConnectProxy): Readonly<Record<string, string>> {
  const names = ["HTTPS_PROXY", "HTTP_PROXY", "ALL_PROXY"];
  const variables = names.flatMap((name) => [name, name.toLowerCase()]);
  return {
    ...Object.fromEntries(variables.map((name) => [name, url])),
    NO_PROXY: "",
    no_proxy: "",
    NODE_USE_ENV_PROXY: "1",
  };
}

test("[ours.webhooks.proxy] a proxy that the environment asks for sees nothing of a verification or a notification", async (t) => {
  const proxy = await startConnectProxy(t, () => undefined);
  const webhooks = await startWebhookServer(t, [], asking(proxy));
  await decided(await newNotifiedAgent(webhooks));
  await untilNothingWaits(webhooks);
  assert.equal(webhooks.notifications.length, 1);
  assert.equal(proxy.connections, 0);
});

test("[ours.webhooks.proxy] the proxy that is set by name gets names to look up, for verifications and notifications", async (t) => {
  const ignored = await startConnectProxy(t, () => undefined);
  const identity = { subjects: { names: ["hooks.example.com"] } };
  const types: (string | undefined)[] = [];
  const receiver = await startTlsReceiver(
    t,
    (received, response) => {
      types.push(typeOf(received));
      if (types.length === 1) return answerChallenge(received, response);
      response.writeHead(204).end();
    },
    identity,
  );
  const proxy = await startConnectProxy(t, () => ({ port: receiver.port }));
  const server = await startServer(t, {
    args: ["--webhook-proxy", proxy.url],
    env: { ...trusting(temporaryFolder(t), receiver), ...asking(ignored) },
  });
  const provisioner = await makeToken(server.data, { kind: "provisioner" });
  const delivery = deliveryTo("https://hooks.example.com/hook");

  const { status, text, json } = await tryProvisioning(server, provisioner, delivery);
  assert.equal(status, 201, text);
  await decided(new Agent(server.url, json.credential.token));
  await eventually("a notification", () => (types.length === 2 ? true : undefined));

  assert.deepEqual(types, ["webhook.verification", "request.resolved"]);
  const targets = ["hooks.example.com:443", "hooks.example.com:443"];
  assert.deepEqual([proxy.targets, ignored.connections], [targets, 0]);
});

test("[delivery.url.certificate] an untrusted certificate returns 422, despite other certificate variables, until NODE_EXTRA_CA_CERTS names it", async (t) => {
  const receiver = await startTlsReceiver(t, answerChallenge);
  const careless = { ...LOOPBACK, NODE_TLS_REJECT_UNAUTHORIZED: "0" };
  const untrusted = await tryReceivers(t, { env: careless }, [receiver.url()]);
  assert.deepEqual(untrusted.answers, ["422 webhook_verification_failed delivery"]);
  assert.equal(receiver.requests.length, 0);
  await untrusted.server.stop();

  const env = { ...LOOPBACK, ...trusting(temporaryFolder(t), receiver) };
  const { answers } = await tryReceivers(t, { env }, [receiver.url()]);
  assert.deepEqual(answers, ["201"]);
});
