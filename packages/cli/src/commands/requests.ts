import { parseDuration } from "@countersign/protocol";
import type { Command } from "../command.ts";
import type { CommandLine, OwnOptions } from "../command-line.ts";
import { CommandError, EXIT, type ExitCode, usageError } from "../exit.ts";
import { renderCard, renderTable } from "../render.ts";
import { ReviewClient, type ReviewedRequest } from "../review-client.ts";
import type { Terminal } from "../terminal.ts";

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
    const { requests, now, next } = await connect(line).list(state, limit);
    if (line.json) {
      terminal.out(`[${requests.map((request) => request.source).join(",")}]`);
    } else if (requests.length === 0) {
      terminal.out(`There are no ${state} requests.`);
    } else {
      terminal.out(renderTable(requests, now, terminal.columns));
      if (next !== undefined) terminal.note(`There are more than ${limit}; see --limit.`);
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

const NOTE: OwnOptions = {
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
    yes: { type: "flag", help: "Approve what is there without looking." },
  },

  async run(line, terminal) {
    const [id = ""] = line.take("the id of the request");
    const validFor = line.text("valid-for");
    if (validFor !== undefined && parseDuration(validFor) === undefined) {
      throw usageError("--valid-for is a duration like 5m");
    }
    const client = connect(line);
    const digest = line.text("digest") ?? (await seenDigest(client, id, line, terminal));
    if (digest === undefined) {
      terminal.note("Nothing was decided.");
      return EXIT.refused;
    }
    const verdict = { verdict: "approve", arguments_sha256: digest, valid_for: validFor };
    const decided = await client.decide(id, { ...verdict, note: line.text("note") });
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

export function connect(line: CommandLine): ReviewClient {
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
  return new ReviewClient(url, token);
}

/** Whether nobody on the way can read along. */
function isPrivate({ protocol, hostname }: URL): boolean {
  if (protocol === "https:" || hostname === "localhost" || hostname === "[::1]") return true;
  return /^127(\.\d+){3}$/.test(hostname);
}

/** @returns the digest of what the person saw and agreed to, undefined when they did not */
async function seenDigest(
  client: ReviewClient,
  id: string,
  line: CommandLine,
  terminal: Terminal,
): Promise<string | undefined> {
  if (!line.flag("yes") && !terminal.isInteractive) {
    throw usageError("approve needs --digest SHA256 of what was seen, or --yes");
  }
  const request = await client.show(id);
  if (line.flag("yes")) return request.argumentsSha256;
  if (request.decision !== undefined) {
    const message = `The request is already ${request.status}.`;
    throw new CommandError(EXIT.refused, "already_terminal", message);
  }
  terminal.note(renderCard(request, client.now));
  const answer = await terminal.ask("Approve this call? [y/N] ");
  return /^y(es)?$/i.test(answer.trim()) ? request.argumentsSha256 : undefined;
}

function tell(decided: ReviewedRequest, line: CommandLine, terminal: Terminal): ExitCode {
  const until = decided.decision?.expiresAt;
  const usable = until === undefined ? "" : `, usable until ${until}`;
  terminal.out(line.json ? decided.source : `${decided.status} ${decided.id}${usable}`);
  return EXIT.done;
}
