/** Names in an archive of the audit log: a folder for each log, and a file for each range. */

import type { Range } from "./merkle.ts";

const DIGITS = 12;

const FILE_NAME = /^(\d{12})-(\d{12})\.jsonl\.gz$/;

/** @param range `to` is excluded */
export function writeArchiveName({ from, to }: Range): string {
  const [first, end] = [from, to].map((position) => String(position).padStart(DIGITS, "0"));
  return `${first}-${end}.jsonl.gz`;
}

/** @returns undefined for other names, such as those of incomplete files */
export function readArchiveName(name: string): Range | undefined {
  const [, from, to] = FILE_NAME.exec(name) ?? [];
  if (from === undefined || Number(from) >= Number(to)) return undefined;
  return { from: Number(from), to: Number(to) };
}

const ORIGIN = /^countersign\/audit\/(\w+)\/(\w+)$/;

/** @returns undefined when the text is not the origin of a log */
export function archiveFolderOf(origin: string): string | undefined {
  const [, log, unique] = ORIGIN.exec(origin) ?? [];
  return log === undefined ? undefined : `${log}-${unique}`;
}
