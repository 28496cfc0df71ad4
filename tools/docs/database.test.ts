/** The page of the schema names every table and every index of the database, and no other. */

import assert from "node:assert/strict";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { systemClock } from "../../packages/server/src/clock.ts";
import { migrate } from "../../packages/server/src/storage/migrate.ts";
import {
  readMigrations,
  splitStatements,
} from "../../packages/server/src/storage/read-migrations.ts";
import { ENCRYPTED_COLUMNS } from "../../packages/server/src/storage/sql/operate/encrypted-columns.ts";
import { SqliteStore } from "../../packages/server/src/storage/sqlite/sqlite-store.ts";
import type { Row } from "../../packages/server/src/storage/store.ts";

const ROOT = join(import.meta.dirname, "../..");
const SQL = join(ROOT, "packages/server/src/storage/sql");
const PAGE = readFileSync(join(ROOT, "docs/reference/database.md"), "utf8");

/** FTS5 creates these tables. The page names them outside of its tables. */
const PARTS_OF_FTS5 = /^search_words_/;

const TABLES = "select name from sqlite_schema where type = 'table' order by name";

const COLUMNS = `select tables.name as table_name, columns.name as name, columns.pk as key_position
  from sqlite_schema as tables, pragma_table_info(tables.name) as columns
  where tables.type = 'table' order by tables.name, columns.pk`;

const INDEXES = `select name, sql from sqlite_schema
  where type = 'index' and sql is not null order by name`;

const UNIQUE_KEYS = `select tables.name as table_name, indexes.name as name,
    columns.name as column_name
  from sqlite_schema as tables, pragma_index_list(tables.name) as indexes,
    pragma_index_info(indexes.name) as columns
  where tables.type = 'table' and indexes.origin = 'u'
  order by tables.name, indexes.name, columns.seqno`;

interface Schema {
  readonly tables: readonly string[];
  readonly columns: readonly Row[];
  readonly indexes: readonly Row[];
  readonly uniqueKeys: readonly Row[];
}

const MIGRATIONS = readMigrations();
const SCHEMA = await buildSchema();
const ONLY_FOR_POSTGRES = MIGRATIONS.flatMap(({ sql }) => {
  const onSqlite = splitStatements(sql, "sqlite");
  return splitStatements(sql, "postgres").filter((statement) => !onSqlite.includes(statement));
});

async function buildSchema(): Promise<Schema> {
  const folder = mkdtempSync(join(tmpdir(), "countersign-schema-page-"));
  const store = new SqliteStore(join(folder, "store.db"), systemClock);
  try {
    await migrate(store, MIGRATIONS, systemClock);
    return {
      tables: (await store.all(TABLES)).map(({ name }) => String(name)),
      columns: await store.all(COLUMNS),
      indexes: await store.all(INDEXES),
      uniqueKeys: await store.all(UNIQUE_KEYS),
    };
  } finally {
    await store.close();
    rmSync(folder, { recursive: true });
  }
}

/** The cells of all tables of the page with this header. */
function rowsOf(header: string): string[][] {
  const [, ...parts] = PAGE.split(`\n| ${header} |\n`);
  return parts.flatMap((part) => {
    const [, ...lines] = part.split("\n");
    const rows = lines.slice(
      0,
      lines.findIndex((line) => !line.startsWith("|")),
    );
    return rows.map((row) => row.slice("| ".length, -" |".length).split(" | "));
  });
}

function codesIn(cell = ""): string[] {
  return [...cell.matchAll(/`([^`]+)`/g)].map(([, code = ""]) => code);
}

test("docs/reference/database.md lists every table with its primary key", () => {
  const documented = rowsOf("Table | One row is | Primary key").map(([table, , key]) => {
    return `${codesIn(table).join()} (${codesIn(key).join()})`;
  });
  const actual = SCHEMA.tables
    .filter((table) => !PARTS_OF_FTS5.test(table))
    .map((table) => {
      const key = SCHEMA.columns.filter(
        ({ table_name, key_position }) => table_name === table && Number(key_position) > 0,
      );
      return `${table} (${key.map(({ name }) => name).join(", ")})`;
    });
  assert.ok(actual.length > 50, String(actual.length));
  assert.deepEqual(documented.sort(), actual.sort());
});

test("docs/reference/database.md names every table of FTS5", () => {
  const parts = SCHEMA.tables.filter((table) => PARTS_OF_FTS5.test(table));
  assert.ok(parts.length > 0);
  const named = new Set(codesIn(PAGE).filter((code) => PARTS_OF_FTS5.test(code)));
  assert.deepEqual([...named].sort(), parts);
});

test("docs/reference/database.md lists every index and unique key with its columns", () => {
  const documented = rowsOf("Index | Columns | Purpose | Queries").map(([index, columns]) => {
    return `${index}: ${columns}`;
  });
  const actual = [
    ...SCHEMA.indexes.map(({ name, sql }) => describeIndex(String(name), String(sql))),
    ...ONLY_FOR_POSTGRES.filter((statement) => statement.startsWith("create index ")).map(
      (statement) => describeIndex(/^create index (\w+)/.exec(statement)?.[1] ?? "", statement),
    ),
    ...describeUniqueKeys(),
  ];
  assert.ok(actual.length > 60, String(actual.length));
  assert.deepEqual(documented.sort(), actual.sort());
});

function describeIndex(name: string, sql: string): string {
  const oneLine = sql.replace(/\s+/g, " ");
  const definition =
    /^create (unique )?index \w+ on \w+ (?:using gin )?\((.*?)\)(?: where (.*))?$/i;
  const [, unique, columns, condition] = definition.exec(oneLine) ?? assert.fail(oneLine);
  const where = condition === undefined ? "" : ` where \`${condition}\``;
  return `\`${name}\`${unique === undefined ? "" : " (unique)"}: \`${columns}\`${where}`;
}

function describeUniqueKeys(): string[] {
  const keys = Map.groupBy(SCHEMA.uniqueKeys, ({ name }) => name);
  return [...keys.values()].map((columns) => {
    const names = columns.map(({ column_name }) => column_name).join(", ");
    return `unique key of \`${columns[0]?.table_name}\`: \`${names}\``;
  });
}

test("docs/reference/database.md describes existing columns, and all encrypted columns", () => {
  const documented = rowsOf("Column | Meaning").flatMap(([columns]) => codesIn(columns));
  const actual = new Set(SCHEMA.columns.map(({ table_name, name }) => `${table_name}.${name}`));
  for (const statement of ONLY_FOR_POSTGRES) {
    const [, table, column] = /^alter table (\w+) add column (\w+)/.exec(statement) ?? [];
    if (table !== undefined) actual.add(`${table}.${column}`);
  }
  assert.ok(documented.length > 100, String(documented.length));
  assert.deepEqual(
    documented.filter((column) => !actual.has(column)),
    [],
  );
  const encrypted = ENCRYPTED_COLUMNS.map(({ table, column }) => `${table}.${column}`);
  assert.deepEqual(
    encrypted.filter((column) => !documented.includes(column)),
    [],
  );
});

test("docs/reference/database.md names queries of each index that exist in their files", () => {
  for (const [index, , , queries = ""] of rowsOf("Index | Columns | Purpose | Queries")) {
    const files = [...queries.matchAll(/((?:`\w+`, )*`\w+`) \(`([\w./-]+\.ts)`\)/g)];
    assert.equal(files.map(([text]) => text).join(", "), queries, index);
    assert.ok(files.length > 0, index);
    for (const [, functions, file = ""] of files) {
      assert.ok(existsSync(join(SQL, file)), file);
      const source = readFileSync(join(SQL, file), "utf8");
      for (const name of codesIn(functions)) {
        assert.match(source, new RegExp(`\\b(?:function|async) ${name}\\(`), `${index}: ${file}`);
      }
    }
  }
});
