/**
 * Small habits of the language: no `any`, no default exports, no notes to oneself, no tests
 * that are switched off, no silenced compiler.
 */

import {
  isCallExpression,
  isExportAssignment,
  isExportSpecifier,
  isIdentifier,
  isObjectLiteralExpression,
  isPropertyAccessExpression,
  isPropertyAssignment,
  type Node,
  SyntaxKind,
} from "typescript/unstable/ast";
import { isTest, type Source, type Violation, violation } from "./source.ts";

export function noAny(source: Source): Violation[] {
  return source.nodes
    .filter((node) => node.kind === SyntaxKind.AnyKeyword)
    .map((node) => violation(source, node, "any: say what it is, or unknown"));
}

export function noDefaultExport(source: Source): Violation[] {
  return source.nodes
    .filter(isDefaultExport)
    .map((node) => violation(source, node, "default export: export it by name"));
}

/** Work that is left to do belongs where work is planned; the code says what is. */
export function noMarkers(source: Source): Violation[] {
  return source.comments.flatMap(({ text, line }) => {
    return [...text.matchAll(/\b(TODO|FIXME|XXX|HACK)\b/g)].map((match) => ({
      file: source.path,
      line: line + newlines(text.slice(0, match.index)),
      message: `${match[0]}: do it, or plan it outside the code`,
    }));
  });
}

export function noSilencedCompiler(source: Source): Violation[] {
  return source.comments
    .filter(({ text }) => /@ts-(ignore|nocheck)\b/.test(text))
    .map(({ line }) => ({
      file: source.path,
      line,
      message: "silenced compiler: mend the type, or expect the one error",
    }));
}

const SWITCHES = ["only", "skip", "todo"];

export function noSwitchedTests(source: Source): Violation[] {
  if (!isTest(source.path)) return [];
  return source.nodes.flatMap((node) => {
    const name = switchOf(node);
    if (name === undefined) return [];
    return [violation(source, node, `${name}: a test runs or is not there`)];
  });
}

/** `test.skip(...)`, and `test("...", { skip: true }, ...)`. */
function switchOf(node: Node): string | undefined {
  if (!isCallExpression(node)) return undefined;
  const callee = node.expression;
  if (isPropertyAccessExpression(callee)) {
    return SWITCHES.find((name) => name === callee.name.text);
  }
  if (!isIdentifier(callee) || !/^(test|it|describe|suite)$/.test(callee.text)) return undefined;
  for (const argument of node.arguments) {
    if (!isObjectLiteralExpression(argument)) continue;
    for (const property of argument.properties) {
      if (!isPropertyAssignment(property) || !isIdentifier(property.name)) continue;
      const { text } = property.name;
      const off = property.initializer.kind === SyntaxKind.FalseKeyword;
      if (SWITCHES.includes(text) && !off) return text;
    }
  }
  return undefined;
}

function isDefaultExport(node: Node): boolean {
  if (isExportAssignment(node)) return true;
  if (isExportSpecifier(node)) return node.name.text === "default";
  // The word is a node of its own as a modifier only; that of a switch is part of its clause.
  return node.kind === SyntaxKind.DefaultKeyword;
}

function newlines(text: string): number {
  return text.split("\n").length - 1;
}
