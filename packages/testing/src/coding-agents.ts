/**
 * Finds the coding agents that `npm run coding-agents` installs, with their versions. They are not
 * in a workspace, because they are large and only nightly tests need them. Hermes is a package of
 * Python, so it has a virtual environment of its own.
 */

import { existsSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";

const HOME = resolve(import.meta.dirname, "../../../coding-agents");

/** By the name of the agent: its package, and the path of its program in `node_modules`. */
const AGENTS: Readonly<Record<string, readonly [name: string, program: string]>> = {
  // Without install scripts, the programs of two packages are in the package of the platform.
  "claude-code": ["@anthropic-ai/claude-code", "@anthropic-ai/claude-code-PLATFORM/claude"],
  cline: ["cline", ".bin/cline"],
  codex: ["@openai/codex", ".bin/codex"],
  copilot: ["@github/copilot", ".bin/copilot"],
  "gemini-cli": ["@google/gemini-cli", ".bin/gemini"],
  kimi: ["@moonshot-ai/kimi-code", ".bin/kimi"],
  openclaw: ["openclaw", ".bin/openclaw"],
  opencode: ["opencode-ai", "opencode-PLATFORM/bin/opencode"],
  pi: ["@earendil-works/pi-coding-agent", ".bin/pi"],
};

/** Paths of programs, by the name of the agent. */
export type CodingAgents = ReadonlyMap<string, string>;

interface Manifest {
  readonly version?: string;
  readonly dependencies?: Readonly<Record<string, string>>;
}

function readManifest(folder: string): Manifest {
  return JSON.parse(readFileSync(join(folder, "package.json"), "utf8")) as Manifest;
}

/**
 * @param home the folder with the package.json of the agents
 * @returns undefined if an agent is missing, or has another version than in this package.json
 */
export function findCodingAgents(
  home: string = HOME,
  platform = `${process.platform}-${process.arch}`,
): CodingAgents | undefined {
  const { dependencies = {} } = readManifest(home);
  const programs = new Map<string, string>();
  for (const [agent, [name, path]] of Object.entries(AGENTS)) {
    const folder = join(home, "node_modules", name);
    const program = join(home, "node_modules", path.replace("PLATFORM", platform));
    if (!existsSync(folder) || !existsSync(program)) return undefined;
    if (readManifest(folder).version !== dependencies[name]) return undefined;
    programs.set(agent, program);
  }
  const hermes = join(home, "hermes/bin/hermes");
  return existsSync(hermes) ? programs.set("hermes", hermes) : undefined;
}

/** @throws Error if this agent is not installed */
export function requireCodingAgent(name: string): string {
  const program = findCodingAgents()?.get(name);
  if (program === undefined) throw new Error(`${name} is missing. Run npm run coding-agents.`);
  return program;
}
