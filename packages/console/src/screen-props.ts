/** Properties of every screen. */

import type { Route } from "./route.ts";

export interface ScreenProps {
  readonly route: Route;
  /** The rest of the path after the screen's own: the id in `/inbox/ID`, else an empty text. */
  readonly rest: string;
}
