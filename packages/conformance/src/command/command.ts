/** The command that tests a provider against the contract. */

import { writeFileSync } from "node:fs";
import {
  type Command,
  CommandError,
  type CommandLine,
  EXIT,
  type ExitCode,
} from "@countersign/command-line";
import {
  CannotRun,
  type Report,
  renderJson,
  renderJunit,
  renderList,
  renderOutcome,
  renderSummary,
  runConformance,
  SCENARIOS,
} from "../index.ts";
import { CONFORMANCE_OPTIONS, readConformanceOptions } from "./read-options.ts";

const EXITS: Readonly<Record<CannotRun["reason"], ExitCode>> = {
  unreachable: EXIT.unreachable,
  credential: EXIT.refused,
  receiver: EXIT.refused,
  selection: EXIT.usage,
};

export const conformance: Command = {
  usage: "BASE_URL",
  help: "Test whether a provider implements the contract.",
  example: "https://approvals.example.com --provisioner-token-file token",
  options: CONFORMANCE_OPTIONS,

  async run(line, terminal) {
    if (line.flag("list")) {
      terminal.out(renderList(SCENARIOS));
      return EXIT.done;
    }
    const options = readConformanceOptions(line);
    const report = await interruptible((signal) => {
      return runConformance({
        ...options,
        signal,
        onOutcome: (outcome) => terminal.out(renderOutcome(outcome)),
      });
    });
    terminal.out(renderSummary(report));
    write(line, "json", renderJson(report));
    write(line, "junit", renderJunit(report));
    return exitOf(report, line.flag("allow-untested"));
  },
};

/** An untested requirement is a failure unless --allow-untested is given. */
function exitOf({ failed, notTested }: Report, mayBeUntested: boolean): ExitCode {
  const isGood = failed === 0 && (notTested === 0 || mayBeUntested);
  return isGood ? EXIT.done : EXIT.refused;
}

/** Ctrl-C stops the run: it reports the tests so far and deletes the instances. */
async function interruptible(run: (signal: AbortSignal) => Promise<Report>): Promise<Report> {
  const controller = new AbortController();
  const end = () => controller.abort();
  process.once("SIGINT", end).once("SIGTERM", end);
  try {
    return await run(controller.signal);
  } catch (error) {
    if (!(error instanceof CannotRun)) throw error;
    throw new CommandError(EXITS[error.reason], error.reason, error.message);
  } finally {
    process.off("SIGINT", end).off("SIGTERM", end);
  }
}

function write(line: CommandLine, option: "json" | "junit", text: string): void {
  const file = line.text(option);
  if (file === undefined) return;
  try {
    writeFileSync(file, text);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new CommandError(EXIT.refused, "report", `${file} cannot be written: ${code}`);
  }
}
