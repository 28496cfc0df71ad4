/** The commands that show and rotate the secret key. */

import { EXIT } from "@countersign/command-line";
import { describeKeys, rotateSecretKey, toSecrets, toSettings } from "@countersign/server";
import { assertDatabase } from "../assert-database.ts";
import type { Command } from "../command.ts";

export const secretKeyShow: Command = {
  usage: "secret-key show",
  help: "Show the ids and the sources of the secret keys.",
  example: "secret-key show",
  settings: ["server"],
  options: {},

  async run(line, terminal) {
    line.take();
    const config = line.config();
    const secrets = toSecrets(config);
    if (secrets.secretKey === undefined) assertDatabase(config);
    const { current, previous } = describeKeys(secrets, config.data);
    if (line.json) {
      terminal.out(
        JSON.stringify({
          key_id: current.keyId,
          source: current.source,
          previous: previous.map(({ keyId, source }) => ({ key_id: keyId, source })),
        }),
      );
    } else {
      const rows = previous.map(({ keyId, source }) => `previous  ${keyId}  from ${source}`);
      terminal.out([`current   ${current.keyId}  from ${current.source}`, ...rows].join("\n"));
    }
    return EXIT.done;
  },
};

export const secretKeyRotate: Command = {
  usage: "secret-key rotate",
  help: "Replace the secret key of a stopped server.",
  example: "secret-key rotate --data ./data",
  settings: ["server"],
  options: {},

  async run(line, terminal) {
    line.take();
    const config = line.config();
    assertDatabase(config);
    const rotation = await rotateSecretKey(toSettings(config), toSecrets(config));
    const { keyId, previousKeyIds, reencrypted, undecryptable } = rotation;
    if (line.json) {
      const json = {
        key_id: keyId,
        previous_key_ids: previousKeyIds,
        resealed: reencrypted,
        unopened: undecryptable,
      };
      terminal.out(JSON.stringify(json));
    } else {
      terminal.out(`The secret key is now ${keyId}; secrets encrypted with it: ${reencrypted}.`);
    }
    if (undecryptable > 0)
      terminal.note(`Left unchanged, because no key here decrypts them: ${undecryptable}.`);
    terminal.note(
      `Keep a copy of ${config.data}/secret.key on another machine. Earlier backups need ` +
        `the old key, which stays in ${config.data}/secret.key.previous until you remove it.`,
    );
    return EXIT.done;
  },
};
