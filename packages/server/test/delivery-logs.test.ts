import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { Report } from "../src/index.ts";
import {
  attemptNext,
  denied,
  ManualMessages,
  notificationOf,
  pass,
  untilAttempted,
} from "./support/notifications.ts";
import { TableResolver } from "./support/test-egress.ts";
import type { AnswerMessage } from "./support/tls-receiver.ts";
import {
  provisionWithReceiver,
  SIGNING_SECRET,
  startWebhookScene,
  tryUpdate,
  untilDelivered,
  type WebhookScene,
  type WebhookSceneOptions,
} from "./support/webhook-scene.ts";

type Line = Readonly<Record<string, unknown>>;

interface LoggedScene extends WebhookScene {
  /** Everything that was logged. */
  readonly text: () => string;
  /** Of the attempts. */
  readonly attempts: () => Line[];
  readonly instance: { readonly id: string; readonly token: string };
}

/** Marks the parts of a receiver's URL and responses that can contain private data. */
const MARK = "Xyzzy7Plugh";

async function startLogged(t: TestContext, options: WebhookSceneOptions): Promise<LoggedScene> {
  const lines: string[] = [];
  const report = new Report("debug", { write: (line) => void lines.push(line) });
  const scene = await startWebhookScene(t, { ...options, report });
  const url = scene.receiver.url(`/${MARK}-path?${MARK}=query`);
  const instance = await provisionWithReceiver(scene, { url });
  const attempts = () => {
    const all = lines.map((line) => JSON.parse(line) as Line);
    return all.filter(({ event }) => event === "delivery.attempted");
  };
  return { ...scene, instance, attempts, text: () => lines.join("") };
}

/** Answers in turn with these, and at last always with the last one. */
function inTurn(...statuses: readonly number[]): AnswerMessage {
  let answered = 0;
  return (_, response) => {
    const status = statuses[Math.min(answered++, statuses.length - 1)] ?? 204;
    response.writeHead(status, { "x-mark": MARK }).end(MARK);
  };
}

async function countOf({ server }: WebhookScene, outcome: string): Promise<number> {
  const text = await (await fetch(`${server.url}/metrics`)).text();
  const name = `countersign_delivery_attempt_seconds_count{outcome="${outcome}"} `;
  const line = text.split("\n").find((each) => each.startsWith(name));
  return Number(line?.slice(name.length) ?? 0);
}

test("[ours.delivery.log] every attempt leaves one line that says which, where, how it went and when the next one is", async (t) => {
  const scene = await startLogged(t, { onNotification: inTurn(503, 200) });
  const { instance } = scene;
  const request = await denied(scene, instance.token);
  const failed = await untilAttempted(scene, request, 1);
  await untilDelivered(scene, () => scene.attempts().length === 1, "the first line");
  const waitMs = (failed.next_at ?? 0) - scene.clock.now();
  await attemptNext(scene, request);
  await untilDelivered(scene, () => scene.attempts().length === 2, "the second line");
  await pass(scene, 60_000, 1_000);

  const common = {
    level: "info",
    event: "delivery.attempted",
    event_id: failed.id,
    subject_id: request.id,
    instance_id: instance.id,
    host: "localhost",
  };
  const lines = scene.attempts().map(({ time, duration_ms, ...rest }) => {
    assert.ok(typeof time === "number" && typeof duration_ms === "number" && duration_ms >= 0);
    return rest;
  });
  assert.deepEqual(lines, [
    { ...common, attempt: 1, outcome: "rejected", http_status: 503, retry_in_ms: waitMs },
    { ...common, attempt: 2, outcome: "acknowledged", http_status: 200, ended_by: "acknowledged" },
  ]);
});

test("[ours.delivery.log] neither path, query, secret, body, signature nor what the receiver says is logged", async (t) => {
  const scene = await startLogged(t, { onNotification: inTurn(500, 302, 404, 204) });
  const { instance } = scene;
  const request = await denied(scene, instance.token);
  let row = await untilAttempted(scene, request, 1);
  while (row.ended_at === null) row = await attemptNext(scene, request);
  const delivery = scene.delivery({ url: scene.receiver.url(`/${MARK}`) });
  await tryUpdate(scene, instance.id, { delivery });
  await scene.server.stop();

  assert.equal(scene.attempts().length, 4);
  const signatures = scene.notifications.map(({ headers }) => String(headers["webhook-signature"]));
  const key = SIGNING_SECRET.slice("whsec_".length);
  for (const secret of [MARK, key, row.body, instance.token, "https://", ...signatures]) {
    assert.equal(scene.text().includes(secret), false, `the log holds ${secret}`);
  }
});

test("[ours.delivery.log] [ours.operations.metrics] attempts are counted by how they ended, and labels stay few", async (t) => {
  const manual = new ManualMessages();
  const resolver = new TableResolver();
  const answers: AnswerMessage[] = [inTurn(500), inTurn(204)];
  const scene = await startLogged(t, {
    resolver,
    onNotification: (received, response) => (answers.shift() ?? manual.receive)(received, response),
  });
  const { token } = scene.instance;
  for (const outcome of ["rejected", "acknowledged"]) {
    await untilAttempted(scene, await denied(scene, token), 1);
    await untilDelivered(scene, async () => (await countOf(scene, outcome)) === 1, outcome);
  }
  await denied(scene, token);
  await untilDelivered(scene, () => manual.arrived === 1, "one hangs");
  await pass(scene, 9_000);
  const timeout = async () => (await countOf(scene, "unreachable:timeout")) === 1;
  await untilDelivered(scene, timeout, "it is counted");
  resolver.answers.localhost = ["10.0.0.1"];
  await untilAttempted(scene, await denied(scene, token), 1);
  await untilDelivered(scene, async () => (await countOf(scene, "refused")) > 0, "it is counted");
  const text = await (await fetch(`${scene.server.url}/metrics`)).text();
  assert.doesNotMatch(text, /localhost|https:|whsec_|[0-9a-f]{8}-[0-9a-f]{4}-/);
});

test("[ours.delivery.log] a notification that the server did not send does not count as an attempt and has no log line", async (t) => {
  const manual = new ManualMessages();
  const settings = { webhook_address_in_flight_max: "1" };
  const scene = await startLogged(t, { onNotification: manual.receive, settings });
  const first = await denied(scene, scene.instance.token);
  const second = await denied(scene, scene.instance.token);
  const isWaiting = async () => (await notificationOf(scene, second)).claimed_until !== null;
  await untilDelivered(scene, async () => manual.arrived === 1 && (await isWaiting()), "one waits");
  await pass(scene, 3_000);
  await untilDelivered(scene, async () => !(await isWaiting()), "it gives up");
  const { attempts, last_outcome, next_at } = await notificationOf(scene, second);
  assert.deepEqual([attempts, last_outcome, next_at], [0, null, scene.clock.now() + 1_000]);
  await pass(scene, 6_000);
  await untilAttempted(scene, first, 1);
  assert.deepEqual(
    scene.attempts().map(({ subject_id, outcome }) => [subject_id, outcome]),
    [[first.id, "unreachable:timeout"]],
  );
  await untilDelivered(scene, () => manual.arrived === 2, "it is sent");
  manual.answer(1, 204);
  assert.equal((await untilAttempted(scene, second, 1)).ended_by, "acknowledged");
});
