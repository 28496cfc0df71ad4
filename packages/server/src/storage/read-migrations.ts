/**
 * Reads the migrations: plain numbered SQL files, one text for both engines, except for statements
 * of one engine. How to write one is in migrations/README.md.
 */

import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

/** The migrations of this program; tests and simulations have others. */
const DIRECTORY = join(import.meta.dirname, "migrations");

const FILE_NAME = /^(\d{4})_[a-z_]+\.sql$/;

const COMPATIBLE_WITH = /^-- compatible with: (\d+)$/m;

export interface Migration {
  /** The schema that the database has afterwards. */
  readonly version: number;
  /**
   * The oldest schema whose programs can go on with the database afterwards; `version` itself
   * when it breaks all that came before.
   */
  readonly compatibleWith: number;
  readonly sql: string;
}

/**
 * @returns in the order of their numbers
 * @throws Error when two have one number or one says that it is compatible with itself
 */
export function readMigrations(directory = DIRECTORY): Migration[] {
  const migrations = readdirSync(directory)
    .sort()
    .flatMap((name) => {
      const match = FILE_NAME.exec(name);
      if (match === null) return [];
      const sql = readFileSync(join(directory, name), "utf8");
      return [toMigration(Number(match[1]), sql)];
    });
  for (const [index, { version }] of migrations.entries()) {
    if (migrations[index + 1]?.version === version) {
      throw new Error(`two migrations have the number ${version}`);
    }
  }
  return migrations;
}

/** The schema that a program with these migrations knows. */
export function schemaOf(migrations: readonly Migration[]): number {
  return migrations.at(-1)?.version ?? 0;
}

function toMigration(version: number, sql: string): Migration {
  const declared = COMPATIBLE_WITH.exec(sql)?.[1];
  const compatibleWith = declared === undefined ? version : Number(declared);
  if (declared !== undefined && (compatibleWith < 1 || compatibleWith >= version)) {
    throw new Error(`migration ${version} can be compatible with earlier schemas only`);
  }
  return { version, compatibleWith, sql };
}

export type Engine = "sqlite" | "postgres";

/** A comment that names the engine of the next statement. */
const ONLY_FOR = /^-- only for (sqlite|postgres)$/gm;

const MARKED = /^@(\w+)\s/;

/**
 * Migrations hold plain statements: no semicolon inside a string or a body.
 *
 * @returns the statements for this engine
 */
export function splitStatements(sql: string, engine: Engine): string[] {
  return sql
    .replace(ONLY_FOR, "@$1")
    .replace(/--.*$/gm, "")
    .split(";")
    .map((statement) => statement.trim())
    .filter((statement) => statement !== "")
    .filter((statement) => (MARKED.exec(statement)?.[1] ?? engine) === engine)
    .map((statement) => statement.replace(MARKED, ""));
}
