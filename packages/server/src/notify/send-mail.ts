/**
 * Sends mail to the configured server, over TLS unless the server is on this machine or the
 * settings permit plain text. The library is loaded with the first message.
 */

import type { Clock } from "../clock.ts";
import type { SendOutcome } from "../core/channel.ts";
import type { MaybePromise } from "../egress/message.ts";

/** The configured mail server. */
export interface MailServer {
  readonly host: string;
  readonly port: number;
  /** TLS from the first byte. Otherwise STARTTLS is required. */
  readonly isImplicitTls: boolean;
  /** True: TLS only if the server offers it, with any certificate. */
  readonly isPlain: boolean;
  readonly login: { readonly user: string; readonly pass: string } | undefined;
  /** PEM, replaces the default roots; for tests. */
  readonly ca: readonly string[] | undefined;
}

export interface Mail {
  readonly from: string;
  readonly to: readonly string[];
  readonly subject: string;
  readonly text: string;
  /** Identifies duplicates of the message. */
  readonly id: string;
}

export interface MailBounds {
  readonly clock: Clock;
  readonly timeoutMs: number;
  /** Aborted when the notifier closes. */
  readonly signal: AbortSignal;
  readonly isWanted: (leftMs: number) => MaybePromise<boolean>;
}

/** Sends once. Every behaviour of the server is an outcome. */
export async function sendMail(
  server: MailServer,
  mail: Mail,
  { clock, timeoutMs, signal, isWanted }: MailBounds,
): Promise<SendOutcome> {
  const until = clock.monotonic() + timeoutMs;
  const message = await compose(mail);
  const connection = await open(server, timeoutMs);
  const over = Promise.withResolvers<SendOutcome>();
  const fail = (error: unknown) => over.resolve(outcomeOf(error));
  const cancel = clock.after(timeoutMs, () => over.resolve(unreachable("timeout")));
  const cut = () => over.resolve(unreachable("reset"));
  signal.addEventListener("abort", cut, { once: true });
  if (signal.aborted) cut();
  connection.on("error", fail);
  connection.once("end", () => over.resolve(unreachable("reset")));
  const talk = async () => {
    await called((done) => connection.connect((error) => done(error ?? null)));
    const { login } = server;
    if (login !== undefined) await called((done) => connection.login(login, done));
    if (!(await isWanted(until - clock.monotonic()))) return over.resolve({ kind: "unwanted" });
    const envelope = { from: mail.from, to: [...mail.to] };
    const info = await called<{ readonly response: string }>((done) => {
      connection.send(envelope, message, done);
    });
    over.resolve({ kind: "sent", status: Number(info?.response.slice(0, 3)) || 250 });
    connection.quit();
  };
  try {
    talk().catch(fail);
    return await over.promise;
  } finally {
    cancel();
    signal.removeEventListener("abort", cut);
    // Stops sending, unless the server has already accepted the message.
    connection.close();
  }
}

function called<T>(
  call: (done: (error: Error | null, result?: T) => void) => void,
): Promise<T | undefined> {
  return new Promise((resolve, reject) => {
    call((error, result) => (error === null ? resolve(result) : reject(error)));
  });
}

async function compose({ from, to, subject, text, id }: Mail): Promise<Buffer> {
  const { default: MailComposer } = await import("nodemailer/lib/mail-composer");
  const composer = new MailComposer({
    from,
    to: [...to],
    subject,
    text,
    messageId: `<${id}@${from.slice(from.lastIndexOf("@") + 1)}>`,
    headers: { "Auto-Submitted": "auto-generated" },
    xMailer: false,
    disableFileAccess: true,
    disableUrlAccess: true,
  });
  return composer.compile().build();
}

async function open({ host, port, isImplicitTls, isPlain, ca }: MailServer, timeoutMs: number) {
  const { default: SmtpConnection } = await import("nodemailer/lib/smtp-connection");
  return new SmtpConnection({
    host,
    port,
    secure: isImplicitTls,
    ...(isPlain ? { opportunisticTLS: true } : { requireTLS: !isImplicitTls }),
    // Plain text has no authentication of the server either, so any certificate is accepted.
    tls: { minVersion: "TLSv1.2", rejectUnauthorized: !isPlain, ...(ca && { ca: [...ca] }) },
    connectionTimeout: timeoutMs,
    greetingTimeout: timeoutMs,
    socketTimeout: timeoutMs,
    dnsTimeout: timeoutMs,
    // A local mail server may have only the loopback interface.
    allowInternalNetworkInterfaces: true,
    logger: false,
  });
}

const REASONS: Readonly<Record<string, string>> = {
  EDNS: "dns",
  ETLS: "tls",
  ETIMEDOUT: "timeout",
  EAUTH: "auth",
  ENOAUTH: "auth",
  EPROTOCOL: "protocol",
  ECONNECTION: "reset",
};

/** Node error codes for an invalid certificate. */
const TLS_CODE = /^(ERR_TLS|ERR_SSL|CERT_|DEPTH_ZERO|SELF_SIGNED|UNABLE_TO|EPROTO)/;
const CONNECT_CODES = ["ECONNREFUSED", "EHOSTUNREACH", "ENETUNREACH"];

function outcomeOf(error: unknown): SendOutcome {
  const { responseCode, code = "", originalCode } = error as SmtpFailure;
  if (typeof responseCode === "number" && responseCode >= 400) {
    return { kind: "rejected", status: responseCode, retryAfterMs: undefined };
  }
  const cause = originalCode ?? code;
  if (TLS_CODE.test(cause)) return unreachable("tls");
  if (CONNECT_CODES.includes(cause)) return unreachable("connect");
  return unreachable(REASONS[code] ?? "connect");
}

interface SmtpFailure {
  readonly responseCode?: unknown;
  readonly code?: string;
  readonly originalCode?: string;
}

function unreachable(reason: string): SendOutcome {
  return { kind: "unreachable", reason };
}
