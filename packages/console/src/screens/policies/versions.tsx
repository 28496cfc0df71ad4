/** The versions that were published: what each changed, and the way back to it. */

import type { PolicyOutline, PolicyPath, ShownPolicy } from "@countersign/review-api";
import { useState } from "preact/hooks";
import { Text } from "../../exact/text.tsx";
import { Button } from "../../parts/button.tsx";
import { DiffLines } from "../../parts/diff-lines.tsx";
import { useLoaded } from "../../parts/use-loaded.ts";
import { When } from "../../parts/when.tsx";
import { lineDiff } from "../../previews/line-diff.ts";
import { propose, readVersionSource, readVersions, rollBack, sourceOf } from "./policy-api.ts";

interface VersionsProps {
  readonly scope: PolicyPath;
  readonly active: ShownPolicy;
  /** Whether going back to one is offered. */
  readonly mayPublish: boolean;
  /** An older version was published again, or proposed. */
  onSent(): void;
}

export function Versions({ scope, active, mayPublish, onSent }: VersionsProps) {
  const [more, setMore] = useState<readonly PolicyOutline[]>([]);
  const [next, setNext] = useState<number | null>();
  const first = useLoaded(() => readVersions(scope, undefined), `${scope} ${active.number}`);
  const versions = [...(first.value?.versions ?? []), ...more];
  const after = next === undefined ? first.value?.next : next;
  return (
    <section class="panel" aria-labelledby="versions-title">
      <h2 id="versions-title">Versions</h2>
      {first.error !== undefined && <p class="alert">{first.error.message}</p>}
      {versions.length === 0 && first.value !== undefined && (
        <p class="hint">No policy published: every call needs a person.</p>
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
          Older versions
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
  const { number, note, published_at: at, published_by: by, publisher, proposer, sha256 } = outline;
  const isActive = number === active.number;
  const isTwoPerson = active.two_person === true;
  return (
    <li>
      <div class="version-head">
        <strong>Version {number}</strong>
        {isActive && <span class="badge approved">active</span>}
        <span class="hint">
          <When at={at} exact />
          {publisher !== undefined && (
            <>
              {" "}
              by <Text>{publisher}</Text>
            </>
          )}
          {by === "operator:cli" && " on the command line"}
          {proposer !== undefined && (
            <>
              , written by <Text>{proposer}</Text>
            </>
          )}
        </span>
      </div>
      {note !== undefined && (
        <p>
          <Text>{note}</Text>
        </p>
      )}
      <p class="hint">
        SHA-256 <code>{sha256}</code>
      </p>
      {!isActive && (
        <div class="actions">
          <Button
            kind="quiet"
            onPress={async () => {
              const isHidden = source === undefined;
              setSource(isHidden ? await readVersionSource(scope, number) : undefined);
            }}
          >
            {source === undefined ? "Compare with the active version" : "Hide"}
          </Button>
          {mayPublish && (
            <Button
              kind="quiet"
              onPress={async () => {
                const expectedNumber = active.number;
                if (isTwoPerson) await propose(scope, { restores: number }, { expectedNumber });
                else await rollBack(scope, number, expectedNumber);
                onSent();
              }}
            >
              {isTwoPerson ? "Propose to roll back to this" : "Roll back to this"}
            </Button>
          )}
        </div>
      )}
      {source !== undefined && <DiffLines hunks={lineDiff(source, sourceOf(active) ?? "")} />}
    </li>
  );
}
