/** The command that prints requests as they arrive and are decided. */

import { setTimeout as sleep } from "node:timers/promises";
import { CommandError, EXIT, type Terminal } from "@countersign/command-line";
import { onOneLine } from "@countersign/protocol";
import { exactText, type ReviewedRequest } from "@countersign/review-api";
import type { Command } from "../command.ts";
import { connectApi } from "../connect-api.ts";
import { type Listing, listRequests } from "../list-requests.ts";
import { renderTable } from "../render.ts";
import type { ReviewerApi } from "../reviewer-api.ts";
import { excerpt } from "../visible-text.ts";

/** How often the server is asked. */
const PERIOD_MS = 1_000;

/** Rows on the screen, which shows how many it omits. */
const LIMIT = 1_000;

export const requestsWatch: Command = {
  usage: "requests watch",
  help: "Show pending requests live. In a pipe: a line per change.",
  example: "requests watch",
  settings: ["client"],
  options: {},

  async run(line, terminal) {
    line.take();
    const api = connectApi(line);
    const interrupted = new AbortController();
    for (const signal of ["SIGINT", "SIGTERM"] as const) {
      process.once(signal, () => interrupted.abort());
    }
    const view =
      line.json || !terminal.isInteractive
        ? new Lines(api, terminal, line.json)
        : new Screen(api, terminal);
    // A first connection that fails ends the command; a later loss is retried.
    await view.update(await listRequests(api, "pending", LIMIT));
    while (!interrupted.signal.aborted) {
      await sleep(PERIOD_MS, undefined, { signal: interrupted.signal }).catch(() => {});
      if (interrupted.signal.aborted) break;
      await refresh(api, view);
    }
    return EXIT.done;
  },
};

interface View {
  update(listing: Listing): Promise<void>;
  lost(reason: string): void;
}

async function refresh(api: ReviewerApi, view: View): Promise<void> {
  try {
    await view.update(await listRequests(api, "pending", LIMIT));
  } catch (error) {
    const isPassing =
      error instanceof CommandError &&
      (error.exitCode === EXIT.unreachable || error.code === "rate_limited");
    if (!isPassing) throw error;
    view.lost(error.message);
  }
}

const HELP = "Decide: countersign requests approve|deny ID    Leave: Ctrl-C";

/** Lines around the requests: the head, how many more, a blank one, the help, the cursor's. */
const FRAME_ROWS = 5;

/** The requests with the earliest deadlines, one per row, redrawn after every poll. */
class Screen implements View {
  readonly #api: ReviewerApi;
  readonly #terminal: Terminal;

  constructor(api: ReviewerApi, terminal: Terminal) {
    this.#api = api;
    this.#terminal = terminal;
  }

  async update({ requests, hasMore }: Listing): Promise<void> {
    const { columns, rows } = this.#terminal;
    const shown = requests.slice(0, Math.max(1, rows - FRAME_ROWS));
    const list =
      shown.length === 0 ? "No request is pending." : renderTable(shown, this.#api.now, columns);
    const left = requests.length - shown.length;
    const more = left > 0 ? `\n${left}${hasMore ? "+" : ""} more end later.` : "";
    this.#draw(`${list}${more}\n\n${HELP}`);
  }

  lost(reason: string): void {
    this.#draw(`DISCONNECTED: ${reason}\nRetrying every second.`);
  }

  #draw(text: string): void {
    this.#terminal.out(`\u001b[H\u001b[2J${text}`);
  }
}

/** One line for each change. */
class Lines implements View {
  readonly #api: ReviewerApi;
  readonly #terminal: Terminal;
  readonly #json: boolean;
  /** Printed as opened and not as resolved, by id, with the approvers. */
  readonly #pending = new Map<string, string>();
  #connected = true;

  constructor(api: ReviewerApi, terminal: Terminal, json: boolean) {
    this.#api = api;
    this.#terminal = terminal;
    this.#json = json;
  }

  async update({ requests, hasMore }: Listing): Promise<void> {
    if (!this.#connected) this.#terminal.note("Reconnected.");
    this.#connected = true;
    const listed = new Set(requests.map(({ id }) => id));
    for (const request of requests) {
      const before = this.#pending.get(request.id);
      const votes = votesOf(request);
      this.#pending.set(request.id, votes);
      if (before === votes) continue;
      this.#print(before === undefined ? "opened" : "voted", request);
    }
    const gone = [...this.#pending.keys()].filter((id) => !listed.has(id));
    if (gone.length === 0) return;
    const { requests: decided } = await listRequests(this.#api, "decided", gone.length);
    const known = new Map(decided.map((request) => [request.id, request]));
    for (const id of gone) {
      const shown = known.get(id);
      const request = shown ?? (await this.#api.call("GET /requests/{id}", { path: { id } }));
      // Pushed off the end of a full list, it is still pending.
      if (request.decision === undefined && hasMore) continue;
      this.#print("resolved", request);
      this.#pending.delete(id);
    }
  }

  lost(reason: string): void {
    if (this.#connected) this.#terminal.note(`Disconnected: ${reason}. Retrying every second.`);
    this.#connected = false;
  }

  #print(event: "opened" | "voted" | "resolved", request: ReviewedRequest): void {
    const { id, status, server } = request;
    const tool = server === undefined ? request.tool : `${request.tool} on ${server}`;
    const args = exactText(request.arguments);
    const label = event === "voted" ? event : status;
    const columns = Math.max(20, this.#terminal.columns - id.length - 50);
    this.#terminal.out(
      this.#json
        ? `{"event":"${event}","request":${onOneLine(exactText(request))}}`
        : `${label.padEnd(9)} ${id}  ${excerpt(tool, 36)}  ${excerpt(args, columns)}`,
    );
  }
}

function votesOf({ votes }: ReviewedRequest): string {
  return JSON.stringify(votes.map(({ reviewer, at }) => [reviewer, at]));
}
