/**
 * The provisioner with the real provider, over a network that loses answers, and with liars.
 */

import assert from "node:assert/strict";
import { test } from "node:test";
import { inspect } from "node:util";
import { ApprovalClient, Provisioner, proposeDelivery, type SdkError } from "@countersign/sdk";
import { startTestProvider } from "../../server/test/support/test-provider.ts";

const ANYWHERE = { url: "http://localhost:1", token: "t0ken" };
const ID = "0197f3c5-3e7c-7a7e-8d3b-000000000001";
const OTHER_ID = "0197f3c5-3e7c-7a7e-8d3b-000000000003";
const DELIVERY = proposeDelivery("https://a.example/hook");

test("[ours.sdk.provisioner] a lost answer is retried with the same key: there is one instance and one credential", async (t) => {
  const server = await startTestProvider(t);
  const token = await server.token({ kind: "provisioner" });
  let left = 2;
  const losing: typeof fetch = async (input, init) => {
    const response = await fetch(input, init);
    if (left-- <= 0) return response;
    throw new TypeError("fetch failed");
  };
  const provisioner = new Provisioner({ url: server.url, token, fetch: losing });
  const { instance, credential } = await provisioner.create();
  const { store } = server.provider.context;
  assert.equal(Number((await store.get("select count(*) as n from instance"))?.n), 1);
  left = 9;
  const lost = new Provisioner({ url: server.url, token, fetch: losing, retryFor: "1ms" });
  const error = await lost.create().catch((thrown: SdkError) => thrown);
  assert.ok(
    error instanceof Error && error.code === "unavailable" && error.idempotencyKey !== undefined,
  );
  left = 0;
  const again = await provisioner.create({ idempotencyKey: error.idempotencyKey });
  assert.notEqual(again.instance.id, instance.id);
  assert.notEqual(again.credential.take(), credential.take());
  assert.equal(Number((await store.get("select count(*) as n from instance"))?.n), 2);
});

test("[ours.sdk.provisioner.credential] a credential is handed over once, and printed never", async (t) => {
  const server = await startTestProvider(t);
  const token = await server.token({ kind: "provisioner" });
  const created = await new Provisioner({ url: server.url, token }).create();
  const shown = inspect(created, { depth: 9, showHidden: true }) + JSON.stringify(created);
  const credential = created.credential.take();
  assert.match(credential, /^cs_inst_/);
  assert.ok(!shown.includes(credential));
  assert.throws(() => created.credential.take(), { code: "credential_taken" });
  assert.ok(
    await new ApprovalClient({ url: server.url, apiKey: credential }).create({
      idempotencyKey: "k",
      tool: "t",
      arguments: {},
      timeout: "1m",
    }),
  );
});

test("[ours.sdk.provisioner] an unknown or missing option is rejected with its name", () => {
  const cases: [object, RegExp][] = [
    [{ ...ANYWHERE, apiKey: "t" }, /Unknown option of new Provisioner\(\): "apiKey"/],
    [{ url: ANYWHERE.url }, /Missing or invalid provisioner token/],
    [{ ...ANYWHERE, url: undefined }, /url is undefined/],
  ];
  for (const [options, message] of cases) {
    const create = () => new Provisioner(options as typeof ANYWHERE);
    assert.throws(create, { code: "invalid_option", message });
  }
});

test("[ours.sdk.provisioner] every proposed delivery has a registration and a secret of its own", () => {
  const [one, other] = [proposeDelivery("https://a.example"), proposeDelivery("https://a.example")];
  assert.match(one.signingSecret, /^whsec_[A-Za-z0-9+/]{43}=$/);
  assert.notEqual(one.signingSecret, other.signingSecret);
  assert.notEqual(one.registrationId, other.registrationId);
  for (const url of ["http://a.example", "https://u@a.example", "https://a.example#x", "a"]) {
    assert.throws(() => proposeDelivery(url), { code: "invalid_call" }, url);
  }
});

test("[ours.sdk.client.strict] an answer that breaks the contract, or has another instance, is rejected", async () => {
  const id = ID;
  const delivery = { type: "webhook", url: DELIVERY.url, registration_id: DELIVERY.registrationId };
  const instance = { id, name: "a", delivery };
  const credential = { token: "t" };
  const wrongAnswers: object[] = [
    { instance },
    { instance, credential, extra: 1 },
    { instance: { ...instance, extra: 1 }, credential },
    { instance: { id, name: "a" }, credential },
    { instance: { ...instance, delivery: { ...delivery, registration_id: id } }, credential },
    { instance: { ...instance, delivery: { ...delivery, signing_secret: "x" } }, credential },
    { instance, credential: { token: "" } },
    { instance, credential: { token: "t", expires_at: null } },
    { instance: { ...instance, name: "" }, credential },
  ];
  const answers = (body: object) => {
    const fetch = async () => Response.json(body);
    return new Provisioner({ ...ANYWHERE, fetch });
  };
  for (const wrong of wrongAnswers) {
    const creating = answers(wrong).create({ delivery: DELIVERY });
    await assert.rejects(creating, { code: "invalid_answer" }, JSON.stringify(wrong));
  }
  assert.ok(await answers({ instance, credential }).create({ delivery: DELIVERY }));
  await assert.rejects(answers(instance).read(OTHER_ID), { code: "invalid_answer" });
  await assert.rejects(answers(instance).update(id, { delivery: null }), {
    code: "invalid_answer",
  });
});

test("[ours.sdk.client.secret] a signing secret that a provider repeats is in no error", async () => {
  const repeating: typeof fetch = async (_, init) => {
    const error = { message: String(init?.body), code: "x", type: "internal", request_id: "x" };
    return Response.json({ error }, { status: 422 });
  };
  const provisioner = new Provisioner({ ...ANYWHERE, fetch: repeating });
  const error = await provisioner
    .create({ delivery: DELIVERY })
    .catch((thrown: SdkError) => thrown);
  assert.ok(error instanceof Error);
  assert.match(error.message, /\[secret\]/);
  assert.ok(!inspect(error).includes(DELIVERY.signingSecret));
});
