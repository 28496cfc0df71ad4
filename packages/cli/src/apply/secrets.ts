/** Secrets of documents: a variable or a file outside of the directory holds them. */

import { readFileSync } from "node:fs";
import { dirname, resolve } from "node:path";
import * as v from "valibot";
import { text } from "./schemas.ts";

const RULE = "must be {env: NAME} or {file: PATH}";

/** The token of the caller is in such a variable. A change of files must not send it to a URL. */
const ownVariable = /^COUNTERSIGN_/i;

const variable = v.pipe(
  text,
  v.check(
    (name) => !ownVariable.test(name),
    "must not start with COUNTERSIGN_, which names settings of countersign; use another variable",
  ),
);

export const secretSource = v.union(
  [v.strictObject({ env: variable }), v.strictObject({ file: text })],
  RULE,
);

export type SecretSource = v.InferOutput<typeof secretSource>;

/** As the user wrote it, for messages. */
export function describeSource(source: SecretSource): string {
  return "env" in source ? `the variable ${source.env}` : `the file ${source.file}`;
}

/**
 * Reads secrets from variables, and from files relative to the document.
 *
 * @returns undefined when the variable is not set or the file is not there
 */
export function secretReader(env: NodeJS.ProcessEnv) {
  return (source: SecretSource, documentFile: string): string | undefined => {
    if ("env" in source) return env[source.env] || undefined;
    try {
      const path = resolve(dirname(documentFile), source.file);
      return readFileSync(path, "utf8").trim() || undefined;
    } catch {
      return undefined;
    }
  };
}
