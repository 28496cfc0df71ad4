/** Handlers of the account of the user who is signed in. */

import { formatTimestamp, invalidField } from "@countersign/protocol";
import type {
  Account,
  account,
  BodyReceived,
  Preferences as WirePreferences,
} from "@countersign/review-api";
import type { Context } from "../../context.ts";
import type { Preferences } from "../../core/preferences.ts";
import { isTimeZone, type QuietHours, writeWallClock } from "../../core/quiet-hours.ts";
import type { Handlers } from "../../http/operation-routes.ts";
import { peerOf } from "../../http/peer.ts";
import { clearSessionCookie } from "../../http/session-cookie.ts";
import type { SignedIn } from "../../identity/caller.ts";
import { endSession } from "../../operations/access/endSession.ts";
import { changePreferences, showPreferences } from "../../operations/people/changePreferences.ts";
import { type ShownAccount, showAccount } from "../../operations/people/showAccount.ts";
import { changePassword } from "../../operations/sign-in/changePassword.ts";
import type { SignInLimits } from "../access/sign-in-limits.ts";
import { toWirePasskey } from "../shared/passkey-to-wire.ts";

export function accountHandlers(context: Context, limits: SignInLimits): Handlers<typeof account> {
  return {
    async showAccount({ caller }) {
      return toWireAccount(caller, await showAccount(context, caller));
    },

    async endSession({ caller, path: { id }, reply }) {
      await endSession(context, caller, id);
      if (id === caller.session.id) clearSessionCookie(reply);
      return { ended: id };
    },

    async changePassword({ caller, body, request }) {
      const passed = limits.chargeAttempt(caller.person.login, peerOf(request));
      const change = { current: body.current_password, next: body.new_password };
      await changePassword(context, caller, change);
      passed();
      return { changed: true };
    },

    async showPreferences({ caller }) {
      return toWirePreferences(await showPreferences(context, caller));
    },

    async changePreferences({ caller, body }) {
      const { theme, keys, after_decision, quiet_hours, time_zone, language, notify, views } = body;
      const preferences = await changePreferences(context, caller, {
        ...(theme !== undefined && { theme }),
        ...(keys !== undefined && { keys }),
        ...(after_decision !== undefined && { afterDecision: after_decision }),
        ...(quiet_hours !== undefined && { quietHours: quiet_hours && toQuietHours(quiet_hours) }),
        ...(time_zone !== undefined && {
          timeZone: time_zone === null ? null : toTimeZone(time_zone, "time_zone"),
        }),
        ...(language !== undefined && { language }),
        ...(notify !== undefined && { notify }),
        ...(views !== undefined && { views }),
      });
      return toWirePreferences(preferences);
    },
  };
}

function toWireAccount(
  { person, session: own }: SignedIn,
  { sessions, passkeys }: ShownAccount,
): Account {
  return {
    person: { id: person.id, login: person.login, name: person.name },
    has_password: person.passwordHash !== null,
    sessions: sessions.map(({ id, method, userAgent, createdAt, seenAt, expiresAt }) => ({
      id,
      method,
      user_agent: userAgent,
      current: id === own.id,
      created_at: formatTimestamp(createdAt),
      seen_at: formatTimestamp(seenAt),
      expires_at: formatTimestamp(expiresAt),
    })),
    passkeys: passkeys.map(toWirePasskey),
  };
}

function toWirePreferences({
  theme,
  keys,
  afterDecision,
  quietHours,
  timeZone,
  language,
  notify,
  views,
}: Preferences): WirePreferences {
  return {
    theme,
    keys,
    after_decision: afterDecision,
    quiet_hours: quietHours && {
      from: writeWallClock(quietHours.from),
      to: writeWallClock(quietHours.to),
      time_zone: quietHours.timeZone,
    },
    time_zone: timeZone,
    language,
    notify,
    views: [...views],
  };
}

type Sent = NonNullable<BodyReceived<typeof account.changePreferences>["quiet_hours"]>;

/** @throws Problem `invalid_request` naming the field */
function toQuietHours({ from, to, time_zone: timeZone }: Sent): QuietHours {
  if (from === to) throw invalidField("quiet_hours.to", "must not be the same as from");
  return { from, to, timeZone: toTimeZone(timeZone, "quiet_hours.time_zone") };
}

/** @throws Problem `invalid_request` naming the field */
function toTimeZone(name: string, field: string): string {
  if (!isTimeZone(name)) throw invalidField(field, "must be a time zone like Europe/Berlin");
  return name;
}
