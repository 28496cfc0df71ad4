/** Colours and sizes of the editor. It uses the tokens of the page, so light and dark follow. */

import { HighlightStyle, syntaxHighlighting } from "@codemirror/language";
import { EditorView } from "@codemirror/view";
import { tags } from "@lezer/highlight";

const POPUP = {
  border: "1px solid var(--line)",
  borderRadius: "var(--radius)",
  background: "var(--raised)",
  color: "var(--ink)",
};

/** Images in style sheets would need a `data:` source, which the page does not permit. */
const NO_IMAGE = { backgroundImage: "none", textDecorationLine: "underline" };

export const theme = EditorView.theme({
  "&": { color: "var(--ink)", minHeight: "18rem", maxHeight: "min(75vh, 48rem)" },
  "&.cm-focused": { outline: "none" },
  ".cm-scroller": { font: "0.8125rem / 1.25rem var(--mono)", overflow: "auto" },
  ".cm-content": { padding: "var(--space-3) 0", caretColor: "var(--ink)" },
  ".cm-line": { padding: "0 var(--space-3)" },
  ".cm-gutters": {
    border: "0",
    background: "var(--paper)",
    color: "var(--faint)",
  },
  ".cm-selectionBackground, ::selection": { background: "var(--accent-ground)" },
  ".cm-matchingBracket, &.cm-focused .cm-matchingBracket": {
    background: "var(--accent-ground)",
    color: "inherit",
  },
  ".cm-nonmatchingBracket, &.cm-focused .cm-nonmatchingBracket": {
    background: "var(--bad-ground)",
    color: "var(--bad)",
  },
  ".cm-specialChar": { color: "var(--bad)" },
  ".cm-tooltip": POPUP,
  ".cm-tooltip.cm-tooltip-autocomplete > ul": {
    font: "0.8125rem / 1.25rem var(--mono)",
    maxHeight: "16rem",
  },
  ".cm-tooltip.cm-tooltip-autocomplete > ul > li": { padding: "var(--space-1) var(--space-2)" },
  ".cm-tooltip-autocomplete > ul > li[aria-selected]": {
    background: "var(--accent)",
    color: "var(--on-accent)",
  },
  ".cm-completionDetail": { marginLeft: "var(--space-3)", opacity: "0.8" },
  ".cm-completionIcon": { display: "none" },
  ".cm-lintRange-error": {
    ...NO_IMAGE,
    textDecorationStyle: "wavy",
    textDecorationColor: "var(--bad)",
  },
  ".cm-lintRange-warning": {
    ...NO_IMAGE,
    textDecorationStyle: "wavy",
    textDecorationColor: "var(--warn)",
  },
  ".cm-lintRange-active": { background: "var(--warn-ground)" },
  ".cm-lint-marker": { width: "0.625rem", height: "0.625rem", margin: "0.3rem auto" },
  ".cm-lint-marker-error": {
    content: "normal",
    borderRadius: "50%",
    background: "var(--bad)",
  },
  ".cm-lint-marker-warning": {
    content: "normal",
    borderRadius: "2px",
    background: "var(--warn)",
    transform: "rotate(45deg)",
  },
  ".cm-diagnostic": { maxWidth: "30rem", padding: "var(--space-2) var(--space-3)" },
  ".cm-diagnostic-error": { borderLeft: "4px solid var(--bad)" },
  ".cm-diagnostic-warning": { borderLeft: "4px solid var(--warn)" },
  ".cm-panels": { background: "var(--raised)", color: "var(--ink)" },
  ".cel-name": { color: "var(--accent)" },
  ".cel-function": { color: "var(--accent)", fontWeight: "600" },
  ".cel-text": { color: "var(--good)" },
  ".cel-literal": { color: "var(--warn)" },
});

export const highlight = syntaxHighlighting(
  HighlightStyle.define([
    { tag: tags.definition(tags.propertyName), color: "var(--accent)" },
    { tag: tags.comment, color: "var(--faint)", fontStyle: "italic" },
    { tag: tags.string, color: "var(--good)" },
    { tag: tags.punctuation, color: "var(--faint)" },
    { tag: tags.separator, color: "var(--faint)" },
    { tag: tags.invalid, color: "var(--bad)" },
  ]),
);
