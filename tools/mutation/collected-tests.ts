/**
 * Replaces `node:test` in a worker of mutations. It only collects tests, so that one process can
 * run them in order and stop at the first failure.
 */

export interface TestContextHere {
  readonly name: string;
  readonly signal: AbortSignal;
  after(end: () => unknown): void;
  diagnostic(): void;
  test(name: string, ...rest: readonly unknown[]): Promise<void>;
}

type Body = (t: TestContextHere) => unknown;

export interface Collected {
  readonly tests: { readonly name: string; readonly body: Body }[];
  readonly before: (() => unknown)[];
  readonly after: (() => unknown)[];
}

let collected: Collected = { tests: [], before: [], after: [] };

/** The tests and hooks collected since the last call. */
export function takeCollected(): Collected {
  const taken = collected;
  collected = { tests: [], before: [], after: [] };
  return taken;
}

function bodyOf(rest: readonly unknown[]): Body {
  const body = rest.find((each) => typeof each === "function");
  return (body ?? (() => {})) as Body;
}

function isSkipped(rest: readonly unknown[]): boolean {
  return rest.some(
    (each) => typeof each === "object" && each !== null && "skip" in each && each.skip,
  );
}

export function test(name: string, ...rest: readonly unknown[]): Promise<void> {
  if (!isSkipped(rest)) collected.tests.push({ name, body: bodyOf(rest) });
  return Promise.resolve();
}

export const it = test;

export function describe(_: string, ...rest: readonly unknown[]): void {
  (bodyOf(rest) as () => unknown)();
}

export const suite = describe;

export function before(prepare: () => unknown): void {
  collected.before.push(prepare);
}

export function after(end: () => unknown): void {
  collected.after.push(end);
}

/**
 * Runs one test with what it began inside.
 *
 * @throws what the test throws
 */
export async function runTest({ name, body }: Collected["tests"][number]): Promise<void> {
  const ends: (() => unknown)[] = [];
  const abort = new AbortController();
  const context: TestContextHere = {
    name,
    signal: abort.signal,
    after: (end) => ends.push(end),
    diagnostic: () => {},
    test: (inner, ...rest) => runTest({ name: inner, body: bodyOf(rest) }),
  };
  try {
    await body(context);
  } finally {
    abort.abort();
    for (const end of ends) await end();
  }
}
