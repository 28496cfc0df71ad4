/**
 * How doctor starts each agent for a trial: with a copy of the hook in a temporary configuration
 * folder, a false credential, and the model stand-in as its provider and proxy. It runs no other
 * MCP server of the user.
 */

import { copyFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import type { Agent } from "@countersign/agents";
import { applyEdits, modify } from "jsonc-parser";
import yaml from "yaml";
import { realKeyPath } from "../codex/trust-file.ts";
import { SettingsFile } from "../install/settings-file.ts";
import { consentFile } from "./check-hermes-consent.ts";
import { openClawConfigFile, readOpenClawConfig } from "./check-openclaw-config.ts";

const FALSE_CREDENTIAL = "countersign-doctor";

const PROMPT = "countersign doctor";

export interface Start {
  readonly args: readonly string[];
  readonly variables: Readonly<Record<string, string>>;
  /**
   * Text that the agent prints after a hook blocked a call, if it then ends its turn without a
   * result for the model.
   */
  readonly ended?: RegExp;
}

type Prepare = (
  agent: Agent,
  configuration: string,
  url: string,
  environment: NodeJS.ProcessEnv,
) => Start;

/** By the name of the agent. Doctor cannot start the others without a window or an account. */
export const STARTS: Readonly<Record<string, Prepare>> = {
  "claude-code": prepareClaudeCode,
  cline: prepareCline,
  codex: prepareCodex,
  copilot: prepareCopilot,
  "gemini-cli": prepareGemini,
  hermes: prepareHermes,
  kimi: prepareKimi,
  openclaw: prepareOpenClaw,
  opencode: prepareOpenCode,
  pi: preparePi,
};

/** Through the stand-in as a proxy, which refuses all connections. */
export function noOtherHost(url: string): Record<string, string> {
  return {
    HTTP_PROXY: url,
    HTTPS_PROXY: url,
    ALL_PROXY: url,
    NO_PROXY: "127.0.0.1",
  };
}

function prepareClaudeCode(
  agent: Agent,
  configuration: string,
  url: string,
  environment: NodeJS.ProcessEnv,
): Start {
  const settings = agent.settings.file(environment);
  if (existsSync(settings)) copyFileSync(settings, join(configuration, "settings.json"));
  const variables = {
    ...noOtherHost(url),
    ANTHROPIC_BASE_URL: url,
    ANTHROPIC_API_KEY: FALSE_CREDENTIAL,
    ANTHROPIC_AUTH_TOKEN: "",
    CLAUDE_CODE_USE_BEDROCK: "",
    CLAUDE_CODE_USE_VERTEX: "",
    CLAUDE_CODE_USE_FOUNDRY: "",
    CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
  };
  // The settings of the user and of the project can set the same members. These come last.
  const last = JSON.stringify({ env: variables, apiKeyHelper: `echo ${FALSE_CREDENTIAL}` });
  return {
    args: ["-p", PROMPT, "--strict-mcp-config", "--settings", last],
    variables: { ...variables, CLAUDE_CONFIG_DIR: configuration },
  };
}

function prepareCline(
  agent: Agent,
  configuration: string,
  url: string,
  environment: NodeJS.ProcessEnv,
): Start {
  copySettings(agent, environment, join(configuration, "hooks", "PreToolUse"));
  const settings = {
    provider: "openai-compatible",
    apiKey: FALSE_CREDENTIAL,
    model: "canary",
    baseUrl: `${url}/v1`,
  };
  const updatedAt = new Date(0).toISOString();
  const provider = { settings, updatedAt, tokenSource: "manual" };
  const providers = {
    version: 1,
    lastUsedProvider: "openai-compatible",
    modes: {},
    providers: { "openai-compatible": provider },
  };
  const folder = join(configuration, "data", "settings");
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "providers.json"), JSON.stringify(providers));
  return {
    // Without the hooks of a project, which could end the turn too.
    args: ["--cwd", configuration, "-P", "openai-compatible", "-m", "canary", PROMPT],
    variables: {
      CLINE_DIR: configuration,
      CLINE_NO_AUTO_UPDATE: "1",
      // Otherwise it starts a process that outlives the trial.
      CLINE_SESSION_BACKEND_MODE: "local",
    },
    ended: /\[abort\]/,
  };
}

function prepareCodex(
  agent: Agent,
  configuration: string,
  url: string,
  environment: NodeJS.ProcessEnv,
): Start {
  const settings = agent.settings.file(environment);
  const hooks = join(configuration, basename(settings));
  if (existsSync(settings)) copyFileSync(settings, hooks);
  // Codex records which hooks its user trusts by the path of the file.
  const config = new SettingsFile(join(dirname(settings), "config.toml")).text ?? "";
  const moved = config
    .replaceAll(`${settings}:`, `${hooks}:`)
    .replaceAll(`${realKeyPath(settings)}:`, `${hooks}:`);
  writeFileSync(join(configuration, "config.toml"), moved, { mode: 0o600 });
  const provider = {
    name: "countersign doctor",
    base_url: `${url}/v1`,
    wire_api: "responses",
    env_key: "COUNTERSIGN_DOCTOR_KEY",
  };
  const members = Object.entries(provider).map(([name, value]) => `${name}="${value}"`);
  const overrides = [
    'model_provider="countersign_doctor"',
    `model_providers.countersign_doctor={${members.join(",")}}`,
    "mcp_servers={}",
    "notify=[]",
  ].flatMap((override) => ["-c", override]);
  const options = ["--ephemeral", "--skip-git-repo-check", "--sandbox", "read-only"];
  return {
    args: ["exec", ...options, ...overrides, PROMPT],
    variables: { CODEX_HOME: configuration, COUNTERSIGN_DOCTOR_KEY: FALSE_CREDENTIAL },
  };
}

/** Copies the settings with the hook to the same place below another folder. */
function copySettings(agent: Agent, environment: NodeJS.ProcessEnv, to: string): void {
  mkdirSync(dirname(to), { recursive: true });
  copyFileSync(agent.settings.file(environment), to);
}

function prepareCopilot(
  agent: Agent,
  configuration: string,
  url: string,
  environment: NodeJS.ProcessEnv,
): Start {
  copySettings(agent, environment, join(configuration, "hooks", "countersign.json"));
  return {
    args: ["-p", PROMPT, "--allow-all-tools"],
    variables: {
      COPILOT_HOME: configuration,
      COPILOT_OFFLINE: "true",
      COPILOT_PROVIDER_BASE_URL: `${url}/v1`,
      COPILOT_PROVIDER_API_KEY: FALSE_CREDENTIAL,
      COPILOT_MODEL: "gpt-4.1",
    },
  };
}

function prepareGemini(
  agent: Agent,
  configuration: string,
  url: string,
  environment: NodeJS.ProcessEnv,
): Start {
  const copy = join(configuration, ".gemini", "settings.json");
  copySettings(agent, environment, copy);
  const text = readFileSync(copy, "utf8");
  // With another base URL it otherwise expects a gateway's credential. The rest is unchanged.
  const signIn = modify(text, ["security", "auth", "selectedType"], "gemini-api-key", {});
  writeFileSync(copy, applyEdits(text, signIn));
  const only = ["--allowed-mcp-server-names", "none", "--extensions", "none"];
  return {
    args: ["--yolo", "--skip-trust", ...only, "-m", "gemini-2.5-flash", "-p", PROMPT],
    variables: {
      GEMINI_CLI_HOME: configuration,
      GEMINI_CLI_NO_RELAUNCH: "1",
      GEMINI_API_KEY: FALSE_CREDENTIAL,
      GOOGLE_GEMINI_BASE_URL: url,
    },
  };
}

function prepareHermes(
  agent: Agent,
  configuration: string,
  url: string,
  environment: NodeJS.ProcessEnv,
): Start {
  const settings = agent.settings.file(environment);
  const copy = join(configuration, basename(settings));
  const config = yaml.parseDocument(new SettingsFile(settings).text ?? "");
  config.delete("mcp_servers");
  const model = {
    provider: "custom",
    default: "canary",
    base_url: `${url}/v1`,
    api_key: FALSE_CREDENTIAL,
  };
  config.set("model", model);
  writeFileSync(copy, config.toString(), { mode: 0o600 });
  const consent = consentFile(settings);
  if (existsSync(consent)) copyFileSync(consent, consentFile(copy));
  return {
    args: ["chat", "--yolo", "-Q", "-q", PROMPT],
    variables: { HERMES_HOME: configuration },
  };
}

function prepareKimi(
  agent: Agent,
  configuration: string,
  url: string,
  environment: NodeJS.ProcessEnv,
): Start {
  copySettings(agent, environment, join(configuration, "config.toml"));
  return {
    args: ["-p", PROMPT],
    variables: {
      KIMI_CODE_HOME: configuration,
      KIMI_CODE_NO_AUTO_UPDATE: "1",
      KIMI_MODEL_NAME: "canary",
      KIMI_MODEL_PROVIDER_TYPE: "openai",
      KIMI_MODEL_BASE_URL: `${url}/v1`,
      KIMI_MODEL_API_KEY: FALSE_CREDENTIAL,
    },
  };
}

function prepareOpenClaw(
  agent: Agent,
  configuration: string,
  url: string,
  environment: NodeJS.ProcessEnv,
): Start {
  const settings = agent.settings.file(environment);
  // It names the file of the user, which the trial loads.
  const plugins = readOpenClawConfig(openClawConfigFile(settings))?.plugins;
  const provider = {
    baseUrl: `${url}/v1`,
    apiKey: FALSE_CREDENTIAL,
    api: "openai-completions",
    models: [{ id: "canary", name: "canary" }],
  };
  const workspace = join(configuration, "workspace");
  const config = {
    agents: { defaults: { model: "countersign/canary", workspace } },
    models: { mode: "replace", providers: { countersign: provider } },
    plugins,
  };
  const file = join(configuration, "openclaw.json");
  writeFileSync(file, JSON.stringify(config), { mode: 0o600 });
  return {
    args: ["agent", "--local", "--session-id", "countersign-doctor", "-m", PROMPT],
    variables: {
      OPENCLAW_STATE_DIR: configuration,
      OPENCLAW_CONFIG_PATH: file,
    },
  };
}

function prepareOpenCode(
  agent: Agent,
  configuration: string,
  url: string,
  environment: NodeJS.ProcessEnv,
): Start {
  const folder = join(configuration, "opencode");
  copySettings(agent, environment, join(folder, "plugin", "countersign.js"));
  const options = { baseURL: `${url}/v1`, apiKey: FALSE_CREDENTIAL };
  const provider = {
    npm: "@ai-sdk/openai-compatible",
    name: "countersign doctor",
    options,
    models: { canary: { name: "canary", tool_call: true } },
  };
  const config = {
    model: "countersign/canary",
    small_model: "countersign/canary",
    autoupdate: false,
    share: "disabled",
    provider: { countersign: provider },
  };
  writeFileSync(join(folder, "opencode.json"), JSON.stringify(config));
  // Otherwise it first installs this package beside the plugin, which does not import it.
  const installed = { packages: { "": { dependencies: { "@opencode-ai/plugin": "*" } } } };
  mkdirSync(join(folder, "node_modules"));
  writeFileSync(join(folder, "package-lock.json"), JSON.stringify(installed));
  return {
    args: ["run", "-m", "countersign/canary", PROMPT],
    variables: {
      // Behind a proxy that refuses connections, it does not start.
      HTTP_PROXY: "",
      HTTPS_PROXY: "",
      ALL_PROXY: "",
      XDG_CONFIG_HOME: configuration,
      XDG_DATA_HOME: join(configuration, "data"),
      XDG_STATE_HOME: join(configuration, "state"),
      XDG_CACHE_HOME: join(configuration, "cache"),
      OPENCODE_DISABLE_AUTOUPDATE: "1",
      OPENCODE_DISABLE_MODELS_FETCH: "1",
    },
  };
}

function preparePi(
  agent: Agent,
  configuration: string,
  url: string,
  environment: NodeJS.ProcessEnv,
): Start {
  copySettings(agent, environment, join(configuration, "extensions", "countersign.js"));
  const provider = {
    baseUrl: `${url}/v1`,
    api: "openai-completions",
    apiKey: FALSE_CREDENTIAL,
    models: [{ id: "canary" }],
  };
  const models = { providers: { countersign: provider } };
  writeFileSync(join(configuration, "models.json"), JSON.stringify(models));
  return {
    args: ["-p", "--no-session", "--provider", "countersign", "--model", "canary", PROMPT],
    variables: {
      PI_CODING_AGENT_DIR: configuration,
      PI_OFFLINE: "1",
    },
  };
}
