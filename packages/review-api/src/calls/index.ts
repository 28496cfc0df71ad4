/** The analysis of a call: what its arguments contain. Pure, and shared by server and console. */

export { sessionIn, turnIn } from "./agent-session.ts";
export { ARGUMENTS_CHARS_MAX, type Call, cwdOf, readArguments } from "./call.ts";
export { type CallLine, LINE_KINDS, type LineKind, type LineRenderer } from "./call-line.ts";
export { type FileEdit, fileEditsIn } from "./file-edit.ts";
export { commandsIn, sqlIn, textsIn } from "./find.ts";
export { describeCall, lineOf, lineText } from "./line.ts";
export {
  type LineTemplate,
  readTemplate,
  TEMPLATE_CHARS_MAX,
  templateLine,
} from "./line-template.ts";
export { type Money, moneyIn } from "./money.ts";
export { joinPath } from "./path.ts";
export { isBlank, type ShellPiece } from "./shell.ts";
export { CALL_SIGNALS, HISTORY_SIGNALS, type Signal, type SignalId } from "./signal.ts";
export { signalsOf } from "./signals.ts";
export { type EarlierCalls, historySignals } from "./signals-history.ts";
export { NEEDS_WHERE, type SqlVerb } from "./sql.ts";
export { type Host, hostsIn } from "./urls.ts";
