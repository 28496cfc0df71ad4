/**
 * Folders of profiles and of used approvals, by the XDG base directories.
 *
 * @see https://specifications.freedesktop.org/basedir-spec/latest/
 */

import { homedir } from "node:os";
import { isAbsolute, join } from "node:path";

/** The profile of one agent: the provider's URL and the credential. */
export function profileFile(name: string, environment: NodeJS.ProcessEnv): string {
  const folder = base(environment.XDG_CONFIG_HOME, ".config");
  return join(folder, "countersign", "adapters", `${name}.json`);
}

/** The folder that records used approvals. */
export function usesFolder(name: string, environment: NodeJS.ProcessEnv): string {
  const folder = base(environment.XDG_STATE_HOME, join(".local", "state"));
  return join(folder, "countersign", "uses", name);
}

/** The specification requires to ignore a relative path. */
function base(value: string | undefined, fallback: string): string {
  return value !== undefined && isAbsolute(value) ? value : join(homedir(), fallback);
}
