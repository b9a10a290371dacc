import type { QueryRunner } from "../../storage/db/database.ts";
import { describedSystem } from "../descriptions/service.ts";

/** Returns the time zone in which a system's days begin and end; UTC while nobody has named one that there is. */
export async function timeZoneOfSystem(db: QueryRunner, systemId: string): Promise<string> {
  const { timezone = "UTC" } = (await describedSystem(db, systemId))?.published ?? {};
  return isTimeZone(timezone) ? timezone : "UTC";
}

function isTimeZone(name: string): boolean {
  try {
    return new Intl.DateTimeFormat("en", { timeZone: name }).resolvedOptions().timeZone !== "";
  } catch {
    return false;
  }
}
