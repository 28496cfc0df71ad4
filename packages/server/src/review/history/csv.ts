/**
 * CSV by RFC 4180, written so that no spreadsheet takes a cell for a formula, also not one that
 * splits at semicolons, as those of many countries do, or at tabs. To such a reader a record is one
 * cell that begins with a quote and goes on behind it: from there on quotes mean nothing, and a
 * semicolon, tab or line break within a text begins a cell.
 *
 * @see https://owasp.org/www-community/attacks/CSV_Injection
 */

/** What spreadsheets begin a formula with, the full-width forms included. */
const SIGNS = "=+\\-@\uFF1D\uFF0B\uFF0D\uFF20";

/** A sign, or what hides it. */
const FORMULA = new RegExp(`^[${SIGNS}\\t\\r\\n]`);

/** Where a cell of another reader would begin with a sign; an empty pair of quotes hides it. */
const FORMULA_WITHIN = new RegExp(`(?<=[;\\t\\r\\n])(?="*[${SIGNS}])`, "g");

/** The same within JSON text: what stands behind a semicolon is part of a string. */
const SIGN_WITHIN_JSON = new RegExp(`(?<=;)[${SIGNS}]`, "g");

/** A cell of JSON text, which is read as the same value: numbers stand letter for letter. */
export interface JsonCell {
  readonly json: string;
}

/** One record, with its line break. */
export function csvRecord(cells: readonly (string | JsonCell)[]): string {
  return `${cells.map(csvCell).join(",")}\r\n`;
}

function csvCell(cell: string | JsonCell): string {
  const guarded = typeof cell === "string" ? guardText(cell) : guardJson(cell);
  const safe = FORMULA.test(guarded) ? `'${guarded}` : guarded;
  return `"${safe.replaceAll('"', '""')}"`;
}

function guardText(text: string): string {
  return text.replace(FORMULA_WITHIN, "'");
}

/** Between strings a line can begin with the sign of a number, and with no other. */
function guardJson({ json }: JsonCell): string {
  return json.replace(SIGN_WITHIN_JSON, (sign) => {
    return `\\u${sign.charCodeAt(0).toString(16).padStart(4, "0")}`;
  });
}
