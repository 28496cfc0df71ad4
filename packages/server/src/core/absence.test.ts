import assert from "node:assert/strict";
import { test } from "node:test";
import {
  ABSENCE_DAYS_MAX,
  type Absence,
  absencesAt,
  delayingAbsence,
  isAbsent,
  periodFault,
} from "./absence.ts";

const DAY = 86_400_000;

const away = (reviewerId: string, substituteId: string | null = null): Absence => {
  return { reviewerId, from: 0, until: 10, substituteId };
};

function delays(reviewerId: string, absences: readonly Absence[], notified: readonly string[]) {
  return delayingAbsence(reviewerId, absencesAt(absences, 5), new Set(notified)) !== undefined;
}

test("[ours.absence.bounded] a period ends after its start, in the future, within 90 days", () => {
  const max = ABSENCE_DAYS_MAX * DAY;
  assert.equal(periodFault({ from: 0, until: max }, 1), undefined);
  assert.match(periodFault({ from: 0, until: max + 1 }, 1)?.rule ?? "", /at most 90 days/);
  assert.match(periodFault({ from: 5, until: 5 }, 1)?.rule ?? "", /after from/);
  assert.match(periodFault({ from: 0, until: 7 }, 7)?.rule ?? "", /in the future/);
});

test("[ours.absence.bounded] an absence includes its start and excludes its end", () => {
  const times = [-1, 0, 9, 10].map((now) => isAbsent(away("ana"), now));
  assert.deepEqual(times, [false, true, true, false]);
});

test("[ours.absence.push] the message of an absent reviewer waits while the substitute gets it", () => {
  assert.equal(delays("ana", [away("ana", "ben")], ["ben"]), true);
  assert.equal(delays("ana", [away("ana", "ben")], ["cleo"]), false);
  assert.equal(delays("ana", [away("ana")], ["cleo"]), true);
  assert.equal(delays("ben", [away("ana", "ben")], ["ana"]), false);
});

test("[ours.absence.chain] an absent substitute forwards nothing: both get the message", () => {
  const absences = [away("ana", "ben"), away("ben", "cleo")];
  assert.equal(delays("ana", absences, ["cleo"]), false);
  assert.equal(delays("ben", absences, ["cleo"]), false);
});
