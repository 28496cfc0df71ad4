/** Where a policy is written: its text with numbered lines, and what the server says of it. */

import type { ProblemFinding } from "@countersign/protocol";
import type { PolicyTest } from "@countersign/review-api";
import { useEffect, useRef } from "preact/hooks";
import { Text } from "../../exact/text.tsx";
import type { Checked } from "./draft.ts";

export interface EditorProps {
  readonly source: string;
  readonly isReadOnly: boolean;
  readonly checked: Checked | undefined;
  onInput(source: string): void;
}

export function Editor({ source, isReadOnly, checked, onInput }: EditorProps) {
  const field = useRef<HTMLTextAreaElement>(null);
  const lines = source.split("\n").length;
  // As high as its text after each render: one page scrolls, not a box in it.
  useEffect(() => {
    const element = field.current;
    if (element === null) return;
    element.style.height = "auto";
    element.style.height = `${element.scrollHeight}px`;
  });
  const faults = new Set(checked?.check?.findings.map(({ line }) => line));
  return (
    <div class="policy-editor">
      <ol class="gutter" aria-hidden="true">
        {Array.from({ length: lines }, (_, index) => (
          <li key={index} class={faults.has(index + 1) ? "bad-line" : undefined} />
        ))}
      </ol>
      <textarea
        ref={field}
        id="policy-source"
        aria-label="Policy"
        aria-describedby="policy-verdict"
        value={source}
        readOnly={isReadOnly}
        spellcheck={false}
        autocapitalize="none"
        autocomplete="off"
        wrap="off"
        onInput={(event) => onInput(event.currentTarget.value)}
        onKeyDown={(event) => field.current !== null && indent(event, field.current)}
      />
    </div>
  );
}

/** Tab leaves the field, as everywhere; Enter keeps the indentation of the line. */
function indent(event: KeyboardEvent, field: HTMLTextAreaElement): void {
  if (event.key !== "Enter" || event.isComposing || field.readOnly) return;
  const { value, selectionStart: at } = field;
  const line = value.slice(value.lastIndexOf("\n", at - 1) + 1, at);
  const margin = /^ */.exec(line)?.[0] ?? "";
  if (margin === "") return;
  event.preventDefault();
  field.setRangeText(`\n${margin}`, at, field.selectionEnd, "end");
  field.dispatchEvent(new Event("input", { bubbles: true }));
}

/** Puts the cursor where a fault is. */
export function showPlace(
  source: string,
  { line, column }: Pick<ProblemFinding, "line" | "column">,
): void {
  const field = document.getElementById("policy-source");
  if (!(field instanceof HTMLTextAreaElement)) return;
  const before = source.split("\n").slice(0, line - 1);
  const at = before.join("\n").length + (before.length > 0 ? 1 : 0) + column - 1;
  field.focus();
  field.setSelectionRange(at, at);
}

/** Whether a draft could be published, in words, and everything that is wrong with it. */
export function Verdict({ source, checked }: { source: string; checked: Checked | undefined }) {
  const isCurrent = checked?.source === source;
  const check = checked?.check;
  return (
    <div class="policy-verdict" aria-busy={!isCurrent}>
      <p id="policy-verdict" role="status">
        {isCurrent ? summaryOf(checked) : "Checking…"}
      </p>
      {check !== undefined && (
        <>
          <Findings source={source} title="Errors" findings={check.findings} kind="bad" />
          <Findings source={source} title="Check again" findings={check.warnings} kind="warn" />
          <Tests source={source} tests={check.tests} />
        </>
      )}
    </div>
  );
}

function summaryOf({ check, fault }: Checked): string {
  if (check === undefined) return `Could not check the policy. ${fault ?? ""}`;
  const { rules, findings, tests } = check;
  const counted = `${rules} ${rules === 1 ? "rule" : "rules"}`;
  if (findings.length > 0) {
    return findings.length === 1
      ? "Fix 1 error to publish."
      : `Fix ${findings.length} errors to publish.`;
  }
  const tested = tests.length === 0 ? "no tests" : `${tests.length} of ${tests.length} tests pass`;
  return `${counted}, ${tested}.`;
}

interface FindingsProps {
  readonly source: string;
  readonly title: string;
  readonly findings: readonly ProblemFinding[];
  readonly kind: "bad" | "warn";
}

function Findings({ source, title, findings, kind }: FindingsProps) {
  if (findings.length === 0) return null;
  return (
    <section aria-label={title}>
      <h3>{title}</h3>
      <ul class={`findings ${kind}`}>
        {findings.map((finding) => (
          <li key={`${finding.line}:${finding.column}:${finding.message}`}>
            <button type="button" class="link" onClick={() => showPlace(source, finding)}>
              Line {finding.line}
            </button>{" "}
            <Text>{finding.message}</Text>
          </li>
        ))}
      </ul>
    </section>
  );
}

function Tests({ source, tests }: { source: string; tests: readonly PolicyTest[] }) {
  if (tests.length === 0) return null;
  return (
    <section aria-label="Tests">
      <h3>Tests</h3>
      <ul class="policy-tests">
        {tests.map((test) => (
          <li key={test.index} class={test.passed ? "passed" : "failed"}>
            <button
              type="button"
              class="link"
              onClick={() => showPlace(source, { line: test.line, column: 1 })}
            >
              {test.passed ? "Passes" : "Fails"}
            </button>{" "}
            <Text>{test.name ?? `test ${test.index + 1}`}</Text>
            {!test.passed && (
              <span class="hint">
                {" "}
                expected <Text>{test.expected}</Text>, got <Text>{test.got}</Text>
              </span>
            )}
          </li>
        ))}
      </ul>
    </section>
  );
}
