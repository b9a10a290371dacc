import type { Config } from "../../config.ts";
import type { Conditions } from "../../health/conditions/conditions.ts";
import { isLogForPeople, type Logger } from "../../logger.ts";
import { watchForHangs } from "../../storage/background/hang-watch.ts";

interface HangingProcess {
  readonly logger: Logger;
  readonly conditions: Conditions;
  readonly closers: (() => Promise<void>)[];
}

/** Ends this process when it hangs, if a supervisor then starts another one. */
export function endIfHanging(
  { config, onHang }: { readonly config: Config; readonly onHang?: () => void },
  { logger, conditions, closers }: HangingProcess,
): void {
  if (onHang === undefined) return;
  const format = isLogForPeople(config) ? "text" : "json";
  const watch = watchForHangs({
    timeoutMs: config.hangTimeoutMs,
    conditions,
    lastLine: { format: config.logLevel === "silent" ? "none" : format },
    onHang: (work, seconds) => {
      const message = `${work} hangs; this process ends, so that its supervisor starts another one`;
      logger.fatal({ condition: "process_hangs", work, seconds }, message);
      onHang();
    },
  });
  closers.push(() => watch.close());
}
