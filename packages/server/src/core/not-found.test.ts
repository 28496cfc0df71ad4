import assert from "node:assert/strict";
import { test } from "node:test";
import { unknownLogin, unknownProject, unknownReviewer, unknownToken } from "./not-found.ts";

test("an error about an unknown object names it and the command that lists the known ones", () => {
  const cases = [
    [unknownLogin("ada"), /^No account has the login "ada"\. .*`countersign people list`/],
    [unknownProject("shop"), /^No project has the name "shop"\. .*`countersign reviewers list`/],
    [unknownReviewer("ada"), /^The project has no reviewer "ada"\. .*`countersign reviewers list`/],
    [unknownToken("tok_1"), /^No token has the id "tok_1"\. .*`countersign tokens list`/],
  ] as const;
  for (const [problem, message] of cases) {
    assert.equal(problem.code, "not_found");
    assert.match(problem.message, message);
  }
});
