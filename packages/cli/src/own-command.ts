/** The name of the program as the user can type it again. */

import { resolve } from "node:path";
import { typedCommand } from "@countersign/command-line";

export function ownCommand(environment: NodeJS.ProcessEnv): string {
  return typedCommand("countersign", environment);
}

/** The option that names the data folder in a recommended command. Empty for the default. */
export function dataOption(dataDirectory: string): string {
  return resolve(dataDirectory) === resolve("data") ? "" : ` --data ${shellQuote(dataDirectory)}`;
}

function shellQuote(text: string): string {
  return /^[\w./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}
