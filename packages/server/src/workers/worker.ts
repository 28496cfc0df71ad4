export interface Worker {
  /** Resolves when nothing of the worker runs any more. */
  stop(): Promise<void>;
}
