/**
 * Policies: the rules that answer before people do. Written here, checked while they are written,
 * tried on calls that were made, published with the tests that they bring.
 */

import type { PolicyPath, ShownPolicy } from "@countersign/review-api";
import { useRef, useState } from "preact/hooks";
import "./policies.css";
import { Text } from "../../exact/text.tsx";
import { t } from "../../language/t.ts";
import { refreshProposals } from "../../live/proposals.tsx";
import { Button } from "../../parts/button.tsx";
import { Page } from "../../parts/page.tsx";
import { useLoaded } from "../../parts/use-loaded.ts";
import { may } from "../../powers.ts";
import { href } from "../../route.ts";
import type { ScreenProps } from "../../screen-props.ts";
import { session } from "../../session.ts";
import { type Outcome, OutcomeNote } from "./activation.tsx";
import type { Place } from "./code-editor.ts";
import { draftOf, isChanged, keepDraft, useCheck } from "./draft.ts";
import { Editor, type EditorHandle } from "./editor.tsx";
import { readPolicy, readProposals, readUsage, sourceOf } from "./policy-api.ts";
import { Proposals } from "./proposals.tsx";
import { Publishing } from "./publishing.tsx";
import { RulesView } from "./rules-view.tsx";
import { Simulation } from "./simulation.tsx";
import { Templates } from "./templates.tsx";
import { Verdict } from "./verdict.tsx";
import { publishRollBack, Versions } from "./versions.tsx";
import { NO_VOCABULARY } from "./vocabulary.ts";

const LEADS: Readonly<Record<PolicyPath, string>> = {
  policy: [
    t`Rules approve safe calls automatically and send the rest to people.`,
    t`A new version applies to new calls only.`,
  ].join(" "),
  floor: t`These rules apply to every project. A project cannot weaken them.`,
};

export function Screen({ rest }: ScreenProps) {
  const scope: PolicyPath = rest === "floor" ? "floor" : "policy";
  const project = session.value?.project;
  const loaded = useLoaded((signal) => readPolicy(scope, signal), `${scope} ${project?.id}`);
  const mayPublish = may(scope === "floor" ? "server" : "publish");
  return (
    <Page title={t`Policies`} lead={LEADS[scope]}>
      <nav class="tabs" aria-label={t`Policy of`}>
        <a href={href("/policies")} aria-current={scope === "policy" ? "page" : undefined}>
          <Text>{project?.name ?? t`Project`}</Text>
        </a>
        <a href={href("/policies/floor")} aria-current={scope === "floor" ? "page" : undefined}>
          {t`Server-wide rules (baseline)`}
        </a>
      </nav>
      {loaded.error !== undefined && <p class="alert">{loaded.error.message}</p>}
      {loaded.value !== undefined && (
        <Desk
          key={`${scope} ${project?.id}`}
          place={`${project?.id} ${scope}`}
          active={loaded.value}
          onPublished={loaded.reload}
          scope={scope}
          mayPublish={mayPublish}
        />
      )}
    </Page>
  );
}

interface DeskProps {
  readonly scope: PolicyPath;
  /** Where the draft is kept. */
  readonly place: string;
  readonly active: ShownPolicy;
  readonly mayPublish: boolean;
  onPublished(): void;
}

function Desk({ scope, place, active, mayPublish, onPublished }: DeskProps) {
  const draft = draftOf(place, active);
  const { source } = draft;
  // Every reader of a project's policy can check it.
  const checked = useCheck(scope, source, mayPublish || scope === "policy");
  const isNew = source !== (sourceOf(active) ?? "");
  const key = `${place} ${active.number}`;
  const { value: waiting, reload } = useLoaded((signal) => readProposals(scope, signal), key);
  const [outcomes, setOutcomes] = useState<readonly Outcome[]>([]);
  const outcome = outcomes.at(-1);
  const published = (latest?: Outcome) => {
    if (latest !== undefined) setOutcomes([...outcomes, latest]);
    onPublished();
    reload();
    void refreshProposals();
  };
  const sent = (latest: Outcome) => {
    // Text typed during the request was not sent, so it stays in the draft.
    if (draftOf(place, active).source === source) keepDraft(place, undefined);
    published(latest);
  };
  const { value: usage } = useLoaded(readUsage, key);
  const editor = useRef<EditorHandle>(undefined);
  const show = (at: Place) => editor.current?.show(at);
  const undone = undoable(outcome, active);
  return (
    <>
      {outcome !== undefined && (
        <OutcomeNote key={outcomes.length} outcome={outcome}>
          {mayPublish && undone !== undefined && (
            <Button
              onPress={async () => published(await publishRollBack(scope, undone, active.number))}
            >
              {t`Undo`}
            </Button>
          )}
        </OutcomeNote>
      )}
      <Proposals
        scope={scope}
        active={active}
        mayPublish={mayPublish}
        proposals={waiting?.proposals ?? []}
        onChange={published}
      />
      {draft.base !== active.number && (
        <Overtaken
          place={place}
          active={active}
          base={draft.base}
          onKeep={() => keepDraft(place, { source, base: active.number })}
        />
      )}
      <div class="policy-desk">
        <Editor
          source={source}
          isReadOnly={!mayPublish}
          checked={checked}
          vocabulary={usage ?? NO_VOCABULARY}
          handle={editor}
          onInput={(text) => keepDraft(place, { source: text, base: draft.base })}
        />
        {mayPublish && <Verdict source={source} checked={checked} onShow={show} />}
      </div>
      {mayPublish && (
        <Templates
          scope={scope}
          isChanged={isChanged(place)}
          onChoose={(text) => {
            keepDraft(place, { source: text, base: draft.base });
            show({ line: 1, column: 1 });
          }}
        />
      )}
      {!mayPublish && <p class="hint">{t`Your role can read this policy but not change it.`}</p>}
      {mayPublish && isNew && (
        <Publishing
          scope={scope}
          source={source}
          active={active}
          isReady={checked?.source === source && checked.check?.valid === true}
          base={draft.base}
          onDiscard={isChanged(place) ? () => keepDraft(place, undefined) : undefined}
          onConflict={onPublished}
          onSent={sent}
        />
      )}
      <RulesView scope={scope} check={checked?.check} usage={usage} onShow={show} />
      {mayPublish && <Simulation scope={scope} source={source} />}
      <Versions scope={scope} active={active} mayPublish={mayPublish} onSent={published} />
    </>
  );
}

/** The version before the activated one, while the server would restore it for one person. */
function undoable(outcome: Outcome | undefined, active: ShownPolicy): number | undefined {
  const { number, former = 0 } = outcome?.activated ?? {};
  if (former === 0 || number !== active.number || active.two_person === true) return undefined;
  return former;
}

interface OvertakenProps {
  readonly place: string;
  readonly active: ShownPolicy;
  readonly base: number;
  onKeep(): void;
}

/** Another person published while this draft was written. */
function Overtaken({ place, active, base, onKeep }: OvertakenProps) {
  const number = String(active.number);
  return (
    <div class="alert" role="alert">
      <p>{t`Version ${number} is active, but this draft is based on version ${String(base)}.`}</p>
      <div class="actions">
        <Button onPress={() => keepDraft(place, undefined)}>
          {t`Start from version ${number}`}
        </Button>
        <Button onPress={onKeep}>{t`Keep my text`}</Button>
      </div>
    </div>
  );
}
