import type { Clock } from "../clock.ts";
import { readMailUrl } from "../config/mail-settings.ts";
import { publicUrlOf } from "../config/public-url.ts";
import type { SecretSettings, Settings } from "../config/settings.ts";
import { createUrls, openDoor } from "../delivery/create-delivery.ts";
import type { Resolver } from "../delivery/resolve-host.ts";
import { ChannelNotifier } from "./channel-notifier.ts";
import type { Notifier } from "./notifier.ts";

export interface NotifierOptions {
  readonly clock: Clock;
  /** In place of DNS, for tests. */
  readonly resolver?: Resolver | undefined;
  /** Certificates to trust besides the usual ones, for tests; else NODE_EXTRA_CA_CERTS. */
  readonly ca?: readonly string[] | undefined;
}

/** Sends by the settings of the operator; a server whose webhooks are off sends mail only. */
export function createNotifier(
  settings: Settings,
  { smtpUrl }: Pick<SecretSettings, "smtpUrl">,
  options: NotifierOptions,
): Notifier {
  const { webhooks, mail } = settings;
  const { clock, ca } = options;
  const urls = createUrls(settings);
  return new ChannelNotifier({
    door: webhooks.enabled ? openDoor(settings, options) : undefined,
    readUrl: (text) => urls.read(text),
    mail:
      mail === undefined || smtpUrl === undefined
        ? undefined
        : { from: mail.from, server: mailServer(smtpUrl, mail.isPlaintextAllowed, ca) },
    publicUrl: publicUrlOf(settings),
    clock,
  });
}

function mailServer(smtpUrl: string, isPlaintextAllowed: boolean, ca: NotifierOptions["ca"]) {
  const { isLoopback, ...url } = readMailUrl(smtpUrl);
  const isPlain = !url.isImplicitTls && (isLoopback || isPlaintextAllowed);
  return { ...url, isPlain, ca };
}
