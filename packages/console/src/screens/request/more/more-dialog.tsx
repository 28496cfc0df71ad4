/**
 * Drafts a grant or a policy rule from a call. The reviewer chooses the arguments that keep their
 * value, and sees in words what would be allowed.
 */

import { useState } from "preact/hooks";
import { Text } from "../../../exact/text.tsx";
import { rich, t } from "../../../language/t.ts";
import { Dialog } from "../../../parts/dialog.tsx";
import { may } from "../../../powers.ts";
import type { Shown } from "../use-request.ts";
import { GrantForm } from "./grant-form.tsx";
import { RuleForm } from "./rule-form.tsx";
import { type Choice, describeChoice, freeNames, termsOf } from "./terms.ts";

export interface MoreDialogProps {
  readonly shown: Shown;
  readonly canGrant: boolean;
  onClose(): void;
}

type Way = "grant" | "approve" | "deny";

const WAYS: readonly (readonly [Way, string])[] = [
  ["grant", t`For a limited time and number of calls (a grant)`],
  ["approve", t`Always, by a rule of the policy`],
  ["deny", t`Never: always deny, by a rule of the policy`],
];

export function MoreDialog({ shown, canGrant, onClose }: MoreDialogProps) {
  const { request, argumentsText } = shown;
  const ways = WAYS.filter(([way]) => (way === "grant" ? canGrant : may("publish")));
  const [way, setWay] = useState<Way>(ways[0]?.[0] ?? "grant");
  const [choice, setChoice] = useState<Choice>(() => {
    const terms = termsOf(argumentsText);
    return { terms, fixed: new Set(terms.map(({ name }) => name)) };
  });
  return (
    <Dialog title={t`Allow more like this`} isWide onClose={onClose}>
      <fieldset class="more-ways">
        <legend>{t`How`}</legend>
        {ways.map(([value, words]) => (
          <label key={value} class="check">
            <input
              type="radio"
              name="way"
              value={value}
              checked={way === value}
              onChange={() => setWay(value)}
            />
            {words}
          </label>
        ))}
      </fieldset>
      <Terms choice={choice} onChange={setChoice} />
      <p id="more-words">
        <Effect way={way} request={request} choice={choice} />
      </p>
      {choice.terms.length > 0 && isFree(choice) && (
        <p class="warning" role="status">
          {t`Every argument may have any value.`}{" "}
          {way === "deny"
            ? t`Keep at least one value to limit the denial.`
            : t`Keep at least one value to limit the permission.`}
        </p>
      )}
      {way === "grant" ? (
        <GrantForm request={request} choice={choice} onClose={onClose} />
      ) : (
        <RuleForm key={way} shown={shown} choice={choice} verdict={way} onClose={onClose} />
      )}
    </Dialog>
  );
}

interface EffectProps {
  readonly way: Way;
  readonly request: Shown["request"];
  readonly choice: Choice;
}

/** The effect of the grant or of the rule, in words. */
function Effect({ way, request: { tool, server, instance }, choice }: EffectProps) {
  const calls = <Calls tool={tool} server={server} isEverywhere={way !== "grant"} />;
  const terms = <Text>{describeChoice(choice)}</Text>;
  const caller = way === "grant" ? instance.name || instance.id : t`every instance of the project`;
  const by = <Text>{caller}</Text>;
  return way === "deny"
    ? rich`Denies calls of ${calls} ${terms}, also with further arguments, by ${by}.`
    : rich`Allows calls of ${calls} ${terms}, without further arguments, by ${by}.`;
}

interface CallsProps {
  readonly tool: string;
  readonly server: string | undefined;
  /** Whether calls of all servers are meant if the request has none. */
  readonly isEverywhere: boolean;
}

function Calls({ tool, server, isEverywhere }: CallsProps) {
  const name = (
    <strong>
      <Text>{tool}</Text>
    </strong>
  );
  if (server !== undefined) return rich`${name} on ${<Text>{server}</Text>}`;
  return isEverywhere ? rich`${name} on every server` : name;
}

function isFree(choice: Choice): boolean {
  return freeNames(choice).length === choice.terms.length;
}

interface TermsProps {
  readonly choice: Choice;
  onChange(choice: Choice): void;
}

function Terms({ choice, onChange }: TermsProps) {
  const { terms, fixed } = choice;
  if (terms.length === 0) return null;
  const toggle = (name: string) => {
    const after = new Set(fixed);
    if (!after.delete(name)) after.add(name);
    onChange({ terms, fixed: after });
  };
  return (
    <fieldset class="more-terms">
      <legend>{t`Arguments that keep their value`}</legend>
      {terms.map(({ name, source, literal }) => (
        <label key={name} class="check">
          <input
            type="checkbox"
            checked={literal !== undefined && fixed.has(name)}
            disabled={literal === undefined}
            onChange={() => toggle(name)}
          />
          <span>
            <code>
              <Text>{`${name}: ${clipped(source)}`}</Text>
            </code>
            {literal === undefined && (
              <span class="hint">{t` (a condition cannot compare this value exactly)`}</span>
            )}
          </span>
        </label>
      ))}
    </fieldset>
  );
}

const SHOWN_MAX = 200;

function clipped(source: string): string {
  return source.length > SHOWN_MAX ? `${source.slice(0, SHOWN_MAX).toWellFormed()}…` : source;
}
