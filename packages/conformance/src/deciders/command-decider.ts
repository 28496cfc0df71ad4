/** A decider that is a program: it is run once for each verdict, without a shell. */

import { execFile } from "node:child_process";
import { promisify } from "node:util";
import type { Decider } from "../options.ts";

const run = promisify(execFile);

const VERDICT_MS_MAX = 60_000;

/** Appends request id, verdict and, where there is one, the note; exit code 0 says: taken. */
export function commandDecider(command: string, args: readonly string[] = []): Decider {
  return {
    async decide({ requestId, verdict, note }) {
      const own = [requestId, verdict, ...(note === undefined ? [] : [note])];
      try {
        await run(command, [...args, ...own], { timeout: VERDICT_MS_MAX });
      } catch (error) {
        // The output of the program may contain its secrets.
        const { code } = error as { readonly code?: string | number };
        throw new Error(`the decider's command failed (${code ?? "stopped by a signal"})`);
      }
    },
  };
}
