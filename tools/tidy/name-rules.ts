/**
 * A file is named after what is in it: kebab-case everywhere, and in operations/ exactly like
 * the one function that the file is about.
 */

import { basename } from "node:path/posix";
import {
  isArrowFunction,
  isFunctionDeclaration,
  isFunctionExpression,
  isIdentifier,
  isVariableStatement,
  type Statement,
  SyntaxKind,
} from "typescript/unstable/ast";
import { isTest, type Source, type Violation } from "./source.ts";

const OPERATIONS = "packages/server/src/operations/";
const KEBAB = /^[a-z0-9]+(-[a-z0-9]+)*$/;
const MIGRATION = /^packages\/server\/src\/storage\/migrations\/(\d+)_[^/]*\.sql$/;
const CAMEL = /^[a-z][A-Za-z0-9]*$/;

/** Judges code and styles; a migration's name is a number first and has its own habits. */
export function fileName(path: string): Violation[] {
  if (!/^(packages|tools|bench)\/.*\.(ts|tsx|js|mjs|css)$/.test(path)) return [];
  const stem = stemOf(path);
  const pattern = path.startsWith(OPERATIONS) ? CAMEL : KEBAB;
  if (pattern.test(stem)) return [];
  const wanted = pattern === KEBAB ? "kebab-case" : "camelCase, like the function in it";
  return [{ file: path, line: 1, message: `file name is not ${wanted}` }];
}

/** Branches that each take the next free number would otherwise meet only when a server starts. */
export function migrationNumbers(paths: Iterable<string>): Violation[] {
  const first = new Map<string, string>();
  const violations: Violation[] = [];
  for (const path of [...paths].sort()) {
    const number = MIGRATION.exec(path)?.[1];
    if (number === undefined) continue;
    const other = first.get(number);
    if (other === undefined) first.set(number, basename(path));
    else violations.push({ file: path, line: 1, message: `${other} has the same number` });
  }
  return violations;
}

export function operationFile(source: Source): Violation[] {
  if (!source.path.startsWith(OPERATIONS) || isTest(source.path)) return [];
  const name = stemOf(source.path);
  if (source.file.statements.some((statement) => exportsFunction(statement, name))) return [];
  return [{ file: source.path, line: 1, message: `exports no function ${name}` }];
}

function exportsFunction(statement: Statement, name: string): boolean {
  if (isFunctionDeclaration(statement)) {
    return statement.name?.text === name && hasExport(statement.modifiers);
  }
  if (!isVariableStatement(statement) || !hasExport(statement.modifiers)) return false;
  return statement.declarationList.declarations.some((declaration) => {
    const value = declaration.initializer;
    if (value === undefined || !isIdentifier(declaration.name)) return false;
    if (!isArrowFunction(value) && !isFunctionExpression(value)) return false;
    return declaration.name.text === name;
  });
}

function hasExport(modifiers: readonly { readonly kind: SyntaxKind }[] | undefined): boolean {
  return modifiers?.some(({ kind }) => kind === SyntaxKind.ExportKeyword) ?? false;
}

/** Without endings: `claim.pg.test.ts` is about `claim`. */
function stemOf(path: string): string {
  return basename(path).replace(/(\.(pg|test|examples|d))*\.[a-z]+$/, "");
}
