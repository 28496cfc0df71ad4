import { readMessage } from "../messages.ts";
import type { Scenario } from "./scenario.ts";

const REQUESTS = 1_000;

/** Reads of pending requests without waiting. */
export const read: Scenario = {
  name: "read",
  async prepare(subject) {
    const known = await subject.fill({ seconds: 10, count: REQUESTS });
    const messages = known.map(({ id }) => readMessage(subject.token, id));
    let at = 0;
    const next = () => messages[at++ % messages.length];
    return (seconds) => subject.run({ next, status: 200 }, seconds);
  },
};
