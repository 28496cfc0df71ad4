import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import type { ProvisionInstanceResponse } from "@countersign/protocol";
import { drawUnknownToken } from "./support/credentials.ts";
import { assertRefused } from "./support/envelope.ts";
import { ManualClock } from "./support/manual-clock.ts";
import { callOperation, type Stage, setStage } from "./support/operation-calls.ts";
import { type Answer, startTestProvider, type TestProvider } from "./support/test-provider.ts";

/** Exchanges a second; a burst may be twice that. */
const RATE = 2;
const BURST = 2 * RATE;

const LIMITED = {
  instance_rate: String(RATE),
  provisioner_rate: String(RATE),
  reviewer_rate: String(RATE),
  unauthenticated_rate: String(RATE),
};

async function start(
  t: TestContext,
  settings: Readonly<Record<string, string>> = LIMITED,
): Promise<{ readonly server: TestProvider; readonly stage: Stage; readonly clock: ManualClock }> {
  const clock = new ManualClock();
  const server = await startTestProvider(t, { clock, settings });
  const stage = await setStage(server);
  // The calls that set the stage are restored.
  clock.advance(BURST * 1000);
  return { server, stage, clock };
}

/** One exchange of each kind of credential that has no effect except to be counted. */
const EXCHANGES = {
  instance: (server: TestProvider, token: string) =>
    server.call("GET", "/v1/requests/no-identifier", { token }),
  provisioner: (server: TestProvider, token: string) =>
    server.call("GET", "/v1/instances/no-identifier", { token }),
  reviewer: (server: TestProvider, token: string) =>
    server.call("GET", "/review/v1/requests/no-identifier", { token }),
};

function tokenOf(
  server: TestProvider,
  kind: keyof typeof EXCHANGES,
  name: string,
): Promise<string> {
  if (kind !== "instance") return server.token({ kind, name });
  return setStage(server, name).then(({ credential }) => credential);
}

async function statusesOf(count: number, exchange: () => Promise<Answer>): Promise<number[]> {
  const statuses: number[] = [];
  for (let i = 0; i < count; i++) statuses.push((await exchange()).status);
  return statuses;
}

for (const kind of ["instance", "provisioner", "reviewer"] as const) {
  test(`[ours.limit.rate] [error.rate-limited] [error.retry-after] one ${kind} above its rate gets 429 with Retry-After; another is not slowed`, async (t) => {
    const { server, clock } = await start(t);
    const one = await tokenOf(server, kind, "one");
    const other = await tokenOf(server, kind, "other");
    clock.advance(BURST * 1000);
    const exchange = (token: string) => EXCHANGES[kind](server, token);
    assert.deepEqual(await statusesOf(BURST, () => exchange(one)), Array(BURST).fill(404));
    const refused = await exchange(one);
    assertRefused(refused, 429, "rate_limited");
    assert.match(refused.headers.get("retry-after") ?? "", /^[1-9][0-9]*$/);
    assert.deepEqual(await statusesOf(BURST, () => exchange(other)), Array(BURST).fill(404));
  });
}

test("[ours.limit.rate] after Retry-After the credential may go on, at its rate", async (t) => {
  const { server, stage, clock } = await start(t);
  const exchange = () => callOperation(server, "getApprovalRequest", stage);
  await statusesOf(BURST, exchange);
  const refused = await exchange();
  assert.equal(refused.status, 429);
  clock.advance(Number(refused.headers.get("retry-after")) * 1000);
  assert.deepEqual(await statusesOf(RATE + 1, exchange), [...Array(RATE).fill(200), 429]);
});

test("[ours.limit.rate] a rejected exchange does not count, and a pause restores at most one burst", async (t) => {
  const { server, stage, clock } = await start(t);
  const exchange = () => callOperation(server, "getApprovalRequest", stage);
  await statusesOf(BURST + 10, exchange);
  clock.advance(1000);
  assert.deepEqual(await statusesOf(RATE + 1, exchange), [...Array(RATE).fill(200), 429]);
  clock.advance(3_600_000);
  const another = { ...stage, requestId: "no-identifier" };
  const later = () => callOperation(server, "getApprovalRequest", another);
  assert.deepEqual(await statusesOf(BURST + 1, later), [...Array(BURST).fill(404), 429]);
});

test("[ours.limit.rate] the two tokens of one provisioner have a rate each", async (t) => {
  const { server, stage, clock } = await start(t);
  const second = await server.token({ kind: "provisioner" });
  clock.advance(BURST * 1000);
  const exchange = (token: string) => callOperation(server, "getInstance", stage, { token });
  const first = await statusesOf(BURST + 1, () => exchange(stage.provisioner));
  assert.equal(first.at(-1), 429);
  assert.equal((await exchange(second)).status, 200);
});

test("[ours.limit.rate] a rejected submission creates no request and may be sent again", async (t) => {
  const { server, stage, clock } = await start(t);
  const submit = () => callOperation(server, "createApprovalRequest", stage, { key: "the key" });
  await statusesOf(BURST, () => callOperation(server, "getApprovalRequest", stage));
  assertRefused(await submit(), 429, "rate_limited");
  clock.advance(1000);
  assert.equal((await submit()).status, 201);
});

test("[ours.limit.account-submissions] all instances of one provisioner submit at one rate, and those of another are not slowed", async (t) => {
  const settings = { account_submission_rate: String(RATE) };
  const { server, stage, clock } = await start(t, settings);
  const sibling = await callOperation<ProvisionInstanceResponse>(
    server,
    "provisionInstance",
    stage,
  );
  const { credential } = sibling.json;
  const other = await setStage(server, "other");
  clock.advance(BURST * 1000);
  const tokens = [stage.credential, credential.token];
  let turn = 0;
  const submit = () =>
    callOperation(server, "createApprovalRequest", stage, { token: tokens[turn++ % 2] });
  assert.deepEqual(await statusesOf(BURST, submit), Array(BURST).fill(201));
  for (const token of tokens) {
    const refused = await callOperation(server, "createApprovalRequest", stage, { token });
    assertRefused(refused, 429, "rate_limited");
    assert.match(refused.headers.get("retry-after") ?? "", /^[1-9][0-9]*$/);
  }
  assert.equal((await callOperation(server, "createApprovalRequest", other)).status, 201);
  assert.equal((await callOperation(server, "getApprovalRequest", stage)).status, 200);
  clock.advance(1000);
  assert.deepEqual(await statusesOf(RATE + 1, submit), [...Array(RATE).fill(201), 429]);
});

test("[ours.limit.rate] an address that fails to authenticate is slowed, and valid credentials from there are not", async (t) => {
  const { server, stage } = await start(t);
  const attempts: (() => Promise<Answer>)[] = [
    () => callOperation(server, "getInstance", stage, { token: undefined }),
    () =>
      callOperation(server, "getInstance", stage, { token: drawUnknownToken(server, "instance") }),
  ];
  for (let i = 0; i < BURST; i++) {
    assertRefused((await attempts[i % 2]?.()) as Answer, 401, "invalid_credential");
  }
  for (const attempt of attempts) {
    const refused = await attempt();
    assertRefused(refused, 429, "rate_limited");
    assert.match(refused.headers.get("retry-after") ?? "", /^[1-9][0-9]*$/);
  }
  assert.equal((await callOperation(server, "getInstance", stage)).status, 200);
});

for (const [rate, isLimited] of [
  ["1", true],
  ["3", true],
  ["0", false],
] as const) {
  test(`[ours.limit.rate.configurable] a rate of ${rate} is ${isLimited ? "the limit of its option" : "no limit"}`, async (t) => {
    const settings = { instance_rate: rate, provisioner_rate: rate, reviewer_rate: rate };
    const { server, stage, clock } = await start(t, { ...settings, unauthenticated_rate: rate });
    const exchanges: (() => Promise<Answer>)[] = [
      () => callOperation(server, "getInstance", stage, { token: undefined }),
    ];
    for (const kind of ["instance", "provisioner", "reviewer"] as const) {
      const token = await tokenOf(server, kind, "one");
      exchanges.push(() => EXCHANGES[kind](server, token));
    }
    clock.advance(60_000);
    for (const exchange of exchanges) {
      const burst = await statusesOf(2 * Number(rate), exchange);
      assert.ok(!burst.includes(429));
      const more = await statusesOf(isLimited ? 1 : 20, exchange);
      assert.equal(more.includes(429), isLimited);
    }
  });
}

test("[ours.limit.rate.configurable] the rates that hold by default are generous", async (t) => {
  const { server, stage } = await start(t, {});
  const exchange = () => callOperation(server, "getApprovalRequest", stage);
  const statuses = await statusesOf(150, exchange);
  assert.ok(!statuses.includes(429));
});
