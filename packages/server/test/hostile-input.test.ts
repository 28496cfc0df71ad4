/**
 * Hostile values in every path, parameter and member of the reviewer API, on both engines.
 * PostgreSQL does not store U+0000 in a column of text.
 */

import assert from "node:assert/strict";
import { after, test } from "node:test";
import {
  type Operation,
  REVIEW_OPERATIONS,
  REVIEW_PATH,
  type ReviewOperationName,
} from "@countersign/review-api";
import { setAuthorizationStage } from "./support/authorization-callers.ts";
import { type AnyFixture, FIXTURES } from "./support/authorization-fixtures.ts";
import { startExtended } from "./support/extensions.ts";
import { asPage, newPerson } from "./support/people.ts";

const NUL = "a\0b";

const HOSTILE_URL = ["a%00b", "%ff", "9".repeat(400), "-1", "%20"];

const HOSTILE: readonly unknown[] = [NUL, [NUL], { a: NUL }, 1e308, -0.5, 2 ** 53, null, ""];

const scene = await startExtended({ after }, undefined, {
  settings: { reviewer_rate: "0", unauthenticated_rate: "0" },
});
const { server } = scene;
const stage = await setAuthorizationStage(scene);
const token = await server.token({ kind: "reviewer", name: "op", role: "operator" });

interface Parts {
  readonly entries?: Readonly<Record<string, unknown>>;
  readonly pipe?: readonly unknown[];
}

/** The members of an object. */
function membersOf(schema: unknown): readonly string[] {
  if (schema === undefined) return [];
  const { entries, pipe } = schema as Parts;
  if (entries !== undefined) return Object.keys(entries);
  return (pipe ?? []).slice(1).flatMap(membersOf);
}

async function headersFor({ caller }: Operation): Promise<Record<string, string>> {
  if (caller === "reviewer") return { authorization: `Bearer ${token}` };
  if (caller === "anonymous") return asPage();
  return asPage(await newPerson(server, { login: stage.freshName().replace(" ", "-") }));
}

interface Input {
  readonly parameter: string;
  readonly query?: string;
  readonly body?: object;
}

/** One hostile value at a time; the rest of the input is valid. */
async function* hostileInputs(row: Operation, fixture: AnyFixture): AsyncGenerator<Input> {
  const valid = () => fixture.body?.(stage) ?? {};
  const parameter = async () => (await fixture.id?.(stage)) ?? "1";
  if (row.path.includes("{")) {
    for (const wrong of HOSTILE_URL) {
      yield { parameter: wrong, ...(row.body !== undefined && { body: valid() }) };
    }
  }
  for (const member of row.query === "any" ? ["code", "state"] : membersOf(row.query)) {
    for (const value of HOSTILE_URL) {
      yield { parameter: await parameter(), query: `?${member}=${value}` };
    }
  }
  for (const member of membersOf(row.body)) {
    for (const value of HOSTILE) {
      yield { parameter: await parameter(), body: { ...valid(), [member]: value } };
    }
  }
}

for (const [name, row] of Object.entries<Operation>(REVIEW_OPERATIONS)) {
  // A stream that stays open.
  if (name === "followEvents") continue;
  test(`${name} answers hostile input without an internal error`, async () => {
    const [fixture = {}] = [FIXTURES[name as ReviewOperationName] ?? {}].flat();
    const headers = await headersFor(row);
    const wrong: string[] = [];
    for await (const { parameter, query = "", body } of hostileInputs(row, fixture as AnyFixture)) {
      const path = REVIEW_PATH + row.path.replace(/\{\w+\}/, parameter) + query;
      const call = { key: server.freshKey(), headers, ...(body !== undefined && { body }) };
      const { status, text } = await server.call(row.method, path, call);
      if (status >= 500) wrong.push(`${path} ${JSON.stringify(body)}: ${status} ${text}`);
      await stage.liftAll();
    }
    assert.deepEqual(wrong, []);
  });
}
