/**
 * CSV by RFC 4180, written so that no spreadsheet takes a cell for a formula.
 *
 * @see https://owasp.org/www-community/attacks/CSV_Injection
 */

/** What spreadsheets begin a formula with, the full-width forms included, and what hides it. */
const FORMULA = /^[=+\-@\t\r\n\uFF1D\uFF0B\uFF0D\uFF20]/;

/** One record, with its line break. */
export function csvRecord(cells: readonly string[]): string {
  return `${cells.map(csvCell).join(",")}\r\n`;
}

/** All cells are quoted: a separator of whatever country begins no other cell. */
function csvCell(text: string): string {
  const safe = FORMULA.test(text) ? `'${text}` : text;
  return `"${safe.replaceAll('"', '""')}"`;
}
