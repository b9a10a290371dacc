import { Option } from "@commander-js/extra-typings";
import type { Config } from "../config.ts";
import { isLogForPeople } from "../logger.ts";
import { openDashboardPages } from "../runtime/startup/dashboard-pages.ts";
import { createHangStop, killThisProcess, startUnlessStopped } from "../runtime/startup/signals.ts";
import type { OpenCli, ParentCommand } from "./context.ts";

/** Registers `serve`, which runs the service until it is stopped. */
export function registerServe(program: ParentCommand, cli: OpenCli): void {
  program
    .command("serve")
    .description("run the service until SIGTERM or SIGINT")
    .addOption(
      new Option("--role <role>", "answer requests (api), run background work (worker), or both (all)")
        .choices(["all", "api", "worker"])
        .default("all" as const),
    )
    .option(
      "--new-secrets",
      "create a new secrets file because the old one is lost (docs/configuration.md, Secrets file)",
    )
    .action(async ({ role, newSecrets = false }) => {
      const { clock, config, ids, output, resolveSystem, serviceClock, signals } = cli();
      const stopped = signals.untilStopped();
      const dashboard = role === "worker" ? undefined : openDashboardPages({ note: (text) => output.note(text) });
      // Loaded here: the server would cost every other command 60 MB.
      const { serve } = await import("../runtime/serve.ts");
      const exit = (status: number) => process.exit(status);
      // When a part of the service hangs, the process stops like on a signal. If that hangs, too, it is killed.
      const { untilHung, onHang } = createHangStop(killThisProcess);
      // A signal during the start lets the start finish for some seconds, so that the service can be closed.
      const service = await startUnlessStopped(stopped, exit, () =>
        serve({
          config,
          clock,
          ids,
          resolveSystem,
          role,
          newSecrets,
          onHang,
          ...(serviceClock && { serviceClock }),
          ...(dashboard && { dashboard }),
        }),
      );
      const { url = null } = service;
      const text = url === null ? "Ready: background work runs." : `Ready: ${url} (documents: ${url}/docs)`;
      output.result({ object: { ready: true, url }, text });
      const isHung = await Promise.race([stopped.then(() => false), untilHung.then(() => true)]);
      await service.close();
      // Exit status 0 would keep some supervisors from restarting the service.
      if (isHung) throw new Error("The service stopped because a part of it hung. Its log names the part.");
      if (isLogForPeople(config)) output.note("Stopped.");
    });
}

/** Returns the address of a service with this configuration on its own machine, whatever its public address is. */
export function localAddress({ host, port, tls }: Pick<Config, "host" | "port" | "tls">): string {
  const everywhere: Readonly<Record<string, string>> = { "0.0.0.0": "127.0.0.1", "::": "[::1]" };
  const name = everywhere[host] ?? (host.includes(":") ? `[${host}]` : host);
  return `${tls === undefined ? "http" : "https"}://${name}:${port}`;
}
