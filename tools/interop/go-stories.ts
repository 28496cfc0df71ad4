import type { Stage } from "./stage.ts";
import type { Departure, Story } from "./story.ts";
export interface GoScene {
  readonly stage: Stage;
  readonly program: string;
  readonly home: string;
  readonly signal: AbortSignal;
}
export const GO_STORIES: readonly Story<GoScene>[] = [];
export const GO_DEPARTURES: readonly Departure<GoScene>[] = [];
