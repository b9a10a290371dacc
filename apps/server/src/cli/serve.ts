import { Option } from "@commander-js/extra-typings";
import type { Config } from "../config.ts";
import { isLogForPeople } from "../logger.ts";
import { openDashboardPages } from "../runtime/startup/dashboard-pages.ts";
import { createHangStop, killThisProcess, startUnlessStopped } from "../runtime/startup/signals.ts";
import type { OpenCli, ParentCommand } from "./context.ts";

/** `serve`: runs until it is stopped. */
export function registerServe(program: ParentCommand, cli: OpenCli): void {
  program
    .command("serve")
    .description("run the service until SIGTERM or SIGINT")
    .addOption(
      new Option("--role <role>", "answer requests (api), do the work beside them (worker), or both")
        .choices(["all", "api", "worker"])
        .default("all" as const),
    )
    .option(
      "--new-secrets",
      "the secrets file is gone for good: go on with a new one (see docs/configuration.md, Secrets file)",
    )
    .action(async ({ role, newSecrets = false }) => {
      const { clock, config, ids, output, resolveSystem, serviceClock, signals } = cli();
      const stopped = signals.untilStopped();
      const dashboard = role === "worker" ? undefined : openDashboardPages({ note: (text) => output.note(text) });
      // Only now: the server and all it stands on would cost every other command 60 MB.
      const { serve } = await import("../runtime/serve.ts");
      const exit = (status: number) => process.exit(status);
      const { untilHung, onHang } = createHangStop(killThisProcess);
      const service = await startUnlessStopped(stopped, exit, () =>
        serve({
          ...{ config, clock, ids, resolveSystem, role, newSecrets, onHang },
          ...(serviceClock && { serviceClock }),
          ...(dashboard && { dashboard }),
        }),
      );
      const { url = null } = service;
      output.result({ ready: true, url }, url === null ? "Ready: working." : `Ready: ${url} (documents: ${url}/docs)`);
      const isHung = await Promise.race([stopped.then(() => false), untilHung.then(() => true)]);
      await service.close();
      // The exit status of a service that was stopped would keep some supervisors from starting another one.
      if (isHung) throw new Error("The service stopped because a part of it hung. Its log says which part.");
      if (isLogForPeople(config)) output.note("Stopped.");
    });
}

/** Where a service with this configuration is reached from this machine, whatever its public address is. */
export function localAddress({ host, port, tls }: Pick<Config, "host" | "port" | "tls">): string {
  const everywhere: Readonly<Record<string, string>> = { "0.0.0.0": "127.0.0.1", "::": "[::1]" };
  const name = everywhere[host] ?? (host.includes(":") ? `[${host}]` : host);
  return `${tls === undefined ? "http" : "https"}://${name}:${port}`;
}
