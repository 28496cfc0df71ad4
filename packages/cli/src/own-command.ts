/** The name of the program as the user can type it again. */

import { resolve } from "node:path";

/** npm and compatible tools set this variable for the programs that they start. */
export function ownCommand({ npm_config_user_agent: npm }: NodeJS.ProcessEnv): string {
  return npm === undefined ? "countersign" : "npx countersign";
}

/** The option that names the data folder in a recommended command. Empty for the default. */
export function dataOption(dataDirectory: string): string {
  return resolve(dataDirectory) === resolve("data") ? "" : ` --data ${shellQuote(dataDirectory)}`;
}

function shellQuote(text: string): string {
  return /^[\w./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}
