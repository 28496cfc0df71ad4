/** The command that adds the hook to the settings of a coding agent. */

import { resolve } from "node:path";
import type { Agent } from "@countersign/agents";
import {
  type Command,
  CommandError,
  type CommandLine,
  EXIT,
  type Terminal,
  typedCommand,
  usageError,
} from "@countersign/command-line";
import { formatDuration, visibleText } from "@countersign/protocol";
import { probeProvider } from "@countersign/sdk";
import { refreshTools } from "../codex/refresh-tools.ts";
import { configFile, keyPath } from "../codex/trust-file.ts";
import { checkSettings } from "../doctor/check-settings.ts";
import { assertInstallable, type InstallPlace, install, waitMsMax } from "../install/install.ts";
import { createInstance } from "../install/instance.ts";
import { usesFolder } from "../profile/folders.ts";
import { deprecatedVariables, findDifferentVariables, namesIn } from "../profile/hook-settings.ts";
import { type Profile, readProfile, readWait, WAIT_MS } from "../profile/profile.ts";
import { AGENT_NAMES, agentOf, changeFiles, PLACE, placeOf, readSecret } from "./options.ts";

export const installCommand: Command = {
  usage: "install AGENT",
  help: "Add the hook to the settings of a coding agent.",
  example: "install claude-code --url https://approvals.example.com",
  options: {
    url: {
      type: "text",
      value: "URL",
      help: "URL of the provider. [profile, COUNTERSIGN_URL]",
    },
    provision: {
      type: "flag",
      help: "Read a provisioner token from stdin and create an instance.",
    },
    name: { type: "text", value: "NAME", help: "Name of the new instance." },
    wait: { type: "text", value: "DURATION", help: "Time that a call waits, up to 168h. [24h]" },
    leave: {
      type: "text",
      value: "TOOLS",
      help: "Tools that need no approval, such as Read,mcp__docs__*.",
    },
    "prompts-only": {
      type: "flag",
      help: "Ask only where the agent would ask its own user.",
    },
    "local-prompt": {
      type: "flag",
      help: "With --prompts-only: prompt locally without a provider.",
    },
    "keep-prompts": { type: "flag", help: "Keep the agent's own prompts after an approval." },
    environment: { type: "flag", help: "Allow environment variables to override the profile." },
    "no-agent": { type: "flag", help: "Do not start Codex to list its MCP tools." },
    "no-trust": { type: "flag", help: "Do not record in Codex that you trust the hook." },
    ...PLACE,
  },

  async run(line, terminal, program) {
    const [name = ""] = line.take(`the agent (${AGENT_NAMES})`);
    const agent = agentOf(name);
    const place = placeOf(agent, line, program);
    const known = changeFiles(() => readProfile(place.profile));
    const keeps = line.text("url") === undefined && known !== undefined;
    assertProvisions(line, keeps ? place.profile : undefined);
    const options = optionsOf(agent, line, known);
    const trusted = trustedSettings(place, line);
    // Before --provision creates an instance.
    changeFiles(() => assertInstallable(place, options, trusted));
    const provider = keeps ? keptOf(known) : await providerOf(line, terminal);
    const wanted = { ...options, ...provider, uses: usesOf(agent.name, known) };
    const isChanged = changeFiles(() => install(place, wanted, trusted));
    const isListed = name === "codex" && !line.flag("no-agent");
    const tools = isListed ? await refreshTools(place, process.env) : [];
    const trust = trusted === undefined ? null : configFile(trusted);
    if (line.json) {
      const { settings, profile } = place;
      terminal.out(JSON.stringify({ agent: name, settings, profile, trust, changed: isChanged }));
      return EXIT.done;
    }
    const disabled = findDisabled(place, wanted);
    const done = isChanged ? "Hook installed" : "Hook already installed";
    terminal.out(
      disabled.length > 0
        ? `${done} but DISABLED. Calls of ${agent.title} run without approval.`
        : `${done}. ${agent.title} requests approval at ${visibleText(provider.url)}.`,
    );
    for (const { text, advice = "" } of disabled) terminal.out(visibleText(`${text} ${advice}`));
    if (keeps) for (const text of describeKept(place.profile, wanted)) terminal.note(text);
    for (const text of deprecatedVariables(process.env)) terminal.note(text);
    terminal.note(`Settings: ${place.settings}\nProfile:  ${place.profile}`);
    if (name === "codex") terminal.note(visibleText(describeTrust(trust)));
    for (const { text, advice = "" } of tools) terminal.note(`${text} ${advice}`.trimEnd());
    terminal.note(`Test it: ${typedCommand(program, process.env)} doctor ${name}`);
    return EXIT.done;
  },
};

/**
 * The settings as Codex names them, if install records that its user trusts the hook: Codex reads
 * these records from its user-level configuration only.
 */
function trustedSettings({ agent, settings }: InstallPlace, line: CommandLine) {
  if (agent.name !== "codex") {
    const flag = ["no-trust", "no-agent"].find((each) => line.flag(each));
    if (flag !== undefined) throw usageError(`--${flag} is an option for codex`);
    return undefined;
  }
  const isUserLevel = settings === resolve(agent.settings.file(process.env));
  return line.flag("no-trust") || !isUserLevel ? undefined : keyPath(settings, process.env);
}

function describeTrust(file: string | null): string {
  const skips = "Codex skips a hook that you do not trust.";
  if (file === null) return `${skips} Start codex, and review the hook with /hooks.`;
  return `${skips} This command recorded in ${file} that you trust this hook.`;
}

/** Settings that disable hooks. */
function findDisabled(place: InstallPlace, profile: Omit<Profile, "installed">) {
  const { findings } = checkSettings(place, profile, process.cwd(), process.env);
  return findings.filter(({ check }) => check === "settings.disabled");
}

type Provider = Pick<Profile, "url" | "token" | "instanceId">;

/** A profile wins over the environment, which another program may have set. */
function keptOf({ url, token, instanceId }: Profile): Provider {
  return { url, token, instanceId };
}

function describeKept(
  file: string,
  { url, token, environment }: Pick<Profile, "url" | "token" | "environment">,
): string[] {
  const kept = `Kept the URL ${visibleText(url)} and the key of the profile ${file}.`;
  const lines = [`${kept} To replace both, add --url URL.`];
  const others = findDifferentVariables(process.env, { url, token });
  if (others.length === 0) return lines;
  const names = others.join(" and ");
  lines.push(
    environment
      ? `The hook uses ${names} instead of the profile if the agent starts with them.`
      : `Ignored ${names}: the profile has another value.`,
  );
  return lines;
}

/**
 * @param kept the profile that the command keeps
 * @throws CommandError for options that would have no effect
 */
function assertProvisions(line: CommandLine, kept: string | undefined): void {
  if (!line.flag("provision")) {
    if (line.text("name") === undefined) return;
    throw usageError("--name needs --provision, which creates the instance");
  }
  if (kept === undefined) return;
  const advice = "To replace both with a new instance, add --url URL.";
  throw usageError(`--provision would keep the URL and the key of the profile ${kept}. ${advice}`);
}

async function providerOf(line: CommandLine, terminal: Terminal): Promise<Provider> {
  const given = line.text("url");
  const { COUNTERSIGN_URL, COUNTERSIGN_API_KEY: key } = process.env;
  const url = given ?? COUNTERSIGN_URL;
  if (!url) throw usageError("no URL of the provider: give --url URL, or set COUNTERSIGN_URL");
  if (!line.flag("provision")) {
    const isOfVariables = given === undefined || given === COUNTERSIGN_URL;
    const token = isOfVariables && key ? key : await readSecret(terminal, "the key of the agent");
    await assertWorks(url, token);
    return { url, token, instanceId: undefined };
  }
  const token = await readSecret(terminal, "the provisioner token");
  const [name = ""] = line.positionals;
  return { url, ...(await createInstance(agentOf(name), url, token, line.text("name"))) };
}

/** With a credential that does not work, the hook would block every call. */
async function assertWorks(url: string, token: string): Promise<void> {
  const { kind, text } = await probeProvider(url, token);
  if (kind === "works") return;
  const exitCode = kind === "refused" ? EXIT.refused : EXIT.unreachable;
  throw new CommandError(exitCode, kind, `nothing was installed: ${text}`);
}

/** The options of the command line. Default: those of the existing profile. */
function optionsOf(agent: Agent, line: CommandLine, known: Profile | undefined) {
  const wait = line.text("wait");
  const maxMs = waitMsMax(agent);
  const waitMs = wait === undefined ? (known?.waitMs ?? Math.min(WAIT_MS, maxMs)) : readWait(wait);
  if (waitMs === undefined || waitMs > maxMs) {
    throw usageError(`--wait must be from 1s to ${formatDuration(maxMs)}, such as 5m`);
  }
  const promptsOnly = line.flag("prompts-only") || (known?.promptsOnly ?? false);
  const localPrompt = line.flag("local-prompt") || (known?.localPrompt ?? false);
  if (promptsOnly && agent.promptEvent === undefined) {
    throw usageError(`--prompts-only is not possible: ${agent.title} has no event for its prompts`);
  }
  if (localPrompt && !promptsOnly) throw usageError("--local-prompt needs --prompts-only");
  const leave = line.text("leave");
  // The hook's environment is empty, so the profile stores the authorities of this process.
  const { NODE_EXTRA_CA_CERTS: caFile } = process.env;
  return {
    waitMs,
    leave: leave === undefined ? (known?.leave ?? []) : namesIn(leave),
    keepPrompts: line.flag("keep-prompts") || (known?.keepPrompts ?? false),
    promptsOnly,
    localPrompt,
    environment: line.flag("environment") || (known?.environment ?? false),
    caFile: caFile ? resolve(caFile) : known?.caFile,
  };
}

function usesOf(agent: string, known: Profile | undefined): string {
  return known?.uses ?? usesFolder(agent, process.env);
}
