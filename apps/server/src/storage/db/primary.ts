import pg from "pg";
import { DatabaseUnavailable, sqlState } from "./errors.ts";

/*
 * Protection against connections to a former primary. While a failover moves an address to another server, the address
 * still leads to the old one for a moment, which may already be a standby. A connection made in that moment would last: its
 * reads would show late data or none, and its writes would be rejected.
 */

/** Remembers whether its server is a standby: PostgreSQL 14 and later report it while a connection is made. */
export class ReportingClient extends pg.Client {
  isStandbyReported = false;

  constructor(config?: pg.ClientConfig) {
    super(config);
    this.connection.on("parameterStatus", ({ parameterName: name, parameterValue: value }: ParameterStatus) => {
      if (name === "in_hot_standby") this.isStandbyReported = value === "on";
    });
  }
}

interface ParameterStatus {
  readonly parameterName: string;
  readonly parameterValue: string;
}

/** A connection that needs the primary has reached a standby. After a failover the primary may be there in a moment. */
class StandbyRefused extends DatabaseUnavailable {
  override readonly name = "StandbyRefused";
  /** The code of a write on a standby. */
  readonly code = sqlState.readOnlySqlTransaction;
}

/**
 * Fails where a new connection leads to a standby. To a primary it costs nothing.
 * @throws StandbyRefused
 */
export async function requirePrimary(client: pg.ClientBase): Promise<void> {
  if (!(client instanceof ReportingClient) || !client.isStandbyReported) return;
  // Queried, because a pooler repeats the state that the server had when the pooler connected.
  const { rows } = await client.query<{ is_standby: boolean }>("select pg_is_in_recovery() as is_standby");
  if (rows[0]?.is_standby === true) throw new StandbyRefused("the server is a standby, and takes no writes");
}
