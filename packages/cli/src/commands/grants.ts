/** The commands that create, list, show and revoke grants. */

import { EXIT, type ExitCode, type Terminal, usageError } from "@countersign/command-line";
import { parseDuration, parseIdentifier } from "@countersign/protocol";
import { exactText, type Grant } from "@countersign/review-api";
import type { Command } from "../command.ts";
import { connectApi } from "../connect-api.ts";
import { renderGrant, renderGrants } from "../render-grants.ts";
import { collect, type ReviewerApi } from "../reviewer-api.ts";
import { printRows, ROW_LIMIT } from "../row-list.ts";
import type { SettingsLine } from "../settings-line.ts";

const CALLS_MAX = 1_000;

export const grantsList: Command = {
  usage: "grants list",
  help: "List active grants, latest first.",
  example: "grants list",
  settings: ["client"],
  options: {
    ended: { type: "flag", help: "List ended grants instead of active grants." },
    limit: ROW_LIMIT.option,
  },

  async run(line, terminal) {
    line.take();
    const state = line.flag("ended") ? "ended" : "active";
    const limit = ROW_LIMIT.read(line);
    const api = connectApi(line);
    const { items: grants, hasMore } = await collect(
      limit,
      (limit, after) => api.call("GET /grants", { query: { state, limit, after } }),
      (page) => page.grants,
    );
    printRows(line, terminal, {
      json: grants.map(exactText),
      empty: state === "ended" ? "No grant has ended." : "There are no active grants.",
      renderTable: () => renderGrants(grants, api.now, terminal.columns),
      limit,
      hasMore,
    });
    return EXIT.done;
  },
};

export const grantsCreate: Command = {
  usage: "grants create [REQUEST]",
  help: "Create a grant that approves future calls.",
  example: "grants create 0198c2a4-7d0e-7c3b-9f51-2b6a4e8d1c70 --calls 5 --lasts 1h",
  settings: ["client"],
  options: {
    instance: {
      type: "text",
      value: "ID",
      help: "Instance of the approved calls. [that of REQUEST]",
    },
    tool: {
      type: "text",
      value: "GLOB",
      help: "Tools; * matches any characters. [that of REQUEST]",
    },
    server: {
      type: "text",
      value: "NAME",
      help: "MCP server of the tools. [that of REQUEST]",
    },
    "any-server": { type: "flag", help: "Tools of any server, or without one." },
    when: { type: "text", value: "CEL", help: "Condition for the arguments, as in a policy." },
    session: { type: "text", value: "ID", help: "Session of the calls. [that of REQUEST]" },
    "any-session": { type: "flag", help: "Calls of any session." },
    "same-turn": { type: "flag", help: "Only the turn of REQUEST: the rest of the response." },
    turn: { type: "text", value: "ID", help: "Turn of the session: turn_id or prompt_id." },
    calls: {
      type: "text",
      value: "COUNT",
      help: `Maximum number of calls, up to ${CALLS_MAX}. [10]`,
    },
    lasts: { type: "text", value: "DURATION", help: "Lifetime of the grant, up to 24h. [30m]" },
    "valid-for": { type: "text", value: "DURATION", help: "Lifetime of each approval." },
    note: { type: "text", value: "TEXT", help: "Note that the agent receives with each approval." },
  },

  async run(line, terminal) {
    const [request] = line.positionals.length === 0 ? [] : line.take("the id of the request");
    const instance = line.text("instance");
    if (request === undefined && (instance === undefined || line.text("tool") === undefined)) {
      throw usageError("give the id of a request, or --instance ID and --tool GLOB");
    }
    if (instance !== undefined && parseIdentifier(instance) === undefined) {
      throw usageError("--instance must be the id of an instance; see instances list");
    }
    if (request === undefined && line.flag("same-turn")) {
      throw usageError("--same-turn needs the id of a request; or use --session ID and --turn ID");
    }
    const api = connectApi(line);
    const body = {
      from_request: request,
      instance_id: instance,
      tool: line.text("tool"),
      server: line.text("server"),
      ...(line.flag("any-server") && { any_server: true }),
      when: line.text("when"),
      session: line.text("session"),
      ...(line.flag("any-session") && { any_session: true }),
      turn: line.text("turn"),
      ...(line.flag("same-turn") && { same_turn: true }),
      note: line.text("note"),
      calls: callsOf(line),
      lasts: durationOf(line, "lasts"),
      valid_for: durationOf(line, "valid-for"),
    };
    return print(await api.call("POST /grants", { body }), api, line, terminal);
  },
};

export const grantsShow: Command = {
  usage: "grants show ID",
  help: "Show a grant and its remaining calls.",
  example: "grants show 0198c2a4-7d0e-7c3b-9f51-2b6a4e8d1c70",
  settings: ["client"],
  options: {},

  async run(line, terminal) {
    const [id = ""] = line.take("the id of the grant");
    const api = connectApi(line);
    return print(await api.call("GET /grants/{id}", { path: { id } }), api, line, terminal);
  },
};

export const grantsRevoke: Command = {
  usage: "grants revoke ID",
  help: "Revoke a grant.",
  example: "grants revoke 0198c2a4-7d0e-7c3b-9f51-2b6a4e8d1c70",
  settings: ["client"],
  options: {},

  async run(line, terminal) {
    const [id = ""] = line.take("the id of the grant");
    const api = connectApi(line);
    const revoked = await api.call("POST /grants/{id}/revoke", { path: { id } });
    return print(revoked, api, line, terminal);
  },
};

function print(
  grant: Grant,
  { now }: ReviewerApi,
  { json }: SettingsLine,
  terminal: Terminal,
): ExitCode {
  terminal.out(json ? exactText(grant) : renderGrant(grant, now));
  return EXIT.done;
}

function callsOf(line: SettingsLine): number | undefined {
  const text = line.text("calls");
  if (text === undefined) return undefined;
  const calls = /^\d+$/.test(text) ? Number(text) : 0;
  if (calls >= 1 && calls <= CALLS_MAX) return calls;
  throw usageError(`--calls must be a whole number from 1 to ${CALLS_MAX}`);
}

function durationOf(line: SettingsLine, name: "lasts" | "valid-for"): string | undefined {
  const text = line.text(name);
  if (text === undefined || parseDuration(text) !== undefined) return text;
  throw usageError(`--${name} must be a duration, such as 30m`);
}
