/** Codex's `config.toml`, which is only read here. The hook loads this module. */

import { parse } from "smol-toml";

/** The message contains no text of the file. */
export class UnusableConfig extends Error {}

/** @throws UnusableConfig */
export function parseConfig(text: string): Record<string, unknown> {
  try {
    return parse(text);
  } catch (error) {
    const { line } = Object(error);
    throw new UnusableConfig(`line ${line ?? "unknown"} is not valid TOML`);
  }
}
