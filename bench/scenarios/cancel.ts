import { cancelMessage } from "../messages.ts";
import type { Scenario } from "./scenario.ts";

/** A cancellation is cheaper than a creation; this keeps the run from stopping early. */
const SUPPLY = 2;

/** Cancellations of pending requests, each once. */
export const cancel: Scenario = {
  name: "cancel",
  async prepare(subject, secondsTimed) {
    const limit = { seconds: secondsTimed * SUPPLY, count: Number.POSITIVE_INFINITY };
    const pending = await subject.fill(limit);
    const next = () => {
      const request = pending.pop();
      return request === undefined ? undefined : cancelMessage(subject.token, request.id);
    };
    return (seconds) => subject.run({ next, status: 200 }, seconds);
  },
};
