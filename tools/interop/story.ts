/**
 * Stories and the results of a run: pure, so that the tests need no client.
 */

/** Clients that others wrote. */
export type ClientName = "python" | "frameworks" | "go";

export interface Story<Scene> {
  /** A sentence that says what the client and the server do together. */
  readonly title: string;
  /** @throws when it went otherwise */
  play(scene: Scene): Promise<void>;
}

/**
 * A story of a released client that differs from the contract. It passes while the client and the
 * server still behave this way. docs/reference/interop.md contains its row word for word.
 */
export interface Departure<Scene> extends Story<Scene> {
  /** The same with a server that admits it. */
  readonly admitted: Story<Scene>;
  /** Cells of the row: what is sent, what is answered, what comes of it, what admits it. */
  readonly row: readonly [string, string, string, string];
}

export type StoryOutcome =
  | { readonly kind: "passed" }
  | { readonly kind: "failed"; readonly reason: string }
  | { readonly kind: "skipped"; readonly reason: string };

export interface StoryResult {
  readonly client: ClientName;
  readonly title: string;
  readonly isDeparture: boolean;
  readonly outcome: StoryOutcome;
}

const MARKS = { passed: "ok      ", failed: "FAILED  ", skipped: "SKIPPED " };

/** @returns one line, and the reason below it where there is one */
export function renderStory({ client, title, isDeparture, outcome }: StoryResult): string {
  const mark = isDeparture && outcome.kind === "passed" ? "differs " : MARKS[outcome.kind];
  const reason = outcome.kind === "passed" ? "" : `\n            ${indent(outcome.reason)}`;
  return `${mark} ${client}: ${title}${reason}`;
}

function indent(text: string): string {
  return text.trim().replaceAll("\n", "\n            ");
}

/** @returns what was tried and the last that was said of it, in one line */
export function shortReason(reason: string): string {
  const lines = reason.trim().split("\n");
  const [first = "", last = ""] = [lines.at(0), lines.at(-1)];
  return lines.length === 1 ? first : `${first} ${last.trim()}`;
}

/** @returns the closing lines: counts, clients that were not tested, and expected differences */
export function renderSummary(results: readonly StoryResult[]): string[] {
  const by = Map.groupBy(results, ({ outcome }) => outcome.kind);
  const count = (kind: StoryOutcome["kind"]) => by.get(kind)?.length ?? 0;
  const departures = (by.get("passed") ?? []).filter(({ isDeparture }) => isDeparture).length;
  const passed = count("passed") - departures;
  const lines = [
    `${passed} passed, ${count("failed")} failed, ${count("skipped")} skipped, ` +
      `${departures} expected ${departures === 1 ? "difference" : "differences"}`,
  ];
  for (const [client, stories] of Map.groupBy(results, (story) => story.client)) {
    if (stories.every(({ outcome }) => outcome.kind === "skipped")) {
      lines.push(`NOT TESTED: this run did not test the ${client} client.`);
    }
  }
  if (departures > 0) lines.push("Differences from the contract: see docs/reference/interop.md.");
  return lines;
}

/**
 * @param required clients that must have been there
 * @returns 1 when a story failed, or was skipped of a client that is required
 */
export function exitCodeOf(
  results: readonly StoryResult[],
  required: readonly ClientName[],
): 0 | 1 {
  const isFault = ({ client, outcome }: StoryResult) =>
    outcome.kind === "failed" || (outcome.kind === "skipped" && required.includes(client));
  return results.some(isFault) ? 1 : 0;
}

/** @returns the row of a table in Markdown */
export function renderRow(client: string, { row }: Pick<Departure<never>, "row">): string {
  return `| ${[client, ...row].join(" | ")} |`;
}
