/** The signals of a call on the page of its request. */

import { Text } from "../exact/text.tsx";
import { rich, t } from "../language/t.ts";
import { type Signals, wordsOf } from "./signals.tsx";

/** The page has a notice of its own about these. */
const ELSEWHERE = ["denied_before"];

export interface SignalsSectionProps {
  readonly ofCall: Signals | undefined;
  /** From a comparison with earlier calls. */
  readonly ofHistory: Signals | undefined;
}

/** On the page of a request: each fact, and the argument that it is about. */
export function SignalsSection({ ofCall = [], ofHistory = [] }: SignalsSectionProps) {
  const shown = [...ofCall, ...ofHistory].filter(({ id }) => !ELSEWHERE.includes(id));
  if (shown.length === 0) return null;
  return (
    <section class="panel check-first" id="check-first" aria-labelledby="check-first-title">
      <h2 id="check-first-title">{t`Check before you decide`}</h2>
      <ul>
        {shown.map(({ id, text, path }) => (
          <li key={id}>
            <span class="badge signal">
              <Text>{wordsOf(id)}</Text>
            </span>
            <span>
              <Text>{text}</Text>
              {path !== undefined && (
                <span class="hint">
                  {rich` Argument ${(
                    <code>
                      <Text>{path}</Text>
                    </code>
                  )}`}
                </span>
              )}
            </span>
          </li>
        ))}
      </ul>
    </section>
  );
}
