/** The way to the next request and back to the list. */

import { Text } from "../../exact/text.tsx";
import { rich, t } from "../../language/t.ts";
import type { PendingRequest } from "../../live/pending-request.ts";
import { useKeys } from "../../parts/keys.tsx";
import { TimeLeft } from "../../parts/time-left.tsx";
import type { Flow } from "./flow.ts";

export interface OnwardProps {
  readonly flow: Flow;
}

export function Onward({ flow }: OnwardProps) {
  const { next, openNext, back } = flow;
  useKeys([{ key: "n", does: t`Open the next request to decide`, press: openNext }]);
  return (
    <div class="verdicts" id="onward">
      <button type="button" class="plain" id="back" onClick={unlessDouble(back)}>
        {t`Back to the list`}
      </button>
      {next !== undefined && <Next next={next} onOpen={openNext} />}
    </div>
  );
}

interface NextProps {
  readonly next: PendingRequest;
  onOpen(): void;
}

function Next({ next, onOpen }: NextProps) {
  return (
    <button type="button" class="primary" id="next" onClick={unlessDouble(onOpen)}>
      <span>{rich`Next: ${<Text>{next.tool}</Text>}`}</span>
      <TimeLeft until={next.deadlineAt} />
      <span class="key" aria-hidden="true">
        n
      </span>
    </button>
  );
}

/** The second click of a double click was meant for the button that was here before. */
export function unlessDouble(act: () => void): (event: MouseEvent) => void {
  return ({ detail }) => {
    if (detail < 2) act();
  };
}
