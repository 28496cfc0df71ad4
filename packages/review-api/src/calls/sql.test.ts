import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { readSql } from "./sql.ts";

function read(text: string): string | undefined {
  return readSql(text)
    ?.map(({ verb, hasWhere }) => (hasWhere ? `${verb}+` : verb))
    .join(" ");
}

test("[ours.request.previews] the verbs of SQL are shown, each with whether a WHERE belongs to it", () => {
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
    ["select a from t for update", "SELECT"],
    ["delete from t with (tablock) where a = :a", "DELETE+"],
    ["alter table t drop column a, alter column b drop not null", "ALTER"],
    ["create table t (a int references u on delete cascade, comment text)", "CREATE"],
    ["insert into t values (1) on conflict (a) do update set a = 1", "INSERT"],
    ["merge into t using u on a = b when matched then delete", "MERGE"],
    ["grant select, update on t to x", "GRANT"],
    ["truncate t", "TRUNCATE"],
  ];
  for (const [text, verbs] of cases) assert.equal(read(text), verbs, text);
});

test("[ours.request.previews] SQL with different meanings in different databases has no preview", () => {
  const unknown = [
    "select 'a\\' where '",
    "delete from t /*! where 1 */",
    "select 1 # x",
    "select 1 --x",
    "select 'open",
    "select (1",
    "select 1)",
    "do $$ delete from t $$",
    "",
    "-- only this",
    "DELETE FROM users AS [where]",
    "delete from t returning a as where",
    "delete from d . where x",
    "select $q$ ; drop table t; -- $q$",
    "delete from t returning q'[' where 'x]'",
    "delete from t returning '''a' where 'b'''",
    "delete from t select * from u where a = 1",
    "set nocount on delete from t",
    "delete from t {{x}}",
    "alter table t add a int drop table u",
    "grant select on t to u drop table u",
    "delete from t\u00a0where x",
    "delete from t returning x where y",
    "select 1 execute ('x')",
    "hello world",
    "select 1 delete from t",
    "with x as (select 1)",
    "/* /* */ */ select 1",
  ];
  for (const text of unknown) assert.equal(readSql(text), undefined, text);
});

test("[ours.request.previews] a name with confusable letters of WHERE does not count as WHERE", () => {
  const names = ["d.where", "@where", "$where", ":where", "1where", "where1", "\u00e4where"];
  for (const name of names) assert.equal(read(`delete from ${name}`), "DELETE", name);
});

test("[ours.request.previews] keywords inside strings, names and comments do not count", () => {
  fc.assert(
    fc.property(fc.string({ maxLength: 40 }), (inside) => {
      const safe = inside.replaceAll(/[\\']/g, "");
      assert.equal(read(`delete from "t" returning '${safe} where delete'`), "DELETE");
    }),
  );
});
