/** Grouping, deciding several requests together, and the risk marks. */

import assert from "node:assert/strict";
import { test } from "node:test";
import type { ReviewedRequest } from "@countersign/review-api";
import { parseExact } from "@countersign/review-api/exact";
import { byDeadline, type PendingRequest, readRequest } from "../../live/pending-request.ts";
import { isPicked, readAddress, togglePicked, writeAddress } from "./address.ts";
import { compare, whyNotTogether } from "./bulk.ts";
import { fits, groupsOf } from "./groups.ts";
import { neighbourOf, rangeOf, requestAfter } from "./next-request.ts";
import { reasonOf, riskOf } from "./risk.ts";

const CLICK = { from: [], quorum: 1, exclude: [], confirm: { kind: "click" }, note: "optional" };

let count = 0;

/** @param args the exact text */
function request(args = "{}", parts: object = {}): PendingRequest {
  const id = `01a1fb6b-1c22-7d0e-9c37-${String(++count).padStart(12, "0")}`;
  const wire = {
    id,
    tool: "refund",
    status: "pending",
    instance: { id: "i", name: "bot" },
    created_at: "2026-01-01T00:00:00.000Z",
    deadline_at: "2026-01-01T01:00:00.000Z",
    arguments_sha256: `sha of ${args}`,
    policy: { because: "r1", fired: [], errors: [] },
    requirement: CLICK,
    votes: [],
    may_decide: { approve: true, deny: true },
    ...parts,
  };
  return readRequest(
    parseExact(`{"arguments":${args},${JSON.stringify(wire).slice(1)}`) as ReviewedRequest,
  );
}

const CHANGED = { context: { tool_definition_change: null } };
const asking = (part: object) => request("{}", { requirement: { ...CLICK, ...part } });
const judged = (part: object) =>
  request("{}", { policy: { because: "r1", fired: [], errors: [], ...part } });

test("[ours.inbox.list] the risk mark of a call depends only on the policy's requirement", () => {
  assert.equal(riskOf(request('{"sql":"DROP TABLE users"}')), "usual");
  for (const kind of ["passkey", "type", "match"]) {
    assert.equal(riskOf(asking({ confirm: { kind } })), "high", kind);
  }
  assert.equal(riskOf(asking({ quorum: 2 })), "high");
  assert.equal(riskOf(asking({ from: [["group:a"], ["group:b"]] })), "high");
  assert.equal(riskOf(asking({ from: [["group:a"]] })), "raised");
  assert.equal(riskOf(asking({ note: "required" })), "raised");
  assert.equal(riskOf(asking({ exclude: ["owner"] })), "raised");
  assert.equal(riskOf(judged({ because: "inexact" })), "raised");
  assert.equal(riskOf(judged({ errors: [{ rule: "r", message: "no amount" }] })), "raised");
  assert.equal(riskOf(request("{}", CHANGED)), "raised");
  assert.equal(reasonOf(judged({ because: "no-match" })), "no matching rule");
  assert.equal(reasonOf(judged({ because: "tool_definition_change" })), "tool definition changed");
  assert.equal(reasonOf(judged({ because: "large-refunds" })), "large-refunds");
});

test("[ours.console.groups] only identical calls of one instance with one requirement are a group", () => {
  const same = [request('{"n":1}'), request('{"n":1}')];
  const others = [
    request('{"n":1.0}'),
    request('{"n":1}', { instance: { id: "j", name: "bot" } }),
    request('{"n":1}', { tool: "refunds" }),
    request('{"n":1}', { requirement: { ...CLICK, quorum: 2 } }),
  ];
  const groups = groupsOf([...same, ...others]);
  assert.deepEqual(
    groups.map(({ requests }) => requests.length),
    [2, 1, 1, 1, 1],
  );
  assert.equal(groups[0]?.first, same[0]);
});

test("[ours.console.keys] all words of a filter are looked for in tool, server, instance, rule and arguments", () => {
  const one = request('{"order":"A-17"}', { server: "production" });
  for (const filter of ["", "  ", "REFUND", "bot a-17", "r1 order", "refund prod"]) {
    assert.ok(fits(one, filter), filter);
  }
  const explained = request("{}", { agent_reasoning: "The customer asked" });
  assert.ok(fits(explained, "customer"));
  for (const filter of ["refund a-18", "x"]) assert.ok(!fits(one, filter), filter);
});

const mail = (to: string, body = "Hello") =>
  request(JSON.stringify({ to, subject: "News", body }), { tool: "mail" });

test("[ours.console.groups] three calls that differ in one short value are a group, and it names the value", () => {
  const alike = [mail("a@example.com"), mail("b@example.com"), mail("c@example.com")];
  const [group, ...rest] = groupsOf([...alike, mail("a@example.com", "Other")]);
  assert.deepEqual([group?.differing, group?.requests], ["to", alike]);
  assert.equal(rest.length, 1);
  assert.deepEqual(groupsOf(alike.slice(1)).length, 2, "two calls are two rows");
});

test("[ours.console.groups] commands and texts are never grouped by a common rest", () => {
  const command = (text: string) =>
    request(JSON.stringify({ command: text, timeout: 5, cwd: "/" }), { tool: "Bash" });
  const calls = [command("ls -l"), command("rm -rf /"), command("cat a b")];
  assert.equal(groupsOf(calls).length, 3);
  assert.equal(groupsOf([request('{"n":1}'), request('{"n":2}'), request('{"n":3}')]).length, 3);
});

test("[ours.console.next] after a decision the next request below opens, then the first one", () => {
  const [a, b, c] = [request(), request(), request()];
  const order = [a, b, c].map(({ id }) => id);
  assert.equal(requestAfter(b.id, order, [a, c], 0), c);
  assert.equal(requestAfter(c.id, order, [a, b], 0), a);
  assert.equal(requestAfter(a.id, order, [], 0), undefined);
});

test("[ours.console.next] calls of others, with a scheduled verdict or another reviewer's claim are skipped", () => {
  const claim = (own: boolean, until: string) => ({
    claim: { reviewer: "li", own, at: until, until },
  });
  const later = "2026-01-01T00:10:00.000Z";
  const [open, others] = [request(), request("{}", { may_decide: { approve: false, deny: true } })];
  const held = request("{}", { held: { verdict: "approve" } });
  const claimed = request("{}", claim(false, later));
  const own = request("{}", claim(true, later));
  const order = [open, others, held, claimed, own].map(({ id }) => id);
  const rest = [others, held, claimed, own];
  assert.equal(requestAfter(open.id, order, rest, 0), own);
  assert.equal(requestAfter(open.id, order, rest, Date.parse(later)), claimed);
});

test("[ours.console.keys] a range of rows includes both ends, in either direction", () => {
  const groups = groupsOf([request('{"n":1}'), request('{"n":2}'), request('{"n":3}')]);
  const [a, b, c] = groups.map(({ key }) => key);
  assert.deepEqual(rangeOf(groups, c, b ?? ""), groups.slice(1));
  assert.deepEqual(rangeOf(groups, a, b ?? ""), groups.slice(0, 2));
  assert.deepEqual(rangeOf(groups, undefined, b ?? ""), groups.slice(1, 2));
  assert.equal(neighbourOf(groups, b, 1), groups[2]);
  assert.equal(neighbourOf(groups, c, 1), undefined);
  assert.equal(neighbourOf(groups, undefined, -1), groups[0]);
});

test("[ours.console.bulk] only one tool, instance and shape, by a click of one person, are approved together", () => {
  const together = [request('{"a":1,"b":["x"]}'), request('{"b":["y"],"a":2.50}')];
  assert.equal(whyNotTogether(together), "");
  assert.match(whyNotTogether([]), /Select at least one/);
  assert.match(whyNotTogether(Array.from({ length: 21 }, () => request())), /At most 20/);
  const [first = request()] = together;
  const cases: [PendingRequest, RegExp][] = [
    [request('{"a":1,"b":["x","y"]}'), /different argument names/],
    [request('{"a":"1","b":["x"]}'), /different argument names/],
    [request('{"a":1}'), /different argument names/],
    [request('{"a":1,"b":["x"]}', { tool: "other" }), /Calls of different tools/],
    [request('{"a":1,"b":["x"]}', { server: "production" }), /different servers/],
    [request('{"a":1,"b":["x"]}', { instance: { id: "j", name: "bot" } }), /different instances/],
    [asking({ confirm: { kind: "passkey" } }), /passkey/],
    [asking({ confirm: { kind: "type", text: "x" } }), /typed/],
    [asking({ quorum: 2 }), /several/],
    [request("{}", CHANGED), /a changed definition/],
    [request("{}", { may_decide: { approve: false, deny: true } }), /cannot approve some/],
  ];
  for (const [other, why] of cases) assert.match(whyNotTogether([first, other]), why);
});

test("[ours.console.bulk] differences are shown character by character, and common parts once", () => {
  const all = [
    request('{"to":"a","n":9007199254740993,"deep":{"x y":[1]}}'),
    request('{"to":"a","n":9007199254740992,"deep":{"x y":[1.0]}}'),
  ];
  const { differing, same, rows } = compare(all);
  assert.deepEqual(differing, ["n", 'deep["x y"][0]']);
  assert.deepEqual(rows, [
    ["9007199254740993", "1"],
    ["9007199254740992", "1.0"],
  ]);
  assert.deepEqual(same, [{ path: "to", source: '"a"' }]);
});

test("[ours.console.keys] the address holds filter, row and selection, and two hundred ids fit into it", () => {
  const all = Array.from({ length: 200 }, () => request());
  const picked = togglePicked(new Set(), all);
  const address = writeAddress({ open: "", filter: "a b&c", at: all[0]?.id ?? "", picked });
  assert.ok(address.length < 4_000, `${address.length} characters`);
  const read = readAddress("", new URL(address, "http://localhost").searchParams);
  assert.equal(read.filter, "a b&c");
  assert.equal(read.at, all[0]?.id);
  assert.ok(all.every((one) => isPicked(read.picked, one)));
  assert.equal(togglePicked(read.picked, all).size, 0);
  assert.equal(writeAddress({ open: "", filter: "", at: "", picked: new Set() }), "/inbox");
});

test("[ours.inbox.list] the earliest deadline comes first; of equal deadlines, the older request", () => {
  const [a, b] = [request(), request()];
  const soon = request("{}", { deadline_at: "2026-01-01T00:30:00.000Z" });
  assert.deepEqual([b, a, soon].sort(byDeadline), [soon, a, b]);
});
