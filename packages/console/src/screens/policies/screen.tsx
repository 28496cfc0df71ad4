/**
 * Policies: the rules that answer before people do. Written here, checked while they are written,
 * tried on calls that were made, published with the tests that they bring.
 */

import "./policies.css";
import { useState } from "preact/hooks";
import { Refusal } from "../../api.ts";
import { Text } from "../../exact/text.tsx";
import { Button } from "../../parts/button.tsx";
import { Page } from "../../parts/page.tsx";
import { useLoaded } from "../../parts/use-loaded.ts";
import { may } from "../../powers.ts";
import { href } from "../../route.ts";
import type { ScreenProps } from "../../screens.ts";
import { session } from "../../session.ts";
import { draftOf, isChanged, keepDraft, useCheck } from "./draft.ts";
import { Editor, Verdict } from "./editor.tsx";
import { LineDiff } from "./line-diff.tsx";
import { type InForce, publish, readPolicy, type Scope } from "./policy-api.ts";
import { Simulation } from "./simulation.tsx";
import { Versions } from "./versions.tsx";

const LEADS: Readonly<Record<Scope, string>> = {
  policy:
    "Rules answer the harmless at once and bring the rest to people. A version judges the calls " +
    "made after it; what is pending stays as it was judged.",
  floor: "Rules above the policies of all projects: no project can weaken them.",
};

export function Screen({ rest }: ScreenProps) {
  const scope: Scope = rest === "floor" ? "floor" : "policy";
  const project = session.value?.project;
  const loaded = useLoaded((signal) => readPolicy(scope, signal), `${scope} ${project?.id}`);
  const mayPublish = may(scope === "floor" ? "server" : "publish");
  return (
    <Page title="Policies" lead={LEADS[scope]}>
      <nav class="tabs" aria-label="Whose policy">
        <a href={href("/policies")} aria-current={scope === "policy" ? "page" : undefined}>
          <Text>{project?.name ?? "Project"}</Text>
        </a>
        <a href={href("/policies/floor")} aria-current={scope === "floor" ? "page" : undefined}>
          Floor of the server
        </a>
      </nav>
      {loaded.error !== undefined && <p class="alert">{loaded.error.message}</p>}
      {loaded.value !== undefined && (
        <Desk
          key={`${scope} ${project?.id}`}
          place={`${project?.id} ${scope}`}
          inForce={loaded.value}
          onPublished={loaded.reload}
          {...{ scope, mayPublish }}
        />
      )}
    </Page>
  );
}

interface DeskProps {
  readonly scope: Scope;
  /** Where the draft is kept. */
  readonly place: string;
  readonly inForce: InForce;
  readonly mayPublish: boolean;
  onPublished(): void;
}

function Desk({ scope, place, inForce, mayPublish, onPublished }: DeskProps) {
  const draft = draftOf(place, inForce);
  const { source } = draft;
  const checked = useCheck(scope, source, mayPublish);
  const isNew = source !== (inForce.source ?? "");
  const published = () => {
    keepDraft(place, undefined);
    onPublished();
  };
  return (
    <>
      {draft.base !== inForce.number && (
        <Overtaken
          {...{ place, inForce }}
          base={draft.base}
          onKeep={() => keepDraft(place, { source, base: inForce.number })}
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
      {!mayPublish && <p class="hint">Your role may read this and not change it.</p>}
      {mayPublish && isNew && (
        <Publishing
          {...{ scope, source, inForce }}
          isReady={checked?.source === source && checked.check?.valid === true}
          base={draft.base}
          onDiscard={isChanged(place) ? () => keepDraft(place, undefined) : undefined}
          onConflict={onPublished}
          onPublished={published}
        />
      )}
      {mayPublish && <Simulation {...{ scope, source }} />}
      <Versions {...{ scope, inForce, mayPublish }} onPublished={published} />
    </>
  );
}

interface OvertakenProps {
  readonly place: string;
  readonly inForce: InForce;
  readonly base: number;
  onKeep(): void;
}

/** Somebody else published while this draft was written. */
function Overtaken({ place, inForce, base, onKeep }: OvertakenProps) {
  return (
    <div class="alert" role="alert">
      <p>
        Version {inForce.number} is in force, and this draft began from version {base}.
      </p>
      <div class="actions">
        <Button onPress={() => keepDraft(place, undefined)}>
          Begin from version {inForce.number}
        </Button>
        <Button onPress={onKeep}>Keep my text</Button>
      </div>
    </div>
  );
}

interface PublishingProps {
  readonly scope: Scope;
  readonly source: string;
  readonly base: number;
  readonly inForce: InForce;
  /** Whether the server has just said that it could be published. */
  readonly isReady: boolean;
  readonly onDiscard: (() => void) | undefined;
  /** Another version is in force by now. */
  onConflict(): void;
  onPublished(): void;
}

function Publishing(props: PublishingProps) {
  const { scope, source, base, inForce, isReady, onDiscard, onConflict, onPublished } = props;
  const [note, setNote] = useState("");
  return (
    <section class="panel" aria-labelledby="publish-title">
      <h2 id="publish-title">
        {inForce.number === 0 ? "What would be published" : `Against version ${inForce.number}`}
      </h2>
      <LineDiff before={inForce.source ?? ""} after={source} />
      <div class="field">
        <label for="publish-note">Why (optional, kept with the version)</label>
        <input
          id="publish-note"
          maxLength={1000}
          value={note}
          onInput={(event) => setNote(event.currentTarget.value)}
        />
      </div>
      <div class="actions">
        <Button
          kind="primary"
          disabled={!isReady || base !== inForce.number}
          onPress={async () => {
            try {
              await publish(scope, { source, expectedNumber: base, note });
            } catch (error) {
              // What is in force by now is shown beside the draft.
              if (error instanceof Refusal && error.code === "policy_conflict") onConflict();
              throw error;
            }
            onPublished();
          }}
        >
          Publish
        </Button>
        {onDiscard !== undefined && (
          <Button kind="quiet" onPress={onDiscard}>
            Discard my changes
          </Button>
        )}
      </div>
    </section>
  );
}
