/** Two texts of a policy, line by line: what goes and what comes, with a few lines around. */

import { diffLines } from "diff";
import { Text } from "../../exact/text.tsx";

interface Line {
  readonly kind: "same" | "gone" | "new";
  readonly text: string;
}

/** Of what is the same, these many lines are shown before and behind a change. */
const AROUND = 2;

export function LineDiff({ before, after }: { readonly before: string; readonly after: string }) {
  const lines = linesOf(before, after);
  if (lines.every(({ kind }) => kind === "same")) return <p class="hint">No differences.</p>;
  return (
    <pre class="line-diff">
      {lines.map((line, index) => {
        if (!isNear(lines, index)) {
          return index > 0 && isNear(lines, index - 1) ? <div class="gap">⋯</div> : null;
        }
        return (
          <div key={index} class={line.kind}>
            <span class="spoken">{SPOKEN[line.kind]}</span>
            <span aria-hidden="true">{SIGNS[line.kind]}</span>
            <Text>{line.text}</Text>
          </div>
        );
      })}
    </pre>
  );
}

const SIGNS = { same: "  ", gone: "- ", new: "+ " };
const SPOKEN = { same: "", gone: "Removed: ", new: "Added: " };

function linesOf(before: string, after: string): Line[] {
  return diffLines(before, after).flatMap(({ added, removed, value }) => {
    const kind = added ? "new" : removed ? "gone" : "same";
    return value
      .replace(/\n$/, "")
      .split("\n")
      .map((text) => ({ kind, text }) as const);
  });
}

function isNear(lines: readonly Line[], at: number): boolean {
  return lines.slice(Math.max(0, at - AROUND), at + AROUND + 1).some(({ kind }) => kind !== "same");
}
