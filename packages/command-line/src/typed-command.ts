/**
 * The name of a program as the user can type it again. npm and compatible tools set this variable
 * for the programs that they start.
 */
export function typedCommand(
  program: string,
  { npm_config_user_agent: npm }: NodeJS.ProcessEnv,
): string {
  return npm === undefined ? program : `npx ${program}`;
}
