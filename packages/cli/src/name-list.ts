import type { CommandLine } from "./command-line.ts";

/** Names with commas between them; none at all for the empty text. */
export function namesOf(line: CommandLine, option: string): string[] | undefined {
  const text = line.text(option);
  if (text === undefined || text === "") return text === undefined ? undefined : [];
  return text.split(",").map((name) => name.trim());
}
