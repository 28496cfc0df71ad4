/** The supported coding agents, one file for each. */

import type { Agent, HookEvent } from "./agent.ts";
import { CLAUDE_CODE } from "./claude-code.ts";
import { CLINE } from "./cline.ts";
import { CODEX } from "./codex.ts";
import { COPILOT } from "./copilot.ts";
import { CURSOR } from "./cursor.ts";
import { GEMINI_CLI } from "./gemini-cli.ts";
import { GOOSE } from "./goose.ts";
import { HERMES } from "./hermes.ts";
import { KIMI } from "./kimi.ts";
import { OPENCLAW } from "./openclaw.ts";
import { OPENCODE } from "./opencode.ts";
import { PI } from "./pi.ts";
import { WINDSURF } from "./windsurf.ts";

export const AGENTS: readonly Agent[] = [
  CLAUDE_CODE,
  CLINE,
  CODEX,
  COPILOT,
  CURSOR,
  GEMINI_CLI,
  GOOSE,
  HERMES,
  KIMI,
  OPENCLAW,
  OPENCODE,
  PI,
  WINDSURF,
];

export function findAgent(name: string | undefined): Agent | undefined {
  return AGENTS.find((agent) => agent.name === name);
}

/** All events that the hook answers. */
export function eventsOf({ events, promptEvent }: Agent): readonly HookEvent[] {
  return promptEvent === undefined ? events : [...events, promptEvent];
}

/** The events at which install adds the hook. */
export function installedEvents(
  { events, promptEvent }: Agent,
  { promptsOnly }: { readonly promptsOnly: boolean },
): Agent["events"] {
  return promptsOnly && promptEvent !== undefined ? [promptEvent] : events;
}
