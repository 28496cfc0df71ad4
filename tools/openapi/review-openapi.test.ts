/** Holds contract/review.openapi.yaml against the rules of OpenAPI. */

import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import { REVIEW_OPERATIONS } from "@countersign/review-api";
import { createConfig, lint } from "@redocly/openapi-core";
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
