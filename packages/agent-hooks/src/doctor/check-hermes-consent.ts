/** Hermes skips a hook until its user consents to the command. */

import { dirname, join } from "node:path";
import yaml from "yaml";
import { SettingsFile } from "../install/settings-file.ts";
import { commandOf, type Handler } from "../install/settings-handler.ts";
import { type Finding, fail } from "./finding.ts";

/** Hermes records consents beside its settings. */
export function consentFile(settings: string): string {
  return join(dirname(settings), "shell-hooks-allowlist.json");
}

/** @param settings a readable file with the hook */
export function checkHermesConsent(settings: string, { event, value }: Handler): Finding[] {
  const { hooks_auto_accept: acceptsAll } = Object(
    yaml.parse(new SettingsFile(settings).text ?? ""),
  );
  if (acceptsAll === true || hasConsent(consentFile(settings), event, commandOf(value))) return [];
  const text = "Hermes skips the hook until you consent to it. Calls run without approval.";
  const advice = "Start hermes in a terminal and allow the hook, or start it with --accept-hooks.";
  return [fail("settings.consent", text, advice)];
}

function hasConsent(file: string, event: string, command: string | undefined): boolean {
  try {
    const { approvals } = Object(JSON.parse(new SettingsFile(file).text ?? "{}"));
    if (!Array.isArray(approvals)) return false;
    return approvals.some((each) => {
      const approval = Object(each);
      return approval.event === event && approval.command === command;
    });
  } catch {
    return false;
  }
}
