import type { Config } from "../../config.ts";
import { type CheckResult, failure, ok, warning } from "../checks/check.ts";

type Addresses = Pick<Config, "host" | "publicUrl" | "tls" | "redisUrl" | "backups" | "databaseUrl" | "warnings"> & {
  readonly trustedProxies: { readonly networks: readonly string[] };
};

/** What the configuration says by itself. */
export function checkConfiguration(config: Addresses): CheckResult[] {
  const typos = config.warnings.map((text) =>
    warning("configuration", text, "Correct the name, or remove the variable."),
  );
  const all = typos.length === 0 ? [ok("configuration", "every variable has a valid value")] : typos;
  return [...all, checkTransport(config), checkBackupSchedule(config)];
}

/** Requests over plain HTTP are refused unless they come from this machine: see docs/decisions/keys.md. */
function checkTransport({ host, tls, trustedProxies, publicUrl }: Addresses): CheckResult {
  const isBehindProxy = trustedProxies.networks.length > 0;
  const isPublicHttps = publicUrl?.startsWith("https://") === true;
  if (tls !== undefined || isBehindProxy) {
    const how = tls === undefined ? `by the proxies ${trustedProxies.networks.join(", ")}` : "by the service itself";
    if (isPublicHttps) return ok("https", `served ${how}`);
    return warning(
      "https",
      `served ${how}, but links and documents show another address`,
      "Set PUBLIC_URL to the https address that partners use.",
    );
  }
  if (!isLoopback(host) || isPublicHttps) {
    return failure(
      "https",
      "requests from other machines arrive over plain HTTP, and are answered 403 https_required",
      "Set TLS_CERT_FILE and TLS_KEY_FILE, or put a proxy with TLS in front and name its address in TRUSTED_PROXIES.",
    );
  }
  return ok("https", `not needed: only this machine can connect to ${host}`);
}

function checkBackupSchedule({ backups, databaseUrl }: Addresses): CheckResult {
  if (backups !== undefined)
    return ok("backup schedule", `every ${backups.intervalMs / 3_600_000} h into ${backups.directory}`);
  const fix = "Set BACKUP_DIR, or run `bikeshare backup <directory>` from a timer.";
  if (databaseUrl === undefined) return warning("backup schedule", "the service makes no backups by itself", fix);
  return ok("backup schedule", "not by the service; DATABASE_URL is backed up by whoever runs it");
}

function isLoopback(host: string): boolean {
  return host === "localhost" || host === "::1" || host.startsWith("127.");
}
