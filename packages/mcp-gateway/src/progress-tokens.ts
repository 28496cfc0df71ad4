/**
 * Progress tokens that servers chose, under names that no two servers share.
 */

export class ProgressTokens<T> {
  readonly #origins = new Map<string, { readonly owner: T; readonly token: string }>();
  #next = 0;

  /** @returns the token to use instead, as JSON */
  take(owner: T, token: string): string {
    const own = JSON.stringify(`gateway-${++this.#next}`);
    this.#origins.set(own, { owner, token });
    return own;
  }

  originOf(own: string): { readonly owner: T; readonly token: string } | undefined {
    return this.#origins.get(own);
  }

  release(own: string): void {
    this.#origins.delete(own);
  }
}
