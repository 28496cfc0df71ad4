import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { readSql } from "./sql.ts";

function read(text: string): string | undefined {
  return readSql(text)
    ?.map(({ verb, hasWhere }) => (hasWhere ? `${verb}+` : verb))
    .join(" ");
}

test("[ours.request.previews] the verbs of SQL are told, each with whether a WHERE belongs to it", () => {
  const cases: [string, string][] = [
    ["select * from t", "SELECT"],
    ["DELETE FROM users WHERE id = 1;", "DELETE+"],
    ["delete from users", "DELETE"],
    ["update t set a = (select 1 from x where y)", "UPDATE SELECT+"],
    ["delete from t using (select 1 where true) x", "DELETE SELECT+"],
    ["with gone as (delete from t returning *) select * from gone where 1=1", "SELECT+ DELETE"],
    ["with update as (select 1) delete from t", "DELETE SELECT"],
    ["explain analyze delete from t", "DELETE"],
    ["insert into t values ('where; drop table t') on conflict do update set a = 1", "INSERT"],
    ["select 1; drop table t", "SELECT DROP"],
    ["select 'it''s' -- where\nfrom t", "SELECT"],
    ["update t set a = 'x where y' /* where */", "UPDATE"],
    ["select $q$ where $q$ from t for update", "SELECT"],
    ["grant select, update on t to x", "GRANT"],
    ["truncate t", "TRUNCATE"],
  ];
  for (const [text, verbs] of cases) assert.equal(read(text), verbs, text);
});

test("[ours.request.previews] what databases could read differently has no preview", () => {
  const unknown = [
    ...["select 'a\\' where '", "delete from t /*! where 1 */", "select 1 # x", "select 1 --x"],
    ...["select 'open", "select (1", "select 1)", "do $$ delete from t $$", "", "-- only this"],
    ...["hello world", "select 1 delete from t", "with x as (select 1)", "/* /* */ */ select 1"],
  ];
  for (const text of unknown) assert.equal(readSql(text), undefined, text);
});

test("[ours.request.previews] whatever stands in texts, names and comments, it is no WHERE and no verb", () => {
  fc.assert(
    fc.property(fc.string({ maxLength: 40 }), (inside) => {
      const safe = inside.replaceAll(/[\\']/g, "");
      assert.equal(read(`delete from "t" returning '${safe} where delete'`), "DELETE");
    }),
  );
});
