/**
 * A user with every permission in one project against all data of another project: the cases that
 * the authorization table cannot express with one id for each operation.
 */

import assert from "node:assert/strict";
import { after, test } from "node:test";
import { type Operation, REVIEW_OPERATIONS } from "@countersign/review-api";
import { SCIM_PATH } from "../src/http/scim-routes.ts";
import { untilSealed } from "./support/audit-logs.ts";
import { setAuthorizationStage } from "./support/authorization-callers.ts";
import { ROWS } from "./support/authorization-table.ts";
import { assertRefused } from "./support/envelope.ts";
import { newSigner } from "./support/passkeys.ts";
import { callAs, newPerson } from "./support/people.ts";
import { PushBrowser } from "./support/push-browser.ts";
import { type Route, routesOf } from "./support/routes.ts";
import type { Scene } from "./support/scene.ts";
import type { Answer } from "./support/test-provider.ts";
import { startWebhookScene } from "./support/webhook-scene.ts";

/** In whatever the attacked project holds, and in no answer to others. */
const CANARY = "canary";

const hooks = await startWebhookScene({ after }, { settings: { reviewer_rate: "0" } });
const { server, clock } = hooks;
const { store } = hooks.server.provider.context;

const ids = await fillProject();
const attacker = await newPerson(server, { login: "mallory", role: "admin", project: "elsewhere" });
const token = await server.token({
  kind: "reviewer",
  name: "mallory's",
  role: "admin",
  project: "elsewhere",
  isBot: false,
});
const provisioner = await server.token({ kind: "provisioner", project: "elsewhere" });
const { credential } = (await server.provision(provisioner)) as { credential: { token: string } };
const routes = await routesOf(server);

/** Something of every kind, by kind. */
async function fillProject(): Promise<Readonly<Record<string, string>>> {
  const operator = await server.token({ kind: "reviewer", name: `${CANARY} op`, role: "operator" });
  const created = await server.call<{ instance: { id: string }; credential: { token: string } }>(
    "POST",
    "/v1/instances",
    {
      token: hooks.provisioner,
      key: "one",
      body: { instance_name: `${CANARY} instance`, delivery: hooks.delivery() },
    },
  );
  assert.equal(created.status, 201, created.text);
  const { instance, credential } = created.json;
  const scene: Scene = {
    server,
    clock,
    reviewer: operator,
    instance: { ...instance, token: credential.token, provisioner: hooks.provisioner },
  };
  const stage = await setAuthorizationStage(scene);
  const fields = { tool: `${CANARY}.tool`, arguments: { [CANARY]: 1 }, agent_reasoning: CANARY };
  const decided = await server.submit(credential.token, fields);
  await server.decide(operator, decided.id, "deny", { note: `${CANARY} note` });
  const pending = await server.submit(credential.token, fields);
  const invited = await server.call<{ id: string }>("POST", "/review/v1/invitations", {
    token: operator,
    body: { name: `${CANARY} guest`, role: "viewer" },
  });
  assert.equal(invited.status, 201, invited.text);
  const signer = await newSigner(server, { login: CANARY, role: "admin" });
  const subscribed = await callAs<{ id: string }>(server, signer, "POST", "/account/push", {
    body: new PushBrowser(hooks.receiver.url("/push")).toJSON() as object,
  });
  assert.equal(subscribed.status, 201, subscribed.text);
  await untilSealed(scene);
  const row = async (sql: string): Promise<string> => String((await store.get(sql))?.id);
  return {
    instance: instance.id,
    otherInstance: stage.otherInstanceId,
    decided: decided.id,
    pending: pending.id,
    invitation: invited.json.id,
    grant: stage.grantId,
    channel: stage.channelId,
    bystander: stage.bystanderId,
    freeze: await stage.freshFreeze("instance"),
    token: await stage.freshToken(),
    passkey: signer.authenticator.id,
    person: signer.id,
    push: subscribed.json.id,
    notification: await row("select id from notification"),
    session: await row(`select id from session where person_id = '${signer.id}'`),
    entry: await row(`select id from audit_entry where subject = 'request:${decided.id}'`),
    project: await row("select id from project where name = 'default'"),
  };
}

/** As a person in a browser, with a token, and with the credentials of the contract. */
async function attempts(
  { method, path }: Route,
  id: string,
  query = "",
  body?: object,
): Promise<readonly Answer[]> {
  const target = path.replace(/:(id|number)/, id) + query;
  const call = { key: server.freshKey(), ...(body && { body }) };
  if (path.startsWith("/v1/")) {
    return [
      await server.call(method, target, { ...call, token: provisioner }),
      await server.call(method, target, { ...call, token: credential.token }),
    ];
  }
  if (!path.startsWith("/review/v1/")) return [];
  return [
    await callAs(server, attacker, method, target.replace("/review/v1", ""), call),
    await server.call(method, target, { ...call, token }),
  ];
}

function assertLeaksNothing(route: Route, sent: string, answer: Answer): void {
  // Errors and the log of exports repeat the caller's own input.
  const text = answer.text.replaceAll(/"query":"[^"]*"/g, "");
  const leaked = Object.values(ids).filter((id) => !sent.includes(id) && text.includes(id));
  assert.deepEqual(leaked, [], `${route.operation} reveals ids: ${text}`);
  assert.doesNotMatch(text, new RegExp(CANARY), `${route.operation} with ${sent}`);
}

test("[ours.authorization.projects] a read with an id of another project reveals nothing about it", async () => {
  const reads = routes.filter(({ method, path }) => method === "GET" && path.includes(":"));
  assert.ok(reads.length > 5, String(reads.length));
  for (const route of reads) {
    for (const id of [...Object.values(ids), "1"]) {
      for (const answer of await attempts(route, id)) assertLeaksNothing(route, id, answer);
    }
  }
});

test("[ours.authorization.projects] no list, export, count or proof contains data of another project, with any filter", async () => {
  const { instance = "", decided = "", entry = "" } = ids;
  const filters = [
    "",
    "?format=csv",
    "?format=json",
    `?instance_id=${instance}`,
    `?instance=${instance}`,
    `?instance_id=${instance}&format=csv`,
    `?q=${CANARY}`,
    `?tool=${CANARY}.tool`,
    `?before=${decided}`,
    `?after=${decided}`,
    `?cursor=${decided}`,
    `?cursor=${entry}`,
    "?status=denied",
    "?status=pending",
    `?project=default`,
    `?project_id=${ids.project}`,
  ];
  const lists = routes.filter(({ method, path }) => method === "GET" && !path.includes(":"));
  const followed = lists.filter(({ operation }) => operation !== "followEvents");
  assert.ok(followed.length > 15, String(followed.length));
  for (const route of followed) {
    for (const filter of filters) {
      for (const answer of await attempts(route, "", filter)) {
        assertLeaksNothing(route, filter, answer);
      }
    }
  }
});

/** Operations for which the table has only one id, of an object that does not exist. */
const CHANGES: readonly (readonly [string, keyof typeof ids, object?])[] = [
  ["showDelivery", "notification"],
  ["showDelivery", "decided"],
  ["retryDelivery", "notification"],
  ["retryDelivery", "decided"],
  ["revokeInvitation", "invitation"],
  ["proveAuditEntry", "entry"],
  ["endSession", "session"],
  ["unsubscribePush", "push"],
  ["testPush", "push"],
  ["renamePasskey", "passkey", { name: "mine" }],
  ["removePasskey", "passkey"],
  ["challengeVerdict", "pending", { verdict: "approve", arguments_sha256: "0".repeat(64) }],
  ["takeBackVerdict", "pending"],
  ["withdrawVote", "pending"],
  ["revokeToken", "token"],
  ["liftFreeze", "freeze"],
  ["showBackground", "pending"],
  ["showAgentSession", "pending"],
  ["removeInstance", "otherInstance"],
];

for (const [operation, kind, body] of CHANGES) {
  test(`[ours.authorization.projects] ${operation} of another project's ${kind} returns 404 and changes nothing`, async () => {
    const route = routes.find((each) => each.operation === operation && each.path.includes(":"));
    assert.ok(route);
    const before = await snapshot();
    for (const answer of await attempts(route, ids[kind] ?? "", "", body)) {
      // Operations for browsers only refuse a token before they read anything.
      assert.ok(answer.status === 404 || answer.status === 403, `${operation}: ${answer.text}`);
      if (answer.status === 404) assertRefused(answer, 404, "not_found");
      assertLeaksNothing(route, ids[kind] ?? "", answer);
    }
    assert.deepEqual(await snapshot(), before);
  });
}

async function snapshot(): Promise<unknown> {
  const tables = ["request", "session", "passkey", "invitation", "instance", "push_subscription"];
  const rows = tables.map((table) => `(select count(*) from ${table}) as ${table}`);
  const refused = await store.all(
    `select id from invitation where used_at is not null order by id`,
  );
  return [await store.get(`select ${rows.join(", ")}`), refused];
}

test("[ours.authorization.projects] no call reaches another project that it names, in the header or in the query", async () => {
  const named = Object.entries<Operation>(REVIEW_OPERATIONS).filter(
    ([, { caller }]) => caller !== "anonymous",
  );
  assert.ok(named.length > 80, String(named.length));
  const headers = { "countersign-project": ids.project ?? "" };
  const query = `?project=${ids.project}`;
  for (const [operation, { method, path }] of named) {
    const target = path.replace(/\{\w+\}/, ids.pending ?? "");
    const answers = [
      await callAs(server, attacker, method, target, { headers }),
      await server.call(method, `/review/v1${target}`, { token, headers }),
    ];
    if (method === "GET") {
      answers.push(
        await callAs(server, attacker, method, target + query),
        await server.call(method, `/review/v1${target}${query}`, { token }),
      );
    }
    for (const answer of answers) {
      // Operations for browsers only refuse a token before they read anything.
      assert.ok(answer.status === 404 || answer.status === 403, `${operation}: ${answer.text}`);
      assert.doesNotMatch(answer.text, new RegExp(CANARY), operation);
    }
  }
});

test("[ours.authorization.projects] an id of another project and an unknown id get the same response", async () => {
  const nobodys = "019cebab-898c-7217-800b-f38c40604079";
  const bare = ({ status, text }: Answer, id: string): unknown => [
    status,
    text.replaceAll(id, "ID").replace(/"request_id":"[^"]*"/, ""),
  ];
  for (const [operation, kind] of CHANGES) {
    const route = routes.find((each) => each.operation === operation && each.path.includes(":"));
    assert.ok(route);
    if (/passkey/i.test(operation)) continue;
    const body = CHANGES.find(([name]) => name === operation)?.[2];
    const theirs = await attempts(route, ids[kind] ?? "", "", body);
    const none = await attempts(route, nobodys, "", body);
    assert.deepEqual(
      theirs.map((answer) => bare(answer, ids[kind] ?? "")),
      none.map((answer) => bare(answer, nobodys)),
      operation,
    );
  }
});

test("[ours.authorization.projects] every operation with an id has a test for another project, here or in the table", () => {
  const inTable = new Set(
    ROWS.filter(({ foreign }) => foreign === 404).map(({ operation }) => operation),
  );
  const here = new Set(CHANGES.map(([operation]) => operation));
  // These belong to the whole server, or are the same page or file for every project.
  const ofNoProject = new Set([
    "showFloorVersion",
    "showFloorProposal",
    "publishFloorProposal",
    "rejectFloorProposal",
    "consoleAsset",
    "requestPage",
    "projectPage",
    "answerHook",
    // The signature of the channel authenticates it: see slack-decisions.test.ts.
    "receiveChat",
  ]);
  // Users and groups of the identity provider belong to the whole server: see scim.test.ts.
  const left = routes
    .filter(({ path }) => path.includes(":") && !path.startsWith(SCIM_PATH))
    .map(({ operation }) => operation)
    .filter((name) => !inTable.has(name) && !here.has(name) && !ofNoProject.has(name))
    .filter((name) => !name.endsWith("ItemPage"));
  assert.deepEqual(left, []);
});
