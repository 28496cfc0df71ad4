import type { RuleSuggestions } from "@countersign/review-api";
import { useState } from "preact/hooks";
import { api } from "../../api.ts";
import { LongText } from "../../exact/long-text.tsx";
import { Text } from "../../exact/text.tsx";
import { plural, rich, t } from "../../language/t.ts";
import { Button } from "../../parts/button.tsx";
import { Empty } from "../../parts/notice.tsx";
import { Scroller } from "../../parts/scroller.tsx";
import { go, href } from "../../route.ts";
import { session } from "../../session.ts";
import { isChanged, keepDraft } from "../policies/draft.ts";

const SCOPE = t`For exactly the same call of one instance that people approved at least 5 times \
and never denied in the last 30 days.`;

/** The server replays requests for each rule. */
const TIMEOUT_MS = 60_000;

/** Rules that would have answered questions; the server computes them on demand. */
export function Suggestions() {
  const [found, setFound] = useState<RuleSuggestions>();
  const find = async () => {
    setFound(await api.call("GET /policy/suggestions", { timeoutMs: TIMEOUT_MS }));
  };
  return (
    <section class="panel suggestions" aria-labelledby="suggestions-title">
      <header class="panel-head">
        <h2 id="suggestions-title">{t`Rules that would have saved questions`}</h2>
        <Button onPress={find}>{t`Find rules`}</Button>
      </header>
      <p class="hint">
        {SCOPE} {t`The server tests each rule on these requests.`}
      </p>
      <p role="status">{found !== undefined && summaryOf(found)}</p>
      {found !== undefined && <Rules found={found} />}
    </section>
  );
}

function summaryOf({ suggestions, looked_at: lookedAt, complete }: RuleSuggestions): string {
  const rules = plural(suggestions.length, { one: "1 rule", other: "# rules" });
  return complete
    ? t`Found ${rules} in ${lookedAt} requests of the last 30 days.`
    : t`Found ${rules} in the latest ${lookedAt} requests of the last 30 days.`;
}

function Rules({ found }: { readonly found: RuleSuggestions }) {
  if (found.suggestions.length === 0) {
    return (
      <Empty title={t`No rules to suggest`}>
        <p>{t`Rules appear here when people approve the same call again and again.`}</p>
      </Empty>
    );
  }
  return (
    <ol>
      {found.suggestions.map((suggestion) => (
        <Rule key={suggestion.rule} suggestion={suggestion} base={found.base_number} />
      ))}
    </ol>
  );
}

interface RuleProps {
  readonly suggestion: RuleSuggestions["suggestions"][number];
  /** Number of the active version. */
  readonly base: number;
}

function Rule({ suggestion, base }: RuleProps) {
  const { tool, server, instance, answered, questions, rule, source } = suggestion;
  const by = <Name text={instance.name || instance.id} />;
  const link = <a href={href("/policies")}>{t`Publish or discard it`}</a>;
  const place = `${session.value?.project?.id} policy`;
  const open = () => {
    keepDraft(place, { source, base });
    go("/policies");
  };
  return (
    <li>
      <h3>
        {server === undefined
          ? rich`${<Name text={tool} />} by ${by}`
          : rich`${<Name text={tool} />} on ${<Name text={server} />} by ${by}`}
      </h3>
      <p>
        {t`It would have answered ${answered} of ${questions} questions about this tool of \
this instance, and 0 of the denied ones.`}
      </p>
      <Scroller class="source" label={t`The rule`}>
        <pre>
          <LongText text={rule} />
        </pre>
      </Scroller>
      {isChanged(place) ? (
        <p class="hint">{rich`You already have a draft. ${link} before you open another one.`}</p>
      ) : (
        <Button onPress={open}>{t`Open as a draft`}</Button>
      )}
    </li>
  );
}

function Name({ text }: { readonly text: string }) {
  return (
    <bdi>
      <Text>{text}</Text>
    </bdi>
  );
}
