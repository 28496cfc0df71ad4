/**
 * Readable previews of known arguments: beside the exact text, never instead of it, and marked as
 * previews.
 */

import { type JsonValue, parseJson, visibleText } from "@countersign/protocol";
import {
  commandsIn,
  type FileEdit,
  fileEditsIn,
  type Host,
  hostsIn,
  isBlank,
  moneyIn,
  NEEDS_WHERE,
  sqlIn,
  textsIn,
} from "@countersign/review-api/calls";
import type { ComponentChildren, FunctionComponent } from "preact";
import { useMemo } from "preact/hooks";
import { LongText } from "../../exact/long-text.tsx";
import { Text } from "../../exact/text.tsx";
import { locale } from "../../language/language.ts";
import { plural, rich, t } from "../../language/t.ts";
import { DiffLines } from "../../parts/diff-lines.tsx";
import { FaultBoundary } from "../../parts/fault-boundary.tsx";
import { Scroller } from "../../parts/scroller.tsx";
import { hunksOf } from "../../previews/edit-hunks.ts";

export interface PreviewsProps {
  readonly tool: string;
  readonly argumentsText: string;
}

/** The server enforces its own limits, which can be above the defaults. */
const LIMITS = { depthMax: 1_000, numberCharsMax: Number.POSITIVE_INFINITY };

export function parseArguments(text: string): JsonValue | undefined {
  try {
    return parseJson(text, LIMITS);
  } catch {
    return undefined;
  }
}

const PATH_CHARS_MAX = 200;

/** Of each kind; the exact text has them all. */
const SHOWN_MAX = 20;

interface Props {
  readonly tool: string;
  readonly args: JsonValue;
}

/** Changes of files, and texts of several lines: in JSON, they are hard to read. */
export function TextPreviews(props: PreviewsProps) {
  return <Previews {...props} kinds={TEXTS} />;
}

/** Parts of the call: commands, statements, amounts and addresses. */
export function PartPreviews(props: PreviewsProps) {
  return <Previews {...props} kinds={PARTS} />;
}

const TEXTS = [Edits, Texts];
const PARTS = [Commands, Sql, Amounts, Hosts];

interface KindsProps extends PreviewsProps {
  readonly kinds: readonly FunctionComponent<Props>[];
}

function Previews({ tool, argumentsText, kinds }: KindsProps) {
  const args = useMemo(() => parseArguments(argumentsText), [argumentsText]);
  if (args === undefined) return null;
  return (
    <>
      {kinds.map((Kind, index) => (
        <FaultBoundary key={index} name={t`a preview`}>
          <Kind tool={tool} args={args} />
        </FaultBoundary>
      ))}
    </>
  );
}

function Preview({ title, children }: { title: string; readonly children: ComponentChildren }) {
  return (
    <section class="panel preview" aria-label={t`Preview: ${title}`}>
      <header class="panel-head">
        <h2>{title}</h2>
        <span
          class="badge"
          title={t`Derived from the arguments. The exact text is what you approve.`}
        >
          {t`Preview`}
        </span>
      </header>
      {children}
    </section>
  );
}

function More({ count }: { readonly count: number }) {
  if (count <= 0) return null;
  return (
    <p class="hint">
      {plural(count, {
        one: "And 1 more. The exact arguments list them all.",
        other: "And # more. The exact arguments list them all.",
      })}
    </p>
  );
}

const KINDS: Readonly<Record<FileEdit["kind"], string>> = {
  part: t`Edits one place in the file`,
  whole: t`Replaces the whole file (current content unknown)`,
  patch: t`A patch, as the agent wrote it`,
};

function Edits({ tool, args }: Props) {
  const edits = useMemo(() => {
    return fileEditsIn(tool, args).map((edit) => ({ ...edit, hunks: hunksOf(edit) }));
  }, [tool, args]);
  if (edits.length === 0) return null;
  return (
    <Preview title={plural(edits.length, { one: "File edit", other: "# file edits" })}>
      {edits.slice(0, SHOWN_MAX).map((edit, index) => (
        <figure key={index} class="edit">
          <figcaption>
            <code>
              <Text>{edit.path.slice(0, PATH_CHARS_MAX).toWellFormed()}</Text>
              {edit.path.length > PATH_CHARS_MAX && "…"}
            </code>
            <span class="hint">
              {edit.isEverywhere ? t`Edits every match in the file` : KINDS[edit.kind]}
            </span>
          </figcaption>
          {edit.hunks.length === 0 ? (
            <p class={edit.kind === "whole" ? "warning" : "hint"}>
              {edit.kind === "whole" ? t`The file will be empty.` : t`Nothing changes.`}
            </p>
          ) : (
            <DiffLines hunks={edit.hunks} />
          )}
        </figure>
      ))}
      <More count={edits.length - SHOWN_MAX} />
    </Preview>
  );
}

/** They are before the exact arguments, and must not push them far down. */
const TEXTS_MAX = 3;

/** Texts with line breaks, of arguments that have no other preview. */
function Texts({ tool, args }: Props) {
  const texts = useMemo(() => {
    if (fileEditsIn(tool, args).length > 0) return [];
    return textsIn(args);
  }, [tool, args]);
  if (texts.length === 0) return null;
  return (
    <Preview title={texts.length === 1 ? t`Text` : t`Texts`}>
      {texts.slice(0, TEXTS_MAX).map(({ path, value }) => (
        <figure key={path} class="edit">
          <figcaption>
            <code>
              <Text>{path.slice(0, PATH_CHARS_MAX).toWellFormed()}</Text>
            </code>
          </figcaption>
          <Scroller
            class="source"
            label={t`Lines of ${visibleText(path).slice(0, PATH_CHARS_MAX)}`}
          >
            <pre>
              <LongText text={value} />
            </pre>
          </Scroller>
        </figure>
      ))}
      <More count={texts.length - TEXTS_MAX} />
    </Preview>
  );
}

/** Only what separates words in a shell; an escaped space is a part of its word. */
function trimmed(command: string): string {
  return command.replace(/^[ \t\n]+|(?<!\\)[ \t\n]+$/g, "");
}

const JOINTS: Readonly<Record<string, string>> = {
  "|": t`its output goes to`,
  "|&": t`its output and errors go to`,
  "&&": t`then, if that succeeded`,
  "||": t`or, if that failed`,
  ";": t`then`,
  "&": t`at the same time`,
  "\n": t`then`,
};

function Commands({ args }: Props) {
  const parts = useMemo(() => {
    return commandsIn(args)
      .flat()
      .filter((piece) => !isBlank(piece) || piece.text === "\n");
  }, [args]);
  if (parts.length === 0) return null;
  return (
    <Preview title={t`Shell command`}>
      <ol class="pipeline">
        {parts.slice(0, SHOWN_MAX * 4).map(({ kind, text }, index) =>
          kind === "command" ? (
            <li key={index}>
              <code>
                <Text>{trimmed(text)}</Text>
              </code>
            </li>
          ) : (
            <li key={index} class="joint">
              {text !== "\n" && <code>{text}</code>} {JOINTS[text]}
            </li>
          ),
        )}
      </ol>
      <More count={parts.length - SHOWN_MAX * 4} />
    </Preview>
  );
}

function Sql({ tool, args }: Props) {
  const verbs = useMemo(() => sqlIn(tool, args), [tool, args]);
  if (verbs.length === 0) return null;
  return (
    <Preview title={t`SQL`}>
      <ul class="verbs">
        {verbs.slice(0, SHOWN_MAX).map(({ verb, hasWhere }, index) => (
          <li key={index}>
            <strong>{verb}</strong>
            {hasWhere && <span class="badge">{t`with WHERE`}</span>}
            {!hasWhere && NEEDS_WHERE.has(verb) && (
              <span class="badge danger-badge">{t`no WHERE: affects every row`}</span>
            )}
          </li>
        ))}
      </ul>
      <More count={verbs.length - SHOWN_MAX} />
    </Preview>
  );
}

function Amounts({ args }: Props) {
  const money = useMemo(() => moneyIn(args), [args]);
  if (money.length === 0) return null;
  const names = new Intl.DisplayNames(locale, { type: "currency" });
  return (
    <Preview title={t`Money`}>
      <ul class="amounts">
        {money.slice(0, SHOWN_MAX).map(({ path, amount, currency }) => (
          <li key={path}>
            <span class="amount">
              {amount} <abbr title={names.of(currency)}>{currency}</abbr>
            </span>
            <span class="hint">
              <code>
                <Text>{path.slice(0, PATH_CHARS_MAX).toWellFormed()}</Text>
              </code>
              {path.length > PATH_CHARS_MAX && "…"}, {names.of(currency)}
            </span>
          </li>
        ))}
      </ul>
      <More count={money.length - SHOWN_MAX} />
      {money.some(({ amount }) => !amount.includes(".")) && (
        <p class="hint">{t`As sent. It may be in cents or whole units, depending on the tool.`}</p>
      )}
    </Preview>
  );
}

function Hosts({ args }: Props) {
  const hosts = useMemo(() => hostsIn(args), [args]);
  if (hosts.length === 0) return null;
  return (
    <Preview title={hosts.length === 1 ? t`Address` : t`Addresses`}>
      <ul class="hosts">
        {hosts.slice(0, SHOWN_MAX).map((host, index) => (
          <li key={index}>
            <HostFacts {...host} />
          </li>
        ))}
      </ul>
      <More count={hosts.length - SHOWN_MAX} />
      <p class="hint">{t`Only addresses with a scheme, such as https://, are listed.`}</p>
    </Preview>
  );
}

function HostFacts({ scheme, host, written, user, count }: Host) {
  return (
    <>
      <span>
        <span class="faint">
          <Text>{scheme}</Text>://
        </span>
        <strong>
          <Text>{host ?? written ?? ""}</Text>
        </strong>
        {count > 1 && (
          <span class="hint"> {plural(count, { one: "1 time", other: "# times" })}</span>
        )}
      </span>
      {host === undefined && (
        <span class="warning">
          {t`Programs read this address in different ways. Find the host in the exact arguments.`}
        </span>
      )}
      {host !== undefined && written !== undefined && (
        <span class="warning">
          {rich`Shown as ${<Text>{written}</Text>}, but leads to the host above.`}
        </span>
      )}
      {user !== undefined && (
        <span class="warning">
          {rich`“${<Text>{user}</Text>}” is before an @: it is a user name, not a host.`}
        </span>
      )}
    </>
  );
}
