/** Secrets in files, as container platforms and systemd provide them. */

import { readFileSync } from "node:fs";
import type { Environment } from "./environment.ts";
import { environmentName, fileVariable, SECRET_OPTIONS } from "./options.ts";

/**
 * The environment with the contents of the files that its variables name. Only a line break at the
 * end of a file does not belong to the secret.
 *
 * @param faults receives a line for each file that cannot be used
 */
export function readSecretFiles(environment: Environment, faults: string[]): Environment {
  const read = SECRET_OPTIONS.flatMap(({ name }) => {
    const path = environment[fileVariable(name)];
    if (path === undefined) return [];
    const variable = environmentName(name);
    if (environment[variable] !== undefined) {
      faults.push(`${fileVariable(name)}: ${variable} is set too; set only one of them`);
      return [];
    }
    try {
      return [[variable, readFileSync(path, "utf8").replace(/\r?\n$/, "")] as const];
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      faults.push(`${fileVariable(name)}: ${reason}`);
      return [];
    }
  });
  return { ...environment, ...Object.fromEntries(read) };
}
