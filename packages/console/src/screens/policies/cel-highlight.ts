/** Highlights the CEL expressions in the conditions of a policy. */

import { syntaxTree } from "@codemirror/language";
import type { EditorState, Range } from "@codemirror/state";
import { Decoration, type DecorationSet, type EditorView, ViewPlugin } from "@codemirror/view";
import { celTokens } from "./cel-tokens.ts";

/** Nodes of YAML that contain a text. */
const TEXTS = new Set(["Literal", "QuotedLiteral", "BlockLiteralContent"]);

type Node = ReturnType<ReturnType<typeof syntaxTree>["resolve"]>;

const MARKS = {
  name: Decoration.mark({ class: "cel-name" }),
  function: Decoration.mark({ class: "cel-function" }),
  text: Decoration.mark({ class: "cel-text" }),
  literal: Decoration.mark({ class: "cel-literal" }),
};

export const celHighlight = ViewPlugin.define(
  (view) => {
    let marks = marksOf(view);
    return {
      get marks() {
        return marks;
      },
      update({ docChanged, viewportChanged, startState, state, view: updated }) {
        const isParsed = syntaxTree(startState) !== syntaxTree(state);
        if (docChanged || viewportChanged || isParsed) marks = marksOf(updated);
      },
    };
  },
  { decorations: ({ marks }) => marks },
);

function marksOf({ state, visibleRanges }: EditorView): DecorationSet {
  const found: Range<Decoration>[] = [];
  for (const { from, to } of visibleRanges) {
    syntaxTree(state).iterate({
      from,
      to,
      enter: ({ name, node }) => {
        if (!TEXTS.has(name) || !isCondition(state, node)) return;
        const start = name === "QuotedLiteral" ? node.from + 1 : node.from;
        const end = name === "QuotedLiteral" ? node.to - 1 : node.to;
        for (const token of celTokens(state.sliceDoc(start, end))) {
          found.push(MARKS[token.kind].range(start + token.from, start + token.to));
        }
      },
    });
  }
  return Decoration.set(found, true);
}

function isCondition(state: EditorState, node: Node): boolean {
  const pair = node.parent?.name === "BlockLiteral" ? node.parent.parent : node.parent;
  const key = pair?.name === "Pair" ? pair.firstChild : null;
  return key?.name === "Key" && state.sliceDoc(key.from, key.to) === "when";
}
