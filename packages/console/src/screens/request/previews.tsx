/**
 * What the arguments mean, as far as it can be told: beside the exact text, never instead of it,
 * and marked as a preview.
 */

import { type JsonValue, parseJson } from "@countersign/protocol";
import type { ComponentChildren } from "preact";
import { useMemo } from "preact/hooks";
import { Text } from "../../exact/text.tsx";
import { DiffLines } from "../../parts/diff-lines.tsx";
import { type FileEdit, fileEditsIn } from "../../previews/file-edit.ts";
import { commandsIn, type FoundSql, sqlIn } from "../../previews/find.ts";
import { type Money, moneyIn } from "../../previews/money.ts";
import { type ShellPiece, splitShell } from "../../previews/shell.ts";
import { NEEDS_WHERE } from "../../previews/sql.ts";
import { type Host, hostsIn } from "../../previews/urls.ts";

export interface PreviewsProps {
  readonly tool: string;
  readonly argumentsText: string;
}

/** The server has read them already; what it takes, its limits of the day may be above ours. */
const LIMITS = { depthMax: 10_000, numberCharsMax: Number.POSITIVE_INFINITY };

export function parseArguments(text: string): JsonValue | undefined {
  try {
    return parseJson(text, LIMITS);
  } catch {
    return undefined;
  }
}

/** Of each kind; the exact text has them all. */
const SHOWN_MAX = 20;

export function Previews({ tool, argumentsText }: PreviewsProps) {
  const found = useMemo(() => {
    const args = parseArguments(argumentsText);
    if (args === undefined) return undefined;
    const edits = fileEditsIn(args);
    return {
      edits,
      commands: edits.length > 0 ? [] : commandsIn(args),
      sql: sqlIn(tool, args),
      money: moneyIn(args),
      hosts: hostsIn(args),
    };
  }, [tool, argumentsText]);
  if (found === undefined) return null;
  const { edits, commands, sql, money, hosts } = found;
  const commandPieces = commands.flatMap((command) => splitShell(command) ?? []);
  return (
    <>
      {edits.length > 0 && <Edits edits={edits} />}
      {commandPieces.length > 0 && <Commands pieces={commandPieces} />}
      {sql.length > 0 && <Sql sql={sql} />}
      {money.length > 0 && <Amounts money={money} />}
      {hosts.length > 0 && <Hosts hosts={hosts} />}
    </>
  );
}

function Preview({ title, children }: { title: string; readonly children: ComponentChildren }) {
  return (
    <section class="panel preview" aria-label={`Preview: ${title}`}>
      <header class="panel-head">
        <h2>{title}</h2>
        <span class="badge" title="Read out of the arguments; what counts is the exact text">
          Preview
        </span>
      </header>
      {children}
    </section>
  );
}

function More({ count }: { readonly count: number }) {
  if (count <= 0) return null;
  return <p class="hint">And {count.toLocaleString()} more; the exact arguments have them all.</p>;
}

const KINDS: Readonly<Record<FileEdit["kind"], string>> = {
  part: "one place in the file",
  whole: "the whole content that the file will have; what it has now is not known here",
  patch: "a patch, as the agent wrote it",
};

function Edits({ edits }: { readonly edits: readonly FileEdit[] }) {
  return (
    <Preview title={edits.length === 1 ? "File edit" : `${edits.length} file edits`}>
      {edits.slice(0, SHOWN_MAX).map((edit, index) => (
        <figure key={index} class="edit">
          <figcaption>
            <code>
              <Text>{edit.path}</Text>
            </code>
            <span class="hint">
              {edit.isEverywhere ? "every place in the file that matches" : KINDS[edit.kind]}
            </span>
          </figcaption>
          {edit.hunks.length === 0 ? (
            <p class="hint">Nothing changes.</p>
          ) : (
            <DiffLines hunks={edit.hunks} />
          )}
        </figure>
      ))}
      <More count={edits.length - SHOWN_MAX} />
    </Preview>
  );
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

function Commands({ pieces }: { readonly pieces: readonly ShellPiece[] }) {
  const parts = pieces.filter(({ text }) => text.trim() !== "" || text === "\n");
  return (
    <Preview title="Shell command">
      <ol class="pipeline">
        {parts.slice(0, SHOWN_MAX * 4).map(({ kind, text }, index) =>
          kind === "command" ? (
            <li key={index}>
              <code>
                <Text>{text.trim()}</Text>
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

function Sql({ sql }: { readonly sql: readonly FoundSql[] }) {
  const verbs = sql.flatMap((one) => one.verbs);
  return (
    <Preview title="SQL">
      <ul class="verbs">
        {verbs.slice(0, SHOWN_MAX).map(({ verb, hasWhere }, index) => (
          <li key={index}>
            <strong>{verb}</strong>
            {hasWhere && <span class="badge">with WHERE</span>}
            {!hasWhere && NEEDS_WHERE.has(verb) && (
              <span class="badge danger-badge">no WHERE: every row</span>
            )}
          </li>
        ))}
      </ul>
      <More count={verbs.length - SHOWN_MAX} />
    </Preview>
  );
}

function Amounts({ money }: { readonly money: readonly Money[] }) {
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
                <Text>{path}</Text>
              </code>
              , {names.of(currency)}
            </span>
          </li>
        ))}
      </ul>
      <More count={money.length - SHOWN_MAX} />
      <p class="hint">
        As it is written. Whether it counts cents or whole units, the tool decides.
      </p>
    </Preview>
  );
}

function Hosts({ hosts }: { readonly hosts: readonly Host[] }) {
  return (
    <Preview title={hosts.length === 1 ? "Address" : "Addresses"}>
      <ul class="hosts">
        {hosts.slice(0, SHOWN_MAX).map(({ scheme, host, written, user, count }, index) => (
          <li key={index}>
            <span>
              <span class="faint">{scheme}://</span>
              <strong>
                <Text>{host}</Text>
              </strong>
              {count > 1 && <span class="hint"> {count.toLocaleString()} times</span>}
            </span>
            {written !== undefined && (
              <span class="warning">
                Written <Text>{written}</Text>; leads to the host above.
              </span>
            )}
            {user !== undefined && (
              <span class="warning">
                “<Text>{user}</Text>” stands before an @: it is a user name and no host.
              </span>
            )}
          </li>
        ))}
      </ul>
      <More count={hosts.length - SHOWN_MAX} />
    </Preview>
  );
}
