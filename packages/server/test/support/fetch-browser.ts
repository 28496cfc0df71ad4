/**
 * A browser as far as redirects and cookies go: it follows the ones and keeps the others by host,
 * as browsers do. Each has a jar of its own.
 */

export interface Page {
  readonly url: string;
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
}

const REDIRECTS_MAX = 20;

export class FetchBrowser {
  readonly cookies = new Map<string, string>();

  /**
   * Goes to an address and on from there.
   *
   * @param stopAt the first address of these is not gone to; its page has the status 0
   */
  async visit(url: string, stopAt?: RegExp): Promise<Page> {
    let at = url;
    for (let hops = 0; hops < REDIRECTS_MAX; hops++) {
      if (stopAt?.test(at)) return { url: at, status: 0, headers: new Headers(), text: "" };
      const response = await fetch(at, { redirect: "manual", headers: this.#headers() });
      this.#keep(response);
      const { status, headers } = response;
      const text = await response.text();
      const location = headers.get("location");
      if (status < 300 || status >= 400 || location === null)
        return { url: at, status, headers, text };
      at = new URL(location, at).href;
    }
    throw new Error(`${url} redirects without end`);
  }

  /** Sends a form of the page at this address. */
  async submit(url: string, form: Readonly<Record<string, string>>): Promise<number> {
    const body = new URLSearchParams(form);
    const init = { method: "POST", redirect: "manual", headers: this.#headers(), body } as const;
    const response = await fetch(url, init);
    this.#keep(response);
    await response.arrayBuffer();
    return response.status;
  }

  #headers(): Record<string, string> {
    const cookie = [...this.cookies].map(([name, value]) => `${name}=${value}`).join("; ");
    return { cookie, accept: "text/html,*/*;q=0.8", "sec-fetch-site": "cross-site" };
  }

  #keep(response: Response): void {
    for (const each of response.headers.getSetCookie()) {
      const [, name = "", value = ""] = /^([^=]+)=([^;]*)/.exec(each) ?? [];
      if (value === "" || /max-age=0\b/i.test(each)) this.cookies.delete(name);
      else this.cookies.set(name, value);
    }
  }
}
