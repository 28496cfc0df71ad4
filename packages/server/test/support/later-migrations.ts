/**
 * Migrations of a later program: those of this one, and more.
 */

import { cpSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { readMigrations, schemaOf } from "../../src/storage/read-migrations.ts";
import type { Lifetime } from "./test-provider.ts";

const OWN = join(import.meta.dirname, "../../src/storage/migrations");

/** The schema of this program. */
export const KNOWN = schemaOf(readMigrations());

/** The schema before the last migration. Numbers may have gaps. */
export const PREVIOUS = schemaOf(readMigrations().slice(0, -1));

/** Adds what programs of this schema need not know of. */
export const ADDITIVE = `-- compatible with: ${KNOWN}
  create table later (id text not null primary key);
  alter table request add column later_note text;
  create index request_later on request (later_note) where later_note is not null`;

/** Programs that do not know it must stop; tests observe its effect. */
export const BREAKING = "create table broken (id text not null primary key)";

/** @returns a folder with the migrations of this program and those, numbered behind them */
export function laterMigrations(t: Lifetime, ...later: readonly string[]): string {
  const folder = mkdtempSync(join(tmpdir(), "countersign-migrations-"));
  t.after(() => rmSync(folder, { recursive: true }));
  cpSync(OWN, folder, { recursive: true });
  for (const [index, sql] of later.entries()) {
    const number = String(KNOWN + 1 + index).padStart(4, "0");
    writeFileSync(join(folder, `${number}_later.sql`), sql);
  }
  return folder;
}
