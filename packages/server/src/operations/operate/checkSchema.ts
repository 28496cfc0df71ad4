import type { Context } from "../../context.ts";
import { Failure } from "../../failure.ts";
import { assertKnown, readSchemaVersion } from "../../storage/schema-version.ts";

export interface CheckedSchema {
  /** The schema that the database has by now: another process may migrate it at any time. */
  readonly version: number;
  /** Why this program cannot use the database any more. */
  readonly refusal: Failure | undefined;
}

/**
 * Reads the schema version again.
 *
 * @param known the schema that this program knows
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
