/** The result of a check: whether the draft could be published, and each finding. */

import type { ProblemFinding } from "@countersign/protocol";
import type { PolicyTest } from "@countersign/review-api";
import { Text } from "../../exact/text.tsx";
import { plural, rich, t } from "../../language/t.ts";
import type { Place } from "./code-editor.ts";
import type { Checked } from "./draft.ts";

/** Whether a draft could be published, in words, and everything that is wrong with it. */
interface VerdictProps {
  readonly source: string;
  readonly checked: Checked | undefined;
  /** Puts the cursor of the editor at a place. */
  onShow(place: Place): void;
}

export function Verdict({ source, checked, onShow }: VerdictProps) {
  const isCurrent = checked?.source === source;
  const check = checked?.check;
  return (
    <div class="policy-verdict" aria-busy={!isCurrent}>
      <p id="policy-verdict" role="status">
        {isCurrent ? summaryOf(checked) : t`Checking…`}
      </p>
      {check !== undefined && (
        <>
          <Findings title={t`Errors`} findings={check.findings} kind="bad" onShow={onShow} />
          <Findings title={t`Check again`} findings={check.warnings} kind="warn" onShow={onShow} />
          <Tests tests={check.tests} onShow={onShow} />
        </>
      )}
    </div>
  );
}

function summaryOf({ check, fault }: Checked): string {
  if (check === undefined) return t`Could not check the policy. ${fault ?? ""}`;
  const { rules, findings, tests } = check;
  if (findings.length > 0) {
    return plural(findings.length, {
      one: "Fix 1 error to publish.",
      other: "Fix # errors to publish.",
    });
  }
  const counted = plural(rules, { one: "1 rule", other: "# rules" });
  const { length } = tests;
  const tested = length === 0 ? t`no tests` : t`${length} of ${length} tests pass`;
  return `${counted}, ${tested}.`;
}

interface FindingsProps extends Pick<VerdictProps, "onShow"> {
  readonly title: string;
  readonly findings: readonly ProblemFinding[];
  readonly kind: "bad" | "warn";
}

function Findings({ title, findings, kind, onShow }: FindingsProps) {
  if (findings.length === 0) return null;
  return (
    <section aria-label={title}>
      <h2>{title}</h2>
      <ul class={`findings ${kind}`}>
        {findings.map((finding) => (
          <li key={`${finding.line}:${finding.column}:${finding.message}`}>
            <button type="button" class="link" onClick={() => onShow(finding)}>
              {t`Line ${String(finding.line)}`}
            </button>{" "}
            <Text>{finding.message}</Text>
          </li>
        ))}
      </ul>
    </section>
  );
}

interface TestsProps extends Pick<VerdictProps, "onShow"> {
  readonly tests: readonly PolicyTest[];
}

function Tests({ tests, onShow }: TestsProps) {
  if (tests.length === 0) return null;
  return (
    <section aria-label={t`Tests`}>
      <h2>{t`Tests`}</h2>
      <ul class="policy-tests">
        {tests.map((test) => (
          <li key={test.index} class={test.passed ? "passed" : "failed"}>
            <button
              type="button"
              class="link"
              onClick={() => onShow({ line: test.line, column: 1 })}
            >
              {test.passed ? t`Passes` : t`Fails`}
            </button>{" "}
            <Text>{test.name ?? t`test ${String(test.index + 1)}`}</Text>
            {!test.passed && (
              <span class="hint">
                {" "}
                {rich`expected ${<Text>{test.expected}</Text>}, got ${<Text>{test.got}</Text>}`}
              </span>
            )}
          </li>
        ))}
      </ul>
    </section>
  );
}
