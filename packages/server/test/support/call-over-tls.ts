import { request } from "node:https";

export interface TlsCall {
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
  /** The only certificate to trust. */
  readonly certificate: string;
}

export interface TlsAnswer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
}

/** Sends a request over a new HTTPS connection. */
export function callOverTls(
  url: string,
  { method, headers, body = "", certificate }: TlsCall,
): Promise<TlsAnswer> {
  return new Promise((resolve, reject) => {
    const options = { method, headers, ca: certificate, agent: false };
    const sent = request(url, options, (response) => {
      let text = "";
      response.setEncoding("utf8");
      response.on("data", (chunk: string) => {
        text += chunk;
      });
      response.on("end", () => {
        const pairs = Object.entries(response.headers).map(([name, value]): [string, string] => {
          return [name, String(value)];
        });
        resolve({ status: response.statusCode ?? 0, headers: new Headers(pairs), text });
      });
    });
    sent.on("error", reject);
    sent.end(body);
  });
}
