/**
 * Readable previews of known arguments: beside the exact text, never instead of it, and marked as
 * a preview.
 */

import { type JsonValue, parseJson } from "@countersign/protocol";
import type { ComponentChildren } from "preact";
import { useMemo } from "preact/hooks";
import { Text } from "../../exact/text.tsx";
import { DiffLines } from "../../parts/diff-lines.tsx";
import { FaultBoundary } from "../../parts/fault-boundary.tsx";
import { type FileEdit, fileEditsIn } from "../../previews/file-edit.ts";
import { commandsIn, sqlIn } from "../../previews/find.ts";
import { moneyIn } from "../../previews/money.ts";
import { isBlank } from "../../previews/shell.ts";
import { NEEDS_WHERE } from "../../previews/sql.ts";
import { type Host, hostsIn } from "../../previews/urls.ts";

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

const PREVIEWS = [Edits, Commands, Sql, Amounts, Hosts];

export function Previews({ tool, argumentsText }: PreviewsProps) {
  const args = useMemo(() => parseArguments(argumentsText), [argumentsText]);
  if (args === undefined) return null;
  return (
    <>
      {PREVIEWS.map((Kind, index) => (
        <FaultBoundary key={index} name="a preview">
          <Kind tool={tool} args={args} />
        </FaultBoundary>
      ))}
    </>
  );
}

function Preview({ title, children }: { title: string; readonly children: ComponentChildren }) {
  return (
    <section class="panel preview" aria-label={`Preview: ${title}`}>
      <header class="panel-head">
        <h2>{title}</h2>
        <span class="badge" title="Derived from the arguments. The exact text is what you approve.">
          Preview
        </span>
      </header>
      {children}
    </section>
  );
}

function More({ count }: { readonly count: number }) {
  if (count <= 0) return null;
  return <p class="hint">And {count.toLocaleString()} more. The exact arguments list them all.</p>;
}

const KINDS: Readonly<Record<FileEdit["kind"], string>> = {
  part: "Edits one place in the file",
  whole: "Replaces the whole file (current content unknown)",
  patch: "A patch, as the agent wrote it",
};

function Edits({ tool, args }: Props) {
  const edits = useMemo(() => fileEditsIn(tool, args), [tool, args]);
  if (edits.length === 0) return null;
  return (
    <Preview title={edits.length === 1 ? "File edit" : `${edits.length} file edits`}>
      {edits.slice(0, SHOWN_MAX).map((edit, index) => (
        <figure key={index} class="edit">
          <figcaption>
            <code>
              <Text>{edit.path}</Text>
            </code>
            <span class="hint">
              {edit.isEverywhere ? "Edits every match in the file" : KINDS[edit.kind]}
            </span>
          </figcaption>
          {edit.hunks.length === 0 ? (
            <p class={edit.kind === "whole" ? "warning" : "hint"}>
              {edit.kind === "whole" ? "The file will be empty." : "Nothing changes."}
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

/** Only what separates words in a shell; an escaped space is a part of its word. */
function trimmed(command: string): string {
  return command.replace(/^[ \t\n]+|(?<!\\)[ \t\n]+$/g, "");
}

const JOINTS: Readonly<Record<string, string>> = {
  "|": "its output goes to",
  "|&": "its output and errors go to",
  "&&": "then, if that succeeded",
  "||": "or, if that failed",
  ";": "then",
  "&": "at the same time",
  "\n": "then",
};

function Commands({ args }: Props) {
  const parts = useMemo(() => {
    return commandsIn(args)
      .flat()
      .filter((piece) => !isBlank(piece) || piece.text === "\n");
  }, [args]);
  if (parts.length === 0) return null;
  return (
    <Preview title="Shell command">
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
    <Preview title="SQL">
      <ul class="verbs">
        {verbs.slice(0, SHOWN_MAX).map(({ verb, hasWhere }, index) => (
          <li key={index}>
            <strong>{verb}</strong>
            {hasWhere && <span class="badge">with WHERE</span>}
            {!hasWhere && NEEDS_WHERE.has(verb) && (
              <span class="badge danger-badge">no WHERE: affects every row</span>
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
  const names = new Intl.DisplayNames(undefined, { type: "currency" });
  return (
    <Preview title="Money">
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
      <p class="hint">As sent. It may be in cents or whole units, depending on the tool.</p>
    </Preview>
  );
}

function Hosts({ args }: Props) {
  const hosts = useMemo(() => hostsIn(args), [args]);
  if (hosts.length === 0) return null;
  return (
    <Preview title={hosts.length === 1 ? "Address" : "Addresses"}>
      <ul class="hosts">
        {hosts.slice(0, SHOWN_MAX).map((host, index) => (
          <li key={index}>
            <HostFacts {...host} />
          </li>
        ))}
      </ul>
      <More count={hosts.length - SHOWN_MAX} />
      <p class="hint">Only addresses with a scheme, such as https://, are listed.</p>
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
        {count > 1 && <span class="hint"> {count.toLocaleString()} times</span>}
      </span>
      {host === undefined && (
        <span class="warning">
          Programs read this address in different ways. Find the host in the exact arguments.
        </span>
      )}
      {host !== undefined && written !== undefined && (
        <span class="warning">
          Shown as <Text>{written}</Text>, but leads to the host above.
        </span>
      )}
      {user !== undefined && (
        <span class="warning">
          “<Text>{user}</Text>” is before an @: it is a user name, not a host.
        </span>
      )}
    </>
  );
}
