/**
 * A program as the user can type it again. npm and compatible tools set this variable for the
 * programs that they start. The program `countersign-NAME` is in the package `@countersign/NAME`,
 * and npx finds a package that is not installed only by the name of the package.
 */
export function typedCommand(
  program: string,
  { npm_config_user_agent: npm }: NodeJS.ProcessEnv,
): string {
  return npm === undefined ? program : `npx ${program.replace(/^countersign-/, "@countersign/")}`;
}
