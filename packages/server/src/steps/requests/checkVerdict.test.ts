import assert from "node:assert/strict";
import { after, test } from "node:test";
import type { Problem } from "@countersign/protocol";
import { setReviewer, submitRequiring } from "../../../test/support/requirements.ts";
import { startScene } from "../../../test/support/scene.ts";
import { sha256Hex } from "../../core/digest.ts";
import { authenticateCaller } from "../../operations/access/authenticateCaller.ts";
import { castVerdict } from "../../operations/requests/castVerdict.ts";
import { VERDICT_CHECKS } from "./checkVerdict.ts";
import type { Verdict } from "./verdictNote.ts";

test("the checks of a verdict run in this order, with these answers", () => {
  const order = VERDICT_CHECKS.map(({ name, applies, answer }) => {
    return `${name} | ${applies.join(", ")} | ${answer}`;
  });
  assert.deepEqual(order, [
    "arguments | approve, deny | arguments_mismatch",
    "decision | approve, deny | already_terminal",
    "deadline | approve, deny | already_terminal",
    "credential | approve, deny | invalid_credential",
    "role | approve, deny | forbidden",
    "denier | deny | forbidden",
    "approver | approve | forbidden",
    "place | approve | forbidden",
    "passkey | approve | forbidden",
    "attempts | approve | forbidden",
    "freeze | approve | already_terminal",
    "match | approve | invalid_request",
    "note | approve | invalid_request",
    "confirmation | approve | invalid_request",
    "signature | approve | invalid_request",
    "validity | approve | invalid_request",
    "vote | approve | the pending request",
    "delay | approve, deny | the pending request",
  ]);
});

test("an approval with several faults gets the problem of the first failed check", async () => {
  const scene = await startScene({ after });
  const { context } = scene.server.provider;
  const token = await scene.server.token({ kind: "reviewer", name: "ana" });
  const caller = await authenticateCaller(context, `Bearer ${token}`);
  assert.ok(caller.kind === "reviewer");
  const requirement = {
    from: [["group:dba"]],
    noteRequired: true,
    confirm: { kind: "match" },
  } as const;
  const { id } = await submitRequiring(scene, requirement, { validityMs: 60_000 });
  const stored = await context.store.get("select arguments from request where id = $1", [id]);
  let verdict: Verdict = {
    verdict: "approve",
    argumentsSha256: sha256Hex("{}"),
    note: undefined,
    validityMs: 61_000,
    confirmation: "wrong",
  };
  const rejected = async (expected: Pick<Problem, "code" | "param">, message: RegExp) => {
    await assert.rejects(castVerdict(context, caller, id, verdict), { ...expected, message });
  };

  await setReviewer(context.store, "ana", { role: "viewer" });
  await rejected({ code: "arguments_mismatch", param: "arguments_sha256" }, /./);
  verdict = { ...verdict, argumentsSha256: sha256Hex(String(stored?.arguments)) };
  await rejected({ code: "forbidden", param: undefined }, /cannot decide them/);
  await setReviewer(context.store, "ana", { role: "reviewer" });
  await rejected({ code: "forbidden", param: undefined }, /^Only group:dba may decide/);
  await setReviewer(context.store, "ana", { groups: ["dba"] });
  await rejected({ code: "invalid_request", param: "confirmation" }, /2 tries are left/);
  verdict = { ...verdict, confirmation: id.slice(-4) };
  await rejected({ code: "invalid_request", param: "note" }, /must not be blank/);
  verdict = { ...verdict, note: "Checked." };
  await rejected({ code: "invalid_request", param: "valid_for" }, /between 1s and 60s/);
  verdict = { ...verdict, validityMs: 60_000 };
  assert.equal((await castVerdict(context, caller, id, verdict)).status, "approved");
});
