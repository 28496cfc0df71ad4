/**
 * A mail server on this machine that keeps what it is sent.
 */

import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { SMTPServer, type SMTPServerOptions } from "smtp-server";
import { createSelfSigned } from "./self-signed.ts";
import type { Lifetime } from "./test-provider.ts";

export interface ReceivedMail {
  readonly from: string;
  readonly to: readonly string[];
  /** Headers and body as they came. */
  readonly source: string;
  readonly isSecure: boolean;
  readonly user: string | undefined;
}

export interface MailServer {
  readonly port: number;
  readonly certificate: string;
  readonly mails: readonly ReceivedMail[];
}

export interface MailServerOptions extends SMTPServerOptions {
  /** Password of the login `user`; without it clients do not have to log in. */
  readonly password?: string;
  /** Refuses the message with this code. */
  readonly refuseWith?: number;
}

/** Ends with the test. */
export async function startMailServer(
  t: Lifetime,
  { password, refuseWith, ...options }: MailServerOptions = {},
): Promise<MailServer> {
  const { key, certificate } = createSelfSigned();
  const mails: ReceivedMail[] = [];
  const server = new SMTPServer({
    key,
    cert: certificate,
    logger: false,
    authOptional: password === undefined,
    onAuth({ username, password: given }, _, done) {
      if (given === password) done(null, { user: username ?? "" });
      else done(new Error("secret words of the mail server"));
    },
    onData(stream, session, done) {
      const chunks: Buffer[] = [];
      stream.on("data", (chunk: Buffer) => chunks.push(chunk));
      stream.on("end", () => {
        if (refuseWith !== undefined) {
          done(Object.assign(new Error("secret words"), { responseCode: refuseWith }));
          return;
        }
        const { mailFrom, rcptTo } = session.envelope;
        mails.push({
          from: mailFrom === false ? "" : mailFrom.address,
          to: rcptTo.map(({ address }) => address),
          source: Buffer.concat(chunks).toString(),
          isSecure: session.secure,
          user: typeof session.user === "string" ? session.user : undefined,
        });
        done(null);
      });
    },
    ...options,
  });
  // Clients of these tests break the handshake off.
  server.on("error", () => undefined);
  const listener = server.listen(0, "127.0.0.1");
  await once(listener, "listening");
  t.after(() => new Promise<void>((resolve) => server.close(() => resolve())));
  return { port: (listener.address() as AddressInfo).port, certificate, mails };
}
