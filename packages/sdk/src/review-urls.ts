/**
 * The pages on which reviewers decide. A provider names the page of a request in the header `Link`
 * with the relation `alternate` and the type `text/html`.
 *
 * @see RFC 8288, Web Linking; docs/reference/extensions.md
 */

/** Only recent requests need a link, so old ones are dropped. */
const URLS_MAX = 1_000;

const URL_CHARS_MAX = 2_000;

const LINK = /<([^<>]*)>((?:\s*;\s*[\w-]+\s*=\s*(?:"[^"]*"|[\w/+.-]+))*)/g;

/** The pages of the latest requests of one client. */
export class ReviewUrls {
  readonly #urls = new Map<string, string>();

  /**
   * @param header the header `Link` of an answer about the request
   * @param requestUrl the URL that was requested. A reference is relative to it
   */
  note(requestId: string, header: string | null, requestUrl: string): void {
    const url = readReviewUrl(header, requestUrl);
    if (url === undefined) return;
    this.#urls.set(requestId, url);
    for (const oldest of this.#urls.keys()) {
      if (this.#urls.size <= URLS_MAX) break;
      this.#urls.delete(oldest);
    }
  }

  of(requestId: string): string | undefined {
    return this.#urls.get(requestId);
  }
}

/** @returns undefined without a link to a page that a browser can open */
export function readReviewUrl(header: string | null, requestUrl: string): string | undefined {
  for (const [, reference = "", parameters = ""] of (header ?? "").matchAll(LINK)) {
    const isPage =
      /;\s*rel\s*=\s*"?alternate"?\s*(;|$)/i.test(parameters) &&
      /;\s*type\s*=\s*"?text\/html"?\s*(;|$)/i.test(parameters);
    if (!isPage || !URL.canParse(reference, requestUrl)) continue;
    const url = new URL(reference, requestUrl);
    const isWeb = url.protocol === "https:" || url.protocol === "http:";
    if (isWeb && url.href.length <= URL_CHARS_MAX) return url.href;
  }
  return undefined;
}
