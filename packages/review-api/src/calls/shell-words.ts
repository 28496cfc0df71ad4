/**
 * The words of the commands in a shell text, also in quotes and substitutions. For facts
 * such as "the text contains rm -rf" and not for showing a command: see shell.ts. Pure, linear.
 */

export interface WordedCommand {
  /** The operator before the command: `|`, `&&`, `$(`; empty for the first one. */
  readonly before: string;
  readonly words: readonly string[];
}

const TOKEN = /\|\||&&|\|&|[|;&\n()`]|<\(|[^\s|;&()`<>"'{}$\\]+/g;
const OPERATOR = /^(?:\|\||&&|\|&|[|;&\n()`]|<\()$/;

export function wordsOfCommands(text: string): WordedCommand[] {
  const commands: { before: string; words: string[] }[] = [{ before: "", words: [] }];
  for (const [token] of text.matchAll(TOKEN)) {
    if (OPERATOR.test(token)) commands.push({ before: token, words: [] });
    else commands.at(-1)?.words.push(token);
  }
  return commands.filter(({ words }) => words.length > 0);
}

/** The name of a program without its folder: `/bin/rm` is `rm`. */
export function programOf(word: string): string {
  return word.slice(word.lastIndexOf("/") + 1).toLowerCase();
}
