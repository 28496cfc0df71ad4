/**
 * What does not fit on a page is not read: files, functions and lines have a greatest size.
 */

import { isCallExpression, isIdentifier, type Node, SyntaxKind } from "typescript/unstable/ast";
import { isTest, lineOf, type Source, type Violation, violation } from "./source.ts";

const FILE_LINES_MAX = 500;
const FUNCTION_LINES_MAX = 80;
const LINE_CHARS_MAX = 100;

const FUNCTIONS: ReadonlySet<SyntaxKind> = new Set([
  SyntaxKind.FunctionDeclaration,
  SyntaxKind.FunctionExpression,
  SyntaxKind.ArrowFunction,
  SyntaxKind.MethodDeclaration,
  SyntaxKind.Constructor,
  SyntaxKind.GetAccessor,
  SyntaxKind.SetAccessor,
  SyntaxKind.ClassStaticBlockDeclaration,
]);

export function fileLength(source: Source): Violation[] {
  const lines = source.text.replace(/\n$/, "").split("\n").length;
  if (lines <= FILE_LINES_MAX) return [];
  const message = `${lines} lines; a file has at most ${FILE_LINES_MAX}`;
  return [{ file: source.path, line: FILE_LINES_MAX + 1, message }];
}

const URL_STRING = /^\s*["'`].*https?:\/\/.*["'`]\)*[,;]?$/;
const TEST_NAME = /^\s*(?:await )?(?:\w+\.)?test\(["'`]\[/;

const IMPORT = /^import (type )?\{ [^,]* \} from "[^"]*";$/;

/** A URL, the name of a test and an import of one name cannot be broken, and may be long. */
export function lineLength(source: Source): Violation[] {
  return source.text.split("\n").flatMap((text, index) => {
    if (text.length <= LINE_CHARS_MAX) return [];
    if (URL_STRING.test(text) || IMPORT.test(text)) return [];
    if (isTest(source.path) && TEST_NAME.test(text)) return [];
    const message = `${text.length} characters; a line has at most ${LINE_CHARS_MAX}`;
    return [{ file: source.path, line: index + 1, message }];
  });
}

/** From the first line of the signature to the closing brace; a docstring does not count. */
export function functionLength(source: Source): Violation[] {
  return source.nodes.flatMap((node) => {
    if (!FUNCTIONS.has(node.kind)) return [];
    if (isTest(source.path) && isSuite(node.parent)) return [];
    const last = source.file.getLineAndCharacterOfPosition(node.end).line + 1;
    const lines = last - lineOf(source, node) + 1;
    if (lines <= FUNCTION_LINES_MAX) return [];
    const message = `${lines} lines; a function has at most ${FUNCTION_LINES_MAX}`;
    return [violation(source, node, message)];
  });
}

/** `describe` and `suite` only hold tests together: their length is that of a file. */
function isSuite(node: Node): boolean {
  if (!isCallExpression(node) || !isIdentifier(node.expression)) return false;
  return node.expression.text === "describe" || node.expression.text === "suite";
}
