import assert from "node:assert/strict";
import type { Terminal } from "@countersign/command-line";

/** A terminal with a user. It records the output and the questions. */
export abstract class TestTerminal implements Terminal {
  readonly isInteractive = true;
  readonly hasScreen = true;
  readonly columns = 100;
  readonly rows = 24;
  readonly questions: string[] = [];
  readonly statuses: string[] = [];
  stdout = "";
  stderr = "";

  out(text: string): void {
    this.stdout += `${text}\n`;
  }

  note(text: string): void {
    this.stderr += `${text}\n`;
  }

  status(text: string): void {
    this.statuses.push(text);
  }

  askSecret(): Promise<string> {
    assert.fail("the command asks for no secret");
  }

  abstract ask(question: string, signal?: AbortSignal): Promise<string>;
}
