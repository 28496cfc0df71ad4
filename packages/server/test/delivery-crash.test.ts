// Tier: slow
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { Agent } from "@countersign/testing/agents";
import { withStore } from "@countersign/testing/deliveries";
import { testOnly } from "./support/engine.ts";
import {
  arrived,
  decided,
  NO_RATES,
  newNotifiedAgent,
  startWebhookServer,
  tryProvisioning,
  untilNothingWaits,
  type WebhookServer,
} from "./support/webhook-server.ts";

const test = testOnly("sqlite", "leases of a dead replica end by time");

/** Event ids by request: one each, however often it came, and always the same bytes. */
function eventsByRequest({ notifications }: WebhookServer): Map<string, string> {
  const events = new Map<string, string>();
  const bodies = new Map<string, string>();
  for (const { id, body, event } of notifications) {
    assert.equal(event.id, id);
    assert.equal(body, bodies.get(id) ?? body, "an event changed its bytes");
    bodies.set(id, body);
    assert.equal(id, events.get(event.request_id) ?? id, "a request has two events");
    events.set(event.request_id, id);
  }
  return events;
}

test("[ours.delivery.crash] after kill -9, the queued notification and the interrupted one arrive", async (t) => {
  const webhooks = await startWebhookServer(t, ["--webhook-host-in-flight-max", "1"]);
  const agent = await newNotifiedAgent(webhooks);
  webhooks.onNotification = () => {};
  const reading = await decided(agent);
  const first = await arrived(webhooks, 1);
  // There is one place, and the receiver keeps it.
  const answered = await decided(agent);
  await webhooks.server.kill();
  await first.over;
  assert.equal(webhooks.notifications.length, 1);

  webhooks.onNotification = ({ answer }) => void answer(204);
  await webhooks.restart();

  await arrived(webhooks, 3);
  await untilNothingWaits(webhooks);
  assert.deepEqual([...eventsByRequest(webhooks).keys()], [reading, answered]);
  assert.equal(webhooks.notifications.length, 3);
});

test("[ours.delivery.crash] an acknowledgement lost by kill -9 leads to the same bytes again", async (t) => {
  const webhooks = await startWebhookServer(t);
  const agent = await newNotifiedAgent(webhooks);
  webhooks.onNotification = () => {};
  await decided(agent);
  const first = await arrived(webhooks, 1);
  // A stopped process does not read the acknowledgement.
  webhooks.server.process.signal("SIGSTOP");
  await first.answer(200);
  await webhooks.server.kill();

  webhooks.onNotification = ({ answer }) => void answer(200);
  await webhooks.restart();

  const again = await arrived(webhooks, 2);
  assert.deepEqual([again.id, again.body], [first.id, first.body]);
  await untilNothingWaits(webhooks);
  assert.equal(webhooks.notifications.length, 2);
});

test("[ours.delivery.crash] [ours.verification.takeover] after kill -9 in the middle of a verification the same call succeeds, with one credential", async (t) => {
  const webhooks = await startWebhookServer(t);
  const { server, provisioner, delivery, receiver } = webhooks;
  const { onVerification } = webhooks;
  const key = randomUUID();
  const verifying = Promise.withResolvers<void>();
  webhooks.onVerification = () => verifying.resolve();
  const cut = assert.rejects(tryProvisioning(server, provisioner, delivery, key));
  await verifying.promise;
  await server.kill();
  await cut;

  webhooks.onVerification = onVerification;
  const again = await webhooks.restart();

  const created = await tryProvisioning(again, provisioner, delivery, key);
  assert.equal(created.status, 201, created.text);
  const replayed = await tryProvisioning(again, provisioner, delivery, key);
  assert.deepEqual([replayed.status, replayed.text], [200, created.text]);
  assert.equal(receiver.requests.length, 2);
  const sql = "select count(*) as credentials from credential where kind = 'instance'";
  const row = await withStore(again, (store) => store.get(sql));
  assert.equal(row?.credentials, 1);
  const agent = new Agent(again.url, created.json.credential.token);
  const id = await decided(agent);
  assert.equal((await arrived(webhooks, 1)).event.request_id, id);
});

const CYCLES = 3;
const AGENTS = 12;
/** How much must have been decided before the kill, so that it comes in the midst of work. */
const DECIDED_MIN = 60;

/**
 * Decides without a pause until the server is killed, when a part has been acknowledged, a part
 * is with the receiver and a part was never sent.
 *
 * @returns every request that was made
 */
async function decideUntilKilled(webhooks: WebhookServer, agent: Agent): Promise<string[]> {
  const { server, onNotification } = webhooks;
  const submitted: string[] = [];
  let count = 0;
  let killed: Promise<void> | undefined;
  async function decide(): Promise<void> {
    while (killed === undefined) {
      try {
        const { id } = await agent.submit();
        submitted.push(id);
        await agent.cancel(id);
      } catch (error) {
        // The connection broke: whether it was decided is to be read.
        assert.ok(error instanceof TypeError, String(error));
        continue;
      }
      count++;
      if (count === DECIDED_MIN / 2) webhooks.onNotification = () => {};
      if (count === DECIDED_MIN) killed = server.kill();
    }
  }
  await Promise.all(Array.from({ length: AGENTS }, decide));
  await killed;
  webhooks.onNotification = onNotification;
  return submitted;
}

test("[ours.delivery.crash] of a server that is killed again and again under load every decision is notified, each by one event", async (t) => {
  const webhooks = await startWebhookServer(t, NO_RATES);
  let agent = await newNotifiedAgent(webhooks);
  const submitted: string[] = [];
  for (let cycle = 0; cycle < CYCLES; cycle++) {
    submitted.push(...(await decideUntilKilled(webhooks, agent)));
    agent = agent.at(await webhooks.restart());
  }
  await untilNothingWaits(webhooks);

  const events = eventsByRequest(webhooks);
  const statuses = new Map<string, string>();
  for (const id of submitted) statuses.set(id, (await agent.read(id)).status);
  const cancelled = submitted.filter((id) => statuses.get(id) === "cancelled");
  assert.ok(cancelled.length >= CYCLES * DECIDED_MIN);
  assert.deepEqual([...events.keys()].sort(), cancelled.sort());
  assert.equal(new Set(events.values()).size, events.size);
  assert.ok(webhooks.notifications.length > events.size, "nothing was interrupted");
});
