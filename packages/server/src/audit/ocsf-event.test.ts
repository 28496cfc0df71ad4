import assert from "node:assert/strict";
import { test } from "node:test";
import { SEALED_ENTRY } from "../../test/support/sealed-entry.ts";
import { validateOcsf } from "../../test/support/validate-ocsf.ts";
import { writeEntry } from "../core/audit-line.ts";
import { writeOcsfEvent } from "./ocsf-event.ts";

const ENTRY = { ...SEALED_ENTRY.entry, detail: '{"status":"approved"}' };

function eventOf(fields: Partial<typeof ENTRY> = {}) {
  const entry = { ...ENTRY, ...fields };
  const text = writeOcsfEvent({ ...SEALED_ENTRY, entry }, "1.2.3");
  const event = JSON.parse(text);
  assert.deepEqual(validateOcsf(event), []);
  assert.equal(event.raw_data, writeEntry(entry));
  return event;
}

test("[ours.stream.ocsf] a decision has the class, the actor and the disposition of the schema", () => {
  const { metadata, actor, message_context, api, ...event } = eventOf();
  assert.equal(event.class_uid, 6003);
  assert.equal(event.type_uid, 600_303);
  assert.equal(event.time, ENTRY.at);
  assert.deepEqual([event.action, event.disposition], ["Allowed", "Approved"]);
  assert.deepEqual(actor, { user: { uid: "reviewer:01a2", type_id: 1, type: "User" } });
  assert.equal(api.operation, "request.resolved");
  assert.deepEqual(api.request, { uid: "01a3" });
  assert.equal(message_context.uid, "01a3");
  assert.deepEqual(metadata.profiles, ["ai_operation", "security_control"]);
  assert.equal(metadata.uid, ENTRY.id);
  assert.equal(metadata.sequence, 41);
  assert.equal(metadata.product.version, "1.2.3");
  assert.deepEqual(event.unmapped, { status: "approved" });
});

test("[ours.stream.ocsf] only an approval has the action Allowed", () => {
  for (const status of ["denied", "expired", "cancelled", "unknown"]) {
    const { action } = eventOf({ detail: JSON.stringify({ status }) });
    assert.notEqual(action, "Allowed", status);
  }
});

test("[ours.stream.ocsf] [ours.audit.at-once] the only entry of a request decided at once has the decision, the policy and the agent", () => {
  const detail = { status: "denied", opened_by: "instance:1", policy_sha256: "aa" };
  const { action, policy, actor } = eventOf({
    actor: "policy:reads",
    detail: JSON.stringify({ ...detail, policy_version: 7 }),
  });
  assert.deepEqual([action, policy], ["Denied", { uid: "aa", version: "7" }]);
  assert.deepEqual([actor.user.uid, actor.app_uid], ["policy:reads", "1"]);
});

test("[ours.stream.ocsf] the agent of an instance is an application and a service user", () => {
  const { actor } = eventOf({ kind: "request.opened", actor: "instance:01a4" });
  assert.equal(actor.app_uid, "01a4");
  assert.equal(actor.user.type, "Service");
});

test("[ours.stream.ocsf] a rejected sign-in is a failure", () => {
  const subject = "person:unknown";
  const { status, severity } = eventOf({ kind: "signin.refused", projectId: "", subject });
  assert.deepEqual([status, severity], ["Failure", "Low"]);
});

test("[ours.stream.ocsf] an altered entry has a valid event", () => {
  eventOf({ kind: "", actor: "", subject: "", at: Number.NaN });
  eventOf({ kind: "unknown.kind", actor: "none", subject: "none", at: -1 });
  eventOf({ kind: "request.opened", detail: '{"policy_sha256":"aa","policy_version":7}' });
});
