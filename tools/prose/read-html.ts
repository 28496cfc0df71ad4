/**
 * The prose of HTML pages: text of elements and of the attributes that a browser displays.
 */

import { type DefaultTreeAdapterTypes, parse } from "parse5";
import { maskInlineCode, type Passage } from "./passage.ts";

const NOT_PROSE = new Set(["code", "pre", "script", "style"]);
const ATTRIBUTES = ["alt", "aria-label", "content", "placeholder", "title"];

export function readHtml(text: string): Passage[] {
  const passages: Passage[] = [];
  const add = (start: number, end: number): void => {
    passages.push({ kind: "message", offset: start, text: maskInlineCode(text.slice(start, end)) });
  };
  const visit = (node: DefaultTreeAdapterTypes.Node): void => {
    const location = node.sourceCodeLocation;
    if (node.nodeName === "#text" && location) add(location.startOffset, location.endOffset);
    if (NOT_PROSE.has(node.nodeName) || !("childNodes" in node)) return;
    if (location && "attrs" in location) {
      const attributes = new Map(Object.entries(location.attrs ?? {}));
      for (const name of ATTRIBUTES) {
        const attribute = attributes.get(name);
        if (attribute) add(attribute.startOffset + name.length + 1, attribute.endOffset);
      }
    }
    for (const child of node.childNodes) visit(child);
  };
  visit(parse(text, { sourceCodeLocationInfo: true }));
  return passages;
}
