/** The difference between the definition of a tool at its last approved call and now. */

import type { ReviewedRequest } from "@countersign/review-api";
import { type ToolChange, toolChangeOf } from "@countersign/review-api/tool-change";
import { useMemo } from "preact/hooks";
import { t } from "../../language/t.ts";
import { DiffLines } from "../../parts/diff-lines.tsx";
import { definitionLines } from "../../previews/definition-lines.ts";
import { lineDiff } from "../../previews/line-diff.ts";

export function ToolChanged({ request }: { readonly request: ReviewedRequest }) {
  const change = toolChangeOf(request);
  if (change === undefined) return null;
  return (
    <section class="panel" id="tool-change" aria-labelledby="tool-change-title">
      <header class="panel-head">
        <h2 id="tool-change-title">
          {t`The definition of this tool changed since its last approved call`}
        </h2>
        <span class="badge danger-badge">{t`Changed`}</span>
      </header>
      {change === "invalid" ? (
        <p class="warning">
          {t`The agent's adapter does not report both definitions.`}{" "}
          {t`Compare the tool with its server before you approve.`}
        </p>
      ) : (
        <Definitions change={change} />
      )}
    </section>
  );
}

function Definitions({ change: { before, after } }: { readonly change: ToolChange }) {
  const hunks = useMemo(
    () => lineDiff(definitionLines(before), definitionLines(after)),
    [before, after],
  );
  return (
    <>
      {hunks.length === 0 ? (
        <p class="hint">{t`The two definitions are equal.`}</p>
      ) : (
        <DiffLines hunks={hunks} />
      )}
      <p class="hint">
        {t`After an approval, the policy decides about later calls of the changed tool.`}
      </p>
    </>
  );
}
