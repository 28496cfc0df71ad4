import { readMailUrl } from "../config/mail-settings.ts";
import { publicUrlOf } from "../config/public-url.ts";
import type { SecretSettings, Settings } from "../config/settings.ts";
import { createEgress, createUrls, type EgressParts } from "../egress/create-egress.ts";
import { ChannelNotifier } from "./channel-notifier.ts";
import type { ChatPlatforms } from "./chat-platform.ts";
import { discordPlatform } from "./discord.ts";
import { mattermostPlatform } from "./mattermost.ts";
import type { Notifier } from "./notifier.ts";
import { slackPlatform } from "./slack-app.ts";
import { telegramPlatform } from "./telegram.ts";

const PLATFORMS: ChatPlatforms = {
  slack_app: slackPlatform,
  telegram: telegramPlatform,
  discord: discordPlatform,
  mattermost: mattermostPlatform,
};

/** Creates a notifier from the settings. With webhooks_off, it sends mail only. */
export function createNotifier(
  settings: Settings,
  { smtpUrl }: Pick<SecretSettings, "smtpUrl">,
  parts: EgressParts,
): Notifier {
  const { webhooks, mail } = settings;
  const { clock, ca } = parts;
  const urls = createUrls(settings);
  return new ChannelNotifier({
    egress: webhooks.enabled ? createEgress(settings, parts) : undefined,
    readUrl: (text) => urls.read(text),
    mail:
      mail === undefined || smtpUrl === undefined
        ? undefined
        : { from: mail.from, server: mailServer(smtpUrl, mail.isPlaintextAllowed, ca) },
    publicUrl: publicUrlOf(settings),
    platforms: PLATFORMS,
    apiUrls: settings.chatApiUrls,
    clock,
  });
}

function mailServer(smtpUrl: string, isPlaintextAllowed: boolean, ca: EgressParts["ca"]) {
  const { isLoopback, ...url } = readMailUrl(smtpUrl);
  const isPlain = !url.isImplicitTls && (isLoopback || isPlaintextAllowed);
  return { ...url, isPlain, ca };
}
