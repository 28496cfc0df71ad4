/** Codex's configuration: switches that stop hooks, and its record of trusted hooks. */

import { dirname, join } from "node:path";
import { parse as parseToml } from "smol-toml";
import type { Handler } from "../install/json-settings.ts";
import { SettingsFile } from "../install/settings-file.ts";
import { type Finding, fail } from "./finding.ts";

/** @param path of the file with the hooks */
export function checkCodexConfig(path: string, handler: Handler): Finding[] {
  const config = join(dirname(path), "config.toml");
  let root: Record<string, unknown>;
  try {
    root = parseToml(new SettingsFile(config).text ?? "");
  } catch {
    return [fail("settings.config", `${config} cannot be read.`, "Fix it.")];
  }
  const findings: Finding[] = [];
  const features = Object(root.features) as Record<string, unknown>;
  if (features.hooks === false || features.codex_hooks === false) {
    const text = `${config} disables hooks. Calls run without approval.`;
    findings.push(fail("settings.disabled", text, "Set [features] hooks = true."));
  }
  if (features.unified_exec_tty !== false) {
    const text =
      "An approved interactive shell runs what write_stdin sends to it, without the hook.";
    const advice = `Set [features] unified_exec_tty = false in ${config}.`;
    findings.push(fail("settings.tty", text, advice));
  }
  const states = Object(Object(root.hooks).state) as Record<string, unknown>;
  const key = `${path}:${stateName(handler.event)}:${handler.group}:${handler.index}`;
  const state = Object(states[key]) as Record<string, unknown>;
  if (state.enabled === false) {
    const text = "The hook is disabled in Codex. Calls run without approval.";
    findings.push(fail("settings.disabled", text, "Enable it: /hooks in Codex."));
  }
  if (typeof state.trusted_hash !== "string") {
    const text = "Codex skips the hook until you trust it. Calls run without approval.";
    const advice = "Start codex, review the hook (/hooks), and trust it.";
    findings.push(fail("settings.trusted", text, advice));
  }
  return findings;
}

/** `PreToolUse` as `pre_tool_use`. */
function stateName(event: string): string {
  return event.replace(/(?<=[a-z])[A-Z]/g, "_$&").toLowerCase();
}
