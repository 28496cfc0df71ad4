import { EXIT, type Terminal, usageError } from "@countersign/command-line";
import { type ImportOptions, importDatabase, toSecrets, toSettings } from "@countersign/server";
import type { Command } from "../command.ts";

type Imported = Awaited<ReturnType<typeof importDatabase>>;

/** The command. Its name differs because `import` is a keyword. */
export const importCommand: Command = {
  usage: "import FROM",
  help: "Move a SQLite database to an empty PostgreSQL database.",
  example: "import ./data",
  options: {
    "accept-damaged": {
      type: "flag",
      help: "Copy requests with a wrong checksum unchanged.",
    },
  },
  settings: ["server"],

  async run(line, terminal) {
    const [from = ""] = line.take("the data folder or database file to import");
    const config = line.config();
    if (config.database_url === undefined) {
      throw usageError("set COUNTERSIGN_DATABASE_URL to the target PostgreSQL database");
    }
    const onProgress = line.json ? () => {} : progressOn(terminal);
    const options = { from, acceptsDamaged: line.flag("accept-damaged"), onProgress };
    const imported = await importDatabase(toSettings(config), toSecrets(config), options);
    terminal.out(line.json ? toJson(imported) : describe(imported));
    if (!line.json) terminal.note(nextSteps(imported, from));
    return EXIT.done;
  },
};

const STEPS = { check: "Checking", copy: "Copying", compare: "Comparing" } as const;

function progressOn(terminal: Terminal): ImportOptions["onProgress"] {
  return (step, table, rows) => {
    terminal.note(`${STEPS[step]} ${table}: ${rows.toLocaleString("en")} rows so far.`);
  };
}

function describe({ target, contents, digest, wasThere }: Imported): string {
  const rows = contents.reduce((sum, { rows }) => sum + rows, 0);
  const did = wasThere ? "Already imported and identical" : "Imported and compared";
  return `${did}: ${rows} rows of ${contents.length} tables at ${target}, SHA-256 ${digest}.`;
}

function nextSteps({ target, keyId, damaged }: Imported, from: string): string {
  const lines = [
    `Now start the replicas with COUNTERSIGN_DATABASE_URL (${target}) and with`,
    `COUNTERSIGN_SECRET_KEY set to the key ${keyId}. Keep ${from} as a backup of this moment; a`,
    "server refuses to start on a data folder that was moved.",
  ];
  if (damaged.length > 0) lines.push(`Damaged requests copied unchanged: ${damaged.length}.`);
  return lines.join("\n");
}

function toJson({ target, contents, digest, keyId, damaged, wasThere }: Imported): string {
  const tables = Object.fromEntries(contents.map(({ table, rows }) => [table, rows]));
  const json = { target, tables, sha256: digest, key_id: keyId, was_there: wasThere };
  return JSON.stringify({ ...json, damaged: damaged.map(({ key }) => key.join(" ")) });
}
