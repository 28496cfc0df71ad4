import { createMessage } from "../messages.ts";
import type { Scenario } from "./scenario.ts";

const KEYS = 1_000;

/** Submissions that were made before, with equal key and body: nothing is written. */
export const replay: Scenario = {
  name: "replay",
  async prepare(subject) {
    const known = await subject.fill({ seconds: 10, count: KEYS });
    const messages = known.map(({ n }) => createMessage(subject.token, n));
    let at = 0;
    const next = () => messages[at++ % messages.length];
    return (seconds) => subject.run({ next, status: 200 }, seconds);
  },
};
