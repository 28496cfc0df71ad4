/** Reads the directory and the server, and makes the plan. */

import type { CommandOptions, Terminal } from "@countersign/command-line";
import { usageError } from "@countersign/command-line";
import type { Reviewer } from "@countersign/review-api";
import { connectApi } from "../connect-api.ts";
import type { ReviewerApi } from "../reviewer-api.ts";
import type { SettingsLine } from "../settings-line.ts";
import { type Actual, type Requested, readActual } from "./actual.ts";
import type { Documents } from "./document.ts";
import { assertNoFindings } from "./finding.ts";
import { grant, KINDS, provisioner, reviewer } from "./kinds/index.ts";
import { makePlan, type Plan } from "./make-plan.ts";
import { readDirectory } from "./read-directory.ts";
import { secretReader } from "./secrets.ts";

export const PLAN_OPTIONS: CommandOptions = {
  file: {
    type: "text",
    short: "f",
    value: "DIR",
    help: "Directory of YAML files, or one file. Required.",
  },
  prune: { type: "flag", help: "Delete what has no document, of the kinds in DIR." },
  "set-secrets": { type: "flag", help: "Send the secrets of channels again." },
};

export interface PreparedPlan {
  readonly api: ReviewerApi;
  readonly actual: Actual;
  readonly plan: Plan;
  readonly prunes: boolean;
}

/** @throws CommandError when the files have errors, or the server cannot be read */
export async function preparePlan(
  line: SettingsLine,
  terminal: Terminal,
  env: NodeJS.ProcessEnv,
): Promise<PreparedPlan> {
  line.take();
  const directory = line.text("file");
  if (!directory) throw usageError("--file is missing");
  const prunes = line.flag("prune");
  const { documents, findings } = readDirectory(directory, KINDS);
  assertNoFindings(directory, findings, terminal, line.json);
  const api = connectApi(line);
  const actual = await readActual(api, (reviewers) => requestedBy(documents, reviewers));
  const plan = makePlan(KINDS, {
    documents,
    actual,
    readSecret: secretReader(env),
    setsSecrets: line.flag("set-secrets"),
  });
  assertNoFindings(directory, plan.findings, terminal, line.json);
  return { api, actual, plan, prunes };
}

/** A token that only reads can detect drift of everything except provisioners. */
function requestedBy(documents: Documents, reviewers: readonly Reviewer[]): Requested {
  const isKnown = (name: string) => reviewers.some((one) => one.name === name);
  return {
    invitations: documents.of(reviewer).some(({ name }) => !isKnown(name)),
    tokens: documents.has(provisioner),
    grants: documents.has(grant),
  };
}
