/** Checks that arguments are returned byte for byte. */

import type { Promised } from "../facts.ts";
import { requestIn } from "./final.ts";

export const EXACT: Promised = {
  id: "I10",
  says: "Arguments come out as they came in, byte for byte.",

  onCommit({ world, sent }, { changes }) {
    for (const { table, key, before, after } of changes) {
      if (table !== "request" || after === undefined) continue;
      if (before !== undefined) {
        const isSame = before.arguments === after.arguments && before.context === after.context;
        world.assert(isSame, "I10", () => `the arguments of ${key} changed`);
        continue;
      }
      const bodies = [...sent.values()].flatMap((each) => [...each]);
      const isSent = bodies.some((body) => body.includes(`"arguments":${after.arguments},`));
      world.assert(isSent, "I10", () => `${key} holds ${after.arguments}`);
    }
  },

  onAnswer({ world, snapshot }, { call, answer: { status, text } }) {
    const request = requestIn(status, text);
    if (request === undefined) return;
    if (call.kind === "create") {
      const args = /"arguments":(.*),"timeout"/.exec(call.body)?.[1];
      const isOwn = text.includes(`"arguments":${args},"timeout"`);
      world.assert(isOwn, "I10", () => `${call.body} was answered with ${text}`);
    }
    const stored = snapshot.get("request", request.id);
    if (stored === undefined) return;
    const isExact = text.includes(`"arguments":${stored.arguments},"timeout"`);
    world.assert(isExact, "I10", () => `${request.id} was answered as ${text}`);
  },
};
