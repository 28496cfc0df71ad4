/**
 * Policies: the rules that answer before people do. Written here, checked while they are written,
 * tried on calls that were made, published with the tests that they bring.
 */

import type { PolicyPath, ShownPolicy } from "@countersign/review-api";
import "./policies.css";
import { Text } from "../../exact/text.tsx";
import { refreshProposals } from "../../live/proposals.tsx";
import { Button } from "../../parts/button.tsx";
import { Page } from "../../parts/page.tsx";
import { useLoaded } from "../../parts/use-loaded.ts";
import { may } from "../../powers.ts";
import { href } from "../../route.ts";
import type { ScreenProps } from "../../screen-props.ts";
import { session } from "../../session.ts";
import { draftOf, isChanged, keepDraft, useCheck } from "./draft.ts";
import { Editor, Verdict } from "./editor.tsx";
import { readPolicy, readProposals, sourceOf } from "./policy-api.ts";
import { Proposals } from "./proposals.tsx";
import { Publishing } from "./publishing.tsx";
import { Simulation } from "./simulation.tsx";
import { Versions } from "./versions.tsx";

const LEADS: Readonly<Record<PolicyPath, string>> = {
  policy:
    "Rules approve safe calls automatically and send the rest to people. A new version applies " +
    "to new calls only.",
  floor: "These rules apply to every project. A project cannot weaken them.",
};

export function Screen({ rest }: ScreenProps) {
  const scope: PolicyPath = rest === "floor" ? "floor" : "policy";
  const project = session.value?.project;
  const loaded = useLoaded((signal) => readPolicy(scope, signal), `${scope} ${project?.id}`);
  const mayPublish = may(scope === "floor" ? "server" : "publish");
  return (
    <Page title="Policies" lead={LEADS[scope]}>
      <nav class="tabs" aria-label="Policy of">
        <a href={href("/policies")} aria-current={scope === "policy" ? "page" : undefined}>
          <Text>{project?.name ?? "Project"}</Text>
        </a>
        <a href={href("/policies/floor")} aria-current={scope === "floor" ? "page" : undefined}>
          Server-wide rules (baseline)
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
  const checked = useCheck(scope, source, mayPublish);
  const isNew = source !== (sourceOf(active) ?? "");
  const key = `${place} ${active.number}`;
  const { value: waiting, reload } = useLoaded((signal) => readProposals(scope, signal), key);
  const published = () => {
    onPublished();
    reload();
    void refreshProposals();
  };
  const sent = () => {
    // Text typed during the request was not sent, so it stays in the draft.
    if (draftOf(place, active).source === source) keepDraft(place, undefined);
    published();
  };
  return (
    <>
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
          onInput={(text) => keepDraft(place, { source: text, base: draft.base })}
        />
        {mayPublish && <Verdict source={source} checked={checked} />}
      </div>
      {!mayPublish && <p class="hint">Your role can read this policy but not change it.</p>}
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
      {mayPublish && <Simulation scope={scope} source={source} />}
      <Versions scope={scope} active={active} mayPublish={mayPublish} onSent={sent} />
    </>
  );
}

interface OvertakenProps {
  readonly place: string;
  readonly active: ShownPolicy;
  readonly base: number;
  onKeep(): void;
}

/** Another person published while this draft was written. */
function Overtaken({ place, active, base, onKeep }: OvertakenProps) {
  return (
    <div class="alert" role="alert">
      <p>
        Version {active.number} is active, but this draft is based on version {base}.
      </p>
      <div class="actions">
        <Button onPress={() => keepDraft(place, undefined)}>
          Start from version {active.number}
        </Button>
        <Button onPress={onKeep}>Keep my text</Button>
      </div>
    </div>
  );
}
