import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import {
  IDEMPOTENCY_KEY_CHARS_MAX,
  JSON_DEPTH_MAX,
  JSON_NUMBER_CHARS_MAX,
  OUTCOME_NOTE_CHARS_MAX,
  WAIT_MS_MAX,
  WEBHOOK_URL_CHARS_MAX,
} from "@countersign/protocol";
import { HOLD_MS } from "@countersign/review-api";
import { ALL_OPTIONS, type Option } from "../src/config/options.ts";
import { SUBSCRIPTIONS_PER_PERSON_MAX } from "../src/core/push.ts";
import { RETRY_WINDOW_MS, STEP_MS_MAX, STEP_MS_MIN } from "../src/core/retry.ts";
import { SCOPES_MAX } from "../src/core/scopes.ts";
import {
  ADDRESS_QUEUE_MS,
  VERIFICATION_ANSWER_BYTES_MAX,
  VERIFICATION_MS,
  VERIFICATION_QUEUE_MS,
} from "../src/delivery/webhook-delivery.ts";
import { ADDRESSES_TRIED_MAX } from "../src/egress/egress-client.ts";
import {
  DRAIN_BYTES_MAX,
  DRAIN_MS_MAX,
  HEADER_BYTES_MAX,
  INTERIM_ANSWERS_MAX,
} from "../src/egress/http-exchange.ts";
import { ADDRESSES_MAX, ATTEMPTS_MAX, TIMEOUT_MS } from "../src/egress/resolve-host.ts";
import { EXAMINATION_MIB_MAX, EXAMINATION_MS_MAX } from "../src/examiner/examiner-thread.ts";
import { SCANNED_MAX } from "../src/operations/history/listHistory.ts";
import { ATTEMPT_MS } from "../src/outbox/webhook-destination.ts";
import { GRANTS_PER_INSTANCE_MAX } from "../src/steps/grants/useGrant.ts";
import { JOINED_MS_MAX } from "../src/steps/instances/commitVerified.ts";

const PAGE = readFileSync(join(import.meta.dirname, "../../../docs/reference/limits.md"), "utf8");

/** The cells of each row, spaces around them removed. */
const ROWS = PAGE.split("\n")
  .filter((line) => line.startsWith("| "))
  .map((line) => line.split("|").map((cell) => cell.trim()))
  .map(([, what = "", bound = "", setting = ""]) => ({ what, bound, setting }));

const count = (n: number) => n.toLocaleString("en-US");
const seconds = (ms: number) => `${count(ms / 1000)} s`;
const hours = (ms: number) => `${count(ms / 3_600_000)} h`;
const kib = (bytes: number) => `${count(bytes / 1024)} KiB`;

/** Whether the text contains the number as a whole: "5 s" is not in "15 s". */
function states(text: string, number: string): boolean {
  return new RegExp(`(?<![\\d.,])${RegExp.escape(number)}(?![\\d]|,\\d)`).test(text);
}

/** The default of a setting as the page writes it. */
function written({ name, type, default: value = "" }: Option): string {
  if (type === "duration") return value.replace(/[smh]$/, " $&");
  if (name.endsWith("_bytes_max") && Number(value) % 1_048_576 === 0) {
    return `${Number(value) / 1_048_576} MiB`;
  }
  return count(Number(value));
}

const LIMITS = ALL_OPTIONS.filter(({ group, type }) => {
  return group === "limits" || (group === "webhooks" && type === "integer");
});

for (const option of LIMITS) {
  test(`[limit.documented] limits.md states the default of ${option.name}`, () => {
    const rows = ROWS.filter(({ setting }) => setting.includes(`\`${option.name}\``));
    assert.ok(rows.length > 0, `limits.md has no row with the setting ${option.name}`);
    for (const { what, bound } of rows) {
      // Some rows refer to the one above.
      if (bound.startsWith("the same")) continue;
      assert.ok(states(bound, written(option)), `${what}: "${bound}", not ${written(option)}`);
      const burst = /bursts of ([\d,]+)/.exec(bound)?.[1];
      if (burst !== undefined) assert.equal(burst, count(2 * Number(option.default)), what);
    }
  });
}

/** By the start of the row. */
const FIXED: Readonly<Record<string, readonly string[]>> = {
  "Nesting of a body": [count(JSON_DEPTH_MAX)],
  "One number in a body": [count(JSON_NUMBER_CHARS_MAX)],
  "`Idempotency-Key`": [count(IDEMPOTENCY_KEY_CHARS_MAX)],
  "`wait`": [seconds(WAIT_MS_MAX)],
  "Delay of a verdict": [seconds(HOLD_MS.min), seconds(HOLD_MS.max)],
  "A page of history": [count(SCANNED_MAX)],
  "Browsers of one person": [count(SUBSCRIPTIONS_PER_PERSON_MAX)],
  "Note of an outcome": [count(OUTCOME_NOTE_CHARS_MAX)],
  "Scopes of one token": [count(SCOPES_MAX)],
  "Active grants of one instance": [count(GRANTS_PER_INSTANCE_MAX)],
  "Examining a policy": [seconds(EXAMINATION_MS_MAX), `${EXAMINATION_MIB_MAX} MiB`],
  "Receiver URL": [count(WEBHOOK_URL_CHARS_MAX)],
  "A verification, from DNS": [seconds(VERIFICATION_MS)],
  "Answer to a verification": [kib(VERIFICATION_ANSWER_BYTES_MAX)],
  "A verification waits": [seconds(VERIFICATION_QUEUE_MS)],
  "A repeated operation": [seconds(JOINED_MS_MAX)],
  "One attempt to deliver": [seconds(ATTEMPT_MS), hours(RETRY_WINDOW_MS)],
  "DNS query for a receiver": [seconds(TIMEOUT_MS), `${ATTEMPTS_MAX} tries`],
  "Addresses of one receiver name": [count(ADDRESSES_MAX)],
  "Interim (1xx) answers": [count(INTERIM_ANSWERS_MAX)],
  "Body of an answer to a notification": [kib(DRAIN_BYTES_MAX), seconds(DRAIN_MS_MAX)],
  "Headers of an answer": [kib(HEADER_BYTES_MAX)],
  "Addresses tried in one attempt": [count(ADDRESSES_TRIED_MAX)],
  "A message waits for a free slot": [seconds(ADDRESS_QUEUE_MS)],
  "Time between attempts": [seconds(STEP_MS_MIN), hours(STEP_MS_MAX)],
  "Attempts end": [hours(RETRY_WINDOW_MS)],
};

for (const [start, numbers] of Object.entries(FIXED)) {
  test(`[limit.documented] limits.md states the bound of the code: ${start}`, () => {
    const rows = ROWS.filter(({ what }) => what.startsWith(start));
    assert.equal(rows.length, 1, `rows of limits.md that start with "${start}"`);
    for (const number of numbers) {
      const { bound = "" } = rows[0] ?? {};
      assert.ok(states(bound, number), `"${bound}" does not state ${number}`);
    }
  });
}
