import assert from "node:assert/strict";
import { test } from "node:test";
import type { ErrorResponse } from "@countersign/protocol";
import { writeJudgement } from "../src/policy/judgement.ts";
import { NO_REQUIREMENT, type Requirement } from "../src/policy/rule.ts";
import { policySaying, setGroups, startPolicyScene, storePast } from "./support/publishing.ts";
import type { TestProvider } from "./support/test-provider.ts";

/** Changes what is stored as a failing disk would. */
async function damage({ provider }: TestProvider, id: string): Promise<void> {
  const sql = 'update request set arguments = \'{"env":"dev"}\' where id = $1';
  await provider.context.store.transact((tx) => tx.run(sql, [id]));
}

interface SimulationLine {
  readonly event: string;
  readonly [member: string]: unknown;
}

async function simulate(
  server: TestProvider,
  token: string,
  source: string,
): Promise<SimulationLine[]> {
  const call = { token, body: { source } };
  const { status, text } = await server.call("POST", "/review/v1/policy/simulate", call);
  assert.equal(status, 200, text);
  return text
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line) as SimulationLine);
}

interface Listed {
  readonly requests: readonly { readonly id: string }[];
  readonly damaged?: readonly string[];
  readonly next: string | null;
}

test("[ours.review.list.damaged] a damaged request is named beside the others of its page, and cannot be shown or decided", async (t) => {
  const { server, instance, reviewer } = await startPolicyScene(t);
  const ids: string[] = [];
  for (let made = 0; made < 4; made++) ids.push((await server.submit(instance.token)).id);
  const list = async (query = "") => {
    const path = `/review/v1/requests${query}`;
    const answer = await server.call<Listed>("GET", path, { token: reviewer });
    assert.equal(answer.status, 200, answer.text);
    return answer.json;
  };
  assert.equal((await list()).damaged, undefined);
  const [first = "", second = "", third = "", fourth = ""] = ids.sort();
  await damage(server, second);
  const page = await list();
  assert.deepEqual(page.damaged, [second]);
  const others = page.requests.map(({ id }) => id).sort();
  assert.deepEqual(others, [first, third, fourth]);
  const small = await list("?limit=2");
  assert.deepEqual([small.requests.length, small.damaged], [1, [second]]);
  const rest = await list(`?limit=2&after=${encodeURIComponent(small.next ?? "")}`);
  assert.deepEqual([rest.requests.length, rest.damaged, rest.next], [2, undefined, null]);
  const path = `/review/v1/requests/${second}`;
  assert.equal((await server.call("GET", path, { token: reviewer })).status, 503);
  const body = { verdict: "approve", arguments_sha256: "0".repeat(64) };
  const call = { token: reviewer, body };
  const decided = await server.call<ErrorResponse>("POST", `${path}/verdict`, call);
  assert.deepEqual([decided.status, decided.json.error.code], [503, "unavailable"]);
});

test("[ours.policy.simulate.unreadable] a simulation counts and lists damaged requests, and continues", async (t) => {
  const { server, instance, editor } = await startPolicyScene(t);
  const past = await storePast(server, instance.id, 130);
  for (const { id } of past.slice(10, 115)) await damage(server, id);
  const lines = await simulate(server, editor, policySaying("deny", "deploy"));
  const {
    unreadable,
    unreadable_ids: ids,
    replayed,
    changes,
    ended,
  } = lines.at(-1) as SimulationLine;
  assert.deepEqual(
    { unreadable, replayed, changes, ended },
    { unreadable: 105, replayed: 25, changes: { "ask->deny": 25 }, ended: "all" },
  );
  assert.deepEqual(
    ids,
    past
      .slice(15, 115)
      .map(({ id }) => id)
      .reverse(),
  );
});

test("[ours.policy.simulate.requirement] requirements are compared, too, and reported by the keys of a rule", async (t) => {
  const { server, instance, editor } = await startPolicyScene(t);
  await setGroups(server, "reviewer", ["dba", "ops"]);
  const submitAsking = (requirement: Partial<Requirement>, validityMs?: number) =>
    writeJudgement({
      verb: "ask",
      because: "r",
      fired: ["r"],
      errors: [],
      project: null,
      floor: null,
      requirement: { ...NO_REQUIREMENT, ...requirement },
      ...(validityMs !== undefined && { validityMs }),
    });
  const same = { from: [["group:ops", "group:dba"]], quorum: 2 };
  const judgements = [
    submitAsking(same, 120_000),
    submitAsking(same),
    submitAsking({ ...same, quorum: 1 }, 120_000),
    submitAsking({ ...same, from: [["group:dba"]], noteRequired: true }, 120_000),
    submitAsking({ ...same, confirm: { kind: "type", text: "x" }, excludeOwner: true }, 120_000),
    submitAsking({ ...same, withinMs: 1_000, grants: false }, 120_000),
    null,
  ];
  await storePast(server, instance.id, judgements.length, (i) => ({
    policy: judgements[i] ?? null,
  }));
  const source = `version: 1
rules:
  - id: two
    match: { tool: deploy }
    then: ask
    valid_for: 2m
    ask: { from: [group:dba, group:ops], quorum: 2 }
`;
  const lines = await simulate(server, editor, source);
  const changed = lines.filter(({ event }) => event === "changed");
  for (const { was, would_be } of changed) assert.deepEqual([was, would_be], ["ask", "ask"]);
  assert.deepEqual(changed.map(({ differs }) => differs).reverse(), [
    ["valid_for"],
    ["quorum"],
    ["from", "note"],
    ["exclude", "confirm"],
    ["within", "grants"],
    ["from", "quorum", "valid_for"],
  ]);
  const { unchanged, changes, requirement_changed: requirement } = lines.at(-1) as SimulationLine;
  assert.deepEqual([unchanged, changes, requirement], [1, {}, 6]);
});
