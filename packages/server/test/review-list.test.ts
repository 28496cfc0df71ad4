import assert from "node:assert/strict";
import { test } from "node:test";
import { assertRefused } from "./support/envelope.ts";
import { end, type Scene, startScene, TERMINAL } from "./support/scene.ts";
import type { Answer, ReviewedRequest } from "./support/test-provider.ts";

interface Listing {
  readonly requests: readonly ReviewedRequest[];
  readonly next: string | null;
  readonly now: string;
}

function list(
  { server, reviewer }: Pick<Scene, "server" | "reviewer">,
  query = "",
): Promise<Answer<Listing>> {
  return server.call<Listing>("GET", `/review/v1/requests${query}`, { token: reviewer });
}

async function listedIds(scene: Pick<Scene, "server" | "reviewer">, query = ""): Promise<string[]> {
  const { status, text, json } = await list(scene, query);
  assert.equal(status, 200, text);
  return json.requests.map(({ id }) => id);
}

/** Every page, followed by `next` to the end. */
async function allPages(scene: Scene, query: string): Promise<string[]> {
  const ids: string[] = [];
  let after = "";
  for (let page = 0; page < 50; page++) {
    const { json } = await list(scene, query + after);
    ids.push(...json.requests.map(({ id }) => id));
    if (json.next === null) return ids;
    after = `&after=${json.next}`;
  }
  throw new Error("the pages do not end");
}

test("[ours.review.list] a reviewer lists the pending requests, the earliest deadline first", async (t) => {
  const scene = await startScene(t);
  const { server, clock, instance } = scene;
  assert.deepEqual((await list(scene)).json, {
    requests: [],
    next: null,
    now: new Date(clock.now()).toISOString(),
  });
  const long = await server.submit(instance.token, { timeout: "3h" });
  const short = await server.submit(instance.token, { timeout: "1h" });
  const middle = await server.submit(instance.token, { timeout: "2h" });
  assert.deepEqual(await listedIds(scene), [short.id, middle.id, long.id]);
  const { json } = await list(scene);
  const [first] = json.requests;
  const shown = await server.call("GET", `/review/v1/requests/${short.id}`, {
    token: scene.reviewer,
  });
  assert.deepEqual({ ...first, now: json.now }, shown.json);
});

test("[ours.review.list] a decided request leaves the pending list and joins the decided one, newest first", async (t) => {
  const scene = await startScene(t);
  const { server, clock, instance } = scene;
  const pending = await server.submit(instance.token, { timeout: "160h" });
  const ended: string[] = [];
  for (const status of TERMINAL) {
    clock.advance(1_000);
    ended.unshift((await end(scene, await server.submit(instance.token), status)).id);
  }
  assert.deepEqual(await listedIds(scene), [pending.id]);
  assert.deepEqual(await listedIds(scene, "?state=pending"), [pending.id]);
  assert.deepEqual(await listedIds(scene, "?state=decided"), ended);
});

test("[ours.review.list] pages follow each other without a gap or a repetition", async (t) => {
  const scene = await startScene(t);
  const { server, instance } = scene;
  // Equal deadlines, so that the order within one moment matters too.
  const submitted = await Promise.all(
    Array.from({ length: 23 }, (_, i) => {
      return server.submit(instance.token, { timeout: `${1 + (i % 3)}h` });
    }),
  );
  const expected = submitted.map(({ id }) => id).sort();
  for (const limit of [1, 5, 22, 23, 24, 200]) {
    const pending = await allPages(scene, `?limit=${limit}`);
    assert.deepEqual([...pending].sort(), expected);
    assert.deepEqual(pending, await listedIds(scene));
  }
  for (const request of submitted) await end(scene, request, "denied");
  const decided = await allPages(scene, "?state=decided&limit=4");
  assert.deepEqual([...decided].sort(), expected);
});

test("[ours.review.list] requests just past their window do not end a page early", async (t) => {
  const scene = await startScene(t);
  const { server, clock, instance } = scene;
  const gone = await server.submit(instance.token, { timeout: "1s" });
  const rest = [];
  for (const timeout of ["1h", "2h", "3h"]) {
    rest.push((await server.submit(instance.token, { timeout })).id);
  }
  // No timer fires, so the worker does not expire the request yet.
  clock.set(Date.parse(gone.deadline_at));
  for (const limit of [1, 2, 3]) assert.deepEqual(await allPages(scene, `?limit=${limit}`), rest);
});

test("[ours.review.list] state, limit and after are checked", async (t) => {
  const scene = await startScene(t);
  const wrong = {
    state: ["", "all", "PENDING", "approved"],
    limit: ["", "0", "201", "-1", "1.5", "x"],
    after: ["", "x", "1", "_", `1_${"0".repeat(36)}`, `x_${scene.instance.id}`],
  };
  for (const [param, values] of Object.entries(wrong)) {
    for (const value of values) {
      const answer = await list(scene, `?${param}=${value}`);
      assertRefused(answer, 400, "invalid_request", param);
    }
  }
  assertRefused(await list(scene, "?state=pending&state=decided"), 400, "invalid_request", "state");
});

test("[ours.review.scope] a reviewer reaches the requests of the token's project only", async (t) => {
  const scene = await startScene(t);
  const { server, instance } = scene;
  const elsewhere = {
    ...scene,
    instance: await server.instance("elsewhere"),
    reviewer: await server.token({ kind: "reviewer", project: "elsewhere" }),
  };
  const here = await server.submit(instance.token);
  const there = await server.submit(elsewhere.instance.token);
  assert.deepEqual(await listedIds(scene), [here.id]);
  assert.deepEqual(await listedIds(elsewhere), [there.id]);

  const path = `/review/v1/requests/${there.id}`;
  assertRefused(await server.call("GET", path, { token: scene.reviewer }), 404, "not_found");
  const known = await server.call<ReviewedRequest>("GET", path, { token: elsewhere.reviewer });
  const { arguments_sha256 } = known.json;
  for (const verdict of ["approve", "deny"]) {
    const body = { verdict, arguments_sha256 };
    const call = { token: scene.reviewer, body };
    assertRefused(await server.call("POST", `${path}/verdict`, call), 404, "not_found");
  }
  assert.equal((await server.read(elsewhere.instance.token, there.id)).status, "pending");

  await end(elsewhere, there, "approved");
  assert.deepEqual(await listedIds(scene, "?state=decided"), []);
  assert.deepEqual(await listedIds(elsewhere, "?state=decided"), [there.id]);
});

test("[ours.review.scope] the list has requests of every instance of the project, also of deleted ones", async (t) => {
  const scene = await startScene(t);
  const { server, instance } = scene;
  const second = await server.provision(instance.provisioner, "second");
  const third = await server.provision(await server.token({ kind: "provisioner", name: "other" }));
  const ids = [
    (await server.submit(instance.token)).id,
    (await server.submit(second.credential.token)).id,
    (await server.submit(third.credential.token)).id,
  ];
  assert.deepEqual((await listedIds(scene)).sort(), ids.sort());
  const names = (await list(scene)).json.requests.map((request) => request.instance.name);
  assert.ok(names.includes("second"));
  await server.call("DELETE", `/v1/instances/${instance.id}`, { token: instance.provisioner });
  assert.equal((await listedIds(scene)).length, 2);
  assert.equal((await listedIds(scene, "?state=decided")).length, 1);
});

test("[ours.review.list] a page of very large requests is shorter, and the next one continues", async (t) => {
  const scene = await startScene(t);
  const filler = "x".repeat(1_000_000);
  const ids: string[] = [];
  for (let i = 0; i < 6; i++) {
    const fields = { arguments: { filler }, timeout: `${i + 1}h` };
    ids.push((await scene.server.submit(scene.instance.token, fields)).id);
  }

  const first = await list(scene);

  assert.ok(first.json.requests.length < ids.length);
  assert.deepEqual(await allPages(scene, "?state=pending"), ids);
});
