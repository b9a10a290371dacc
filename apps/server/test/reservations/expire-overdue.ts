import { expireReservations, overdueReservations } from "../../src/city/fleet/reservation-commands.ts";
import type { CommandContext } from "../../src/command-context.ts";

/** Expires at most `limit` overdue reservations, like one batch of the sweeper. @returns how many expired */
export async function expireOverdueReservations(
  context: CommandContext,
  systemId: string,
  limit: number,
): Promise<number> {
  return expireReservations(context, systemId, await overdueReservations(context, systemId, limit, []));
}
