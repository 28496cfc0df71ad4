/** The command that changes the project as a directory describes it. */

import {
  CommandError,
  EXIT,
  type ExitCode,
  type Terminal,
  usageError,
} from "@countersign/command-line";
import { PLAN_OPTIONS, type PreparedPlan, preparePlan } from "../apply/prepare-plan.ts";
import { nameStep, renderPlan, stepToJson } from "../apply/render-plan.ts";
import { type Outcome, runSteps } from "../apply/run-steps.ts";
import { SecretFolder } from "../apply/secret-folder.ts";
import type { Step } from "../apply/step.ts";
import type { Command } from "../command.ts";
import { confirm } from "../questions.ts";
import { visibleText } from "../visible-text.ts";

export const apply: Command = {
  usage: "apply",
  help: "Show a plan and change the project accordingly.",
  example: "apply -f countersign/",
  settings: ["client"],
  options: {
    ...PLAN_OPTIONS,
    secrets: {
      type: "text",
      value: "DIR",
      help: "Folder for new tokens and links, a file each.",
    },
    yes: { type: "flag", help: "Apply without confirmation." },
  },

  async run(line, terminal) {
    const isConfirmed = line.flag("yes");
    if (!isConfirmed && !terminal.isInteractive) throw usageError("give --yes");
    const prepared = await preparePlan(line, terminal, process.env);
    const { api, plan, prunes } = prepared;
    const steps = runnable(prepared);
    const secrets = new SecretFolder(line.text("secrets"));
    assertComplete(steps);
    secrets.assertReady(steps);
    if (!line.json) terminal.note(renderPlan(plan, prunes));
    const agrees = isConfirmed || steps.length === 0;
    if (!agrees && !(await confirm(terminal, `Apply ${countOf(steps)}?`, false))) {
      terminal.note("Not applied.");
      return EXIT.refused;
    }
    const onDone = line.json ? () => {} : (step: Step) => terminal.out(renderDone(step));
    const outcome = await runSteps(steps, api, secrets, onDone);
    if (line.json) return printJson(outcome, prepared, terminal);
    return report(outcome, terminal);
  },
};

/** Steps that wait for a person have been sent already. */
function runnable({ plan, prunes }: PreparedPlan): readonly Step[] {
  const steps = plan.steps.filter(({ waitsFor }) => waitsFor === undefined);
  return prunes ? [...steps, ...plan.surplus] : steps;
}

/** @throws CommandError when the secret of a step is not there */
function assertComplete(steps: readonly Step[]): void {
  for (const { kind, name, missing } of steps) {
    if (missing === undefined) continue;
    throw usageError(`${kind} ${name} needs ${missing}, which is not there or empty`);
  }
}

function countOf(steps: readonly Step[]): string {
  return steps.length === 1 ? "1 step" : `${steps.length} steps`;
}

function renderDone(step: Step): string {
  if (step.waitsFor === undefined) return `${nameStep(step)}: done`;
  return `${nameStep(step)}: waits for ${visibleText(step.waitsFor)}`;
}

/** @throws CommandError for a failed step */
function report({ applied, waiting, failed, notApplied }: Outcome, terminal: Terminal): ExitCode {
  if (failed === undefined) {
    const waits = waiting.length === 0 ? "" : `, ${waiting.length} waiting for people`;
    terminal.out(`${applied.length} applied${waits}.`);
    return EXIT.done;
  }
  const { step, error } = failed;
  for (const one of notApplied) terminal.note(`${nameStep(one)}: not applied`);
  const rest = notApplied.length + 1;
  const count = `${applied.length} applied, ${waiting.length} waiting, ${rest} not`;
  const message = `${nameStep(step)}: ${error.message} (${count})`;
  throw new CommandError(error.exitCode, error.code, message, error.findings);
}

function printJson(outcome: Outcome, { actual, plan }: PreparedPlan, terminal: Terminal): ExitCode {
  const { applied, waiting, failed, notApplied } = outcome;
  const before = plan.steps.filter(({ waitsFor }) => waitsFor !== undefined);
  const json = {
    project: actual.project.name,
    applied: applied.map(stepToJson),
    waiting: [...before, ...waiting].map(stepToJson),
    failed: failed && {
      step: stepToJson(failed.step),
      code: failed.error.code,
      message: failed.error.message,
    },
    not_applied: notApplied.map(stepToJson),
  };
  terminal.out(JSON.stringify(json));
  return failed?.error.exitCode ?? EXIT.done;
}
