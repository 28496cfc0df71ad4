import { createMessage } from "../messages.ts";
import { policyOfManyRules } from "../policy.ts";
import type { Scenario } from "./scenario.ts";

/** New requests that a policy of 200 rules approves at once. */
export const decide: Scenario = {
  name: "decide",
  policy: policyOfManyRules(),
  async prepare(subject) {
    const next = () => createMessage(subject.token, subject.nextNumber());
    const onBody = (body: Buffer) => {
      if (!body.includes('"status":"approved"')) throw new Error(`not approved: ${body}`);
    };
    return (seconds) => subject.run({ next, status: 201, onBody }, seconds);
  },
};
