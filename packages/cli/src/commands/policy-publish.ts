/** The commands that publish a policy and restore an older version. */

import {
  type CommandOptions,
  EXIT,
  type ExitCode,
  type Terminal,
  usageError,
} from "@countersign/command-line";
import { exactText, type PublishedPolicy, type ShownPolicy } from "@countersign/review-api";
import { loadPolicy } from "@countersign/server/policy/load";
import { compareRules, type RuleChanges } from "@countersign/server/policy/rule-changes";
import type { Command } from "../command.ts";
import { connectApi } from "../connect-api.ts";
import {
  examineFile,
  FLOOR,
  readPolicyFile,
  refuseFile,
  scopeOf,
  sourceOf,
  withPlaces,
} from "../policy-file.ts";
import { renderProposal } from "../render-proposals.ts";
import type { SettingsLine } from "../settings-line.ts";
import { numberOf, renderVersion } from "./policy-versions.ts";

const PUBLISHING: CommandOptions = {
  ...FLOOR,
  note: { type: "text", value: "TEXT", help: "Reason, stored with the version." },
  expect: {
    type: "text",
    value: "NUMBER",
    help: "Number of the active version that you edited. 0: none.",
  },
  yes: { type: "flag", help: "Publish without confirmation." },
};

export const policyPublish: Command = {
  usage: "policy publish [FILE]",
  help: "Show the changes of a policy and publish it.",
  example: 'policy publish policy.yaml --note "Approve small refunds"',
  settings: ["client"],
  options: {
    ...PUBLISHING,
    proposal: {
      type: "text",
      value: "ID",
      help: "Proposal to publish, instead of a file.",
    },
  },

  async run(line, terminal) {
    const proposal = line.text("proposal");
    if (proposal !== undefined) return publishProposal(proposal, line, terminal);
    const [file = ""] = line.take("the file of the policy");
    const consent = consentOf(line, terminal);
    const source = readPolicyFile(file);
    const isFloor = line.flag("floor");
    const { findings } = examineFile(source, isFloor);
    if (findings.length > 0) refuseFile(file, findings, terminal, line.json);
    const api = connectApi(line);
    const scope = scopeOf(line);
    const current = await api.call(`GET /${scope}`);
    if (sourceOf(current) === source) return reportUnchanged(current, line, terminal);
    if (!(await agreed(current, source, consent, terminal))) return notPublished(terminal);
    const expected = consent.expected ?? current.number;
    const body = { source, expected_number: expected, note: line.text("note") };
    const publish = () => api.call(`POST /${scope}`, { body });
    const published = await withPlaces(file, terminal, line.json, publish);
    return reportPublished(published, line, terminal);
  },
};

async function publishProposal(
  id: string,
  line: SettingsLine,
  terminal: Terminal,
): Promise<ExitCode> {
  line.take();
  for (const name of ["note", "expect"]) {
    if (line.text(name) !== undefined) {
      throw usageError(`--${name} cannot be combined with --proposal`);
    }
  }
  const consent = consentOf(line, terminal);
  const api = connectApi(line);
  const scope = scopeOf(line);
  const proposal = await api.call(`GET /${scope}/proposals/{id}`, { path: { id } });
  const current = await api.call(`GET /${scope}`);
  terminal.note(renderProposal(proposal));
  if (!(await agreed(current, proposal.source, consent, terminal))) return notPublished(terminal);
  const published = await api.call(`POST /${scope}/proposals/{id}/publish`, { path: { id } });
  return reportPublished(published, line, terminal);
}

export const policyRollback: Command = {
  usage: "policy rollback NUMBER",
  help: "Publish an older version as a new one.",
  example: "policy rollback 3",
  settings: ["client"],
  options: PUBLISHING,

  async run(line, terminal) {
    const [number = ""] = line.take("the number of the version");
    if (!/^[1-9]\d{0,8}$/.test(number))
      throw usageError("the version must be a whole number from 1");
    const consent = consentOf(line, terminal);
    const api = connectApi(line);
    const scope = scopeOf(line);
    const path = { number };
    const older = sourceOf(await api.call(`GET /${scope}/versions/{number}`, { path })) ?? "";
    const current = await api.call(`GET /${scope}`);
    if (sourceOf(current) === older) return reportUnchanged(current, line, terminal);
    if (!(await agreed(current, older, consent, terminal))) return notPublished(terminal);
    const expected = consent.expected ?? current.number;
    const body = { number: Number(number), expected_number: expected, note: line.text("note") };
    const rollBack = () => api.call(`POST /${scope}/rollback`, { body });
    const published = await withPlaces(`version ${number}`, terminal, line.json, rollBack);
    return reportPublished(published, line, terminal);
  },
};

interface Consent {
  readonly isConfirmed: boolean;
  readonly expected: number | undefined;
}

/** @throws CommandError without a terminal and without an option that confirms */
function consentOf(line: SettingsLine, terminal: Terminal): Consent {
  const expected = numberOf(line, "expect", 0);
  const isConfirmed = expected !== undefined || line.flag("yes");
  if (!isConfirmed && !terminal.isInteractive) {
    throw usageError("give --expect NUMBER of the active version, or --yes");
  }
  return { isConfirmed, expected };
}

async function agreed(
  current: ShownPolicy,
  source: string,
  { isConfirmed }: Consent,
  terminal: Terminal,
): Promise<boolean> {
  terminal.note("source" in current ? renderVersion(current) : "No version is active.");
  terminal.note(renderChanges(changesTo(sourceOf(current), source)));
  if (isConfirmed) return true;
  const answer = await terminal.ask(`Publish this as version ${current.number + 1}? [y/N] `);
  return /^y(es)?$/i.test(answer.trim());
}

const ALONE = "One person can publish after this version, unless the baseline policy requires two.";

interface PolicyChanges extends RuleChanges {
  /** Undefined when it stays as it was. */
  readonly twoPerson: boolean | undefined;
}

/** @returns undefined when the rules of one of them cannot be read */
export function changesTo(before: string | undefined, after: string): PolicyChanges | undefined {
  try {
    // As the more generous of the two kinds: this is for the eye alone.
    const load = (source: string) => loadPolicy(source, { kind: "project" });
    const [old, young] = [before === undefined ? undefined : load(before), load(after)];
    const isSame = (old?.isTwoPerson ?? false) === young.isTwoPerson;
    const changes = compareRules(old?.rules ?? [], young.rules);
    return { ...changes, twoPerson: isSame ? undefined : young.isTwoPerson };
  } catch {
    return undefined;
  }
}

/** Which rules differ, and whether publishing requires two people afterwards. */
export function renderChanges(changes: PolicyChanges | undefined): string {
  if (changes === undefined) return "The rules of the active version cannot be compared.";
  const { added, changed, removed, twoPerson } = changes;
  const lines = [
    ...added.map((id) => `  added    ${id}`),
    ...changed.map((id) => `  changed  ${id}`),
    ...removed.map((id) => `  removed  ${id}`),
  ];
  const rules =
    lines.length === 0 ? "No rule changes." : ["Rules that change:", ...lines].join("\n");
  if (twoPerson === undefined) return rules;
  return `${rules}\n${twoPerson ? "Publishing after this version requires two people." : ALONE}`;
}

function notPublished(terminal: Terminal): ExitCode {
  terminal.note("Not published.");
  return EXIT.refused;
}

function reportUnchanged(current: ShownPolicy, line: SettingsLine, terminal: Terminal): ExitCode {
  const message = `Version ${current.number} is active and identical.`;
  terminal.out(line.json ? exactText(current) : message);
  return EXIT.done;
}

function reportPublished(
  published: PublishedPolicy,
  line: SettingsLine,
  terminal: Terminal,
): ExitCode {
  const message = `Version ${published.number} is active (sha256 ${published.sha256}).`;
  terminal.out(line.json ? exactText(published) : message);
  return EXIT.done;
}
