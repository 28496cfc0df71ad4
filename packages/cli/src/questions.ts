/** Questions with a default answer, which Enter accepts. */

import { setTimeout as sleep } from "node:timers/promises";
import type { Terminal } from "@countersign/command-line";

/** A yes-or-no question. */
export async function confirm(
  terminal: Terminal,
  question: string,
  byDefault: boolean,
): Promise<boolean> {
  for (;;) {
    const answer = (await terminal.ask(`${question} ${byDefault ? "[Y/n]" : "[y/N]"} `)).trim();
    if (answer === "") return byDefault;
    if (/^y(es)?$/i.test(answer)) return true;
    if (/^no?$/i.test(answer)) return false;
    terminal.note("Answer y or n.");
  }
}

/** @param fault explains what is wrong with an answer; undefined for a valid one */
export async function askText(
  terminal: Terminal,
  question: string,
  byDefault: string,
  fault: (answer: string) => string | undefined,
): Promise<string> {
  for (;;) {
    const answer = (await terminal.ask(`${question} [${byDefault}] `)).trim() || byDefault;
    const message = fault(answer);
    if (message === undefined) return answer;
    terminal.note(message);
  }
}

/** @returns the index of the chosen option; the first one is the default */
export async function choose(
  terminal: Terminal,
  question: string,
  options: readonly string[],
): Promise<number> {
  terminal.note(question);
  for (const [index, option] of options.entries()) terminal.note(`  ${index + 1}. ${option}`);
  for (;;) {
    const answer = (await terminal.ask(`Number from 1 to ${options.length} [1] `)).trim() || "1";
    const index = Number(answer) - 1;
    if (options[index] !== undefined) return index;
    terminal.note(`Answer with a number from 1 to ${options.length}.`);
  }
}

const POLL_MS = 1_000;

/**
 * Polls until there is a result, or the user presses Enter to continue without it.
 *
 * @param poll returns undefined while there is no result
 * @returns undefined when the user did not wait
 */
export async function waitUnlessEnter<T>(
  terminal: Terminal,
  prompt: string,
  poll: (signal: AbortSignal) => Promise<T | undefined>,
): Promise<T | undefined> {
  const ended = new AbortController();
  const { signal } = ended;
  const skipped = terminal.ask(prompt, signal).then(() => undefined);
  const found = pollUntilResult(poll, signal);
  try {
    return await Promise.race([skipped, found]);
  } finally {
    ended.abort();
    await Promise.allSettled([skipped, found]);
  }
}

/** @throws the signal's reason */
export async function pollUntilResult<T>(
  poll: (signal: AbortSignal) => Promise<T | undefined>,
  signal: AbortSignal,
): Promise<T> {
  for (;;) {
    const result = await poll(signal);
    if (result !== undefined) return result;
    await sleep(POLL_MS, undefined, { signal });
  }
}
