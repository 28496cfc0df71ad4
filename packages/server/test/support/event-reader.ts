/**
 * A reader of Server-Sent Events.
 */

import assert from "node:assert/strict";
import type { Lifetime, TestProvider } from "./test-provider.ts";

export interface ReadEvent {
  readonly name: string;
  /** Exactly as it was sent. */
  readonly source: string;
  readonly data: {
    readonly id: string;
    readonly pulse_ms: number;
    readonly reason: string;
  };
}

const PATIENCE_MS = 30_000;

export class EventReader {
  readonly response: Response;
  readonly events: ReadEvent[] = [];
  /** Resolves when nothing more can come. */
  readonly over: Promise<void>;
  readonly #abort: AbortController;
  #onEvent = Promise.withResolvers<void>();
  #isOver = false;

  private constructor(response: Response, abort: AbortController) {
    this.response = response;
    this.#abort = abort;
    this.over = this.#read().finally(() => {
      this.#isOver = true;
      this.#onEvent.resolve();
    });
  }

  static async open(
    t: Lifetime,
    { url }: Pick<TestProvider, "url">,
    headers: Readonly<Record<string, string>>,
    query = "",
  ): Promise<EventReader> {
    const abort = new AbortController();
    const response = await fetch(`${url}/review/v1/events${query}`, {
      headers,
      signal: abort.signal,
    });
    assert.equal(response.status, 200, response.status === 200 ? "" : await response.text());
    const reader = new EventReader(response, abort);
    t.after(() => reader.close());
    return reader;
  }

  /** The first event of this name, from what was taken before on, that is about this. */
  async next(name: string, id?: string): Promise<ReadEvent> {
    const timer = setTimeout(() => this.#abort.abort(), PATIENCE_MS);
    try {
      for (;;) {
        const at = this.events.findIndex(
          (event) => event.name === name && (id === undefined || event.data.id === id),
        );
        const [found] = at === -1 ? [] : this.events.splice(at, 1);
        if (found !== undefined) return found;
        assert.ok(!this.#isOver, `the stream ended before ${name}`);
        await this.#onEvent.promise;
      }
    } finally {
      clearTimeout(timer);
    }
  }

  /** The ids of the hints about requests that were not taken. */
  get requests(): readonly string[] {
    return this.events.filter(({ name }) => name === "request").map(({ data }) => data.id);
  }

  async close(): Promise<void> {
    this.#abort.abort();
    await this.over;
  }

  async #read(): Promise<void> {
    const decoder = new TextDecoder();
    let text = "";
    try {
      for await (const chunk of this.response.body ?? []) {
        text += decoder.decode(chunk, { stream: true });
        const blocks = text.split("\n\n");
        text = blocks.pop() ?? "";
        for (const block of blocks) this.#take(block);
      }
    } catch {
      // Aborted or cut off.
    }
  }

  #take(block: string): void {
    const lines = block.split("\n").map((line) => /^(\w*): ?(.*)$/s.exec(line) ?? []);
    const valuesOf = (field: string) => lines.flatMap(([, f, v = ""]) => (f === field ? v : []));
    const [name] = valuesOf("event");
    if (name === undefined) return;
    const source = valuesOf("data").join("\n");
    this.events.push({ name, source, data: JSON.parse(source) });
    this.#onEvent.resolve();
    this.#onEvent = Promise.withResolvers();
  }
}
