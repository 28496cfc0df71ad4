/**
 * The prose of TypeScript: strings that are sentences, text of JSX, titles of tests, comments.
 */

import {
  isBinaryExpression,
  isCallExpression,
  isIdentifier,
  isJsxAttribute,
  isJsxElement,
  isJsxExpression,
  isJsxFragment,
  isJsxSelfClosingElement,
  isJsxText,
  isNoSubstitutionTemplateLiteral,
  isParenthesizedExpression,
  isPropertyAccessExpression,
  isStringLiteral,
  isTemplateExpression,
  type Node,
  SyntaxKind,
} from "typescript/unstable/ast";
import type { Source } from "../tidy/source.ts";
import { type Range, readBlockComment, readLineComments } from "./comment.ts";
import { type Kind, maskCode, maskInlineCode, maskMarkup, type Passage } from "./passage.ts";

export function readTypeScript(source: Source): Passage[] {
  return [...readStrings(source), ...readComments(source)];
}

/** A part of a text: words, or an expression between them. */
interface Piece extends Range {
  readonly prose: boolean;
}

/** One text, and the nodes inside of it that are not part of it. */
interface Text {
  readonly pieces: readonly Piece[];
  readonly inner: readonly Node[];
}

/** In a template, an indented line begins a paragraph. */
function readStrings(source: Source): Passage[] {
  const passages: Passage[] = [];
  const visit = (node: Node): void => {
    if (isCode(node, source)) return;
    if (!isText(node)) {
      node.forEachChild(visit);
      return;
    }
    const { pieces, inner } = textOf(node, source);
    const start = node.getStart(source.file);
    const masked = maskInlineCode(mask(source.text, { start, end: node.end }, pieces));
    const text = isMarkupWithText(node) ? masked : masked.replaceAll(/\n {2}/g, "\n\n ");
    const kind = kindOf(node);
    if (kind === "title") {
      passages.push({ kind, offset: start, text: text.replace(REQUIREMENT_ID, maskMarkup) });
    } else if (isSentence(text)) {
      passages.push({ kind, offset: start, text });
    }
    inner.forEach(visit);
  };
  visit(source.file);
  return passages;
}

/** Attributes that a browser or a screen reader presents. Others contain code. */
const PROSE_ATTRIBUTES = new Set([
  "alt",
  "aria-description",
  "aria-label",
  "empty",
  "heading",
  "help",
  "hint",
  "label",
  "message",
  "placeholder",
  "summary",
  "text",
  "title",
]);

const CODE_KINDS: ReadonlySet<SyntaxKind> = new Set([
  SyntaxKind.ImportDeclaration,
  SyntaxKind.ExportDeclaration,
  SyntaxKind.ImportType,
  SyntaxKind.LiteralType,
  SyntaxKind.TaggedTemplateExpression,
]);

/** Nodes in which a string is a name or a value for programs. */
function isCode(node: Node, { file }: Source): boolean {
  if (CODE_KINDS.has(node.kind)) return true;
  if (!isJsxAttribute(node) || node.initializer === undefined) return false;
  return isStringLiteral(node.initializer) && !PROSE_ATTRIBUTES.has(node.name.getText(file));
}

function isText(node: Node): boolean {
  return isString(node) || isConcatenation(node) || isMarkupWithText(node);
}

function isString(node: Node): boolean {
  return (
    isStringLiteral(node) || isNoSubstitutionTemplateLiteral(node) || isTemplateExpression(node)
  );
}

function isConcatenation(node: Node): boolean {
  if (isParenthesizedExpression(node)) return isConcatenation(node.expression);
  if (!isBinaryExpression(node) || node.operatorToken.kind !== SyntaxKind.PlusToken) return false;
  return [node.left, node.right].some((side) => isString(side) || isConcatenation(side));
}

/** Elements inside of such an element are part of its sentence. */
function isMarkupWithText(node: Node): boolean {
  if (!isJsxElement(node) && !isJsxFragment(node)) return false;
  return node.children.some((child) => isJsxText(child) && child.text.trim() !== "");
}

function textOf(node: Node, source: Source): Text {
  const start = node.getStart(source.file);
  if (isStringLiteral(node) || isNoSubstitutionTemplateLiteral(node)) {
    return { pieces: [{ start: start + 1, end: node.end - 1, prose: true }], inner: [] };
  }
  if (isTemplateExpression(node)) return templateText(node, source);
  if (isJsxText(node)) {
    return { pieces: [{ start: node.pos, end: node.end, prose: true }], inner: [] };
  }
  if (isParenthesizedExpression(node)) return textOf(node.expression, source);
  if (isConcatenation(node) && isBinaryExpression(node)) {
    return together([textOf(node.left, source), textOf(node.right, source)]);
  }
  if (isJsxFragment(node)) return together(node.children.map((child) => textOf(child, source)));
  if (isJsxElement(node)) {
    const tag = node.openingElement.tagName.getText(source.file);
    const text = together(node.children.map((child) => textOf(child, source)));
    const inner = [node.openingElement.attributes, ...text.inner];
    if (!CODE_TAGS.has(tag)) return { pieces: text.pieces, inner };
    return { pieces: [{ start, end: node.end, prose: false }], inner };
  }
  if (isJsxSelfClosingElement(node)) return { pieces: [], inner: [node.attributes] };
  if (isJsxExpression(node)) {
    const { expression } = node;
    if (expression === undefined) return { pieces: [], inner: [] };
    if (isString(expression)) return textOf(expression, source);
  }
  return { pieces: [{ start, end: node.end, prose: false }], inner: [node] };
}

const CODE_TAGS = new Set(["code", "kbd", "pre", "samp"]);

function templateText(node: Node, { file }: Source): Text {
  if (!isTemplateExpression(node)) return { pieces: [], inner: [] };
  // A head or middle ends with the two characters that open an expression.
  const pieces: Piece[] = [
    { start: node.head.getStart(file) + 1, end: node.head.end - 2, prose: true },
  ];
  const inner: Node[] = [];
  for (const { expression, literal } of node.templateSpans) {
    const start = pieces.at(-1)?.end ?? 0;
    const end = literal.getStart(file) + 1;
    const closing = literal.kind === SyntaxKind.TemplateTail ? 1 : 2;
    pieces.push({ start, end, prose: false });
    pieces.push({ start: end, end: literal.end - closing, prose: true });
    inner.push(expression);
  }
  return { pieces, inner };
}

function together(texts: readonly Text[]): Text {
  return {
    pieces: texts.flatMap(({ pieces }) => pieces),
    inner: texts.flatMap(({ inner }) => inner),
  };
}

function mask(text: string, { start, end }: Range, pieces: readonly Piece[]): string {
  let masked = "";
  let done = start;
  for (const piece of pieces) {
    const part = text.slice(piece.start, piece.end);
    masked += maskMarkup(text.slice(done, piece.start));
    masked += piece.prose ? maskEscapes(part) : maskCode(part);
    done = piece.end;
  }
  return masked + maskMarkup(text.slice(done, end));
}

/** An escaped line break ends a paragraph. */
function maskEscapes(text: string): string {
  return text.replaceAll(/\\(u\{[^}]*\}|u.{4}|x..|[\s\S])/g, (escaped, code: string) => {
    if (code === "n") return "\n\n";
    return code.length === 1 ? ` ${code}` : maskMarkup(escaped);
  });
}

const REQUIREMENT_ID = /^\s*(?:\[[^\]]*\])+/;
const TEST_FUNCTIONS = new Set(["describe", "it", "suite", "test"]);

/** The first argument of a test function, or of a member of it such as `test.skip`, is a title. */
function kindOf(node: Node): Kind {
  const call = node.parent;
  if (!isCallExpression(call) || call.arguments[0] !== node) return "message";
  const callee = call.expression;
  const names = isPropertyAccessExpression(callee) ? [callee.expression, callee.name] : [callee];
  const isTest = names.some((name) => isIdentifier(name) && TEST_FUNCTIONS.has(name.text));
  return isTest ? "title" : "message";
}

const WORDS_MIN = 3;
const WORD = /(?<![\w./:@#$%&=?-])[A-Za-z][A-Za-z]*(?:['’-][A-Za-z]+)*(?![\w/@#$%&=(-])/g;
const CODE_LOOK = /[{}]|=>|[!=]==|[;\\]\s*$|\w\(\)|^\s*[/<$#]/;
const SQL_QUERY = /\b(?:insert into|select .+ from|update \w+ set|delete from|values \()/i;
const SQL_SCHEMA = /\b(?:create|alter|drop) (?:table|index|unique|trigger|role|schema|database)\b/i;

function isSentence(text: string): boolean {
  if ([CODE_LOOK, SQL_QUERY, SQL_SCHEMA].some((pattern) => pattern.test(text))) return false;
  return (text.match(WORD)?.length ?? 0) >= WORDS_MIN;
}

/** Outside of literals, a slash before another or an asterisk begins a comment. */
function readComments({ file, text, nodes }: Source): Passage[] {
  const literals = nodes.filter(({ kind }) => LITERALS.has(kind));
  const lines: Range[] = [];
  const passages: Passage[] = [];
  let from = 0;
  const scan = (end: number): void => {
    COMMENT.lastIndex = from;
    for (let match = COMMENT.exec(text); match !== null && match.index < end; ) {
      const comment = { start: match.index, end: COMMENT.lastIndex };
      if (match[0].startsWith("//")) lines.push(comment);
      else passages.push(...readBlockComment(text, comment));
      match = COMMENT.exec(text);
    }
  };
  for (const literal of literals) {
    const start = isJsxText(literal) ? literal.pos : literal.getStart(file);
    scan(start);
    from = literal.end;
  }
  scan(text.length);
  return [...passages, ...readLineComments(text, lines)];
}

const COMMENT = /\/\/.*|\/\*[\s\S]*?\*\//g;

const LITERALS: ReadonlySet<SyntaxKind> = new Set([
  SyntaxKind.StringLiteral,
  SyntaxKind.NoSubstitutionTemplateLiteral,
  SyntaxKind.TemplateHead,
  SyntaxKind.TemplateMiddle,
  SyntaxKind.TemplateTail,
  SyntaxKind.RegularExpressionLiteral,
  SyntaxKind.JsxText,
]);
