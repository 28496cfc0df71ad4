/** Checks that no secret is in logs, errors or reads. */

import type { Promised } from "../facts.ts";

const SECRET = /cs_(?:inst|prov|rev)_[A-Za-z0-9]{40,}|whsec_[A-Za-z0-9+/=]{40,}/;

/** Part of every call's arguments, which only reviewers may see. */
export const PRIVATE = "the-private-part-of-arguments";

export const NO_SECRETS: Promised = {
  id: "I13",
  says: "No secret is in a log line, an error or a read; no arguments in a log line or an error.",

  onAnswer({ world }, { call, answer: { status, text } }) {
    const isError = status >= 400;
    const isIssued = call.kind === "provision" && !isError;
    world.assert(isIssued || !SECRET.test(text), "I13", () => `${call.kind} answers ${text}`);
    const isPrivate = isError && text.includes(PRIVATE);
    world.assert(!isPrivate, "I13", () => `an error of ${call.kind} says ${text}`);
  },

  onLogLine({ world }, line) {
    const isOpen = !SECRET.test(line) && !line.includes(PRIVATE);
    world.assert(isOpen, "I13", () => `a log line says ${line}`);
  },
};
