/** The folder for secrets that the server displays once. A secret is never printed. */

import { closeSync, existsSync, mkdirSync, openSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { CommandError, EXIT, usageError } from "@countersign/command-line";
import type { ReviewerApi } from "../reviewer-api.ts";
import type { Step, StepResult } from "./step.ts";

export class SecretFolder {
  readonly #folder: string | undefined;

  /** @param folder undefined: no step may create a secret */
  constructor(folder: string | undefined) {
    this.#folder = folder;
  }

  /** @throws CommandError when a step creates a secret that could not be written */
  assertReady(steps: readonly Step[]): void {
    for (const { kind, name, secretFile } of steps) {
      if (secretFile === undefined) continue;
      if (this.#folder === undefined) {
        throw usageError(`${kind} ${name} creates a secret; give --secrets DIR for its file`);
      }
      const path = join(this.#folder, secretFile);
      if (existsSync(path)) throw usageError(`${path} exists; move it to a safe place first`);
    }
  }

  /**
   * Runs a step. Its file exists before the server creates the secret, so none is lost.
   *
   * @throws CommandError also when the file cannot be written
   */
  async run(step: Step, api: ReviewerApi): Promise<StepResult> {
    if (step.secretFile === undefined || this.#folder === undefined) return step.run(api);
    const folder = this.#folder;
    const path = join(folder, step.secretFile);
    const file = attempt(`${path} cannot be created`, () => {
      mkdirSync(folder, { recursive: true, mode: 0o700 });
      return openSync(path, "wx", 0o600);
    });
    let secret: string | undefined;
    try {
      const result = await step.run(api);
      secret = result.secret;
      const lost = `${path} cannot be written, and its new secret is lost; replace the secret`;
      if (secret !== undefined) attempt(lost, () => writeFileSync(file, `${secret}\n`));
      return result;
    } finally {
      closeSync(file);
      if (secret === undefined) rmSync(path, { force: true });
    }
  }
}

/** @throws CommandError instead of an error of the file system */
function attempt<T>(failure: string, action: () => T): T {
  try {
    return action();
  } catch (error) {
    const { code = "" } = error as NodeJS.ErrnoException;
    throw new CommandError(EXIT.refused, "secret_file", `${failure} (${code})`);
  }
}
