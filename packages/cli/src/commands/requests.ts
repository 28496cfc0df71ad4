import {
  CommandError,
  type CommandOptions,
  EXIT,
  type ExitCode,
  type Terminal,
  usageError,
} from "@countersign/command-line";
import { parseDuration } from "@countersign/protocol";
import { type Asked, needsOf } from "../asked.ts";
import type { Command } from "../command.ts";
import { renderCard, renderTable } from "../render.ts";
import { ReviewClient, type ReviewedRequest } from "../review-client.ts";
import { ReviewerApi } from "../reviewer-api.ts";
import type { SettingsLine } from "../settings-line.ts";
import { visibleText } from "../visible-text.ts";

const LIMIT_MAX = 1_000;

export const requestsList: Command = {
  usage: "requests list",
  help: "List pending requests, those that end first at the top.",
  settings: ["client"],
  options: {
    state: { type: "text", value: "STATE", help: "pending or decided. [pending]" },
    limit: { type: "text", value: "COUNT", help: `At most so many, up to ${LIMIT_MAX}. [50]` },
  },

  async run(line, terminal) {
    line.take();
    const state = line.text("state") ?? "pending";
    if (state !== "pending" && state !== "decided") {
      throw usageError("--state is pending or decided");
    }
    const limit = Number(line.text("limit") ?? 50);
    if (!Number.isInteger(limit) || limit < 1 || limit > LIMIT_MAX) {
      throw usageError(`--limit is a whole number from 1 to ${LIMIT_MAX}`);
    }
    const { requests, damaged, now, next } = await connect(line).list(state, limit);
    if (line.json) {
      terminal.out(`[${requests.map((request) => request.source).join(",")}]`);
    } else if (requests.length === 0) {
      terminal.out(`There are no ${state} requests.`);
    } else {
      terminal.out(renderTable(requests, now, terminal.columns));
      if (next !== undefined) terminal.note(`There are more than ${limit}; see --limit.`);
    }
    if (damaged.length > 0) {
      terminal.note(`Damaged in the database, and not to be read: ${damaged.join(", ")}`);
    }
    return EXIT.done;
  },
};

export const requestsShow: Command = {
  usage: "requests show ID",
  help: "Show one request with its exact arguments.",
  settings: ["client"],
  options: {},

  async run(line, terminal) {
    const [id = ""] = line.take("the id of the request");
    const client = connect(line);
    const request = await client.show(id);
    terminal.out(line.json ? request.source : renderCard(request, client.now));
    return EXIT.done;
  },
};

const NOTE: CommandOptions = {
  note: { type: "text", value: "TEXT", help: "Told to the agent with the decision." },
};

export const requestsApprove: Command = {
  usage: "requests approve ID",
  help: "Let this one call run. Shows it and asks, unless told what was seen.",
  settings: ["client"],
  options: {
    ...NOTE,
    "valid-for": { type: "text", value: "DURATION", help: "How long it may be used." },
    digest: {
      type: "text",
      value: "SHA256",
      help: "Of the arguments you saw (requests show); refused if they are others.",
    },
    confirmation: {
      type: "text",
      value: "TEXT",
      help: "What has to be typed for some requests (requests show).",
    },
    yes: { type: "flag", help: "Approve what is there without looking." },
  },

  async run(line, terminal) {
    const [id = ""] = line.take("the id of the request");
    const validFor = line.text("valid-for");
    if (validFor !== undefined && parseDuration(validFor) === undefined) {
      throw usageError("--valid-for is a duration like 5m");
    }
    const client = connect(line);
    const approval = await toApproval(client, id, line, terminal);
    if (approval === undefined) {
      terminal.note("Nothing was decided.");
      return EXIT.refused;
    }
    const verdict = { verdict: "approve", valid_for: validFor, ...approval };
    const decided = await client.decide(id, verdict).catch(async (error: unknown) => {
      throw await withPlaceToSign(client, id, error);
    });
    return tell(decided, line, terminal);
  },
};

export const requestsDeny: Command = {
  usage: "requests deny ID",
  help: "Refuse this one call; a note tells the agent what to change.",
  settings: ["client"],
  options: NOTE,

  async run(line, terminal) {
    const [id = ""] = line.take("the id of the request");
    const client = connect(line);
    const { argumentsSha256 } = await client.show(id);
    const verdict = { verdict: "deny", arguments_sha256: argumentsSha256, note: line.text("note") };
    return tell(await client.decide(id, verdict), line, terminal);
  },
};

export const requestsWithdraw: Command = {
  usage: "requests withdraw ID",
  help: "Take back your approval of a request that waits for more of them.",
  settings: ["client"],
  options: {},

  async run(line, terminal) {
    const [id = ""] = line.take("the id of the request");
    const withdrawn = await connect(line).withdraw(id);
    const told = withdrawn ? "Withdrawn." : "There is no approval of yours.";
    terminal.out(line.json ? JSON.stringify({ withdrawn }) : told);
    return EXIT.done;
  },
};

export function connect(line: SettingsLine): ReviewClient {
  const { url, token } = reviewerAccess(line);
  return new ReviewClient(url, token);
}

/** @throws CommandError when the URL or the token cannot be used */
export function connectApi(line: SettingsLine): ReviewerApi {
  const { url, token } = reviewerAccess(line);
  return new ReviewerApi(url, token);
}

function reviewerAccess(line: SettingsLine): { readonly url: string; readonly token: string } {
  const { url, token } = line.config();
  if (token === undefined || token === "") {
    const hint = "countersign tokens create reviewer --name NAME";
    throw usageError(`COUNTERSIGN_TOKEN is not set; make a token with: ${hint}`);
  }
  // What no header can carry would be told in an error message, and the secret with it.
  if (!/^[\x21-\x7e]+$/.test(token)) {
    throw usageError("COUNTERSIGN_TOKEN holds characters that no token has");
  }
  if (!URL.canParse(url) || !/^https?:/.test(url)) {
    throw usageError("the url of the server must begin with http:// or https://");
  }
  if (!isPrivate(new URL(url))) {
    throw usageError("the token would cross the network in the clear: use https:// for this host");
  }
  return { url, token };
}

/** Whether nobody on the way can read along. */
function isPrivate({ protocol, hostname }: URL): boolean {
  if (protocol === "https:" || hostname === "localhost" || hostname === "[::1]") return true;
  return /^127(\.\d+){3}$/.test(hostname);
}

/** What an approval says besides that it is one. */
interface Approval {
  readonly arguments_sha256: string;
  readonly note: string | undefined;
  readonly confirmation: string | undefined;
}

/** @returns what the person saw, agreed to and typed; undefined when they did not agree */
async function toApproval(
  client: ReviewClient,
  id: string,
  line: SettingsLine,
  terminal: Terminal,
): Promise<Approval | undefined> {
  const digest = line.text("digest");
  const given = { note: line.text("note"), confirmation: line.text("confirmation") };
  if (!terminal.isInteractive) {
    if (digest !== undefined) return { arguments_sha256: digest, ...given };
    if (!line.flag("yes")) {
      throw usageError("approve needs --digest SHA256 of what was seen, or --yes");
    }
    return { arguments_sha256: (await client.show(id)).argumentsSha256, ...given };
  }
  const request = await client.show(id);
  assertOpen(request);
  if (digest === undefined && !line.flag("yes")) {
    terminal.note(renderCard(request, client.now));
    const answer = await terminal.ask("Approve this call? [y/N] ");
    if (!/^y(es)?$/i.test(answer.trim())) return undefined;
  }
  const typed = await askForRest(request, given, terminal);
  return typed && { arguments_sha256: digest ?? request.argumentsSha256, ...typed };
}

/** @throws CommandError when nothing can come of an approval */
function assertOpen({ decision, status, asked }: ReviewedRequest): void {
  if (decision !== undefined) {
    const message = `The request is already ${status}.`;
    throw new CommandError(EXIT.refused, "already_terminal", message);
  }
  if (asked?.mayApprove === false) {
    const reason = asked.reason ?? "You may not approve this.";
    throw new CommandError(EXIT.refused, "forbidden", reason + placeToSign(asked));
  }
}

/** A terminal has no passkeys: where a browser signs. Empty where none is needed. */
function placeToSign({ signAt }: Asked): string {
  return signAt === undefined ? "" : ` Sign it here: ${visibleText(signAt)}`;
}

/** Who was told that they may not is told where they may, if that is known. */
async function withPlaceToSign(client: ReviewClient, id: string, error: unknown): Promise<unknown> {
  if (!(error instanceof CommandError) || error.code !== "forbidden") return error;
  const shown = await client.show(id).catch(() => undefined);
  if (shown?.asked === undefined) return error;
  return new CommandError(error.exitCode, error.code, error.message + placeToSign(shown.asked));
}

type Typed = Pick<Approval, "note" | "confirmation">;

/** @returns undefined when the person leaves out what the request needs */
async function askForRest(
  { id, asked }: ReviewedRequest,
  given: Typed,
  terminal: Terminal,
): Promise<Typed | undefined> {
  let { note, confirmation } = given;
  if (asked?.isNoteRequired === true && note === undefined) {
    note = await terminal.ask("Note (required): ");
    if (note.trim() === "") return undefined;
  }
  const what = {
    type: `${visibleText(asked?.confirmText ?? "")}`,
    match: `the last 4 characters of ${id}`,
  }[asked?.confirm ?? ""];
  if (what !== undefined && confirmation === undefined) {
    confirmation = await terminal.ask(`To confirm, type ${what}: `);
    if (confirmation === "") return undefined;
  }
  return { note, confirmation };
}

function tell(decided: ReviewedRequest, line: SettingsLine, terminal: Terminal): ExitCode {
  const { status, id, asked, source, decision } = decided;
  const until = decision?.expiresAt;
  const usable = until === undefined ? "" : `, usable until ${until}`;
  const needs = decision === undefined && asked !== undefined ? `, needs ${needsOf(asked)}` : "";
  const votes = needs === "" ? "" : `, approvals so far: ${asked?.votes.length}`;
  terminal.out(line.json ? source : `${status} ${id}${usable}${votes}${needs}`);
  return EXIT.done;
}
