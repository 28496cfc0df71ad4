import "./diff-lines.css";
import { useState } from "preact/hooks";
import { Text } from "../exact/text.tsx";
import { plural, t } from "../language/t.ts";
import type { DiffLine, Hunk } from "../previews/line-diff.ts";
import { Scroller } from "./scroller.tsx";

/** At first; more are a press away. */
const SHOWN_MAX = 300;

const SIGNS: Readonly<Record<DiffLine["kind"], string>> = { same: " ", removed: "−", added: "+" };
const LINE_LABELS: Readonly<Record<DiffLine["kind"], string>> = {
  same: "",
  removed: t`Removed: `,
  added: t`Added: `,
};

/** A unified diff. Colour alone never distinguishes removed from added. */
export function DiffLines({ hunks }: { readonly hunks: readonly Hunk[] }) {
  const [most, setMost] = useState(SHOWN_MAX);
  const lines = hunks.flatMap((hunk, index) =>
    hunk.map((line, at) => ({ ...line, isFirst: index > 0 && at === 0 })),
  );
  return (
    <>
      <Scroller class="diff" label={t`Difference`}>
        {lines.slice(0, most).map(({ kind, text, isFirst }, index) => (
          <div key={index} class={`diff-line ${kind}${isFirst ? " gap" : ""}`}>
            <span class="sign" aria-hidden="true">
              {SIGNS[kind]}
            </span>
            <code>
              {kind !== "same" && <span class="spoken">{LINE_LABELS[kind]}</span>}
              <Text>{text.replace(/\n$/, "")}</Text>
            </code>
          </div>
        ))}
      </Scroller>
      {lines.length > most && (
        <button type="button" class="plain" onClick={() => setMost(most + 10 * SHOWN_MAX)}>
          {plural(lines.length - most, { one: "1 more line", other: "# more lines" })}
        </button>
      )}
    </>
  );
}
