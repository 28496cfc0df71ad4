/** Codex's configuration: switches that stop hooks, and its record of trusted hooks. */

import { parse as parseToml } from "smol-toml";
import { trustHash, trustKey } from "../codex/trust.ts";
import { configFile, realKeyPath } from "../codex/trust-file.ts";
import { SettingsFile } from "../install/settings-file.ts";
import type { Handler } from "../install/settings-handler.ts";
import { type Finding, fail } from "./finding.ts";

/**
 * @param path of the file with the hooks
 * @param again the command that installs the hook again
 */
export function checkCodexConfig(path: string, handler: Handler, again: string): Finding[] {
  const config = configFile(path);
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
  const keys = [path, realKeyPath(path)].map((each) => trustKey(each, handler));
  const state = Object(keys.map((key) => states[key]).find(Boolean)) as Record<string, unknown>;
  if (state.enabled === false) {
    const text = "The hook is disabled in Codex. Calls run without approval.";
    findings.push(fail("settings.disabled", text, "Enable it: /hooks in Codex."));
  }
  const hash = trustHash(handler);
  if (typeof state.trusted_hash !== "string") {
    const text = "Codex skips the hook until you trust it. Calls run without approval.";
    findings.push(fail("settings.trusted", text, trustAdvice(again)));
  } else if (hash !== undefined && state.trusted_hash !== hash) {
    const text = "Codex trusts another version of the hook, and skips this one.";
    findings.push(fail("settings.trusted", text, trustAdvice(again)));
  }
  return findings;
}

function trustAdvice(again: string): string {
  return `Run: ${again}. Or start codex, review the hook (/hooks), and trust it.`;
}
