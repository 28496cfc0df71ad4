import { Text } from "../exact/text.tsx";
import { second } from "../time.ts";
import { exactTime, relativeTime } from "./time-words.ts";

/** Words change once a second at most. */
/** Of any date that the language knows. */
const LATEST_MS = 8.64e15;

export interface WhenProps {
  /** A timestamp as the server writes it, or epoch ms. */
  readonly at: string | number;
  /** The exact time instead; for where it is read once, not scanned. */
  readonly exact?: boolean;
}

/** A time of the server: relative, and exact in its title; or the other way round. */
export function When({ at, exact = false }: WhenProps) {
  const ms = typeof at === "number" ? at : Date.parse(at);
  // A time that was altered in the database may be none.
  if (!(Math.abs(ms) <= LATEST_MS)) return <Text>{String(at)}</Text>;
  const precise = exactTime(ms);
  const relative = relativeTime(ms, second.value);
  return (
    <time dateTime={new Date(ms).toISOString()} title={exact ? relative : precise}>
      {exact ? precise : relative}
    </time>
  );
}
