import type { Command } from "commander";
import { serve } from "../serve.ts";
import type { CliContext } from "./context.ts";

/** `serve`: runs until it is told to stop. */
export function registerServe(program: Command, context: () => CliContext): void {
  program
    .command("serve")
    .description("run the service until SIGTERM or SIGINT")
    .action(async () => {
      const { clock, config, ids, output, resolveSystem, signals } = context();
      const service = await serve({ config, clock, ids, resolveSystem });
      output.result({ ready: true, url: service.url }, `Ready: ${service.url} (reference: ${service.url}/docs)`);
      await signals.untilStopped();
      await service.close();
    });
}
