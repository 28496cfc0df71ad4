/** Writes docs/agents/ from the descriptions of the agents, by one template. */

import { readFileSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { AGENTS, type Agent, type Consequence } from "@countersign/agents";
import { formatDuration } from "@countersign/protocol";
import { parse } from "yaml";
import { waitMsMax } from "../../packages/agent-hooks/src/install/install.ts";

interface Notes {
  /** How the agent's own prompts and an approval work together. */
  readonly approval: string;
  /** Calls that run without an approval, and how to prevent it. */
  readonly limits: readonly string[];
}

const TEMPLATE = readFileSync(join(import.meta.dirname, "agent-page.template.md"), "utf8");

const NOTES: Readonly<Record<string, Notes>> = parse(
  readFileSync(join(import.meta.dirname, "agent-notes.yaml"), "utf8"),
);

const WORDS: Readonly<Record<Consequence, string>> = {
  blocks: "blocks the call",
  runs: "**runs the call**",
  asks: "prompts its own user",
  unknown: "not documented",
};

/** The text of each agent's page, by its name. */
export function agentPages(): readonly { readonly name: string; readonly text: string }[] {
  return AGENTS.map((agent) => {
    const values = valuesOf(agent);
    const text = TEMPLATE.replace(/\{\{(\w+)\}\}/g, (_, name: string) => {
      const value = values[name];
      if (value === undefined) throw new Error(`agent-page.template.md: unknown value ${name}`);
      return value;
    });
    return { name: agent.name, text };
  });
}

function valuesOf(agent: Agent): Readonly<Record<string, string>> {
  const { name, title, events, input, settings, failures } = agent;
  const notes = NOTES[name];
  if (notes === undefined) throw new Error(`agent-notes.yaml: add the notes of ${name}`);
  const { observed, source } = failures;
  return {
    name,
    title,
    file: settings.file({}).replace(homedir(), "~"),
    events: codes(events.map((event) => event.name)),
    call: input.call === undefined ? "none: each hook is a new request" : `\`${input.call}\``,
    wait: formatDuration(waitMsMax(agent)),
    context: codes(["runtime", ...Object.keys(input.context)]),
    source: `[Documentation](${source}), ${observed ? `tested with ${observed}` : "not tested"}`,
    windows: windowsOf(agent),
    approval: notes.approval,
    prompts: promptsOf(agent),
    cases: casesOf(agent),
    limits: notes.limits.map((limit) => `- ${limit}`).join("\n"),
  };
}

function codes(names: readonly string[]): string {
  return names.map((name) => `\`${name}\``).join(", ");
}

function windowsOf({ windows }: Agent): string {
  const page = "[Windows](../reference/hooks.md#windows)";
  if (windows.kind === "refused") return `not supported: ${windows.reason}. See ${page}.`;
  const shell = windows.shell === "none" ? "no shell" : windows.shell;
  return `${shell} ([source](${windows.source})). Not run on Windows. See ${page}.`;
}

function promptsOf({ title, promptEvent }: Agent): string {
  if (promptEvent === undefined) {
    return `${title} has no event for its own prompts, so \`--prompts-only\` is not possible.`;
  }
  return [
    `With \`--prompts-only\`, the hook uses the event \`${promptEvent.name}\` instead. It requests`,
    `an approval only where ${title} would prompt its own user. With \`--local-prompt\` too,`,
    `${title} prompts its user if no provider can be reached.`,
  ].join("\n");
}

function casesOf({ failures }: Agent): string {
  const cases: Readonly<Record<string, Consequence>> = {
    "exits with another code than 0 and 2": failures.otherExit,
    "is stopped by a signal": failures.killed,
    "cannot be started": failures.notStarted,
    "reaches the time limit of the agent": failures.timeout,
    "exits with 0 and prints nothing": failures.silent,
    "exits with 0 and prints an invalid answer": failures.invalidOutput,
  };
  return Object.entries(cases)
    .map(([hook, consequence]) => `| ${hook} | ${WORDS[consequence]} |`)
    .join("\n");
}
