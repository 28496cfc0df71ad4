/** A call in one line: as the server describes it, or the beginning of the exact arguments. */

import "./call-line.css";
import { Text } from "../exact/text.tsx";
import { plural, t } from "../language/t.ts";
import type { PendingRequest } from "../live/pending-request.ts";

/** Letters of the exact arguments. */
const SHOWN_MAX = 160;

export type DescribedCall = Pick<PendingRequest, "line" | "argumentsSource">;

export function CallLine({ line, argumentsSource }: DescribedCall) {
  return <LineOfCall {...(line ?? beginningOf(argumentsSource))} />;
}

export function LineOfCall({ text, more }: NonNullable<DescribedCall["line"]>) {
  return (
    <span class="line">
      <span class="line-text">
        <Text>{text}</Text>
      </span>
      {more !== undefined && <span class="line-rest">{t`and ${more}`}</span>}
    </span>
  );
}

function beginningOf(source: string): NonNullable<DescribedCall["line"]> {
  // No letter of the text is cut in two.
  const letters = [...source.slice(0, 2 * SHOWN_MAX)].slice(0, SHOWN_MAX).join("");
  const rest = source.length - letters.length;
  return {
    kind: "arguments",
    text: letters.replaceAll("\n", " "),
    ...(rest > 0 && {
      more: plural(rest, { one: "1 more character", other: "# more characters" }),
    }),
  };
}
