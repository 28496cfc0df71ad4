/**
 * Where profiles and the record of used approvals are, by the XDG base directories.
 *
 * @see https://specifications.freedesktop.org/basedir-spec/latest/
 */

import { homedir } from "node:os";
import { isAbsolute, join } from "node:path";

/** The profile of one adapter: where the provider is, with the credential for it. */
export function profileFile(name: string, environment: NodeJS.ProcessEnv): string {
  const folder = base(environment.XDG_CONFIG_HOME, ".config");
  return join(folder, "countersign", "adapters", `${name}.json`);
}

/** Where it is recorded which approvals were used. */
export function usesFolder(name: string, environment: NodeJS.ProcessEnv): string {
  const folder = base(environment.XDG_STATE_HOME, join(".local", "state"));
  return join(folder, "countersign", "uses", name);
}

/** What is not absolute is to be ignored, says the specification. */
function base(given: string | undefined, fallback: string): string {
  return given !== undefined && isAbsolute(given) ? given : join(homedir(), fallback);
}
