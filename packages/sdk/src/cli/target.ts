import { UsageError } from "../errors/errors.ts";

/** Names of this very machine, in the spelling of a parsed URL. */
const LOOPBACK = /^((.+\.)?localhost|127(\.\d+){3}|\[::1\])$/;

/**
 * Where deliveries go. They tell of what partners do, so they leave this machine only where somebody says so.
 *
 * @throws UsageError that names the fault
 */
export function readTarget(text: string | undefined, allowRemote: boolean): URL {
  if (!text) throw new UsageError("say where deliveries go: --forward-to http://localhost:4000/hooks, or --print");
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || !/^https?:$/.test(url.protocol)) throw new UsageError("--forward-to must be an http URL");
  if (url.username || url.password) throw new UsageError("--forward-to must hold no user name and no password");
  if (allowRemote || LOOPBACK.test(url.hostname)) return url;
  throw new UsageError(`${url.hostname} is not this machine: give --allow-remote if deliveries shall go there`);
}
