import { parseWebhookUrl, type WebhookUrl } from "@countersign/protocol";
import { RecentlyUsed } from "../recently-used.ts";

/** Maximum cached URLs, at some hundred bytes each. */
const URLS_MAX = 5_000;

/** Parses receiver URLs with the operator's rules, and caches the results. */
export class ReceiverUrls {
  readonly #internalNames: boolean;
  readonly #read = new RecentlyUsed<string, WebhookUrl>(URLS_MAX);

  constructor({ internalNames }: { readonly internalNames: boolean }) {
    this.#internalNames = internalNames;
  }

  /** @returns undefined when the URL is not (or no longer) accepted */
  read(text: string): WebhookUrl | undefined {
    const known = this.#read.get(text);
    if (known !== undefined) return known;
    const url = parseWebhookUrl(text, { internalNames: this.#internalNames });
    if (url !== undefined) this.#read.set(text, url);
    return url;
  }
}
