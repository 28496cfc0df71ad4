/**
 * CSV (RFC 4180) without cells that a spreadsheet would run as a formula. This also protects
 * spreadsheets that split at semicolons (as in many countries) or tabs. They read a record as one
 * cell that starts with a quote. After it, quotes have no meaning, and a semicolon, tab or line
 * break within a text starts a cell.
 *
 * @see https://owasp.org/www-community/attacks/CSV_Injection
 */

/** Characters that start a formula in spreadsheets, including full-width forms. */
const SIGNS = "=+\\-@\uFF1D\uFF0B\uFF0D\uFF20";

/** A sign, or a character before a sign that spreadsheets skip. */
const FORMULA = new RegExp(`^[${SIGNS}\\t\\r\\n]`);

/**
 * Positions where another reader's cell would start with a sign. Insert an empty pair of quotes
 * there.
 */
const FORMULA_WITHIN = new RegExp(`(?<=[;\\t\\r\\n])(?="*[${SIGNS}])`, "g");

/** The same in JSON text: a character after a semicolon is part of a string. */
const SIGN_WITHIN_JSON = new RegExp(`(?<=;)[${SIGNS}]`, "g");

/** A cell with JSON text. It keeps its value, and numbers stay verbatim. */
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

/** Outside strings, only the sign of a number can start a line. */
function guardJson({ json }: JsonCell): string {
  return json.replace(SIGN_WITHIN_JSON, (sign) => {
    return `\\u${sign.charCodeAt(0).toString(16).padStart(4, "0")}`;
  });
}
