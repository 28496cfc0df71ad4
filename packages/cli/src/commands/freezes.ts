/** The commands that freeze and unfreeze instances, projects and the server. */

import { CommandError, type CommandOptions, EXIT, usageError } from "@countersign/command-line";
import { parseIdentifier } from "@countersign/protocol";
import { exactText, type Freeze } from "@countersign/review-api";
import type { Command } from "../command.ts";
import { connectApi } from "../connect-api.ts";
import { collect, type ReviewerApi } from "../reviewer-api.ts";
import { printRows, ROW_LIMIT } from "../row-list.ts";
import type { SettingsLine } from "../settings-line.ts";
import { excerpt, visibleText } from "../visible-text.ts";

const SCOPES: CommandOptions = {
  project: { type: "flag", help: "All instances of the token's project." },
  server: { type: "flag", help: "All projects; requires the role operator." },
};

export const freeze: Command = {
  usage: "freeze [INSTANCE]",
  help: "Deny all calls of an instance, project or server.",
  example: 'freeze --project --note "Incident 42"',
  settings: ["client"],
  options: {
    ...SCOPES,
    note: {
      type: "text",
      value: "TEXT",
      help: "Note that the agent receives with each denial. [Frozen.]",
    },
  },

  async run(line, terminal) {
    const target = targetOf(line);
    const body = { ...target, note: line.text("note") };
    const frozen = await connectApi(line).call("POST /freezes", { body });
    if (line.json) {
      terminal.out(exactText(frozen));
      return EXIT.done;
    }
    const { denied, complete } = frozen;
    const requests = denied === 1 ? "request" : "requests";
    terminal.out(`Frozen: ${described(frozen)}. Denied ${denied} pending ${requests}.`);
    if (!complete) terminal.note("The server is still denying pending requests.");
    return EXIT.done;
  },
};

export const unfreeze: Command = {
  usage: "unfreeze [INSTANCE]",
  help: "Lift the freeze of an instance, the project or the server.",
  example: "unfreeze --project",
  settings: ["client"],
  options: SCOPES,

  async run(line, terminal) {
    const target = targetOf(line);
    const api = connectApi(line);
    const { items: active } = await listFreezes(api, "in_force", Number.POSITIVE_INFINITY);
    const found = active.find(
      ({ scope, instance }) => scope === target.scope && instance?.id === target.instance_id,
    );
    if (found === undefined) {
      throw new CommandError(EXIT.refused, "not_found", "not frozen; see freezes list");
    }
    const lifted = await api.call("POST /freezes/{id}/lift", { path: { id: found.id } });
    terminal.out(line.json ? exactText(lifted) : `Lifted the freeze of ${described(lifted)}.`);
    return EXIT.done;
  },
};

export const freezesList: Command = {
  usage: "freezes list",
  help: "List freezes, latest first.",
  example: "freezes list",
  settings: ["client"],
  options: {
    lifted: { type: "flag", help: "List lifted freezes instead of active freezes." },
    limit: ROW_LIMIT.option,
  },

  async run(line, terminal) {
    line.take();
    const state = line.flag("lifted") ? "lifted" : "in_force";
    const limit = ROW_LIMIT.read(line);
    const { items: freezes, hasMore } = await listFreezes(connectApi(line), state, limit);
    printRows(line, terminal, {
      json: freezes.map(exactText),
      empty: state === "lifted" ? "There are no lifted freezes." : "Nothing is frozen.",
      renderTable: () => table(freezes),
      limit,
      hasMore,
    });
    return EXIT.done;
  },
};

function listFreezes(api: ReviewerApi, state: "in_force" | "lifted", limit: number) {
  return collect(
    limit,
    (limit, after) => api.call("GET /freezes", { query: { state, limit, after } }),
    (page) => page.freezes,
  );
}

interface FreezeTarget {
  readonly scope: Freeze["scope"];
  /** Exactly with the scope `instance`. */
  readonly instance_id?: string;
}

/** Exactly one of an instance, --project and --server. */
function targetOf(line: SettingsLine): FreezeTarget {
  const scopes = (["project", "server"] as const).filter((name) => line.flag(name));
  const [scope] = scopes;
  if (scopes.length + line.positionals.length > 1) {
    throw usageError("give exactly one of ID, --project and --server");
  }
  if (scope !== undefined) return { scope };
  const [value = ""] = line.take("the id of an instance, --project or --server");
  const instanceId = parseIdentifier(value);
  if (instanceId === undefined)
    throw usageError("ID must be the id of an instance; see instances list");
  return { scope: "instance", instance_id: instanceId };
}

function described({ scope, instance }: Freeze): string {
  if (instance !== undefined) return `${visibleText(instance.name)}  ${instance.id}`;
  return scope === "server" ? "the server" : "the project";
}

const ID_COLUMNS = 36;
const SCOPE_COLUMNS = 30;
const TIME_COLUMNS = 24;
const NOTE_COLUMNS = 40;

function table(freezes: readonly Freeze[]): string {
  const row = (id: string, scope: string, since: string, until: string, note: string) =>
    [
      id.padEnd(ID_COLUMNS),
      excerpt(scope, SCOPE_COLUMNS).padEnd(SCOPE_COLUMNS),
      since.padEnd(TIME_COLUMNS),
      until.padEnd(TIME_COLUMNS),
      excerpt(note, NOTE_COLUMNS),
    ]
      .join("  ")
      .trimEnd();
  const rows = freezes.map((freeze) => {
    const { id, scope, instance, frozen_at: frozenAt, lifted_at: liftedAt, note } = freeze;
    return row(id, instance?.name ?? scope, frozenAt, liftedAt ?? "", note ?? "");
  });
  return [row("FREEZE", "OF", "SINCE", "LIFTED", "NOTE"), ...rows].join("\n");
}
