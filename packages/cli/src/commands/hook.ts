import { runHook } from "@countersign/adapters/hook";
import { PROFILE } from "../adapter-options.ts";
import type { Command } from "../command.ts";

/** Its help; the hook itself is started before any of this is loaded, in bin/countersign.js. */
export const hook: Command = {
  usage: "hook AGENT",
  help: "Ask about the call that a coding agent describes on stdin: what its settings run.",
  settings: [],
  options: PROFILE,

  run: () => runHook([], process.env),
};
