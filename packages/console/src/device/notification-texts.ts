/**
 * Texts of notifications. The service worker is one file: a module that the pages share would
 * become a file of its own, so this one imports nothing that they use.
 */

import type { Language } from "@countersign/review-api";

export interface NotificationTexts {
  /** For dates and numbers. */
  readonly locale: string;
  readonly testTitle: string;
  readonly testBody: string;
  readonly resolvedWithoutStatus: string;
  /** Names of the API's statuses. */
  readonly statuses: Readonly<Record<string, string>>;
  toolOn(tool: string, server: string): string;
  needsDecision(tool: string): string;
  until(instance: string, time: string): string;
  nothingLeft(instance: string): string;
}

export const NOTIFICATION_TEXTS: Readonly<Record<Language, NotificationTexts>> = {
  en: {
    locale: "en-GB",
    testTitle: "Countersign can reach this device",
    testBody: "This is a test. No request is pending.",
    resolvedWithoutStatus: "over",
    statuses: {},
    toolOn: (tool, server) => `${tool} on ${server}`,
    needsDecision: (tool) => `${tool} needs your decision`,
    until: (instance, time) => `${instance}, until ${time}`,
    nothingLeft: (instance) => `${instance}. Nothing is left to decide.`,
  },
  de: {
    locale: "de-DE",
    testTitle: "Countersign erreicht dieses Gerät",
    testBody: "Das ist ein Test. Keine Anfrage ist offen.",
    resolvedWithoutStatus: "erledigt",
    statuses: {
      approved: "freigegeben",
      denied: "abgelehnt",
      expired: "abgelaufen",
      cancelled: "zurückgezogen",
    },
    toolOn: (tool, server) => `${tool} auf ${server}`,
    needsDecision: (tool) => `${tool} braucht Ihre Entscheidung`,
    until: (instance, time) => `${instance}, bis ${time}`,
    nothingLeft: (instance) => `${instance}. Es ist nichts mehr zu entscheiden.`,
  },
};
