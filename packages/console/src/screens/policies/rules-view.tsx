/** The rules of a checked policy in words, with the calls of the past that each one matched. */

import type { PolicyCheck, PolicyPath, PolicyUsage, RuleOutline } from "@countersign/review-api";
import { Text } from "../../exact/text.tsx";
import { plural, t } from "../../language/t.ts";
import type { Place } from "./code-editor.ts";
import { ruleWords } from "./rule-words.ts";

interface RulesViewProps {
  readonly scope: PolicyPath;
  readonly check: PolicyCheck | undefined;
  readonly usage: PolicyUsage | undefined;
  /** Puts the cursor of the editor at a place. */
  onShow(place: Place): void;
}

export function RulesView({ scope, check, usage, onShow }: RulesViewProps) {
  if (check === undefined || check.outlines.length === 0) return null;
  return (
    <section class="panel" aria-labelledby="rules-title">
      <h2 id="rules-title">{t`Rules in words`}</h2>
      {usage !== undefined && <p class="hint">{periodWords(usage)}</p>}
      <ul class="rule-cards">
        {check.outlines.map((rule) => (
          <li key={rule.id}>
            <p class="rule-head">
              <strong>
                <Text>{rule.id}</Text>
              </strong>
              <button type="button" class="link" onClick={() => onShow({ ...rule, column: 1 })}>
                {t`Line ${String(rule.line)}`}
              </button>
              {usage !== undefined && <span class="hint">{usageWords(scope, rule, usage)}</span>}
            </p>
            <p class="rule-words">
              <RuleSentence rule={rule} />
            </p>
            {warningsOf(check, rule).map((message) => (
              <p key={message} class="warn">
                <Text>{message}</Text>
              </p>
            ))}
          </li>
        ))}
      </ul>
    </section>
  );
}

function RuleSentence({ rule }: { readonly rule: RuleOutline }) {
  return (
    <>
      {ruleWords(rule).map((part, index) =>
        typeof part === "string" ? (
          part
        ) : (
          <code key={index}>
            <Text>{part.code}</Text>
          </code>
        ),
      )}
    </>
  );
}

function periodWords({ calls, limited }: PolicyUsage): string {
  if (limited) return t`Matches are counted over the latest ${calls} calls of this project.`;
  return t`Matches are counted over the ${calls} calls of this project in the last 7 days.`;
}

function usageWords(scope: PolicyPath, { id }: RuleOutline, { rules }: PolicyUsage): string {
  const name = scope === "floor" ? `floor/${id}` : id;
  const { fired, decided } = rules.find((rule) => rule.id === name) ?? { fired: 0, decided: 0 };
  if (fired === 0) return t`matched no call`;
  return plural(
    fired,
    { one: "matched 1 call, decided {0}", other: "matched # calls, decided {0}" },
    decided,
  );
}

/** The findings at the start of a rule. */
function warningsOf({ warnings }: PolicyCheck, { line }: RuleOutline): readonly string[] {
  return warnings
    .filter((warning) => warning.line === line && warning.path.startsWith("rules["))
    .map(({ message }) => message);
}
