/** The mail server, from the settings. */

import { isIP } from "node:net";
import type { ConfigValues } from "./read-config.ts";

export interface MailSettings {
  readonly from: string;
  /** TLS is not required, although the mail server is not on this machine. */
  readonly isPlaintextAllowed: boolean;
}

const URL_FORM = /^smtps?:\/\/[^\s/?#]+\/?$/;

const FROM_FORM = /^[A-Za-z0-9.!#$%&'*+/=?^_`{|}~-]{1,64}@[A-Za-z0-9.-]{1,253}$/;

/** @returns undefined when no mail is sent */
export function toMailSettings(values: ConfigValues): MailSettings | undefined {
  const { smtp_url: url, smtp_from: from, smtp_plaintext: isPlaintextAllowed } = values;
  return url === undefined || from === undefined ? undefined : { from, isPlaintextAllowed };
}

export function* findMailFaults(values: ConfigValues): Generator<string> {
  const { smtp_url: url, smtp_from: from } = values;
  if (url !== undefined && !(URL_FORM.test(url) && URL.canParse(url))) {
    yield "smtp_url: must be like smtps://user:password@host or smtp://host:587";
  }
  if ((url === undefined) !== (from === undefined)) {
    yield "smtp_url and smtp_from: set both or neither";
  }
  if (from !== undefined && !FROM_FORM.test(from)) {
    yield "smtp_from: must be an address like countersign@example.com";
  }
}

/** The parts of a mail server URL. */
export interface MailUrl {
  readonly host: string;
  readonly port: number;
  readonly isImplicitTls: boolean;
  readonly isLoopback: boolean;
  readonly login: { readonly user: string; readonly pass: string } | undefined;
}

/** @param text one that was checked */
export function readMailUrl(text: string): MailUrl {
  const url = new URL(text);
  const host = url.hostname.replace(/^\[|\]$/g, "");
  const isImplicitTls = url.protocol === "smtps:";
  const [user, pass] = [decodeURIComponent(url.username), decodeURIComponent(url.password)];
  return {
    host,
    isImplicitTls,
    port: Number(url.port) || (isImplicitTls ? 465 : 587),
    isLoopback: host === "localhost" || host === "::1" || (isIP(host) === 4 && /^127\./.test(host)),
    login: user === "" ? undefined : { user, pass },
  };
}
