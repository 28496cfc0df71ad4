import assert from "node:assert/strict";
import { test } from "node:test";
import type { ErrorResponse } from "@countersign/protocol";
import { assertRefused } from "./support/envelope.ts";
import { callAs, newPerson } from "./support/people.ts";
import { startScene } from "./support/scene.ts";

const PATH = "/account/preferences";

const HOURS = { from: "22:00", to: "07:00", time_zone: "Europe/Berlin" };

test("[ours.preferences.checked] a stated preference is saved for the user, and an omitted one is unchanged", async (t) => {
  const { server } = await startScene(t);
  const [ana, li] = [
    await newPerson(server, { login: "ana" }),
    await newPerson(server, { login: "li" }),
  ];
  const show = async (person: typeof ana) => (await callAs(server, person, "GET", PATH)).json;
  const change = async (body: object) => (await callAs(server, ana, "PATCH", PATH, { body })).json;
  const before = {
    theme: "system",
    keys: true,
    after_decision: "next",
    quiet_hours: null,
    time_zone: null,
    language: null,
    notify: "all",
    views: [],
  };
  assert.deepEqual(await show(ana), before);
  assert.deepEqual(await change({}), before);
  assert.deepEqual(await change({ theme: "dark" }), { ...before, theme: "dark" });
  const chosen = {
    keys: false,
    after_decision: "stay",
    quiet_hours: HOURS,
    time_zone: "Asia/Tokyo",
    language: "de",
    notify: "named",
    views: [{ name: "Refunds", query: "q=refund*&status=denied" }],
  };
  const changed = { theme: "dark", ...chosen };
  assert.deepEqual(await change(chosen), changed);
  assert.deepEqual(await show(ana), changed);
  assert.deepEqual(await show(li), before);
  assert.deepEqual(await change({ quiet_hours: null }), { ...changed, quiet_hours: null });
});

test("[ours.preferences.checked] an invalid preference is rejected with its name, and changes nothing", async (t) => {
  const { server, reviewer } = await startScene(t);
  const ana = await newPerson(server, { login: "ana" });
  const wrong: [object, string][] = [
    [{ theme: "pink" }, "theme"],
    [{ after_decision: "leave" }, "after_decision"],
    [{ theme: null }, "theme"],
    [{ keys: "on" }, "keys"],
    [{ quiet_hours: true }, "quiet_hours"],
    [{ quiet_hours: {} }, "quiet_hours.from"],
    [{ quiet_hours: { ...HOURS, from: "22" } }, "quiet_hours.from"],
    [{ quiet_hours: { ...HOURS, to: "22:00" } }, "quiet_hours.to"],
    [{ quiet_hours: { ...HOURS, time_zone: "Mars/Base" } }, "quiet_hours.time_zone"],
    [{ quiet_hours: { ...HOURS, days: [] } }, "quiet_hours.days"],
    [{ language: "fr" }, "language"],
    [{ time_zone: "" }, "time_zone"],
    [{ time_zone: "Mars/Base" }, "time_zone"],
    [{ notify: "some" }, "notify"],
    [{ views: [{ name: "", query: "q=a" }] }, "views"],
    [{ views: [{ name: "a".repeat(61), query: "q=a" }] }, "views"],
    [{ views: [{ name: "a", query: "\u0000" }] }, "views"],
    [{ views: Array.from({ length: 21 }, (_, i) => ({ name: `${i}`, query: "q" })) }, "views"],
    [{ theme: "dark", colour: "red" }, "colour"],
  ];
  const before = (await callAs(server, ana, "GET", PATH)).text;
  for (const [body, param] of wrong) {
    const answer = await callAs<ErrorResponse>(server, ana, "PATCH", PATH, { body });
    assertRefused(answer, 400, "invalid_request", param);
  }
  assert.equal((await callAs(server, ana, "GET", PATH)).text, before);
  const token = await server.call<ErrorResponse>("GET", `/review/v1${PATH}`, { token: reviewer });
  assertRefused(token, 403, "wrong_credential_kind");
});
