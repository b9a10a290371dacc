import type { FollowRound } from "./follow.ts";

/** Where rounds are logged: a part of pino's logger. */
interface RoundLogger {
  debug(detail: object, message: string): void;
  info(detail: object, message: string): void;
  warn(detail: object, message: string): void;
}

/** Logs rounds of a followed feed: warns of what failed, and keeps quiet where nothing changed. */
export function logRounds(logger: RoundLogger): (round: FollowRound) => void {
  return ({ at: _at, ...round }) => {
    if (round.failures.length > 0) logger.warn(round, "GBFS feed: some of it failed; tried again in the next round");
    else if (round.outcome === "applied") logger.info(round, "GBFS feed applied");
    else logger.debug(round, "GBFS feed unchanged");
  };
}
