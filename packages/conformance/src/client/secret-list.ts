import { Violation } from "../violation.ts";

/**
 * Everything that must never be shown: tokens and signing secrets of the run. Answers are held
 * against it, and what goes into a report is cleaned of it.
 */
export class SecretList {
  readonly #secrets = new Set<string>();

  add(secret: string): void {
    this.#secrets.add(secret);
  }

  /** @param except secrets that the text may contain @throws Violation */
  refuse(text: string, what: string, except: readonly string[]): void {
    for (const secret of this.#secrets) {
      if (!text.includes(secret) || except.includes(secret)) continue;
      throw new Violation("instance.read.no-secrets", `${what}: it shows a secret`);
    }
  }

  clean(text: string): string {
    let cleaned = text;
    for (const secret of this.#secrets) cleaned = cleaned.replaceAll(secret, "[secret]");
    return cleaned;
  }
}
