/** Adds a rule with a test to the policy, after a simulation on past calls. */

import type { PolicyCheck, ShownPolicy } from "@countersign/review-api";
import { addToPolicy } from "@countersign/review-api/policy-text";
import { useEffect, useMemo, useState } from "preact/hooks";
import { Text } from "../../../exact/text.tsx";
import { t } from "../../../language/t.ts";
import { announce } from "../../../parts/announce.tsx";
import { Button, messageOf } from "../../../parts/button.tsx";
import { Fault } from "../../../parts/notice.tsx";
import { useLoaded } from "../../../parts/use-loaded.ts";
import { go } from "../../../route.ts";
import { session } from "../../../session.ts";
import { keepDraft } from "../../policies/draft.ts";
import {
  checkDraft,
  propose,
  publish,
  readPolicy,
  simulate,
  sourceOf,
} from "../../policies/policy-api.ts";
import { summaryOf } from "../../policies/simulation-words.ts";
import type { Shown } from "../use-request.ts";
import { type NewRule, ruleFor } from "./rule.ts";
import type { Choice } from "./terms.ts";

const SCOPE = "policy";
const SINCE = "168h";

export interface RuleFormProps {
  readonly shown: Shown;
  readonly choice: Choice;
  readonly verdict: "approve" | "deny";
  onClose(): void;
}

export function RuleForm({ shown, choice, verdict, onClose }: RuleFormProps) {
  const { request, argumentsText } = shown;
  const {
    value: active,
    error,
    reload,
  } = useLoaded((signal) => readPolicy(SCOPE, signal), "policy-of-more");
  const { id, tool, server } = request;
  const rule = useMemo(
    () => ruleFor({ ...choice, requestId: id, tool, server, argumentsText, verdict }),
    [choice, id, tool, server, argumentsText, verdict],
  );
  if (error !== undefined) return <Fault error={error} onRetry={reload} />;
  if (active === undefined) return <p class="hint">{t`Loading the policy…`}</p>;
  return <Draft active={active} rule={rule} onClose={onClose} />;
}

interface DraftProps {
  readonly active: ShownPolicy;
  readonly rule: NewRule;
  onClose(): void;
}

function Draft({ active, rule, onClose }: DraftProps) {
  const source = addToPolicy(sourceOf(active), rule);
  const trial = useTrial(source);
  const openEditor = () => {
    const place = `${session.peek()?.project?.id} ${SCOPE}`;
    if (source !== undefined) keepDraft(place, { source, base: active.number });
    onClose();
    go("/policies");
  };
  const isTwoPerson = active.two_person === true;
  async function send(): Promise<void> {
    if (source === undefined) return;
    const note = `Drafted from a request: ${rule.id}`;
    const base = { expectedNumber: active.number, note };
    if (isTwoPerson) {
      await propose(SCOPE, { source }, base);
      announce(t`Proposed. Another person must publish it.`);
    } else {
      const { number } = await publish(SCOPE, { source, ...base });
      announce(t`Version ${String(number)} is active.`);
    }
    onClose();
  }
  return (
    <>
      <pre class="more-rule">
        <Text>{rule.rule.join("\n")}</Text>
      </pre>
      {source === undefined ? (
        <p class="alert">
          {t`The policy has another layout than lists of one entry per line.`}{" "}
          {t`Copy the rule into the editor.`}
        </p>
      ) : (
        <TrialResult trial={trial} />
      )}
      <div class="dialog-foot">
        <Button kind="quiet" onPress={openEditor}>
          {t`Open in the editor`}
        </Button>
        <Button kind="primary" disabled={trial.state !== "ready"} onPress={send}>
          {isTwoPerson ? t`Propose` : t`Publish`}
        </Button>
      </div>
    </>
  );
}

type Trial =
  | { readonly state: "running" }
  | { readonly state: "failed"; readonly message: string }
  | { readonly state: "ready"; readonly words: string };

/** Checks the text with its tests, then simulates it on past calls. */
function useTrial(source: string | undefined): Trial {
  const [trial, setTrial] = useState<Trial>({ state: "running" });
  useEffect(() => {
    if (source === undefined) return;
    const stop = new AbortController();
    setTrial({ state: "running" });
    tryDraft(source, stop.signal).then(
      (done) => !stop.signal.aborted && setTrial(done),
      (error) => !stop.signal.aborted && setTrial({ state: "failed", message: messageOf(error) }),
    );
    return () => stop.abort();
  }, [source]);
  return trial;
}

async function tryDraft(source: string, signal: AbortSignal): Promise<Trial> {
  const check = await checkDraft(SCOPE, source, signal);
  const fault = faultOf(check);
  if (fault !== undefined) return { state: "failed", message: fault };
  for await (const event of simulate(SCOPE, { source, since: SINCE }, signal)) {
    if (event.event === "summary") return { state: "ready", words: summaryOf(event) };
  }
  return { state: "failed", message: t`The simulation was interrupted. Try again.` };
}

const STRICTER = [
  t`A stricter rule matches this call too, so this rule would not decide it.`,
  t`Change that rule in the editor.`,
].join(" ");

function faultOf({ findings, tests }: PolicyCheck): string | undefined {
  const [finding] = findings;
  if (finding === undefined) return undefined;
  return tests.some(({ passed }) => !passed) ? STRICTER : finding.message;
}

function TrialResult({ trial }: { readonly trial: Trial }) {
  if (trial.state === "failed") {
    return (
      <p class="alert" role="alert">
        <Text>{trial.message}</Text>
      </p>
    );
  }
  return (
    <p role="status" id="more-trial">
      {trial.state === "running"
        ? t`Checking the rule on the calls of the last 7 days…`
        : t`Last 7 days: ${trial.words}`}
    </p>
  );
}
