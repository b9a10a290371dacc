import { once } from "node:events";
import { stat } from "node:fs/promises";
import { connect } from "node:net";
import type { Config } from "../../config.ts";
import { START_REDIS } from "../../http/rate-limits/redis-remedies.ts";
import { shellWord } from "../../shell-word.ts";
import { secretsPath } from "../../storage/secrets/secrets.ts";
import { checked, type CheckResult, ok, warning } from "../checks/check.ts";
import { machineChecks } from "../checks/list.ts";
import { checkRedis } from "../checks/machine-checks.ts";

/** Maximum time for another machine to accept a connection. */
const CONNECT_TIMEOUT_MS = 5_000;

/** Checks this machine, and whether it reaches the others that the configuration names. */
export async function checkMachine(config: Config, now: number): Promise<CheckResult[]> {
  const found = await Promise.all([
    // Always recent enough: main.ts refuses an older Node.
    Promise.resolve([ok("node", `Node ${process.versions.node}`)]),
    checked("secrets file", "Name the file in SECRETS_FILE that the service has been using.", () =>
      checkSecretsFile(config),
    ),
    checked("redis", START_REDIS, () => checkRedis(config)),
    ...machineChecks(config, () => now).map(({ name, fix, find }) => checked(name, fix, find)),
    ...outboundAddresses(config).map(([variable, address]) =>
      checked(`${variable} reachable`, "Correct the address, or let the firewall pass it.", () =>
        checkReachable(variable, address),
      ),
    ),
  ]);
  return found.flat();
}

async function checkSecretsFile(config: Config): Promise<CheckResult> {
  const path = secretsPath(config);
  const { mode } = await stat(path);
  if ((mode & 0o077) === 0 || process.platform === "win32") return ok("secrets file", path);
  return warning(
    "secrets file",
    `${path} can be read by other accounts of this machine`,
    `chmod 600 ${shellWord(path)}`,
  );
}

/** The other machines that the configuration names, by variable. */
function outboundAddresses({ gbfsSync, mail, identityProvider }: Config): [variable: string, address: URL][] {
  const named: readonly (readonly [string, string | undefined])[] = [
    ["GBFS_SYNC_URL", gbfsSync?.url],
    ["SMTP_URL", mail?.smtpUrl],
    ["OIDC_ISSUER", identityProvider?.issuer],
  ];
  return named.flatMap(([variable, address]) =>
    address === undefined ? [] : [[variable, new URL(address)] as [string, URL]],
  );
}

const DEFAULT_PORTS: Readonly<Record<string, number>> = { "http:": 80, "https:": 443, "smtp:": 587, "smtps:": 465 };

async function checkReachable(variable: string, { hostname, port, protocol }: URL): Promise<CheckResult> {
  const to = { host: hostname.replace(/^\[|\]$/g, ""), port: Number(port) || (DEFAULT_PORTS[protocol] ?? 443) };
  const socket = connect(to);
  try {
    await once(socket, "connect", { signal: AbortSignal.timeout(CONNECT_TIMEOUT_MS) });
    return ok(`${variable} reachable`, `${to.host}:${to.port} accepts connections`);
  } finally {
    socket.destroy();
  }
}
