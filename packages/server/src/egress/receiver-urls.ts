import { parseWebhookUrl, type WebhookUrl } from "@countersign/protocol";
import { RecentlyUsed } from "../recently-used.ts";

/** Some hundred bytes each. */
const URLS_MAX = 5_000;

/** Reads URLs of receivers by the operator's rules, those of busy receivers once. */
export class ReceiverUrls {
  readonly #internalNames: boolean;
  readonly #read = new RecentlyUsed<string, WebhookUrl>(URLS_MAX);

  constructor({ internalNames }: { readonly internalNames: boolean }) {
    this.#internalNames = internalNames;
  }

  /** @returns undefined when it is not acceptable (any more) */
  read(text: string): WebhookUrl | undefined {
    const known = this.#read.get(text);
    if (known !== undefined) return known;
    const url = parseWebhookUrl(text, { internalNames: this.#internalNames });
    if (url !== undefined) this.#read.set(text, url);
    return url;
  }
}
