import type { Command } from "@countersign/command-line";
import { runHook } from "../hook/run-hook.ts";
import { PROFILE } from "./options.ts";

/** For the help only: bin/ runs the hook itself, before it loads anything else. */
export const hook: Command = {
  usage: "hook AGENT",
  help: "Request approval for the call that an agent sends to stdin.",
  example: "hook claude-code < call.json",
  options: PROFILE,

  run: (_line, _terminal, program) => runHook([], process.env, program),
};
