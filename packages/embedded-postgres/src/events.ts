/** An event for the log: what this package did with PostgreSQL. It contains no secret. */
export type EmbeddedPostgresEvent =
  | { event: "binaries_copied"; directory: string }
  | { event: "creating_cluster"; directory: string }
  | { event: "cluster_created"; directory: string }
  | { event: "starting"; port: number }
  | { event: "started"; pid: number; port: number }
  | { event: "joined"; pid: number; port: number }
  | { event: "waiting"; status: string }
  | { event: "stale_pid_file_removed"; pid: number }
  | { event: "port_taken"; port: number }
  | { event: "died"; pid: number }
  | { event: "restart_failed"; message: string; retryInMs: number }
  | { event: "stopped"; pid: number; how: "fast" | "immediate" }
  | { event: "left_to_other_users" };

export type LogEvent = (event: EmbeddedPostgresEvent) => void;
