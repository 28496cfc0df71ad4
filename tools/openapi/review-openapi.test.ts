/** Holds contract/review.openapi.yaml against the rules of OpenAPI. */

import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import { REVIEW_OPERATIONS } from "@countersign/review-api";
import { createConfig, lint } from "@redocly/openapi-core";
import { Ajv2020 as Ajv } from "ajv/dist/2020.js";
import { parse } from "yaml";
import { featureOf, reviewOpenApi } from "./review-openapi.ts";

const FILE = join(import.meta.dirname, "../../contract/review.openapi.yaml");

test("the description of the reviewer API lints without an error or a warning", async () => {
  const config = await createConfig({
    extends: ["recommended"],
    // The answer to success may be a redirect; a tag says enough by its name.
    rules: { "operation-2xx-response": "off", "tag-description": "off" },
  });
  const problems = await lint({ ref: FILE, config });
  const lines = problems.map(({ ruleId, message, location }) => {
    return `${location[0]?.pointer}: ${message} (${ruleId})`;
  });
  assert.deepEqual(lines, []);
});

test("the description has every operation of the table, under the tag of its feature", () => {
  const description = reviewOpenApi();
  for (const name of Object.keys(REVIEW_OPERATIONS)) {
    assert.match(
      description,
      new RegExp(`operationId: ${name}\\n +tags:\\n +- ${featureOf(name)}\\n`),
    );
  }
});

type Json = Readonly<Record<string, unknown>>;

/** The value at a path of the description. */
function described(...path: readonly string[]): unknown {
  return path.reduce((at, key) => (at as Json)[key], parse(reviewOpenApi()) as unknown);
}

test("the description has the bounds of a text that further checks follow", () => {
  const schema = ["requestBody", "content", "application/json", "schema", "properties", "note"];
  const note = described("paths", "/review/v1/freezes", "post", ...schema);
  assert.deepEqual(note, { type: "string", minLength: 1, maxLength: 2000 });
});

test("an audit entry names its project by an id that is not a UUID, or by an empty text", () => {
  const schema = ["responses", "200", "content", "application/json", "schema"];
  const operation = described("paths", "/review/v1/audit/entries", "get", ...schema) as Json;
  const isValid = new Ajv({ strict: false, formats: { uuid: /^.{36}$/, "date-time": true } });
  const entry = {
    id: "019cebab-898c-7217-800b-f38c40604079",
    at: 1,
    kind: "audit.begun",
    actor: "system:audit",
    subject: "audit:log",
    detail: {},
  };
  for (const project_id of ["8216b13480342e08", ""]) {
    const answer = { entries: [{ ...entry, project_id }], next: null, pruned: 0 };
    assert.ok(isValid.validate(operation, answer), isValid.errorsText());
  }
});
