import { createMessage } from "../messages.ts";
import type { Scenario } from "./scenario.ts";

/** New requests, each with a key of its own; they stay pending. */
export const create: Scenario = {
  name: "create",
  async prepare(subject) {
    const next = () => createMessage(subject.token, subject.nextNumber());
    return (seconds) => subject.run({ next, status: 201 }, seconds);
  },
};
