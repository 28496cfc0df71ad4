/** The commands that list, show and decide requests. */

import {
  CommandError,
  type CommandOptions,
  EXIT,
  type ExitCode,
  type Terminal,
  usageError,
} from "@countersign/command-line";
import { parseDuration } from "@countersign/protocol";
import {
  type BodySent,
  exactText,
  type ReviewedRequest,
  type requests,
} from "@countersign/review-api";
import type { Command } from "../command.ts";
import { connectApi } from "../connect-api.ts";
import { listRequests } from "../list-requests.ts";
import { argumentsSha256, renderCard, renderTable } from "../render.ts";
import { needsOf } from "../render-requirement.ts";
import type { ReviewerApi } from "../reviewer-api.ts";
import { printRows, ROW_LIMIT } from "../row-list.ts";
import type { SettingsLine } from "../settings-line.ts";
import { visibleText } from "../visible-text.ts";

export const requestsList: Command = {
  usage: "requests list",
  help: "List pending requests, earliest deadline first.",
  example: "requests list --state decided",
  settings: ["client"],
  options: {
    state: { type: "text", value: "STATE", help: "State: pending or decided. [pending]" },
    limit: ROW_LIMIT.option,
  },

  async run(line, terminal) {
    line.take();
    const state = line.text("state") ?? "pending";
    if (state !== "pending" && state !== "decided") {
      throw usageError("--state must be pending or decided");
    }
    const limit = ROW_LIMIT.read(line);
    const api = connectApi(line);
    const { requests, damaged, hasMore } = await listRequests(api, state, limit);
    printRows(line, terminal, {
      json: requests.map(exactText),
      empty: `There are no ${state} requests.`,
      renderTable: () => renderTable(requests, api.now, terminal.columns),
      limit,
      hasMore,
    });
    if (damaged.length > 0) {
      terminal.note(`Damaged in the database and not shown: ${damaged.join(", ")}`);
    }
    return EXIT.done;
  },
};

export const requestsShow: Command = {
  usage: "requests show ID",
  help: "Show a request with its exact arguments.",
  example: "requests show 0198c2a4-7d0e-7c3b-9f51-2b6a4e8d1c70",
  settings: ["client"],
  options: {},

  async run(line, terminal) {
    const [id = ""] = line.take("the id of the request");
    const api = connectApi(line);
    const request = await show(api, id);
    terminal.out(line.json ? exactText(request) : renderCard(request, api.now));
    return EXIT.done;
  },
};

const NOTE: CommandOptions = {
  note: { type: "text", value: "TEXT", help: "Note that the agent receives with the decision." },
};

export const requestsApprove: Command = {
  usage: "requests approve ID",
  help: "Show a request and approve it after confirmation.",
  example: "requests approve 0198c2a4-7d0e-7c3b-9f51-2b6a4e8d1c70",
  settings: ["client"],
  options: {
    ...NOTE,
    "valid-for": { type: "text", value: "DURATION", help: "Lifetime of the approval." },
    digest: {
      type: "text",
      value: "SHA256",
      help: "SHA-256 of the reviewed arguments; skips the confirmation.",
    },
    confirmation: {
      type: "text",
      value: "TEXT",
      help: "Text that some requests require; see requests show.",
    },
    yes: { type: "flag", help: "Approve without showing the request." },
  },

  async run(line, terminal) {
    const [id = ""] = line.take("the id of the request");
    const validFor = line.text("valid-for");
    if (validFor !== undefined && parseDuration(validFor) === undefined) {
      throw usageError("--valid-for must be a duration, such as 5m");
    }
    const api = connectApi(line);
    const approval = await toApproval(api, id, line, terminal);
    if (approval === undefined) {
      terminal.note("Not approved.");
      return EXIT.refused;
    }
    const body = { verdict: "approve", valid_for: validFor, ...approval } as const;
    const decided = await decide(api, id, body).catch(async (error: unknown) => {
      throw await withPlaceToSign(api, id, error);
    });
    return print(decided, line, terminal);
  },
};

export const requestsDeny: Command = {
  usage: "requests deny ID",
  help: "Deny a request.",
  example: 'requests deny 0198c2a4-7d0e-7c3b-9f51-2b6a4e8d1c70 --note "Use staging."',
  settings: ["client"],
  options: NOTE,

  async run(line, terminal) {
    const [id = ""] = line.take("the id of the request");
    const api = connectApi(line);
    const body = {
      verdict: "deny",
      arguments_sha256: argumentsSha256(await show(api, id)),
      note: line.text("note"),
    } as const;
    return print(await decide(api, id, body), line, terminal);
  },
};

export const requestsWithdraw: Command = {
  usage: "requests withdraw ID",
  help: "Withdraw your approval of a pending request.",
  example: "requests withdraw 0198c2a4-7d0e-7c3b-9f51-2b6a4e8d1c70",
  settings: ["client"],
  options: {},

  async run(line, terminal) {
    const [id = ""] = line.take("the id of the request");
    const api = connectApi(line);
    const answer = await api.call("DELETE /requests/{id}/vote", { path: { id } });
    const message = answer.withdrawn ? "Withdrawn." : "You have not approved this request.";
    terminal.out(line.json ? exactText(answer) : message);
    return EXIT.done;
  },
};

export const requestsClaim: Command = {
  usage: "requests claim ID",
  help: "Show others that you review a request.",
  example: "requests claim 0198c2a4-7d0e-7c3b-9f51-2b6a4e8d1c70",
  settings: ["client"],
  options: {
    "take-over": { type: "flag", help: "Also if another reviewer reviews it." },
  },

  async run(line, terminal) {
    const [id = ""] = line.take("the id of the request");
    const call = { path: { id }, body: { take_over: line.flag("take-over") } };
    const answer = await connectApi(line).call("POST /requests/{id}/claim", call);
    const message = answer.claimed
      ? "Claimed for 10 minutes."
      : "Another reviewer reviews this request. Use --take-over to replace the claim.";
    terminal.out(line.json ? exactText(answer) : message);
    return answer.claimed ? EXIT.done : EXIT.refused;
  },
};

export const requestsHandOver: Command = {
  usage: "requests hand-over ID",
  help: "Give your claim to another reviewer.",
  example: "requests hand-over 0198c2a4-7d0e-7c3b-9f51-2b6a4e8d1c70 --to ana",
  settings: ["client"],
  options: {
    to: { type: "text", value: "NAME", help: "Name of the reviewer who receives the claim." },
  },

  async run(line, terminal) {
    const [id = ""] = line.take("the id of the request");
    const name = line.text("to");
    if (name === undefined) throw usageError("--to is required");
    const api = connectApi(line);
    const { reviewers } = await api.call("GET /reviewers");
    const receiver = reviewers.find((one) => one.name === name);
    if (receiver === undefined) throw usageError(`there is no reviewer ${visibleText(name)}`);
    const call = { path: { id }, body: { reviewer_id: receiver.id } };
    const answer = await api.call("POST /requests/{id}/claim/hand-over", call);
    const message = answer.handed_over ? "Handed over." : "You have not claimed this request.";
    terminal.out(line.json ? exactText(answer) : message);
    return answer.handed_over ? EXIT.done : EXIT.refused;
  },
};

export const requestsRelease: Command = {
  usage: "requests release ID",
  help: "End your claim of a request.",
  example: "requests release 0198c2a4-7d0e-7c3b-9f51-2b6a4e8d1c70",
  settings: ["client"],
  options: {},

  async run(line, terminal) {
    const [id = ""] = line.take("the id of the request");
    const answer = await connectApi(line).call("DELETE /requests/{id}/claim", { path: { id } });
    const message = answer.released ? "Released." : "You have not claimed this request.";
    terminal.out(line.json ? exactText(answer) : message);
    return EXIT.done;
  },
};

/** The members of an approval besides the verdict. */
interface Approval {
  readonly arguments_sha256: string;
  readonly note: string | undefined;
  readonly confirmation: string | undefined;
}

function show(api: ReviewerApi, id: string): Promise<ReviewedRequest> {
  return api.call("GET /requests/{id}", { path: { id } });
}

function decide(
  api: ReviewerApi,
  id: string,
  body: BodySent<typeof requests.castVerdict>,
): Promise<ReviewedRequest> {
  return api.call("POST /requests/{id}/verdict", { path: { id }, body });
}

/** @returns what the reviewer saw, agreed to and typed; undefined when they did not agree */
async function toApproval(
  api: ReviewerApi,
  id: string,
  line: SettingsLine,
  terminal: Terminal,
): Promise<Approval | undefined> {
  const digest = line.text("digest");
  const provided = { note: line.text("note"), confirmation: line.text("confirmation") };
  if (!terminal.isInteractive) {
    if (digest !== undefined) return { arguments_sha256: digest, ...provided };
    if (!line.flag("yes")) {
      throw usageError("give --digest SHA256 of the reviewed arguments, or --yes");
    }
    return { arguments_sha256: argumentsSha256(await show(api, id)), ...provided };
  }
  const request = await show(api, id);
  assertOpen(request);
  if (digest === undefined && !line.flag("yes")) {
    terminal.note(renderCard(request, api.now));
    const answer = await terminal.ask("Approve this call? [y/N] ");
    if (!/^y(es)?$/i.test(answer.trim())) return undefined;
  }
  const typed = await askForRest(request, provided, terminal);
  return typed && { arguments_sha256: digest ?? argumentsSha256(request), ...typed };
}

/** @throws CommandError when the server would reject an approval */
function assertOpen(request: ReviewedRequest): void {
  const { decision, status, may_decide: mayDecide } = request;
  if (decision !== undefined) {
    const message = `The request is already ${status}.`;
    throw new CommandError(EXIT.refused, "already_terminal", message);
  }
  if (!mayDecide.approve) {
    const reason = mayDecide.reason ?? "You cannot approve this request.";
    throw new CommandError(EXIT.refused, "forbidden", reason + placeToSign(request));
  }
}

/** A terminal has no passkeys: where a browser signs. Empty where no signature is required. */
function placeToSign({ requirement }: ReviewedRequest): string {
  const { sign_at: signAt } = requirement.confirm;
  return signAt === undefined ? "" : ` Sign it here: ${visibleText(signAt)}`;
}

/** Adds to a refusal where the reviewer can sign, if that is known. */
async function withPlaceToSign(api: ReviewerApi, id: string, error: unknown): Promise<unknown> {
  if (!(error instanceof CommandError) || error.code !== "forbidden") return error;
  const shown = await show(api, id).catch(() => undefined);
  if (shown === undefined) return error;
  return new CommandError(error.exitCode, error.code, error.message + placeToSign(shown));
}

type Typed = Pick<Approval, "note" | "confirmation">;

/** @returns undefined when the reviewer leaves out what the request needs */
async function askForRest(
  { id, requirement }: ReviewedRequest,
  provided: Typed,
  terminal: Terminal,
): Promise<Typed | undefined> {
  let { note, confirmation } = provided;
  if (requirement.note === "required" && note === undefined) {
    note = await terminal.ask("Note (required): ");
    if (note.trim() === "") return undefined;
  }
  const { kind, text = "" } = requirement.confirm;
  const expected = { type: visibleText(text), match: `the last 4 characters of ${id}` };
  if ((kind === "type" || kind === "match") && confirmation === undefined) {
    confirmation = await terminal.ask(`To confirm, type ${expected[kind]}: `);
    if (confirmation === "") return undefined;
  }
  return { note, confirmation };
}

function print(decided: ReviewedRequest, line: SettingsLine, terminal: Terminal): ExitCode {
  const { status, id, decision, votes } = decided;
  const until = decision?.expires_at;
  const usable = until === undefined ? "" : `, usable until ${until}`;
  const missing =
    decision === undefined ? `, approvals so far: ${votes.length}, needs ${needsOf(decided)}` : "";
  terminal.out(line.json ? exactText(decided) : `${status} ${id}${usable}${missing}`);
  return EXIT.done;
}
