/**
 * The background of a request that a reviewer sees: similar calls, and the timeline.
 */

import assert from "node:assert/strict";
import { after, test } from "node:test";
import { submitRequiring } from "./support/requirements.ts";
import { cancel, startScene, submitBody } from "./support/scene.ts";
import type { Answer } from "./support/test-provider.ts";
import { until } from "./support/until.ts";

const scene = await startScene({ after }, { settings: { retention: "1000h" } });
const { server, clock, instance, reviewer } = scene;

interface Background {
  readonly last_approved: { readonly id: string; readonly arguments_sha256: string } | null;
  readonly similar: Readonly<Record<string, unknown>>;
  readonly denied_before: Readonly<Record<string, unknown>> | null;
  readonly timeline: readonly Readonly<Record<string, string>>[];
  readonly now: string;
}

async function background(id: string, token = reviewer): Promise<Answer<Background>> {
  const path = `/review/v1/requests/${id}/background`;
  const answer = await server.call<Background>("GET", path, { token });
  assert.equal(answer.status, 200, answer.text);
  return answer;
}

async function submit(
  tool: string,
  args: string,
  decided?: "approve" | "deny",
  token = instance.token,
): Promise<string> {
  const body = `{"tool":${JSON.stringify(tool)},"arguments":${args},"timeout":"24h"}`;
  const { json } = await submitBody(server, token, body);
  if (decided !== undefined) await server.decide(reviewer, json.id, decided, { note: decided });
  // Calls of the same millisecond have no order.
  clock.advance(1);
  return json.id;
}

test("[ours.background.approved] the last approved call of the same tool and instance comes with its exact arguments", async () => {
  const first = await submit("pay", '{"n":1}');
  assert.equal((await background(first)).json.last_approved, null);
  await submit("pay", '{"n":2}', "approve");
  const exact = '{ "n": 9007199254740993, "d": 1.10 }';
  const approved = await submit("pay", exact, "approve");
  await submit("pay", '{"n":3}', "deny");
  await submit("pay!", '{"n":4}', "approve");
  const other = await server.instance();
  await submit("pay", '{"n":5}', "approve", other.token);
  const submitted = await submit("pay", '{"n":6}');
  await submit("pay", '{"n":7}', "approve");
  const { json, text } = await background(submitted);
  assert.equal(json.last_approved?.id, approved);
  assert.ok(text.includes(`"arguments":${exact}`), text);
  assert.deepEqual(Object.keys(json.last_approved ?? {}), [
    "id",
    "created_at",
    "decided_at",
    "decided_by",
    "arguments_sha256",
    "arguments",
  ]);
});

test("[ours.background.similar] outcomes of similar calls in the thirty days before a request are counted, later ones are not", async () => {
  const old = await submit("count", "{}", "approve");
  clock.advance(30 * 86_400_000);
  assert.equal((await background(old)).json.similar.approved, 0);
  for (const verdict of ["approve", "approve", "deny"] as const) {
    await submit("count", "{}", verdict);
  }
  await cancel(server, instance.token, await submit("count", "{}"));
  await submit("count", "{}");
  const submitted = await submit("count", "{}");
  await submit("count", "{}", "approve");
  const { since, ...counts } = (await background(submitted)).json.similar;
  assert.deepEqual(counts, {
    approved: 2,
    denied: 1,
    expired: 0,
    cancelled: 1,
    pending: 1,
    complete: true,
  });
  assert.equal(typeof since, "string");
});

test("[ours.background.similar] names that differ behind what an index has of them are different tools", async () => {
  const long = "é".repeat(300);
  await submit(`${long}a`, "{}", "approve");
  const own = await submit(`${long}b`, '{"own":1}', "approve");
  const submitted = await submit(`${long}b`, "{}");
  const { last_approved, similar } = (await background(submitted)).json;
  assert.deepEqual([last_approved?.id, similar.approved], [own, 1]);
});

test("[ours.background.denied] an earlier denial with the same arguments is shown", async () => {
  const denied = await submit("drop", '{"a":1}', "deny");
  await submit("drop", '{"a":1.0}', "deny");
  await submit("drop", '{"a":1}', "approve");
  const submitted = await submit("drop", '{"a":1}');
  const shown = (await background(submitted)).json.denied_before;
  assert.deepEqual([shown?.id, shown?.note], [denied, "deny"]);
  assert.match(String(shown?.decided_by), /^reviewer:/);
  assert.equal(typeof shown?.decider, "string", "its name is known");
  const other = await submit("drop", '{"a": 1}');
  assert.equal((await background(other)).json.denied_before, null);
});

test("[ours.background.timeline] the timeline of a request is in order, with names", async () => {
  const { id } = await submitRequiring(scene, { quorum: 2, confirm: { kind: "match" } });
  const confirmation = id.slice(-4);
  const li = await server.token({ kind: "reviewer", name: "li" });
  const kinds = async (token?: string) => {
    const { timeline } = (await background(id, token)).json;
    return timeline.map(({ kind, name }) => [kind, name].join(" "));
  };
  await server.decide(li, id, "approve", { confirmation: "wrong" });
  clock.advance(1);
  await server.decide(li, id, "approve", { confirmation, hold: "5s" });
  clock.advance(1);
  await server.call("DELETE", `/review/v1/requests/${id}/held`, { token: li });
  clock.advance(1);
  await server.decide(li, id, "approve", { confirmation });
  clock.advance(1);
  await server.decide(reviewer, id, "approve", { confirmation });
  const own = [
    "request.opened ",
    "confirmation.missed li",
    "verdict.held li",
    "verdict.taken_back li",
    "vote.cast li",
    "vote.cast reviewer",
    "request.resolved reviewer",
  ];
  assert.deepEqual(await kinds(li), own);
  assert.deepEqual(
    await kinds(),
    own.filter((entry) => !/held|taken/.test(entry)),
  );
  const { timeline } = (await background(id)).json;
  assert.equal(timeline.at(-1)?.status, "approved");
});

test("[ours.background.timeline] a verdict that lapsed says why", async () => {
  const id = await submit("lapse", "{}");
  await server.decide(reviewer, id, "approve", { hold: "5s" });
  await cancel(server, instance.token, id);
  clock.advance(5_000);
  await until(async () => {
    clock.advance(0);
    const { timeline } = (await background(id)).json;
    return timeline.some(
      ({ kind, reason }) => `${kind} ${reason}` === "verdict.lapsed already_terminal",
    );
  }, "it lapses");
});

test("[ours.background.timeline] entries of the same millisecond are in the order of cause and effect", async () => {
  // The ids of the entries are random, so one request could be in order by chance.
  const ids: string[] = [];
  for (let i = 0; i < 8; i++) {
    const { id } = await submitRequiring(scene, { quorum: 2 });
    await server.decide(reviewer, id, "approve", { hold: "5s" });
    ids.push(id);
  }
  clock.advance(5_000);
  for (const id of ids) {
    await until(async () => {
      clock.advance(0);
      const { timeline } = (await background(id)).json;
      return timeline.some(({ kind }) => kind === "verdict.cast");
    }, "the verdict takes effect");
    const { timeline } = (await background(id)).json;
    assert.deepEqual(
      timeline.map(({ kind }) => kind),
      ["request.opened", "verdict.held", "verdict.cast", "vote.cast"],
    );
    const [cast, vote] = timeline.slice(-2);
    assert.equal(cast?.at, vote?.at);
  }
});
