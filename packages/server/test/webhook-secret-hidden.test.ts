import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { Report } from "../src/index.ts";
import { cancel } from "./support/scene.ts";
import { hideTables } from "./support/store-faults.ts";
import type { Answer } from "./support/test-provider.ts";
import type { AnswerMessage } from "./support/tls-receiver.ts";
import { lockDatabase } from "./support/verifications.ts";
import {
  answerChallenge,
  outbox,
  startWebhookScene,
  tryProvision,
  tryUpdate,
  untilDelivered,
  type WebhookScene,
} from "./support/webhook-scene.ts";

/** 32 bytes that say who they are, wherever they turn up. */
const KEY = Buffer.from("Xyzzy7Plugh".padEnd(32, "-"));
const SECRET = `whsec_${KEY.toString("base64")}`;

/** The beginning of the key in every spelling that it could leak in. */
const SPELLINGS = [
  "Xyzzy7Plugh",
  KEY.subarray(0, 9).toString("base64"),
  KEY.toString("hex").slice(0, 20),
  [...KEY.subarray(0, 9)].join(","),
];

function assertSilent(text: string, where: string): void {
  for (const spelling of SPELLINGS) {
    assert.equal(text.includes(spelling), false, `${where} holds the secret`);
  }
}

/** Answers with everything that it was sent. */
const parrot: AnswerMessage = ({ headers, body }, response) => {
  response.writeHead(200, { "x-echo": JSON.stringify(headers) }).end(body);
};

/** Deliveries that are refused, each with the secret in one way or another. */
function refusedDeliveries(scene: WebhookScene): readonly unknown[] {
  return [
    SECRET,
    [SECRET],
    scene.delivery({ type: SECRET }),
    scene.delivery({ url: SECRET }),
    scene.delivery({ url: `https://${SECRET}.example.com/` }),
    scene.delivery({ url: `https://localhost/#${SECRET}` }),
    scene.delivery({ registration_id: SECRET }),
    ...[`${SECRET}=`, SECRET.slice(0, -1), SECRET.slice(6), ` ${SECRET}`, [SECRET]].map((wrong) =>
      scene.delivery({ signing_secret: wrong }),
    ),
    scene.delivery({ signing_secret: SECRET, secret: SECRET }),
    scene.delivery({ signing_secret: SECRET, url: "https://10.0.0.1/" }),
  ];
}

interface Outspoken extends WebhookScene {
  /** Everything that was logged so far. */
  readonly log: string[];
  answer: AnswerMessage;
}

/** A provider that logs as much as it can. */
async function startOutspoken(t: Parameters<typeof startWebhookScene>[0]): Promise<Outspoken> {
  const log: string[] = [];
  const report = new Report("debug", { write: (line) => log.push(line) });
  const answers = { answer: answerChallenge };
  const scene = await startWebhookScene(t, {
    report,
    settings: { webhook_account_verifications: "20" },
    onVerification: (received, response) => answers.answer(received, response),
    onNotification: (_, response) => response.writeHead(500).end(),
  });
  return Object.assign(answers, scene, { log });
}

/** Goes through everything that an instance with a receiver can meet; returns what was answered. */
async function goThrough(scene: Outspoken): Promise<Answer[]> {
  const { server, provisioner, reviewer } = scene;
  const delivery = scene.delivery({ signing_secret: SECRET });
  const key = server.freshKey();
  const created = await tryProvision(scene, delivery, key);
  const { id } = created.json.instance;
  const path = `/v1/instances/${id}`;
  const answers: Answer[] = [created, await tryProvision(scene, delivery, key)];
  answers.push(await tryProvision(scene, { ...delivery, url: scene.receiver.url("/other") }, key));
  answers.push(await server.call("GET", path, { token: provisioner }));
  answers.push(
    await tryUpdate(scene, id, { delivery }, key),
    await tryUpdate(scene, id, { delivery }, key),
  );
  for (const refused of refusedDeliveries(scene)) {
    answers.push(
      await tryProvision(scene, refused),
      await tryUpdate(scene, id, { delivery: refused as object }),
    );
  }
  const request = await server.submit(created.json.credential.token);
  await cancel(server, created.json.credential.token, request.id);
  const isTried = async () => (await outbox(scene))[0]?.attempts === 1;
  await untilDelivered(scene, isTried, "an attempt has failed");
  answers.push(await server.call("GET", "/review/v1/deliveries", { token: reviewer }));
  scene.answer = parrot;
  for (let i = 0; i < 20; i++) answers.push(await tryProvision(scene, delivery));
  scene.clock.advance(60_000);
  scene.answer = answerChallenge;
  const show = await hideTables(server, "receiver");
  answers.push(await tryProvision(scene, delivery));
  await show();
  const unlock = await lockDatabase(server);
  answers.push(await tryProvision(scene, delivery));
  await unlock();
  answers.push(await server.call("DELETE", path, { token: provisioner }));
  answers.push(await tryUpdate(scene, id, { delivery }));
  return answers;
}

test("[delivery.input.secret.hidden] after every operation on a receiver, its secret is in no answer, error, log line, metric or audit entry, and not readable in the database", async (t) => {
  const scene = await startOutspoken(t);
  const { server } = scene;
  const answers = await goThrough(scene);
  const statuses = new Set(answers.map(({ status }) => status));
  for (const expected of [201, 200, 204, 400, 404, 409, 422, 429, 500, 503]) {
    assert.ok(statuses.has(expected), `nothing was answered ${expected}`);
  }
  for (const { status, text, headers } of answers) {
    assertSilent(text + JSON.stringify([...headers]), `an answer ${status}`);
  }
  const metrics = await server.call("GET", "/metrics");
  assert.match(metrics.text, /countersign_verification_seconds_count\{outcome="verified"\}/);
  assertSilent(metrics.text, "a metric");
  const audit = await server.provider.context.store.all("select * from audit_entry");
  assertSilent(JSON.stringify(audit), "the audit log");
  // Now, so that the receiver is still there: with its secret, sealed.
  assert.equal((await tryProvision(scene, scene.delivery({ signing_secret: SECRET }))).status, 201);
  for (const file of readdirSync(server.data)) {
    assertSilent(readFileSync(join(server.data, file), "latin1"), file);
  }
  await server.stop();
  const log = scene.log.join("");
  for (const event of ["verification.attempted", "delivery.attempted", "bug.found"]) {
    assert.ok(log.includes(`"event":"${event}"`), event);
  }
  assertSilent(log, "the log");
});

test("[ours.delivery.log] a verification leaves one line with its host, registration, outcome and status, and nothing of path, query or challenge", async (t) => {
  const scene = await startOutspoken(t);
  const url = scene.receiver.url("/Path7?Query7=1");
  const created = await tryProvision(scene, scene.delivery({ url }));
  scene.answer = (_, response) => response.writeHead(403).end();
  await tryProvision(scene, scene.delivery({ url }));
  scene.answer = (_, response) => response.destroy();
  await tryProvision(scene, scene.delivery({ url }));
  const log = scene.log.join("");
  const lines = log
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line));
  const attempts = lines.filter(({ event }) => event === "verification.attempted");
  assert.deepEqual(
    attempts.map(({ host, outcome, http_status }) => [host, outcome, http_status]),
    [
      ["localhost", "verified", 200],
      ["localhost", "failed:status", 403],
      ["localhost", "unreachable:reset", undefined],
    ],
  );
  assert.equal(attempts[0].instance_id, created.json.instance.id);
  assert.equal(attempts[0].registration_id, created.json.instance.delivery?.registration_id);
  const challenges = scene.receiver.requests.map(({ body }) => JSON.parse(`${body}`).challenge);
  for (const part of ["Path7", "Query7", ...challenges]) assert.equal(log.includes(part), false);
});
