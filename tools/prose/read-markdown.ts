/**
 * The prose of Markdown: paragraphs, headings, list items and table cells. Code blocks, HTML,
 * inline code and URLs are not prose.
 */

import type { Nodes, Root } from "mdast";
import { fromMarkdown } from "mdast-util-from-markdown";
import { gfmFromMarkdown } from "mdast-util-gfm";
import { gfm } from "micromark-extension-gfm";
import { type Kind, maskCode, maskInlineCode, maskMarkup, type Passage } from "./passage.ts";

const CONTAINERS: Readonly<Record<string, Kind>> = {
  paragraph: "docs",
  tableCell: "docs",
  heading: "heading",
};

/** Continuation lines of a quotation begin with its marker. */
const QUOTATION_MARKER = /(?<=\n)[ \t]*>[> \t]*/g;

/** @param indentedCode whether indented lines are code; a YAML scalar is indented as a whole */
export function readMarkdown(text: string, { indentedCode = true } = {}): Passage[] {
  const disabled = indentedCode ? [] : ["codeIndented"];
  const tree: Root = fromMarkdown(text, {
    extensions: [gfm(), { disable: { null: disabled } }],
    mdastExtensions: [gfmFromMarkdown()],
  });
  const passages: Passage[] = [];
  const visit = (node: Nodes): void => {
    const kind = CONTAINERS[node.type];
    if (kind !== undefined) passages.push({ kind, offset: startOf(node), text: prose(node, text) });
    else if ("children" in node) for (const child of node.children) visit(child);
  };
  visit(tree);
  return passages;
}

function prose(node: Nodes, text: string): string {
  const original = text.slice(startOf(node), endOf(node));
  if (node.type === "text") {
    return maskInlineCode(original.replaceAll(QUOTATION_MARKER, maskMarkup));
  }
  if (node.type === "inlineCode" || isBareUrl(node)) return maskCode(original);
  if (!("children" in node)) return maskMarkup(original);
  let masked = "";
  let end = startOf(node);
  for (const child of node.children) {
    masked += maskMarkup(text.slice(end, startOf(child))) + prose(child, text);
    end = endOf(child);
  }
  return masked + maskMarkup(text.slice(end, endOf(node)));
}

/** A link that shows its own URL. */
function isBareUrl(node: Nodes): boolean {
  if (node.type !== "link") return false;
  const [child] = node.children;
  return child?.type === "text" && /[./]/.test(child.value) && node.url.endsWith(child.value);
}

function startOf(node: Nodes): number {
  return node.position?.start.offset ?? 0;
}

function endOf(node: Nodes): number {
  return node.position?.end.offset ?? 0;
}
