import type { Context } from "../../context.ts";
import { Failure } from "../../failure.ts";
import { assertKnown, readSchemaVersion } from "../../storage/schema-version.ts";

export interface CheckedSchema {
  /** The current schema of the database. Another process may migrate it at any time. */
  readonly version: number;
  /** The reason why this program can no longer use the database. */
  readonly refusal: Failure | undefined;
}

/**
 * Reads the schema version again.
 *
 * @param known the schema of this program
 */
export async function checkSchema(
  { store }: Pick<Context, "store">,
  known: number,
): Promise<CheckedSchema> {
  const schema = await readSchemaVersion(store);
  try {
    assertKnown(schema, known);
    return { version: schema.version, refusal: undefined };
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    return { version: schema.version, refusal: error };
  }
}
