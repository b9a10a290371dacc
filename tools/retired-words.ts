/** Words that this repository has given up, and what it says instead. `lint` refuses them (tools/check-vocabulary.ts). */

/**
 * Where a rule looks: `code` is identifiers and file names, `comment` comments, `text` strings, template literals and
 * SQL, `prose` documents.
 */
export type TextKind = "code" | "comment" | "text" | "prose";

export interface RetiredWord {
  /**
   * Lower-case words in succession, separated by spaces; each may list alternatives (`tell|told`). Identifiers count as
   * the words they are made of: `tellStates` is `tell states`, `settled_at` is `settled at`.
   */
  readonly words: string;
  readonly say: string;
  /** Default: everywhere. */
  readonly in?: readonly TextKind[];
  /** Fine where the text around the match has this form. */
  readonly unless?: RegExp;
  /** Files, or folders ending in a slash, that may go on using it, each with its reason. */
  readonly except?: Readonly<Record<string, string>>;
}

const CODE: readonly TextKind[] = ["code"];
const CODE_AND_TEXT: readonly TextKind[] = ["code", "text"];

export const retiredWords: readonly RetiredWord[] = [
  // Errors.
  { words: "fault|faults|faulty", say: "issue, violation, error; status (of a key)" },
  { words: "refusal|refusals", say: "ServiceError, or an error with a name of its own; rejected request" },
  { words: "mail|head|file refused", say: "an error class that says what went wrong", in: CODE },

  // Who, when, with what.
  { words: "moment", say: "CommandContext; time, date, now", in: CODE },
  { words: "live context", say: "CommandContext" },
  { words: "live bike|endpoint|secret|endpoints|secrets", say: "BikeState, activeEndpoint, activeSecret", in: CODE },
  { words: "tell|tells|telling|told", say: "notify, publish", in: CODE },
  {
    words: "settle|settles|settled|settling|settler|settlers",
    say: "expire, write results, bootstrap, finish",
    // Of the language.
    unless: /\ballSettled\b/,
  },
  { words: "lapse|lapses|lapsed|lapsing", say: "overdue, expired" },
  {
    words: "ending|endings",
    say: "ReservationOutcome, AttemptOutcome; end",
    in: CODE,
    except: { "apps/server/src/db/database.ts": "pg names the property of a pool that is closing so" },
  },
  { words: "ended reservation|reservations", say: "ReservationOutcome", in: CODE },

  // Where.
  { words: "place|places", say: "location, row address, position, columnIndex", in: CODE },
  { words: "ctid as place", say: "ctid as row_address" },
  { words: "halves", say: "parts" },

  // Webhooks.
  { words: "hurry|hurries|hurried", say: "retry now" },
  { words: "due line|lines", say: "queue" },
  { words: "webhook due", say: "webhook_queue" },
  { words: "new events", say: "event_outbox", in: CODE_AND_TEXT, unless: /new events[^_]|newEvents/ },

  // Keys.
  { words: "door|doors", say: "authentication, hooks" },
  { words: "admit|admits|admitted|admission", say: "authenticate, authorize, accept" },
  {
    words: "expose|exposes|exposed|exposing|exposure|exposures",
    say: "compromised, markCompromised",
    unless: /expose-(headers|gc)/,
  },
  { words: "seal|seals|sealed|sealer|sealers|sealing|unseal", say: "encrypt, encrypted" },
  { words: "key mark|marks", say: "key_fingerprint" },

  // Scheduling.
  { words: "rounds", say: "coalescer; polls, passes", in: CODE },
  { words: "turns", say: "mutex", in: CODE },
  { words: "crew", say: "membership" },
  { words: "beat|beats", say: "heartbeat" },
  { words: "patience|goodbye|chores", say: "timeout, interval, with its unit" },
  { words: "look|looks|looking", say: "poll, check, read", in: CODE, unless: /[Ll]ook(s|ing)?[-_]?[Uu]p/ },

  // Lists and JSON.
  { words: "slice request|start|starts|requests", say: "PageRequest, PageStart", in: CODE },
  { words: "cut rows|row|page|slice", say: "toPage", in: CODE },
  { words: "wire|wires", say: "json", in: CODE_AND_TEXT },
  { words: "wire form|forms", say: "JSON" },
  { words: "only row", say: "oneRow", in: CODE },

  // Tests.
  { words: "room|rooms", say: "harness; module, folder", in: CODE, unless: /make room/i },
  { words: "rooms|floors", say: "modules, layers" },
  { words: "hurried|eyes|laps", say: "the field's word" },
  // Vitest's `vi.stubEnv`, `vi.stubGlobal`.
  { words: "stub|stubs|stubbed", say: "placeholder (station); test double", unless: /\bvi\.stub(Env|Global)\b/ },

  // What callers read: JSON's and HTTP's words.
  { words: "a|an text", say: "a string", in: ["text"] },
  {
    words: "is|are no",
    say: "is not a, unknown",
    in: ["text"],
    unless: /\bthere (is|are) no\b|\b(is|are) no (longer|more)\b/i,
  },
  { words: "must be true or false", say: "must be a boolean", in: ["text"] },
];
