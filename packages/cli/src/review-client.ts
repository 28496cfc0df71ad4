/**
 * The reviewer surface as a client sees it. Answers are read without loss, so that what is shown
 * and hashed is the stored text itself.
 */

import { CommandError, EXIT, type Finding } from "@countersign/command-line";
import { JsonArray, JsonObject, parseJson } from "@countersign/protocol";
import { object, text } from "./json-members.ts";

/** Bounds an exchange: the reviewer surface holds none open. */
const EXCHANGE_MS_MAX = 15_000;

/** Deeper than the server accepts, because the answer wraps what it accepted. */
const ANSWER_LIMITS = { depthMax: 1_000, numberCharsMax: 1_000_000 };

export class ReviewClient {
  readonly #base: string;
  readonly #token: string;
  /** The server's time at its last answer, epoch ms: windows are counted down from it. */
  now = Number.NaN;

  constructor(url: string, token: string) {
    this.#base = `${url.replace(/\/+$/, "")}/review/v1`;
    this.#token = token;
  }

  /**
   * One exchange with the reviewer surface, for all that is on it.
   *
   * @param path behind `/review/v1`
   * @throws CommandError when it is refused or nobody answers
   */
  async exchange(method: string, path: string, body?: string): Promise<JsonObject> {
    let response: Response;
    let answer: string;
    try {
      response = await this.#send(method, path, body, AbortSignal.timeout(EXCHANGE_MS_MAX));
      answer = await response.text();
      // The header has whole seconds. The last millisecond keeps a countdown from being too long.
      const atServer = Date.parse(response.headers.get("date") ?? "") + 999;
      // A proxy may remove the header. Then the local clock is the best estimate.
      this.now = Number.isNaN(atServer) ? Date.now() : atServer;
    } catch (error) {
      throw this.#unreachable(error);
    }
    return this.#read(response, answer);
  }

  /**
   * An exchange that is answered by a line of JSON at a time, for as long as it takes.
   *
   * @throws CommandError when it is refused, at first or later, or nobody answers
   */
  async *lines(path: string, body: string): AsyncGenerator<JsonObject> {
    try {
      const response = await this.#send("POST", path, body);
      if (!response.ok || response.body === null) {
        this.#read(response, await response.text());
        throw this.stranger();
      }
      let rest = "";
      for await (const piece of response.body.pipeThrough(new TextDecoderStream())) {
        const lines = (rest + piece).split("\n");
        rest = lines.pop() ?? "";
        for (const line of lines) yield this.#read(response, line);
      }
    } catch (error) {
      throw error instanceof CommandError ? error : this.#unreachable(error);
    }
  }

  #send(method: string, path: string, body?: string, signal?: AbortSignal): Promise<Response> {
    return fetch(this.#base + path, {
      method,
      redirect: "error",
      headers: {
        authorization: `Bearer ${this.#token}`,
        ...(body !== undefined && { "content-type": "application/json" }),
      },
      ...(signal !== undefined && { signal }),
      ...(body !== undefined && { body }),
    });
  }

  /** @throws CommandError when it is no answer of countersign, or a refusal */
  #read({ ok, status }: Response, answer: string): JsonObject {
    const json = readAnswer(answer);
    if (json === undefined) throw this.stranger();
    // A line that is one comes after others, in an answer that began well.
    const refused = ok && object(json, "error") === undefined ? undefined : refusal(status, json);
    if (refused === undefined && !ok) throw this.stranger();
    if (refused !== undefined) throw refused;
    return json;
  }

  #unreachable(error: unknown): CommandError {
    const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
    const reason = cause instanceof Error ? cause.message || cause.name : String(cause);
    return unreachable(`${new URL(this.#base).origin} cannot be reached: ${reason}`);
  }

  /** Something listens there and does not speak as the reviewer surface does. */
  stranger(): CommandError {
    return unreachable(`what answers at ${new URL(this.#base).origin} is not countersign`);
  }
}

function readAnswer(answer: string): JsonObject | undefined {
  try {
    const json = parseJson(answer, ANSWER_LIMITS);
    return json instanceof JsonObject ? json : undefined;
  } catch {
    return undefined;
  }
}

/** @returns undefined when it is not the envelope in which countersign refuses */
function refusal(status: number, json: JsonObject): CommandError | undefined {
  const error = object(json, "error");
  const code = error && text(error, "code");
  const message = error && text(error, "message");
  if (code === undefined || message === undefined) return undefined;
  const isPassing = status >= 500 || code === "unavailable";
  const exitCode = isPassing ? EXIT.unreachable : EXIT.refused;
  const advice = code === "invalid_credential" ? ANOTHER_TOKEN : "";
  return new CommandError(exitCode, code, message + advice, error && findings(error));
}

/** @returns undefined when there are none */
export function findings(parent: JsonObject, name = "findings"): Finding[] | undefined {
  const list = parent.members.get(name);
  if (!(list instanceof JsonArray)) return undefined;
  return list.items.flatMap((item) => {
    if (!(item instanceof JsonObject)) return [];
    const line = Number(text(item, "line"));
    const column = Number(text(item, "column"));
    return { line, column, path: text(item, "path") ?? "", message: text(item, "message") ?? "" };
  });
}

const ANOTHER_TOKEN =
  " Set COUNTERSIGN_TOKEN to one that countersign tokens create reviewer --name NAME makes.";

function unreachable(message: string): CommandError {
  return new CommandError(EXIT.unreachable, "unreachable", message);
}
