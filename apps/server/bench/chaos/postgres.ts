import { setTimeout as sleep } from "node:timers/promises";
import {
  type PostgresServer,
  type ReplicatedPostgres,
  startReplicatedPostgres,
} from "@bikeshare/embedded-postgres/testing";
import { childrenOf } from "@bikeshare/load";
import type { Component, ComponentKind } from "./component.ts";

/**
 * The primary and the standby of the chaos bench, which kills and restarts components under load. A killed server is
 * started again after the delay of its systemd unit.
 */
export interface PostgresPair {
  readonly primaryUrl: string;
  readonly standbyUrl: string;
  readonly components: readonly Component[];
  close(): Promise<void>;
}

/** Milliseconds before a restart: systemd's default, which Debian's PostgreSQL unit uses. */
const RESTART_DELAY_MS = 100;

export async function startPostgresPair(): Promise<PostgresPair> {
  const pair = await startReplicatedPostgres();
  return {
    // Connects directly instead of through the forwarder of the test harness, which would distort the measurement.
    primaryUrl: directUrl(pair.primaryUrl, pair.primary()),
    standbyUrl: directUrl(pair.replicaUrl, pair.replica()),
    components: [component("primary", pair.primary()), component("standby", pair.replica())],
    close: () => pair.close(),
  };
}

/** Returns a URL with the server's own port. */
function directUrl(url: ReplicatedPostgres["primaryUrl"], server: PostgresServer): string {
  const direct = new URL(url);
  direct.port = String(server.port);
  return direct.href;
}

function component(kind: ComponentKind, server: PostgresServer): Component {
  return {
    name: kind,
    kind,
    pids: () => processesOf(server),
    async killAndRestart() {
      const from = performance.now();
      await server.kill();
      await sleep(RESTART_DELAY_MS);
      await server.start();
      return performance.now() - from;
    },
    // Without a delay: a restart that an administrator asks for begins at once.
    async restart() {
      const from = performance.now();
      await server.stop();
      await server.start();
      return performance.now() - from;
    },
    // `close` of the pair ends both servers.
    stop: () => Promise.resolve(),
  };
}

/** Returns the pids of the postmaster and its children. */
async function processesOf(server: PostgresServer): Promise<readonly number[]> {
  try {
    const [row] = await server.run<{ pid: string }>(
      "select split_part(pg_read_file('postmaster.pid'), e'\\n', 1) as pid",
    );
    const pid = Number(row?.pid);
    return [pid, ...(await childrenOf(pid))];
  } catch {
    // The server is down, so it has no processes.
    return [];
  }
}
