/** The versions that were published: what each changed, and the way back to it. */

import type { PolicyOutline, PolicyPath, ShownPolicy } from "@countersign/review-api";
import { useState } from "preact/hooks";
import { Text } from "../../exact/text.tsx";
import { rich, t } from "../../language/t.ts";
import { Button } from "../../parts/button.tsx";
import { DiffLines } from "../../parts/diff-lines.tsx";
import { useLoaded } from "../../parts/use-loaded.ts";
import { When } from "../../parts/when.tsx";
import { lineDiff } from "../../previews/line-diff.ts";
import { ActivationQuestion, type Outcome } from "./activation.tsx";
import { propose, readVersionSource, readVersions, rollBack, sourceOf } from "./policy-api.ts";

interface VersionsProps {
  readonly scope: PolicyPath;
  readonly active: ShownPolicy;
  /** Whether going back to one is offered. */
  readonly mayPublish: boolean;
  /** An older version was published again, or proposed. */
  onSent(outcome: Outcome): void;
}

export function Versions({ scope, active, mayPublish, onSent }: VersionsProps) {
  const [more, setMore] = useState<readonly PolicyOutline[]>([]);
  const [next, setNext] = useState<number | null>();
  const first = useLoaded(() => readVersions(scope, undefined), `${scope} ${active.number}`);
  const versions = [...(first.value?.versions ?? []), ...more];
  const after = next === undefined ? first.value?.next : next;
  return (
    <section class="panel" aria-labelledby="versions-title">
      <h2 id="versions-title">{t`Versions`}</h2>
      {first.error !== undefined && <p class="alert">{first.error.message}</p>}
      {versions.length === 0 && first.value !== undefined && (
        <p class="hint">{t`No policy published: every call needs a person.`}</p>
      )}
      <ul class="versions">
        {versions.map((outline) => (
          <VersionRow
            key={outline.number}
            scope={scope}
            active={active}
            outline={outline}
            mayPublish={mayPublish}
            onSent={onSent}
          />
        ))}
      </ul>
      {after !== null && after !== undefined && (
        <Button
          kind="quiet"
          onPress={async () => {
            const page = await readVersions(scope, after);
            setMore([...more, ...page.versions]);
            setNext(page.next);
          }}
        >
          {t`Older versions`}
        </Button>
      )}
    </section>
  );
}

interface VersionRowProps extends VersionsProps {
  readonly outline: PolicyOutline;
}

function VersionRow({ scope, active, outline, mayPublish, onSent }: VersionRowProps) {
  const [source, setSource] = useState<string>();
  /** While the question about a roll back is open. */
  const [restored, setRestored] = useState<string>();
  const { number, note, sha256 } = outline;
  const isActive = number === active.number;
  const former = String(active.number);
  const isTwoPerson = active.two_person === true;
  return (
    <li>
      <div class="version-head">
        <strong>{t`Version ${String(number)}`}</strong>
        {isActive && <span class="badge approved">{t`active`}</span>}
        <span class="hint">
          <Origin outline={outline} />
        </span>
      </div>
      {note !== undefined && (
        <p>
          <Text>{note}</Text>
        </p>
      )}
      <p class="hint">{rich`SHA-256 ${<code>{sha256}</code>}`}</p>
      {!isActive && (
        <div class="actions">
          <Button
            kind="quiet"
            onPress={async () => {
              const isHidden = source === undefined;
              setSource(isHidden ? await readVersionSource(scope, number) : undefined);
            }}
          >
            {source === undefined ? t`Compare with the active version` : t`Hide`}
          </Button>
          {mayPublish && (
            <Button
              kind="quiet"
              onPress={async () => {
                if (isTwoPerson) onSent(await proposeRollBack(scope, number, active.number));
                else setRestored(await readVersionSource(scope, number));
              }}
            >
              {isTwoPerson ? t`Propose to roll back to this` : t`Roll back to this`}
            </Button>
          )}
        </div>
      )}
      {restored !== undefined && (
        <ActivationQuestion
          title={t`Roll back to version ${String(number)}?`}
          lead={t`Version ${String(active.number + 1)} replaces version ${former} with this text.`}
          before={sourceOf(active) ?? ""}
          after={restored}
          verb={t`Roll back`}
          onClose={() => setRestored(undefined)}
          onConfirm={async () => {
            onSent(await publishRollBack(scope, number, active.number));
            setRestored(undefined);
          }}
        />
      )}
      {source !== undefined && <DiffLines hunks={lineDiff(source, sourceOf(active) ?? "")} />}
    </li>
  );
}

/** When and by whom a version was published, and who wrote it. */
function Origin({ outline }: { readonly outline: PolicyOutline }) {
  const { proposer } = outline;
  const publication = <Publication outline={outline} />;
  if (proposer === undefined) return publication;
  return <>{rich`${publication}, written by ${<Text>{proposer}</Text>}`}</>;
}

function Publication({ outline }: { readonly outline: PolicyOutline }) {
  const { published_at: at, published_by: by, publisher } = outline;
  const time = <When at={at} exact />;
  if (publisher !== undefined) return <>{rich`${time} by ${<Text>{publisher}</Text>}`}</>;
  if (by === "operator:cli") return <>{rich`${time} on the command line`}</>;
  return time;
}

/** @param former the active version */
export async function publishRollBack(
  scope: PolicyPath,
  to: number,
  former: number,
): Promise<Outcome> {
  const { number } = await rollBack(scope, to, former);
  const words = t`Version ${String(number)} is active. It has the text of version ${String(to)}.`;
  return { words, activated: { number, former } };
}

async function proposeRollBack(
  scope: PolicyPath,
  to: number,
  expectedNumber: number,
): Promise<Outcome> {
  await propose(scope, { restores: to }, { expectedNumber });
  const words = t`Proposed to roll back to version ${String(to)}. Another person must publish it.`;
  return { words };
}
