/** The commands that propose a policy, and list, show and reject proposals. */

import { EXIT, type Terminal } from "@countersign/command-line";
import { exactText } from "@countersign/review-api";
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
import { renderProposal, renderProposals } from "../render-proposals.ts";
import { collect } from "../reviewer-api.ts";
import { printRows, ROW_LIMIT } from "../row-list.ts";
import type { SettingsLine } from "../settings-line.ts";
import { changesTo, renderChanges } from "./policy-publish.ts";
import { numberOf, printPolicy } from "./policy-versions.ts";

export const policyPropose: Command = {
  usage: "policy propose [FILE]",
  help: "Propose a policy for another person to publish.",
  example: 'policy propose policy.yaml --note "Approve small refunds"',
  settings: ["client"],
  options: {
    ...FLOOR,
    restore: {
      type: "text",
      value: "NUMBER",
      help: "Older version to propose, instead of a file.",
    },
    note: { type: "text", value: "TEXT", help: "Reason, stored with the version." },
    expect: {
      type: "text",
      value: "NUMBER",
      help: "Number of the active version that you edited. 0: none.",
    },
  },

  async run(line, terminal) {
    const restores = numberOf(line, "restore");
    const api = connectApi(line);
    const scope = scopeOf(line);
    const [file = `version ${restores}`] =
      restores === undefined ? line.take("the file of the policy") : line.take();
    const content =
      restores === undefined ? { source: readChecked(file, line, terminal) } : { restores };
    const current = await api.call(`GET /${scope}`);
    const expected = numberOf(line, "expect", 0) ?? current.number;
    const body = { ...content, expected_number: expected, note: line.text("note") };
    const propose = () => api.call(`POST /${scope}/proposals`, { body });
    const proposed = await withPlaces(file, terminal, line.json, propose);
    if (!line.json) terminal.note(renderChanges(changesTo(sourceOf(current), proposed.source)));
    terminal.out(line.json ? exactText(proposed) : `Proposed as ${proposed.id}.`);
    return EXIT.done;
  },
};

function readChecked(file: string, line: SettingsLine, terminal: Terminal): string {
  const source = readPolicyFile(file);
  const { findings } = examineFile(source, line.flag("floor"));
  if (findings.length > 0) refuseFile(file, findings, terminal, line.json);
  return source;
}

export const policyProposals: Command = {
  usage: "policy proposals",
  help: "List open proposals, latest first.",
  example: "policy proposals",
  settings: ["client"],
  options: {
    ...FLOOR,
    closed: { type: "flag", help: "List closed proposals instead of open proposals." },
    limit: ROW_LIMIT.option,
  },

  async run(line, terminal) {
    line.take();
    const limit = ROW_LIMIT.read(line);
    const state = line.flag("closed") ? "closed" : "open";
    const api = connectApi(line);
    const route = `GET /${scopeOf(line)}/proposals` as const;
    const { items: proposals, hasMore } = await collect(
      limit,
      (limit, after) => api.call(route, { query: { state, limit, after } }),
      (page) => page.proposals,
    );
    printRows(line, terminal, {
      json: proposals.map(exactText),
      empty: state === "open" ? "There are no open proposals." : "There are no closed proposals.",
      renderTable: () => renderProposals(proposals),
      limit,
      hasMore,
    });
    return EXIT.done;
  },
};

export const policyProposal: Command = {
  usage: "policy proposal ID",
  help: "Print a proposal and the rules that it changes.",
  example: "policy proposal 0198c2a4-7d0e-7c3b-9f51-2b6a4e8d1c70",
  settings: ["client"],
  options: FLOOR,

  async run(line, terminal) {
    const [id = ""] = line.take("the id of the proposal");
    const api = connectApi(line);
    const scope = scopeOf(line);
    const proposal = await api.call(`GET /${scope}/proposals/{id}`, { path: { id } });
    if (line.json) {
      terminal.out(exactText(proposal));
      return EXIT.done;
    }
    terminal.note(renderProposal(proposal));
    if (proposal.state === "open") {
      const current = await api.call(`GET /${scope}`);
      terminal.note(renderChanges(changesTo(sourceOf(current), proposal.source)));
    }
    printPolicy(proposal.source, terminal);
    return EXIT.done;
  },
};

export const policyReject: Command = {
  usage: "policy reject ID",
  help: "Reject a proposal, or withdraw your own.",
  example: "policy reject 0198c2a4-7d0e-7c3b-9f51-2b6a4e8d1c70",
  settings: ["client"],
  options: {
    ...FLOOR,
    note: { type: "text", value: "TEXT", help: "Reason, stored with the proposal." },
  },

  async run(line, terminal) {
    const [id = ""] = line.take("the id of the proposal");
    const route = `POST /${scopeOf(line)}/proposals/{id}/reject` as const;
    const body = { note: line.text("note") };
    const rejected = await connectApi(line).call(route, { path: { id }, body });
    terminal.out(line.json ? exactText(rejected) : `Rejected ${rejected.id}.`);
    return EXIT.done;
  },
};
