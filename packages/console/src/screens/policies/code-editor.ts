/**
 * The text editor for policies. It is in a chunk of its own, which a screen loads on demand.
 *
 * It lives in a shadow root: there, its styles are a constructed style sheet, which the content
 * security policy of the page permits. In the page they would be an inline style.
 */

import { autocompletion, completionKeymap } from "@codemirror/autocomplete";
import { defaultKeymap, history, historyKeymap } from "@codemirror/commands";
import { yamlLanguage } from "@codemirror/lang-yaml";
import { bracketMatching, indentUnit } from "@codemirror/language";
import { type Diagnostic, lintGutter, lintKeymap, setDiagnostics } from "@codemirror/lint";
import { Compartment, EditorState, type Text, Transaction } from "@codemirror/state";
import { EditorView, highlightSpecialChars, keymap, lineNumbers } from "@codemirror/view";
import { type ProblemFinding, visibleText } from "@countersign/protocol";
import { t } from "../../language/t.ts";
import { celHighlight } from "./cel-highlight.ts";
import { highlight, theme } from "./code-theme.ts";
import { completePolicy } from "./completions.ts";
import type { Vocabulary } from "./vocabulary.ts";

export type Place = Pick<ProblemFinding, "line" | "column">;

export interface EditorOptions {
  readonly source: string;
  readonly isReadOnly: boolean;
  /** Names for completions. */
  vocabulary(): Vocabulary;
  onInput(source: string): void;
}

export interface Findings {
  readonly errors: readonly ProblemFinding[];
  readonly warnings: readonly ProblemFinding[];
}

/** The editor's own texts. */
const PHRASES = {
  Completions: t`Completions`,
  "Control character": t`Control character`,
  Diagnostics: t`Diagnostics`,
  "No diagnostics": t`No diagnostics`,
  "Selection deleted": t`Selection deleted`,
  close: t`close`,
};

/** @param host an element without children; it can be used again after `close` */
export function openEditor(host: HTMLElement, options: EditorOptions): CodeEditor {
  return new CodeEditor(host.shadowRoot ?? host.attachShadow({ mode: "open" }), options);
}

export class CodeEditor {
  readonly #view: EditorView;
  readonly #readOnly = new Compartment();

  constructor(root: ShadowRoot, { source, isReadOnly, vocabulary, onInput }: EditorOptions) {
    const state = EditorState.create({
      doc: source,
      extensions: [
        theme,
        highlight,
        celHighlight,
        yamlLanguage,
        lineNumbers(),
        history(),
        bracketMatching(),
        highlightSpecialChars(),
        indentUnit.of("  "),
        EditorView.lineWrapping,
        EditorView.domEventHandlers({ beforeinput: replaceSelected }),
        lintGutter(),
        autocompletion({ override: [(context) => completePolicy(context, vocabulary())] }),
        // Without a binding for Tab: it leaves the editor, as everywhere.
        keymap.of([...completionKeymap, ...lintKeymap, ...historyKeymap, ...defaultKeymap]),
        EditorView.contentAttributes.of({
          "aria-label": t`Policy`,
          "aria-description": t`Tab leaves the editor. Control+Space completes.`,
          autocapitalize: "none",
        }),
        EditorState.phrases.of(PHRASES),
        this.#readOnly.of(EditorState.readOnly.of(isReadOnly)),
        EditorView.updateListener.of(({ docChanged, transactions, state: { doc } }) => {
          const isTyped = transactions.some((one) => !one.annotation(Transaction.remote));
          if (docChanged && isTyped) onInput(doc.toString());
        }),
      ],
    });
    this.#view = new EditorView({ state, parent: root, root });
  }

  setText(source: string): void {
    const { doc } = this.#view.state;
    if (doc.toString() === source) return;
    this.#view.dispatch({
      changes: { from: 0, to: doc.length, insert: source },
      annotations: Transaction.remote.of(true),
    });
  }

  setReadOnly(isReadOnly: boolean): void {
    const effects = this.#readOnly.reconfigure(EditorState.readOnly.of(isReadOnly));
    this.#view.dispatch({ effects });
  }

  /** @param source the text that the findings are about */
  setFindings(source: string, { errors, warnings }: Findings): void {
    const { state } = this.#view;
    if (state.doc.toString() !== source) return;
    const diagnostics = [
      ...errors.map((finding) => diagnosticOf(state.doc, finding, "error")),
      ...warnings.map((finding) => diagnosticOf(state.doc, finding, "warning")),
    ].sort((a, b) => a.from - b.from);
    this.#view.dispatch(setDiagnostics(state, diagnostics));
  }

  /** Puts the cursor at a place, and shows it. */
  show(place: Place): void {
    const anchor = offsetOf(this.#view.state.doc, place);
    this.#view.dispatch({
      selection: { anchor },
      effects: EditorView.scrollIntoView(anchor, { y: "center" }),
    });
    this.#view.focus();
  }

  close(): void {
    this.#view.destroy();
  }
}

/**
 * Text typed over a selection. A browser would keep the style of the selected text in an inline
 * style, which the content security policy blocks and reports.
 */
function replaceSelected(event: InputEvent, view: EditorView): boolean {
  const { inputType, data } = event;
  const { state } = view;
  if (inputType !== "insertText" || data === null) return false;
  if (state.readOnly || state.selection.main.empty) return false;
  view.dispatch(state.replaceSelection(data), { userEvent: "input.type", scrollIntoView: true });
  return true;
}

function offsetOf(doc: Text, { line, column }: Place): number {
  const { from, to } = doc.line(Math.min(Math.max(line, 1), doc.lines));
  return Math.min(from + Math.max(column, 1) - 1, to);
}

/** From its place to the end of the line. */
function diagnosticOf(
  doc: Text,
  finding: ProblemFinding,
  severity: "error" | "warning",
): Diagnostic {
  const from = offsetOf(doc, finding);
  return { from, to: doc.lineAt(from).to, severity, message: visibleText(finding.message) };
}
