import { resolve } from "node:path";
import {
  type InstallPlace,
  install,
  lookAtSettings,
  makeInstance,
  namesIn,
  type Profile,
  probeProvider,
  readProfile,
  readWait,
  usesFolder,
  WAIT_MS,
} from "@countersign/adapters";
import { agentOf, PLACE, placeOf, readSecret, refusing } from "../adapter-options.ts";
import type { Command } from "../command.ts";
import type { CommandLine } from "../command-line.ts";
import { CommandError, EXIT, usageError } from "../exit.ts";
import type { Terminal } from "../terminal.ts";
import { visibleText } from "../visible-text.ts";

export const installCommand: Command = {
  usage: "install AGENT",
  help: "Make a coding agent (claude-code or codex) ask before every call, by its settings.",
  settings: [],
  options: {
    url: { type: "text", value: "URL", help: "Of the provider; its credential comes on stdin." },
    provision: { type: "flag", help: "stdin is a provisioner's token: make an instance with it." },
    name: { type: "text", value: "NAME", help: "Of the instance that is made." },
    wait: { type: "text", value: "DURATION", help: "How long a call waits, to 168h. [24h]" },
    leave: {
      type: "text",
      value: "TOOLS",
      help: "Tools that the agent decides itself, like Read,mcp__docs__*.",
    },
    "keep-prompts": { type: "flag", help: "After an approval the agent asks as it did before." },
    environment: { type: "flag", help: "Let COUNTERSIGN_ADAPTER_* override the profile." },
    ...PLACE,
  },

  async run(line, terminal) {
    const [name = ""] = line.take("the agent");
    const agent = agentOf(name);
    const place = placeOf(agent, line);
    const known = refusing(() => readProfile(place.profile));
    const provider = await providerOf(line, terminal, known);
    const wanted = { ...wishes(line, known), ...provider, uses: usesOf(agent.name, known) };
    const isChanged = refusing(() => install(place, wanted));
    if (line.json) {
      const { settings, profile } = place;
      terminal.out(JSON.stringify({ agent: name, settings, profile, changed: isChanged }));
      return EXIT.done;
    }
    const off = switchesOf(place, wanted);
    const what = isChanged ? "now asks" : "asks already";
    const words = off.length > 0 ? "has the hook, and does NOT ask" : what;
    terminal.out(`${agent.title} ${words} ${visibleText(provider.url)} before every call.`);
    for (const { text, advice = "" } of off) terminal.out(visibleText(`${text} ${advice}`));
    terminal.note(`Settings: ${place.settings}\nProfile:  ${place.profile}`);
    if (name === "codex") terminal.note("Codex skips it until you trust it: say /hooks there.");
    terminal.note(`See whether it blocks: countersign doctor ${name}`);
    return EXIT.done;
  },
};

/** What turns hooks off: with it, nobody asks anybody. */
function switchesOf(place: InstallPlace, profile: Omit<Profile, "installed">) {
  const { findings } = lookAtSettings(place, profile, process.cwd());
  return findings.filter(({ check }) => check === "settings.disabled");
}

type Provider = Pick<Profile, "url" | "token" | "instanceId">;

async function providerOf(
  line: CommandLine,
  terminal: Terminal,
  known: Profile | undefined,
): Promise<Provider> {
  const url = line.text("url");
  if (url === undefined) {
    if (known === undefined) throw usageError("--url says where the provider is");
    const { token, instanceId } = known;
    return { url: known.url, token, instanceId };
  }
  if (!line.flag("provision")) {
    const token = await readSecret(terminal, "the credential of an instance");
    await assertWorks(url, token);
    return { url, token, instanceId: undefined };
  }
  const token = await readSecret(terminal, "the token of a provisioner");
  const [name = ""] = line.positionals;
  return { url, ...(await makeInstance(agentOf(name), url, token, line.text("name"))) };
}

/** Whoever installs what cannot ask has locked the agent out of its tools. */
async function assertWorks(url: string, token: string): Promise<void> {
  const { kind, text } = await probeProvider(url, token);
  if (kind === "works") return;
  const exitCode = kind === "refused" ? EXIT.refused : EXIT.unreachable;
  throw new CommandError(exitCode, kind, `nothing was installed: ${text}`);
}

/** What the command line says, or else what was said before. */
function wishes(line: CommandLine, known: Profile | undefined) {
  const wait = line.text("wait");
  const waitMs = wait === undefined ? (known?.waitMs ?? WAIT_MS) : readWait(wait);
  if (waitMs === undefined) throw usageError("--wait is from 1s to 168h, like 24h");
  const leave = line.text("leave");
  // The hook's own environment is empty, so what this process trusts is kept in the profile.
  const { NODE_EXTRA_CA_CERTS: caFile } = process.env;
  return {
    waitMs,
    leave: leave === undefined ? (known?.leave ?? []) : namesIn(leave),
    keepPrompts: line.flag("keep-prompts") || (known?.keepPrompts ?? false),
    environment: line.flag("environment") || (known?.environment ?? false),
    caFile: caFile ? resolve(caFile) : known?.caFile,
  };
}

function usesOf(agent: string, known: Profile | undefined): string {
  return known?.uses ?? usesFolder(agent, process.env);
}
