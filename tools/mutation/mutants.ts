/**
 * Small faults that could have been made when a file was written: each is the file with one piece
 * of its text replaced. Types, imports and comments are left alone, and so are the words of errors
 * that no contract promises.
 */

import {
  isArrowFunction,
  isBinaryExpression,
  isBlock,
  isCallExpression,
  isConditionalExpression,
  isExpressionStatement,
  isIdentifier,
  isIfStatement,
  isNewExpression,
  isPrefixUnaryExpression,
  isPropertyAccessExpression,
  isReturnStatement,
  isStringLiteral,
  isTemplateExpression,
  isThrowStatement,
  isWhileStatement,
  type Node,
  type SourceFile,
  SyntaxKind,
} from "typescript/unstable/ast";
import type { Source } from "../tidy/source.ts";

export interface Mutant {
  readonly file: string;
  /** Counted from 1. */
  readonly line: number;
  /** The kind of the fault. */
  readonly operator: string;
  readonly start: number;
  readonly end: number;
  readonly original: string;
  readonly replacement: string;
}

const BINARY: Readonly<Record<string, readonly string[]>> = {
  "===": ["!=="],
  "!==": ["==="],
  "<": ["<=", ">="],
  "<=": ["<", ">"],
  ">": [">=", "<="],
  ">=": [">", "<"],
  "&&": ["||"],
  "||": ["&&"],
  "??": ["&&"],
  "+": ["-"],
  "-": ["+"],
  "*": ["/"],
  "/": ["*"],
  "%": ["*"],
  "&": ["|"],
  "|": ["&"],
  "^": ["&"],
  "<<": [">>"],
  ">>": ["<<"],
  ">>>": ["<<"],
  "+=": ["-="],
  "-=": ["+="],
  "||=": ["&&="],
  "??=": ["&&="],
};

/** @returns by their place in the file */
export function findMutants(source: Source): Mutant[] {
  const { file, path } = source;
  const found: Mutant[] = [];
  const add = (node: Node, operator: string, replacement: string, end = node.end): void => {
    const start = node.getStart(file);
    const original = file.text.slice(start, end);
    const line = file.getLineAndCharacterOfPosition(start).line + 1;
    if (original === replacement) return;
    found.push({ file: path, line, operator, start, end, original, replacement });
  };
  const visit = (node: Node): void => {
    if (isWithoutValue(node)) return;
    mutate(node, file, add);
    node.forEachChild(visit);
  };
  visit(file);
  return found.sort((a, b) => a.start - b.start);
}

export function apply(text: string, { start, end, replacement }: Mutant): string {
  return text.slice(0, start) + replacement + text.slice(end);
}

type Add = (node: Node, operator: string, replacement: string) => void;

/** Of which nothing is left when the file runs, or which no fault of ours can be in. */
function isWithoutValue(node: Node): boolean {
  switch (node.kind) {
    case SyntaxKind.ImportDeclaration:
    case SyntaxKind.ExportDeclaration:
    case SyntaxKind.InterfaceDeclaration:
    case SyntaxKind.TypeAliasDeclaration:
      return true;
    default:
      if (isNewExpression(node) && isIdentifier(node.expression)) {
        // The text of an internal error is free.
        return ["Error", "TypeError", "RangeError"].includes(node.expression.text);
      }
      return node.kind >= SyntaxKind.FirstTypeNode && node.kind <= SyntaxKind.LastTypeNode;
  }
}

function mutate(node: Node, file: SourceFile, add: Add): void {
  if (isBinaryExpression(node)) mutateBinary(node.operatorToken, file, add);
  else if (isPrefixUnaryExpression(node)) mutatePrefix(node, file, add);
  else if (isIfStatement(node)) mutateCondition(node.expression, add);
  else if (isConditionalExpression(node)) mutateCondition(node.condition, add);
  else if (isWhileStatement(node)) add(node.expression, "condition", "false");
  else if (isReturnStatement(node)) mutateReturned(node.expression, add);
  else if (isArrowFunction(node)) {
    if (!isBlock(node.body)) mutateReturned(node.body, add);
  } else if (isThrowStatement(node)) add(node, "throw", "{}");
  else if (isExpressionStatement(node)) {
    if (isCall(node.expression)) add(node, "call", "{}");
  } else mutateLiteral(node, add);
}

function isCall(node: Node): boolean {
  const called = node.kind === SyntaxKind.AwaitExpression ? firstChild(node) : node;
  return called !== undefined && isCallExpression(called);
}

function firstChild(node: Node): Node | undefined {
  let first: Node | undefined;
  node.forEachChild((child) => {
    first ??= child;
  });
  return first;
}

function mutateBinary(token: Node, file: SourceFile, add: Add): void {
  const operator = file.text.slice(token.getStart(file), token.end);
  for (const other of BINARY[operator] ?? []) add(token, "operator", other);
}

function mutatePrefix(node: Node, file: SourceFile, add: Add): void {
  const text = file.text.slice(node.getStart(file), node.end);
  if (text.startsWith("++")) add(node, "operator", `--${text.slice(2)}`);
  else if (text.startsWith("--")) add(node, "operator", `++${text.slice(2)}`);
  else if (/^[!~-]/.test(text)) add(node, "operator", `(${text.slice(1)})`);
}

function mutateCondition(condition: Node, add: Add): void {
  add(condition, "condition", "true");
  add(condition, "condition", "false");
}

function mutateReturned(value: Node | undefined, add: Add): void {
  if (value === undefined || isUndefined(value)) return;
  if (isBoolean(value)) return;
  add(value, "returned", "(undefined as never)");
}

function isUndefined(node: Node): boolean {
  return isIdentifier(node) && node.text === "undefined";
}

function isBoolean({ kind }: Node): boolean {
  return kind === SyntaxKind.TrueKeyword || kind === SyntaxKind.FalseKeyword;
}

function mutateLiteral(node: Node, add: Add): void {
  if (node.kind === SyntaxKind.TrueKeyword) add(node, "literal", "false");
  else if (node.kind === SyntaxKind.FalseKeyword) add(node, "literal", "true");
  else if (isStringLiteral(node) && !isKey(node)) {
    add(node, "literal", node.text === "" ? '"mutant"' : '""');
  } else if (isTemplateExpression(node)) add(node, "literal", '""');
}

/** The name of a property. */
function isKey(node: Node): boolean {
  const parent: Node & { readonly name?: unknown } = node.parent;
  return parent.name === node && !isPropertyAccessExpression(parent);
}
