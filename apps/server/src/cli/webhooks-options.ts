import type { Command } from "commander";
import type { ActorContext } from "../command-context.ts";
import type { Database } from "../db/database.ts";
import type { CliContext } from "./context.ts";
import { readDuration } from "./options.ts";
import { UsageError } from "./usage-error.ts";

/** What `--partner` names. */
export interface PartnerOption {
  readonly partner: string;
}

/** What verbs on webhooks need of the command line. */
export function contextOf({ actor, clock, ids }: CliContext, db: Database): ActorContext {
  return { db, clock, ids, actor };
}

/** Adds `--partner`, which the commands on an endpoint need. */
export function withPartner(command: Command): Command {
  return command.requiredOption("--partner <id>", "whose endpoint");
}

/** Reads a comma-separated list; the parts are checked where they are used. */
export function readList(text: string): string[] {
  return text
    .split(",")
    .map((part) => part.trim())
    .filter((part) => part !== "");
}

const INSTANT = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(:\d{2}(\.\d+)?)?(Z|[+-]\d{2}:\d{2})$/i;

/** Reads an RFC 3339 instant, or a duration back from `now`, such as `24h`. */
export function readPast(option: string, text: string, now: number): Date {
  if (/^\d+[smhd]$/.test(text)) return new Date(now - readDuration(option, text));
  const instant = new Date(text);
  if (!INSTANT.test(text) || Number.isNaN(instant.getTime())) {
    throw new UsageError(
      `${option} must be an RFC 3339 instant such as 2027-01-31T00:00:00Z, or a time back from now such as 24h.`,
    );
  }
  return instant;
}
