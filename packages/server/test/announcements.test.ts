/**
 * Channels announce pending requests to reviewers.
 */

import assert from "node:assert/strict";
import { test } from "node:test";
import { CHANNELS_PER_PROJECT_MAX } from "../src/core/channel.ts";
import { SERVED_OF_PROJECT_MAX } from "../src/outbox/channel-destination.ts";
import {
  announcements,
  channelOf,
  copyAnnouncements,
  newChannel,
  passTime,
  startChannelScene,
  textOf,
  untilEnded,
  untilNotified,
} from "./support/channel-scene.ts";
import { ManualMessages } from "./support/notifications.ts";
import { enforce, policyOf } from "./support/policies.ts";
import { cancel, submitBody } from "./support/scene.ts";
import { projectPath } from "./support/test-projects.ts";
import { SUBMISSION } from "./support/test-provider.ts";

test("[ours.notify.one-message] a pending request is announced once through each channel", async (t) => {
  const scene = await startChannelScene(t);
  const { server, instance } = scene;
  await enforce(
    server,
    policyOf(
      '{ id: prod, match: { tool: "*" }, then: ask, note: Deploys to production, ' +
        "ask: { from: [group:ops, group:leads], quorum: 2 } }",
    ),
  );
  await newChannel(scene, "all");
  await newChannel(scene, "both", { groups: ["ops", "leads"] });
  await newChannel(scene, "others", { groups: ["sales", "*"] });
  const key = server.freshKey();
  const first = await submitBody(server, instance.token, SUBMISSION, key);
  assert.equal(first.status, 201, first.text);
  assert.equal((await submitBody(server, instance.token, SUBMISSION, key)).status, 200);
  const rows = await untilEnded(scene);
  await passTime(scene, 5_000);
  assert.deepEqual(
    rows.map(({ ended_by, occasion }) => [ended_by, occasion]),
    [
      ["sent", "opened"],
      ["sent", "opened"],
    ],
  );
  assert.deepEqual([scene.at("/all").length, scene.at("/both").length], [1, 1]);
  assert.equal(scene.at("/others").length, 0);
  const [message] = scene.at("/both");
  assert.ok(message);
  const text = textOf(message);
  const { name } = await server
    .call<{ instance: { name: string } }>("GET", `/review/v1/requests/${first.json.id}`, {
      token: scene.reviewer,
    })
    .then(({ json }) => json.instance);
  assert.equal(
    text,
    [
      `\`deploy\` of \`${name}\` waits for a decision.`,
      `Time left: 1h (until ${first.json.deadline_at})`,
      "Why: `Deploys to production` (rule `prod`)",
      "Needs: 2 approvals of `group:leads or group:ops`",
      `https://countersign.example${await projectPath(scene.server)}/inbox/${first.json.id}`,
    ].join("\n"),
  );
});

test("[ours.notify.groups] a channel with groups announces requests that name one of them; * means requests without names", async (t) => {
  const scene = await startChannelScene(t);
  const { server, instance } = scene;
  const rules = [
    "{ id: a, match: { tool: a }, then: ask, ask: { from: [group:ops] } }",
    "{ id: b, match: { tool: b }, then: ask, ask: { from: [reviewer:anna] } }",
    "{ id: c, match: { tool: c }, then: ask }",
  ];
  await enforce(server, policyOf(...rules));
  await newChannel(scene, "ops", { groups: ["ops"] });
  await newChannel(scene, "anybody", { groups: ["*"] });
  await newChannel(scene, "all");
  for (const tool of ["a", "b", "c"]) {
    await server.submit(instance.token, { tool });
    await untilEnded(scene);
  }
  const toolsAt = (path: string) => scene.at(path).map((each) => textOf(each).slice(1, 2));
  assert.deepEqual(toolsAt("/ops"), ["a"]);
  assert.deepEqual(toolsAt("/anybody"), ["c"]);
  assert.deepEqual(toolsAt("/all"), ["a", "b", "c"]);
});

test("[ours.notify.only-asked] requests that policy decides, and those of other projects, are not announced", async (t) => {
  const scene = await startChannelScene(t);
  const { server, instance } = scene;
  await enforce(
    server,
    policyOf(
      "{ id: yes, match: { tool: read }, then: approve }",
      "{ id: no, match: { tool: drop }, then: deny }",
    ),
  );
  await newChannel(scene, "all");
  const elsewhere = await server.instance("elsewhere");
  await server.submit(elsewhere.token);
  await server.submit(instance.token, { tool: "read" });
  await server.submit(instance.token, { tool: "drop" });
  assert.deepEqual(await announcements(scene), []);
  await server.submit(instance.token);
  await untilEnded(scene);
  assert.equal(scene.receiver.requests.length, 1);
});

test("[ours.notify.retried] a failed channel is retried, without requests that were resolved or expired in the meantime", async (t) => {
  let status = 500;
  const scene = await startChannelScene(t, {
    answer: (_, response) => response.writeHead(status).end("secret answer"),
  });
  const { server, instance, clock } = scene;
  const channel = await newChannel(scene, "all");
  const cancelled = await server.submit(instance.token);
  const hasFailed = async () => (await channelOf(scene, channel.id)).failures === 1;
  await untilNotified(scene, hasFailed, "the first message fails");
  await server.submit(instance.token, { timeout: "1s" });
  await cancel(server, instance.token, cancelled.id);
  clock.advance(1_500);
  status = 204;
  const left = await server.submit(instance.token);
  await passTime(scene, 4_000);
  const rows = await untilEnded(scene);
  assert.deepEqual(
    rows.map((row) => row.ended_by).sort(),
    // The one of a second had expired, or was seen to be late.
    rows.some((row) => row.ended_by === "window")
      ? ["resolved", "sent", "window"]
      : ["resolved", "resolved", "sent"],
  );
  assert.equal(rows.find((row) => row.request_id === left.id)?.ended_by, "sent");
  const texts = scene.at("/all").map(textOf);
  assert.equal(texts.filter((text) => text.includes(left.id)).length, 1);
  assert.equal(texts.length, 2);
  const { failures, last } = await channelOf(scene, channel.id);
  assert.deepEqual([failures, last?.outcome, last?.status], [0, "sent", 204]);
});

test("[ours.notify.retried] a request that is resolved during the connection is not announced", async (t) => {
  const lookups: (() => void)[] = [];
  const resolver = {
    async resolve() {
      await new Promise<void>((resolve) => lookups.push(resolve));
      return ["127.0.0.1"];
    },
  };
  const scene = await startChannelScene(t, { resolver });
  await newChannel(scene, "all");
  const { id } = await scene.server.submit(scene.instance.token);
  await untilNotified(scene, () => lookups.length === 1, "the name is looked up");
  await cancel(scene.server, scene.instance.token, id);
  lookups[0]?.();
  await passTime(scene, 3_000);
  const [row] = await untilEnded(scene);
  assert.equal(row?.ended_by, "resolved");
  assert.equal(scene.receiver.requests.length, 0);
});

test("[ours.notify.independent] a channel without an answer delays no other, and announces in the order of deadlines", async (t) => {
  const manual = new ManualMessages();
  const scene = await startChannelScene(t, {
    answer: (received, response) => {
      if (received.path === "/slow") manual.receive(received, response);
      else response.writeHead(200).end();
    },
  });
  const { server, instance } = scene;
  await newChannel(scene, "slow");
  await newChannel(scene, "quick");
  await server.submit(instance.token, { tool: "first", timeout: "3h" });
  await untilNotified(scene, () => manual.arrived === 1, "the slow channel has its message");
  for (const [tool, timeout] of [
    ["second", "2h"],
    ["third", "1h"],
  ] as const) {
    await server.submit(instance.token, { tool, timeout });
    await untilNotified(scene, () => textsAt("/quick").includes(tool), `${tool} is announced`);
  }
  assert.equal(scene.at("/slow").length, 1);
  manual.answer(0, 200);
  await untilNotified(scene, () => manual.arrived === 2, "the next message");
  manual.answer(1, 200);
  await untilNotified(scene, () => manual.arrived === 3, "the last message");
  manual.answer(2, 200);
  await untilEnded(scene);
  assert.deepEqual(textsAt("/slow"), ["first", "third", "second"]);

  function textsAt(path: string): string[] {
    return scene.at(path).map((each) => /^`(\w+)`/.exec(textOf(each))?.[1] ?? "");
  }
});

test("[ours.notify.digest] a flood is one message about all of it, and the minute after it is quiet", async (t) => {
  const manual = new ManualMessages();
  const scene = await startChannelScene(t, { answer: manual.receive });
  const { server, instance } = scene;
  await newChannel(scene, "all");
  await server.submit(instance.token);
  await untilNotified(scene, () => manual.arrived === 1, "the first message");
  const deadlines: string[] = [];
  for (let count = 0; count < 23; count++) {
    const { deadline_at } = await server.submit(instance.token, { timeout: `${count + 3}m` });
    deadlines.push(deadline_at);
  }
  manual.answer(0, 200);
  await untilNotified(scene, () => manual.arrived === 2, "the digest");
  manual.answer(1, 200);
  await untilEnded(scene);
  const text = textOf(scene.at("/all")[1] as never);
  assert.equal(
    text,
    `23 calls wait; earliest deadline in 3m (${deadlines[0]}).\nhttps://countersign.example${await projectPath(scene.server)}/inbox`,
  );
  await server.submit(instance.token, { tool: "later" });
  await server.submit(instance.token, { tool: "latest", timeout: "2h" });
  await passTime(scene, 50_000);
  assert.equal(manual.arrived, 2);
  await passTime(scene, 12_000);
  await untilNotified(scene, () => manual.arrived === 3, "the next message");
  assert.match(textOf(scene.at("/all")[2] as never), /^`later` of/);
  manual.answer(2, 200);
});

test("[ours.notify.digest] an announcement that would be late is sent in the quiet minute", async (t) => {
  const scene = await startChannelScene(t);
  const { server, instance } = scene;
  await newChannel(scene, "all");
  for (let count = 0; count < 10; count++) {
    await server.submit(instance.token);
    await untilEnded(scene);
  }
  assert.equal(scene.at("/all").length, 10);
  await server.submit(instance.token, { tool: "unhurried" });
  await server.submit(instance.token, { tool: "urgent", timeout: "40s" });
  await passTime(scene, 8_000);
  assert.equal(scene.at("/all").length, 10);
  await passTime(scene, 4_000);
  assert.equal(scene.at("/all").length, 11);
  const text = textOf(scene.at("/all")[10] as never);
  assert.match(text, /^2 calls wait; earliest deadline in (29|30|28)s/);
});

test("[ours.notify.reminder] a request that is still pending before its deadline is announced again, with its votes", async (t) => {
  const scene = await startChannelScene(t);
  const { server, instance, reviewer } = scene;
  await enforce(
    server,
    policyOf("{ id: two, match: { tool: '*' }, then: ask, ask: { quorum: 2 } }"),
  );
  await newChannel(scene, "all", { remind_before: "5m" });
  const { id } = await server.submit(instance.token, { timeout: "20m" });
  const decided = await server.submit(instance.token, { timeout: "20m" });
  const short = await server.submit(instance.token, { timeout: "9m" });
  await untilNotified(scene, () => scene.at("/all").length === 3, "all are announced");
  assert.equal((await server.decide(reviewer, id, "approve")).status, 200);
  assert.equal((await server.decide(reviewer, decided.id, "deny")).status, 200);
  await cancel(server, instance.token, short.id);
  scene.clock.advance(14 * 60_000);
  await passTime(scene, 30_000);
  assert.equal(scene.at("/all").length, 3);
  await passTime(scene, 32_000);
  await untilEnded(scene);
  assert.equal(scene.at("/all").length, 4);
  const text = textOf(scene.at("/all")[3] as never);
  assert.match(text, /^\*Reminder\*\n`deploy` of `[^`]+` still waits for a decision\.\n/);
  assert.match(text, /\nTime left: (5m|4m 5\ds) /);
  assert.match(text, /\nNeeds: 2 approvals, 1 given\n/);
  assert.match(text, new RegExp(`${id}$`));
});

test("[ours.notify.off] a disabled or deleted channel sends nothing, also of pending announcements", async (t) => {
  const scene = await startChannelScene(t, {
    answer: (_, response) => response.writeHead(503).end(),
  });
  const { server, instance, admin } = scene;
  const ways = [
    [
      "disabled",
      (path: string) => server.call("PATCH", path, { token: admin, body: { disabled: true } }),
    ],
    ["deleted", (path: string) => server.call("DELETE", path, { token: admin })],
  ] as const;
  for (const [name, end] of ways) {
    const { id } = await newChannel(scene, name);
    await server.submit(instance.token);
    const hasFailed = async () => (await channelOf(scene, id)).failures === 1;
    await untilNotified(scene, hasFailed, "the first message fails");
    const answer = await end(`/review/v1/channels/${id}`);
    assert.equal(answer.status, 200, answer.text);
    await server.submit(instance.token);
    await passTime(scene, 10_000);
    const rows = (await announcements(scene)).filter((row) => row.channel_id === id);
    assert.deepEqual(
      rows.map((row) => row.ended_by),
      ["removal"],
    );
    assert.equal(scene.at(`/${name}`).length, 1);
  }
});

test("[ours.notify.erased] announcements are purged with their requests", async (t) => {
  const scene = await startChannelScene(t, { settings: { retention: "168h" } });
  const { server, instance } = scene;
  await newChannel(scene, "all", { remind_before: "5m" });
  const { id } = await server.submit(instance.token);
  await untilNotified(scene, () => scene.at("/all").length === 1, "it is announced");
  await cancel(server, instance.token, id);
  assert.equal((await announcements(scene)).length, 2);
  scene.clock.advance(169 * 3_600_000);
  await untilNotified(
    scene,
    async () => (await announcements(scene)).length === 0,
    "the announcements are gone",
  );
});

test("[ours.notify.digest] one digest covers more than a thousand calls, with the earliest deadline", async (t) => {
  const scene = await startChannelScene(t);
  const { server, instance, clock } = scene;
  const channel = await newChannel(scene, "all");
  const { id } = await server.submit(instance.token, { timeout: "1h" });
  await untilEnded(scene);
  await copyAnnouncements(scene, { requestId: id, channelId: channel.id, count: 2_500 });
  clock.advance(1_000);
  await untilNotified(scene, () => scene.at("/all").length === 2, "the digest");
  await untilEnded(scene);
  const text = textOf(scene.at("/all")[1] as never);
  assert.match(text, /^more than 1000 calls wait; earliest deadline in 2m 29s /);
  assert.equal(scene.at("/all").length, 2);
});

test("[ours.notify.independent] the maximum number of slow channels of other projects delays no channel of a project", async (t) => {
  const manual = new ManualMessages();
  const scene = await startChannelScene(t, {
    answer: (received, response) => {
      if (received.path === "/quick") response.writeHead(200).end();
      else manual.receive(received, response);
    },
  });
  const { server, instance } = scene;
  for (const project of ["one", "two"]) {
    const { token } = await server.instance(project);
    const admin = await server.token({ kind: "reviewer", project, name: "admin", role: "admin" });
    for (let i = 0; i < CHANNELS_PER_PROJECT_MAX; i++) {
      await newChannel({ ...scene, admin }, `${project}-${i}`);
    }
    await server.submit(token);
  }
  await untilNotified(
    scene,
    () => manual.arrived >= 2 * SERVED_OF_PROJECT_MAX,
    "the slow are busy",
  );
  await newChannel(scene, "quick");
  await server.submit(instance.token);
  await untilNotified(scene, () => scene.at("/quick").length === 1, "it is announced");
  // A channel that had no free slot sends when another channel has finished.
  const busy = manual.arrived;
  for (let index = 0; index < busy; index++) manual.answer(index, 200);
  const isLeft = ({ ended_by }: { readonly ended_by: string | null }) => ended_by === "sent";
  const left = async () => (await announcements(scene)).filter(isLeft).length === busy + 1;
  await untilNotified(scene, left, "the answers are recorded");
  await passTime(scene, 3_000);
  await untilNotified(scene, () => manual.arrived === 2 * busy, "the next have room");
});
