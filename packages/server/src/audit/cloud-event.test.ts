import assert from "node:assert/strict";
import { test } from "node:test";
import { CloudEvent, HTTP } from "cloudevents";
import { SEALED_ENTRY } from "../../test/support/sealed-entry.ts";
import { writeEntry } from "../core/audit-line.ts";
import { writeCloudEvent } from "./cloud-event.ts";

const { entry: ENTRY } = SEALED_ENTRY;

test("[ours.stream.cloudevents] the CloudEvents SDK accepts the event of an entry in strict mode", () => {
  const body = `[${writeCloudEvent(SEALED_ENTRY)}]`;
  const headers = { "content-type": "application/cloudevents-batch+json" };
  const [event, ...others] = HTTP.toEvent({ headers, body }) as CloudEvent<unknown>[];
  assert.deepEqual(others, []);
  assert.ok(event instanceof CloudEvent);
  assert.ok(event.validate());
  assert.equal(event.id, ENTRY.id);
  assert.equal(event.source, "countersign/audit/p/ab");
  assert.equal(event.type, "countersign.audit.request.resolved");
  assert.equal(event.subject, "request:01a3");
  assert.equal(event.time, "2026-01-31T12:00:00.000Z");
  assert.equal(event.sequence, "0000000000000041");
});

test("[ours.stream.cloudevents] the data of an event contains the exact bytes of the entry", () => {
  assert.ok(writeCloudEvent(SEALED_ENTRY).endsWith(`,"data":${writeEntry(ENTRY)}}`));
});

test("[ours.stream.cloudevents] an entry with an invalid time has an event without a time", () => {
  const entry = { ...ENTRY, at: Number.NaN };
  const { time } = JSON.parse(writeCloudEvent({ ...SEALED_ENTRY, entry }));
  assert.equal(time, undefined);
});
