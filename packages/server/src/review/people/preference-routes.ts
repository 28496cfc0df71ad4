/**
 * What somebody prefers, wherever they sign in. With a session only; a token prefers nothing.
 */

import { Fields, type JsonValue } from "@countersign/protocol";
import type { FastifyInstance } from "fastify";
import type { Context } from "../../context.ts";
import { type Preferences, THEMES } from "../../core/preferences.ts";
import {
  isTimeZone,
  parseWallClock,
  type QuietHours,
  writeWallClock,
} from "../../core/quiet-hours.ts";
import { type Gate, signedInBy } from "../../http/authenticate.ts";
import { jsonBody, sendJson } from "../../http/exchange.ts";
import { changePreferences, showPreferences } from "../../operations/people/changePreferences.ts";

const PREFERENCES = "/review/v1/account/preferences";

const BODY_BYTES_MAX = 8_192;

export function addPreferenceRoutes(app: FastifyInstance, context: Context, gate: Gate): void {
  const onRequest = gate.admitPerson;
  const bodyLimit = Math.min(BODY_BYTES_MAX, context.settings.bodyBytesMax);

  app.get(
    PREFERENCES,
    { config: { operation: "showPreferences" }, onRequest },
    async (request, reply) => {
      const preferences = await showPreferences(context, signedInBy(request));
      return sendJson(reply, 200, write(preferences));
    },
  );

  app.patch(
    PREFERENCES,
    {
      config: { operation: "changePreferences" },
      onRequest,
      preHandler: gate.charge,
      bodyLimit,
    },
    async (request, reply) => {
      const change = parse(jsonBody(request));
      const preferences = await changePreferences(context, signedInBy(request), change);
      return sendJson(reply, 200, write(preferences));
    },
  );
}

function write({ theme, keys, quietHours }: Preferences): string {
  return JSON.stringify({
    theme,
    keys,
    quiet_hours:
      quietHours === null
        ? null
        : {
            from: writeWallClock(quietHours.from),
            to: writeWallClock(quietHours.to),
            time_zone: quietHours.timeZone,
          },
  });
}

/** @throws Problem `invalid_request` naming the field */
function parse(body: JsonValue): Partial<Preferences> {
  const fields = new Fields(body, ["theme", "keys", "quiet_hours"]);
  const given = fields.value("theme");
  const theme = THEMES.find((known) => known === given);
  if (given !== undefined && theme === undefined) {
    throw fields.invalid("theme", `must be ${THEMES.join(", ")}`);
  }
  const keys = fields.value("keys");
  if (keys !== undefined && typeof keys !== "boolean") {
    throw fields.invalid("keys", "must be true or false");
  }
  const hours = fields.value("quiet_hours") === null ? null : fields.object("quiet_hours");
  return {
    ...(theme !== undefined && { theme }),
    ...(keys !== undefined && { keys }),
    ...(hours !== undefined && { quietHours: hours && parseHours(hours) }),
  };
}

function parseHours(object: JsonValue): QuietHours {
  const fields = new Fields(object, ["from", "to", "time_zone"], "quiet_hours");
  const [from, to] = [clockOf(fields, "from"), clockOf(fields, "to")];
  if (from === to) throw fields.invalid("to", "must not be the same as from");
  const timeZone = fields.required("time_zone", fields.text("time_zone", 1));
  if (!isTimeZone(timeZone)) {
    throw fields.invalid("time_zone", "must be a time zone like Europe/Berlin");
  }
  return { from, to, timeZone };
}

function clockOf(fields: Fields, name: string): number {
  const minutes = parseWallClock(fields.required(name, fields.text(name, 1)));
  if (minutes === undefined) throw fields.invalid(name, "must be a time like 07:30");
  return minutes;
}
