import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import { after, test } from "node:test";
import { PROBLEMS, type WebhookVerification } from "@countersign/protocol";
import { Webhook } from "standardwebhooks";
import { parse } from "yaml";
import { systemClock } from "../src/clock.ts";
import { assertRefused, UUID } from "./support/envelope.ts";
import { ManualClock } from "./support/manual-clock.ts";
import type { AnswerMessage, Received } from "./support/tls-receiver.ts";
import { turns } from "./support/until.ts";
import { challengeOf, countRows, ManualVerifications } from "./support/verifications.ts";
import {
  answerChallenge,
  provisionWithReceiver,
  REGISTRATION_ID,
  SIGNING_SECRET,
  startWebhookScene,
  tryProvision,
  tryUpdate,
} from "./support/webhook-scene.ts";

let answer: AnswerMessage = answerChallenge;
const scene = await startWebhookScene(
  { after },
  {
    // Near real time, because a verifier that is not ours reads its own clock.
    clock: new ManualClock(systemClock.now()),
    onVerification: (received, response) => answer(received, response),
  },
);
const { server, clock, receiver } = scene;

function messageOf({ body }: Received): WebhookVerification {
  return JSON.parse(body.toString()) as WebhookVerification;
}

/** Provisions with the scene's receiver; returns what it was sent. */
async function verify(fields: object = {}, expected = 201): Promise<Received> {
  const { status, text } = await tryProvision(scene, scene.delivery(fields));
  assert.equal(status, expected, text);
  return receiver.requests.at(-1) as Received;
}

/** A path of its own, and how the receiver answers there. */
async function verifyAgainst(how: AnswerMessage): Promise<number> {
  answer = how;
  try {
    const { status, text } = await tryProvision(scene, scene.delivery());
    if (status !== 201) assert.match(text, /webhook_verification_failed/);
    return status;
  } finally {
    answer = answerChallenge;
  }
}

test("[verification.body] it has exactly the fields of the contract and echoes the registration id", async () => {
  const { body } = await verify();
  const message = JSON.parse(body.toString()) as WebhookVerification;
  assert.deepEqual(Object.keys(message).sort(), [
    "challenge",
    "created_at",
    "id",
    "instance_id",
    "registration_id",
    "type",
  ]);
  const { challenge, id, instance_id, ...rest } = message;
  for (const identifier of [challenge, id, instance_id]) assert.match(identifier, UUID);
  assert.equal(new Set([challenge, id, instance_id]).size, 3);
  assert.deepEqual(rest, {
    type: "webhook.verification",
    registration_id: REGISTRATION_ID,
    created_at: new Date(clock.now()).toISOString(),
  });
});

test("[verification.body] the registration id is returned with its exact spelling", async () => {
  const id = REGISTRATION_ID.toUpperCase();
  assert.equal(messageOf(await verify({ registration_id: id })).registration_id, id);
});

test("[verification.body] an update names its instance", async () => {
  const { id } = await provisionWithReceiver(scene);
  assert.equal((await tryUpdate(scene, id, { delivery: scene.delivery() })).status, 200);
  assert.equal(messageOf(receiver.requests.at(-1) as Received).instance_id, id);
});

test("[delivery.url.exact] [verification.once] one message is sent, to the exact URL", async () => {
  const { connections, requests } = receiver;
  const count = requests.length;
  const received = await verify({ url: receiver.url("/a//b/../c?d=%2f&e") });
  assert.deepEqual([received.method, received.path], ["POST", "/a//b/../c?d=%2f&e"]);
  assert.equal(received.serverName, "localhost");
  assert.deepEqual([receiver.connections, requests.length], [connections + 1, count + 1]);
});

test("[delivery.url.exact] a query without a path is sent unchanged", async () => {
  const received = await verify({ url: receiver.url("?x=%2f") });
  assert.deepEqual([received.method, received.path], ["POST", "/?x=%2f"]);
});

test("[verification.once] a failed verification is never repeated", async () => {
  answer = (_, response) => response.writeHead(503, { "retry-after": "1" }).end();
  await verify({}, 422);
  answer = answerChallenge;
  const { connections } = receiver;
  for (let hour = 0; hour < 48; hour++) {
    clock.advance(3_600_000);
    await turns(2);
  }
  clock.advance(systemClock.now() - clock.now());
  assert.equal(receiver.connections, connections);
});

test("[verification.challenge.fresh] every attempt has a challenge and an id of its own, also under one key", async () => {
  const key = server.freshKey();
  const seen = new Set<string>();
  answer = (_, response) => response.writeHead(500).end();
  for (let i = 0; i < 10; i++) {
    await tryProvision(scene, scene.delivery(), key);
    const { challenge, id } = messageOf(receiver.requests.at(-1) as Received);
    // Version 4: 122 unpredictable bits.
    assert.match(challenge, /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-/);
    seen.add(challenge).add(id);
  }
  answer = answerChallenge;
  assert.equal(seen.size, 20);
});

test("[verification.challenge.fresh] the challenge of a failed attempt is not valid afterwards", async () => {
  const key = server.freshKey();
  answer = (_, response) => response.writeHead(500).end();
  await tryProvision(scene, scene.delivery(), key);
  const stale = challengeOf(messageOf(receiver.requests.at(-1) as Received));
  answer = (_, response) => response.writeHead(200).end(stale);
  const again = await tryProvision(scene, scene.delivery(), key);
  answer = answerChallenge;
  assertRefused(again, 422, "webhook_verification_failed", "delivery");
});

test("[signature.headers] [signature.timestamp] a verification carries its id, the seconds of the attempt and a signature", async () => {
  const received = await verify();
  const { headers } = received;
  assert.equal(headers["webhook-id"], messageOf(received).id);
  assert.equal(headers["webhook-timestamp"], String(Math.floor(clock.now() / 1000)));
  assert.match(String(headers["webhook-signature"]), /^v1,[A-Za-z0-9+/]{43}=$/);
  assert.equal(headers["content-type"], "application/json");
  assert.equal(headers["content-length"], String(received.body.length));
});

test("[signature.value] the signature is the HMAC of id, timestamp and exact body under the proposed secret", async () => {
  const { headers, body } = await verify();
  const key = Buffer.from(SIGNING_SECRET.slice("whsec_".length), "base64");
  const signed = `${headers["webhook-id"]}.${headers["webhook-timestamp"]}.${body}`;
  const digest = createHmac("sha256", key).update(signed).digest("base64");
  assert.equal(headers["webhook-signature"], `v1,${digest}`);
});

test("[signature.value] another implementation accepts the signature, and rejects every changed message", async () => {
  const { headers, body } = await verify();
  const webhook = new Webhook(SIGNING_SECRET);
  const sent = headers as Record<string, string>;
  assert.deepEqual(webhook.verify(body.toString(), sent), JSON.parse(body.toString()));
  assert.throws(() => webhook.verify(`${body} `, sent));
  const seconds = Number(sent["webhook-timestamp"]);
  assert.throws(() =>
    webhook.verify(body.toString(), { ...sent, "webhook-timestamp": `${seconds - 1}` }),
  );
  assert.throws(() => webhook.verify(body.toString(), { ...sent, "webhook-id": "another" }));
});

test("[signature.fresh] two attempts with one input have other timestamps and signatures", async () => {
  const first = await verify();
  clock.advance(1_000);
  const second = await verify();
  const seconds = [first, second].map(({ headers }) => Number(headers["webhook-timestamp"]));
  assert.equal(seconds[1], (seconds[0] ?? 0) + 1);
  assert.notEqual(first.headers["webhook-signature"], second.headers["webhook-signature"]);
});

test("[signature.no-credentials] a verification carries no token and no secret", async () => {
  const { headers, body, path } = await verify();
  assert.deepEqual(Object.keys(headers).sort(), [
    "accept-encoding",
    "connection",
    "content-length",
    "content-type",
    "host",
    "user-agent",
    "webhook-id",
    "webhook-signature",
    "webhook-timestamp",
  ]);
  const text = `${path} ${JSON.stringify(headers)} ${body}`;
  for (const secret of [scene.provisioner, scene.reviewer, SIGNING_SECRET.slice(6, -1), "cs_"]) {
    assert.equal(text.includes(secret), false);
  }
});

test("[verification.success] a 200 with the challenge succeeds, for any JSON layout and content type", async () => {
  const layouts: readonly ((challenge: string) => string)[] = [
    (challenge) => ` {\r\n\t"challenge" : "${challenge}"\n} \n`,
    (challenge) =>
      `{"\\u0063hallenge":"\\u00${challenge.charCodeAt(0).toString(16)}${challenge.slice(1)}"}`,
    // All that is read of an answer.
    (challenge) => `{"challenge":"${challenge}"}`.padEnd(4_096),
  ];
  for (const layout of layouts) {
    const status = await verifyAgainst((received, response) => {
      response.writeHead(200, { "content-type": "text/html" });
      response.end(layout(messageOf(received).challenge));
    });
    assert.equal(status, 201);
  }
});

test("[verification.success] an answer in pieces, after interim ones, succeeds when it is complete", async () => {
  const status = await verifyAgainst((received, response) => {
    response.writeProcessing();
    const text = challengeOf(messageOf(received));
    response.writeHead(200).flushHeaders();
    for (const character of text) response.write(character);
    response.end();
  });
  assert.equal(status, 201);
});

test("[verification.success] an answer in the last millisecond of the ten seconds succeeds, and one at their end does not", async (t) => {
  for (const [afterMs, expected] of [
    [9_999, 201],
    [10_000, 422],
  ] as const) {
    const manual = new ManualVerifications();
    const slow = await startWebhookScene(t, { onVerification: manual.receive });
    const rows = await countRows(slow.server);
    const provisioning = tryProvision(slow, slow.delivery());
    const verification = await manual.arrived(1);
    slow.clock.advance(afterMs);
    verification.accept();
    const { status } = await provisioning;
    assert.equal(status, expected);
    if (status === 422) assert.deepEqual(await countRows(slow.server), rows);
  }
});

test("[verification.success] an answer with a late end fails", async (t) => {
  const started = Promise.withResolvers<void>();
  const slow = await startWebhookScene(t, {
    onVerification: (received, response) => {
      const text = challengeOf(messageOf(received));
      response.writeHead(200, { "content-length": text.length });
      response.write(text.slice(0, -1), () => started.resolve());
    },
  });
  const provisioning = tryProvision(slow, slow.delivery());
  await started.promise;
  slow.clock.advance(10_000);
  assertRefused(await provisioning, 422, "webhook_verification_failed", "delivery");
});

/** Answers that prove nothing, by what is wrong with them. */
const UNPROVEN: Readonly<Record<string, AnswerMessage>> = {
  "204": (_, response) => response.writeHead(204).end(),
  "200 without a body": (_, response) => response.writeHead(200).end(),
  "200 with an empty object": replying(200, () => "{}"),
  "200 with another challenge": replying(200, () =>
    JSON.stringify({ challenge: "00000000-0000-4000-8000-000000000000" }),
  ),
  "200 with the id in place of the challenge": replying(200, ({ id }) =>
    JSON.stringify({ challenge: id }),
  ),
  "200 with the challenge in capitals": replying(200, ({ challenge }) =>
    // A UUID without a letter would be the same: all but one in a million million have one.
    JSON.stringify({ challenge: challenge.toUpperCase() }),
  ),
  "200 with the challenge and a space": replying(200, ({ challenge }) =>
    JSON.stringify({ challenge: `${challenge} ` }),
  ),
  "200 with the challenge in a list": replying(200, ({ challenge }) =>
    JSON.stringify({ challenge: [challenge] }),
  ),
  "200 with the challenge alone": replying(200, ({ challenge }) => JSON.stringify(challenge)),
  "200 with the challenge bare": replying(200, ({ challenge }) => challenge),
  "200 with the challenge deeper": replying(200, (message) => `{"data":${challengeOf(message)}}`),
  "200 with a list": replying(200, (message) => `[${challengeOf(message)}]`),
  "200 with the challenge under another name": replying(200, ({ challenge }) =>
    JSON.stringify({ Challenge: challenge }),
  ),
  "200 with another field": replying(200, ({ challenge }) =>
    JSON.stringify({ challenge, status: "ok" }),
  ),
  "200 with two challenges": replying(
    200,
    ({ challenge, id }) => `{"challenge":"${id}","challenge":"${challenge}"}`,
  ),
  "the whole message sent back": ({ body }, response) => response.writeHead(200).end(body),
  "201 with the challenge": replying(201, challengeOf),
  "202 with the challenge": replying(202, challengeOf),
  "207 with the challenge": replying(207, challengeOf),
  "broken JSON": replying(200, (message) => challengeOf(message).slice(0, -1)),
  "JSON and more": replying(200, (message) => `${challengeOf(message)}{}`),
  "JSON with a comment": replying(200, (message) => `${challengeOf(message)}//`),
  "a byte order mark": replying(200, (message) => `\uFEFF${challengeOf(message)}`),
  "UTF-16": (received, response) =>
    response.writeHead(200).end(Buffer.from(challengeOf(messageOf(received)), "utf16le")),
  "a byte that is not UTF-8": (received, response) => {
    const text = Buffer.from(challengeOf(messageOf(received)));
    response.writeHead(200).end(Buffer.concat([text, Buffer.of(0xff)]));
  },
  "a byte more than 4 KiB": replying(200, (message) => challengeOf(message).padEnd(4_097)),
  "1 MiB": replying(200, (message) => challengeOf(message).padEnd(1_048_576)),
  "400": replying(400, challengeOf),
  "401": replying(401, challengeOf),
  "403": replying(403, challengeOf),
  "404": replying(404, challengeOf),
  "410": replying(410, challengeOf),
  "429": replying(429, challengeOf),
  "500": replying(500, challengeOf),
  "503": replying(503, challengeOf),
  "a connection that breaks": (_, response) => response.destroy(),
};

function replying(status: number, write: (message: WebhookVerification) => string): AnswerMessage {
  return (received, response) => {
    response.writeHead(status, { "content-type": "application/json" });
    response.end(write(messageOf(received)));
  };
}

test("[verification.bare-2xx] [verification.success] [ours.verification.fixed-text] every answer except a 200 with the challenge fails with the same error and creates nothing", async () => {
  const rows = await countRows(server);
  for (const [what, how] of Object.entries(UNPROVEN)) {
    answer = how;
    const { connections } = receiver;
    const refused = await tryProvision(scene, scene.delivery());
    assert.equal(refused.status, 422, what);
    assertRefused(refused, 422, "webhook_verification_failed", "delivery");
    assert.equal(refused.json.error.message, PROBLEMS.webhook_verification_failed.message, what);
    assert.equal(refused.headers.get("retry-after"), null, what);
    assert.equal(receiver.connections, connections + 1, what);
  }
  answer = answerChallenge;
  assert.deepEqual(await countRows(server), rows);
});

test("[verification.success] an answer with a member other than the challenge returns 422, as in the served description", async () => {
  const { components } = parse(await (await fetch(`${server.url}/openapi.yaml`)).text());
  const { properties, additionalProperties } = components.schemas.WebhookVerificationResponse;
  assert.deepEqual(Object.keys(properties), ["challenge"]);
  assert.equal(additionalProperties, false);
  const how = UNPROVEN["200 with another field"];
  assert.ok(how);
  assert.equal(await verifyAgainst(how), 422);
});

test("[delivery.url.no-redirects] a redirect is not followed, even to a receiver that answers the challenge", async () => {
  for (const status of [301, 302, 303, 307, 308]) {
    answer = (received, response) => {
      const { challenge } = messageOf(received);
      const location = receiver.url("/elsewhere");
      if (received.path === "/elsewhere") answerChallenge(received, response);
      else response.writeHead(status, { location }).end(JSON.stringify({ challenge }));
    };
    const { connections } = receiver;
    const refused = await tryProvision(scene, scene.delivery());
    assertRefused(refused, 422, "webhook_verification_failed", "delivery");
    assert.equal(receiver.connections, connections + 1);
  }
  answer = answerChallenge;
});
