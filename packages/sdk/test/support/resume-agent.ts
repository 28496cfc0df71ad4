/**
 * A second process of a suspended run: resumes it with a new agent, and prints what ran. The
 * arguments are the module of the framework, the mode, and a {@link ResumeOrder} as JSON.
 */

import { Countersign } from "@countersign/sdk";
import type { Framework, Mode, ScriptedCall, SuspendedRun } from "./framework-description.ts";

export interface ResumeOrder {
  readonly url: string;
  readonly apiKey: string;
  readonly runId: string;
  readonly calls: readonly ScriptedCall[];
  readonly suspended: SuspendedRun;
}

export interface ResumeReport {
  readonly paid: readonly string[];
  readonly results: Readonly<Record<string, string>>;
}

if (import.meta.main) {
  const [file, mode, text = ""] = process.argv.slice(2);
  const { framework } = (await import(`./frameworks/${file}.ts`)) as { framework: Framework };
  const { url, apiKey, runId, calls, suspended } = JSON.parse(text) as ResumeOrder;
  const { suspension } = framework;
  if ("unsupported" in suspension) throw new Error(suspension.unsupported);
  const paid: string[] = [];
  const pay = ({ to }: { to: string }) => {
    paid.push(to);
    return `paid ${to}`;
  };
  const approvals = new Countersign({ url, apiKey, wait: false, timeout: "1m", logger: false });
  const turn = { approvals, runId, calls, pay };
  const { results } = await suspension.resume(turn, suspended, mode as Mode);
  process.stdout.write(JSON.stringify({ paid, results } satisfies ResumeReport));
  // A framework may keep timers.
  process.exit();
}
