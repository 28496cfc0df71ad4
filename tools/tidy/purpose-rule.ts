/**
 * Every source file says what it is for.
 */

import {
  isClassDeclaration,
  isEnumDeclaration,
  isFunctionDeclaration,
  isInterfaceDeclaration,
  isTypeAliasDeclaration,
  isVariableStatement,
  type Statement,
  SyntaxKind,
} from "typescript/unstable/ast";
import { isTest, type Source, type Violation } from "./source.ts";

/**
 * A file begins with a comment, or its main export has a docstring that begins with a sentence. The
 * main export is the only exported function or class; without any, the only constant or type.
 */
export function statedPurpose(source: Source): Violation[] {
  if (isTest(source.path) || /^(#!.*\n+)?\/[*/]/.test(source.text)) return [];
  const exports = source.file.statements
    .filter(isDeclaration)
    .filter(({ modifiers }) => modifiers?.some(({ kind }) => kind === SyntaxKind.ExportKeyword));
  const functions = exports.filter((one) => isFunctionDeclaration(one) || isClassDeclaration(one));
  const constants = exports.filter(isVariableStatement);
  const [main, ...others] = [functions, constants, exports].find((some) => some.length > 0) ?? [];
  if (main !== undefined && others.length === 0 && hasSentence(source, main)) return [];
  const message =
    "states no purpose: begin it, or the docstring of its only export, with a sentence";
  return [{ file: source.path, line: 1, message }];
}

function isDeclaration(statement: Statement) {
  return (
    isFunctionDeclaration(statement) ||
    isClassDeclaration(statement) ||
    isVariableStatement(statement) ||
    isInterfaceDeclaration(statement) ||
    isTypeAliasDeclaration(statement) ||
    isEnumDeclaration(statement)
  );
}

/** Whether the docstring begins with words, not with a tag. */
function hasSentence({ file, text }: Source, statement: Statement): boolean {
  const before = text.slice(statement.pos, statement.getStart(file));
  return /^\/\*\*[\s*]*[^\s*@/]/.test(before.slice(before.lastIndexOf("/**")));
}
